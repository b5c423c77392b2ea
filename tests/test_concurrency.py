"""Waiting: limits, deadlines, and asynchronous providers from every kind of caller."""

from __future__ import annotations

import asyncio
import contextvars
import os
import subprocess
import sys
import threading
import time
from typing import Any

import pytest

from florilege import ConfigError, Recipe, Retriever
from florilege.concurrency import Deadline, concurrently, resolve
from florilege.retrieval import fanout, retrieval_step, retrieve
from tests.retrieval.making import make_hit, names
from tests.support import ROOT


def test_outcomes_are_in_order_and_tell_failures() -> None:
    def fail() -> int:
        raise KeyError("x")

    outcomes = concurrently([lambda: 1, fail, lambda: 3], limit=3)
    assert [outcome.value for outcome in outcomes] == [1, None, 3]
    assert isinstance(outcomes[1].error, KeyError)
    with pytest.raises(KeyError):
        outcomes[1].result()
    assert concurrently([]) == []


def test_a_task_that_exits_does_not_leave_its_caller_waiting() -> None:
    outcomes = concurrently([lambda: sys.exit(3), lambda: 2], limit=2)
    assert isinstance(outcomes[0].error, SystemExit)
    assert outcomes[1].value == 2


def test_a_task_past_its_time_gives_its_place_to_the_next() -> None:
    release = threading.Event()
    started = time.perf_counter()
    outcomes = concurrently([lambda: release.wait(10), lambda: 2, lambda: 3], limit=1, timeouts=[0.05, 5.0, None])
    release.set()
    assert isinstance(outcomes[0].error, TimeoutError)
    assert [outcome.value for outcome in outcomes[1:]] == [2, 3]
    assert time.perf_counter() - started < 3


def test_the_deadline_ends_them_all() -> None:
    release = threading.Event()
    outcomes = concurrently([lambda: release.wait(10)] * 3, limit=2, deadline=Deadline(0.05))
    release.set()
    assert all(isinstance(outcome.error, TimeoutError) for outcome in outcomes)


def test_deadlines_are_checked() -> None:
    assert Deadline(None).left() is None
    assert not Deadline(None).passed
    assert Deadline(0).passed
    with pytest.raises(ConfigError, match="deadline"):
        Deadline(-1)


def test_context_variables_reach_the_tasks() -> None:
    variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable", default="unset")
    variable.set("set")
    outcomes = concurrently([variable.get, variable.get], limit=2)
    assert [outcome.value for outcome in outcomes] == ["set", "set"]


class LoopBound:
    """An asynchronous client that refuses to work on a loop other than its first."""

    def __init__(self) -> None:
        self.loop: Any = None

    async def ask(self) -> str:
        here = asyncio.get_running_loop()
        self.loop = self.loop or here
        if self.loop is not here:
            raise RuntimeError("bound to another loop")
        await asyncio.sleep(0.001)
        return '{"queries": ["other"]}'


def recipe(client: LoopBound) -> Recipe:
    async def find(query: str) -> list[Any]:
        await client.ask()
        return [make_hit(query)]

    async def keep(hits: list[Any]) -> list[Any]:
        await client.ask()
        return hits

    async def model(messages: Any) -> str:
        return await client.ask()

    return Recipe(
        id="r",
        retriever=Retriever.from_function(id="async", fn=find),
        model=model,
        steps=[fanout(), retrieve(), retrieval_step(id="keep", run=keep)],
    )


def test_async_providers_work_call_after_call() -> None:
    made = recipe(LoopBound())
    for _ in range(3):
        assert sorted(names(made.retrieve("q"))) == ["other", "q"]


def test_twice_from_a_handlers_thread_and_inside_a_running_loop() -> None:
    made = recipe(LoopBound())

    async def handler() -> None:
        for _ in range(2):
            assert len(await asyncio.to_thread(made.retrieve, "q")) == 2
        assert len(made.retrieve("q")) == 2

    asyncio.run(handler())
    asyncio.run(handler())
    assert len(made.retrieve("q")) == 2


def test_waiting_for_oneself_is_told() -> None:
    async def outer() -> Any:
        return resolve(inner())

    async def inner() -> int:
        return 1

    with pytest.raises(ConfigError, match=r"florilege\.aio") as caught:
        resolve(outer())
    assert caught.value.code == "nested_loop"
    assert resolve(inner()) == 1


def test_a_forked_child_has_its_own_loop() -> None:
    script = (
        "import os, sys\n"
        "from florilege.concurrency import resolve\n"
        "async def one(): return 1\n"
        "assert resolve(one()) == 1\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    os._exit(0 if resolve(one()) == 1 else 3)\n"
        "sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    run = subprocess.run([sys.executable, "-W", "ignore", "-c", script], env=environment, timeout=60, check=False)
    assert run.returncode == 0


def test_plain_values_pass_through() -> None:
    assert resolve(3) == 3

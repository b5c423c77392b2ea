"""Between an event loop and the synchronous engine: one hop into a thread, and back."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Generator, Iterator, Mapping
from functools import partial
from types import TracebackType
from typing import Any, Generic, Protocol, Self, TypeVar

T = TypeVar("T")
_END: Any = object()


class Twin:
    """Base of the awaitable twins: each holds the object it speaks for, in ``inner``."""

    inner: Any

    @classmethod
    def of(cls, inner: Any) -> Self:
        """The twin of a synchronous object."""
        made = object.__new__(cls)
        made.inner = inner
        return made


class _Closing(Protocol):
    async def close(self) -> None: ...


Closes = TypeVar("Closes", bound=_Closing)


class Opening(Generic[Closes]):
    """What ``aio.open`` returns: await it for the corpus, or use it in ``async with``, which closes the corpus too."""

    def __init__(self, opened: Callable[[], Awaitable[Closes]]) -> None:
        self._open = opened
        self._made: Closes | None = None

    def __await__(self) -> Generator[Any, None, Closes]:
        return self._open().__await__()

    async def __aenter__(self) -> Closes:
        self._made = await self._open()
        return self._made

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._made is not None:
            await self._made.close()


async def hop(call: Callable[..., T], *args: Any, **given: Any) -> T:
    """Call in a thread. Twins among the arguments go as what they speak for, asynchronous iterables as iterators that
    are pulled on this loop.

    A cancelled await leaves the call to end by itself: give long ones a ``deadline`` or ``cancel``.
    """
    loop = asyncio.get_running_loop()
    made = [_fed(unwrapped(item), loop) for item in args]
    named = {name: _fed(unwrapped(item), loop) for name, item in given.items()}
    return await asyncio.to_thread(partial(call, *made, **named))


async def iterate(call: Callable[..., Iterator[T]], *args: Any, **given: Any) -> AsyncIterator[T]:
    """What an iterator gives, each item fetched in a thread."""
    found = await hop(call, *args, **given)
    try:
        while (item := await asyncio.to_thread(next, found, _END)) is not _END:
            yield item
    finally:
        close = getattr(found, "close", None)
        if close is not None:
            await asyncio.to_thread(close)


def unwrapped(value: Any) -> Any:
    """``value`` with every twin in it, in lists and mappings too, as what it speaks for."""
    if isinstance(value, Twin):
        return value.inner
    if isinstance(value, list):
        return [unwrapped(item) for item in value]
    if isinstance(value, tuple) and type(value) is tuple:
        return tuple([unwrapped(item) for item in value])
    if isinstance(value, dict):
        return {name: unwrapped(item) for name, item in value.items()}
    return value


def _fed(value: Any, loop: asyncio.AbstractEventLoop) -> Any:
    if isinstance(value, AsyncIterable) and not isinstance(value, Mapping):
        return _pulled(value, loop)
    return value


def _pulled(items: AsyncIterable[T], loop: asyncio.AbstractEventLoop) -> Iterator[T]:
    """The items, each pulled on the caller's loop when the engine's thread asks for it."""
    iterator = aiter(items)

    async def following() -> T:
        return await anext(iterator, _END)

    while (item := asyncio.run_coroutine_threadsafe(following(), loop).result()) is not _END:
        yield item

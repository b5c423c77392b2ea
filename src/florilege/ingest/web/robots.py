"""What a site asks of robots: the rules of ``robots.txt`` as RFC 9309 has them, and its ``Crawl-delay``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import quote, unquote_to_bytes

AGENT = "florilege"
MAX_BYTES = 512_000
_MAX_RULES = 5_000
_STARS = re.compile(r"\*+")


@dataclass(frozen=True, slots=True)
class Robots:
    """The rules of the groups that name us, else of those for everybody. ``delay`` is in seconds, None: not said."""

    rules: tuple[tuple[str, bool], ...] = ()
    delay: float | None = None

    def allows(self, target: str) -> bool:
        """Whether ``target`` (path and query) may be fetched: the longest matching rule decides, a tie allows it."""
        target = _spelled(target)
        matching = [(len(path), allowed) for path, allowed in self.rules if _matches(path, target)]
        return max(matching, default=(0, True))[1]


def parse_robots(content: bytes, agent: str = AGENT) -> Robots:
    """Read the first 512,000 bytes of a ``robots.txt``; lines that mean nothing are passed over."""
    groups: dict[str, list[tuple[str, str]]] = {}
    named: list[str] = []
    in_rules = False
    for line in content[:MAX_BYTES].decode("utf-8-sig", "replace").splitlines():
        field, _, value = line.split("#", 1)[0].partition(":")
        field, value = field.strip().lower(), value.strip()
        if field == "user-agent":
            name = value.split("/", 1)[0].strip().lower()
            named = [name] if in_rules else [*named, name]
            in_rules = False
            groups.setdefault(name, [])
        elif field in ("allow", "disallow", "crawl-delay"):
            in_rules = True
            for name in named:
                groups[name].append((field, value))
    ours = groups.get(agent, groups.get("*", []))[:_MAX_RULES]
    rules = tuple((_spelled(value), field == "allow") for field, value in ours if field != "crawl-delay" and value)
    delays = [float(value) for field, value in ours if field == "crawl-delay" and re.fullmatch(r"\d+(\.\d+)?", value)]
    return Robots(rules, max(delays, default=None))


def _matches(path: str, target: str) -> bool:
    """Whether a rule's path, in which ``*`` stands for anything and a last ``$`` for the end, begins ``target``."""
    whole = path.endswith("$")
    first, *others = _STARS.split(path[:-1] if whole else path)
    if not target.startswith(first):
        return False
    position = len(first)
    last = others.pop() if whole and others else None
    for piece in others:
        found = target.find(piece, position)
        if found < 0:
            return False
        position = found + len(piece)
    if last is not None:
        return len(target) - len(last) >= position and target.endswith(last)
    return not whole or position == len(target)


def _spelled(target: str) -> str:
    """``target`` with its percent signs in one spelling."""
    return quote(unquote_to_bytes(target.replace("%2f", "%252F").replace("%2F", "%252F")), safe="/?&=+,;:@!$'()*~%")

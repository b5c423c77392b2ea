"""Ignore patterns as git understands them (gitignore(5)), without git.

A pattern list belongs to a folder. The last pattern that matches a path decides; ``!`` takes a path back in, but not
out of an ignored folder, because nobody looks inside one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

DEFAULT_PATTERNS: tuple[str, ...] = (
    *(f"{name}/" for name in (".git", ".hg", ".svn", ".jj", "CVS", ".bzr", "_darcs")),
    *(f"{name}/" for name in ("__pycache__", "node_modules", ".venv", "venv", ".tox", ".nox", ".idea", ".vscode")),
    *(f"{name}/" for name in (".mypy_cache", ".ruff_cache", ".pytest_cache", ".hypothesis", ".cache", ".florilege")),
    *("*.pyc", "*.pyo", "*.so", "*.o", "*.a", "*.dylib", "*.dll", "*.class", "*.jar", "*.exe", "*.wasm", "*.egg-info/"),
    *(".DS_Store", "Thumbs.db", "desktop.ini", "*~", ".*.sw?", "~$*", ".~lock.*#"),
)  # fmt: skip
"""Version control, caches, build products, editors' droppings: never sources."""


@dataclass(frozen=True, slots=True)
class _Pattern:
    regex: re.Pattern[str]
    negated: bool
    folders_only: bool


class IgnoreRules:
    """The patterns of one ignore file (or option), applied to paths relative to the folder it lies in."""

    def __init__(self, lines: Iterable[str]) -> None:
        self._patterns = [pattern for pattern in map(_parse, lines) if pattern is not None]

    def decide(self, path: str, is_folder: bool) -> bool | None:
        """True: ignored, False: taken back in, None: no pattern says anything. ``path`` is POSIX and relative."""
        for pattern in reversed(self._patterns):
            if (is_folder or not pattern.folders_only) and pattern.regex.match(path):
                return not pattern.negated
        return None

    def __bool__(self) -> bool:
        return bool(self._patterns)


def is_ignored(path: str, is_folder: bool, layers: Sequence[tuple[str, IgnoreRules]]) -> bool:
    """Whether ``path`` is ignored by ``layers``: (folder prefix ending in ``/`` or empty, rules), outermost first."""
    for prefix, rules in reversed(layers):
        if path.startswith(prefix):
            verdict = rules.decide(path[len(prefix) :], is_folder)
            if verdict is not None:
                return verdict
    return False


def is_taken(name: str, rules: IgnoreRules, *, hidden: bool = False) -> bool:
    """Whether a name that is no path of this system (an archive's entry, an object's key) is one of a source.

    Hidden ones are not unless ``hidden``, nor those that ``rules`` ignore, or a folder of theirs.
    """
    steps = [step for step in name.replace("\\", "/").split("/") if step not in ("", ".", "..")]
    if not steps or (not hidden and any(step.startswith(".") for step in steps)):
        return False
    paths = ["/".join(steps[: end + 1]) for end in range(len(steps))]
    return not any(rules.decide(path, is_folder=path != paths[-1]) for path in paths)


def glob_regex(pattern: str) -> re.Pattern[str]:
    """A glob as a pattern for whole relative paths: ``*`` and ``?`` stay within a name, ``**`` crosses folders."""
    return re.compile(_translate(pattern) + r"\Z", re.S)


def _parse(line: str) -> _Pattern | None:
    text = line.rstrip("\r\n")
    stripped = text.rstrip(" ")
    text = stripped + " " if stripped.endswith("\\") and stripped != text else stripped
    if not text or text.startswith("#"):
        return None
    negated = text.startswith("!")
    text = text[1:] if negated else text
    folders_only = text.endswith("/")
    text = text.rstrip("/") if folders_only else text
    if not text:
        return None
    anchored = "/" in text
    body = _translate(text.lstrip("/") if anchored else text)
    return _Pattern(re.compile(("" if anchored else r"(?:.*/)?") + body + r"\Z", re.S), negated, folders_only)


def _translate(pattern: str) -> str:
    out: list[str] = []
    index = 0
    while index < len(pattern):
        character = pattern[index]
        if pattern.startswith("**/", index) and (index == 0 or pattern[index - 1] == "/"):
            out.append(r"(?:.*/)?")
            index += 3
            continue
        if pattern.startswith("**", index) and index + 2 == len(pattern) and (index == 0 or pattern[index - 1] == "/"):
            out.append(r".+")
            index += 2
            continue
        index += 1
        if character == "*":
            while pattern.startswith("*", index):
                index += 1
            out.append(r"[^/]*")
        elif character == "?":
            out.append(r"[^/]")
        elif character == "[" and (end := _class_end(pattern, index)) is not None:
            out.append(_class(pattern[index:end]))
            index = end + 1
        elif character == "\\" and index < len(pattern):
            out.append(re.escape(pattern[index]))
            index += 1
        else:
            out.append(re.escape(character))
    return "".join(out)


def _class_end(pattern: str, start: int) -> int | None:
    first = start + (pattern[start : start + 1] in ("!", "^"))
    end = pattern.find("]", first + 1)
    return None if end < 0 else end


def _class(body: str) -> str:
    negated = body[:1] in ("!", "^")
    inner = re.sub(r"([\\\[\]^&~|])", r"\\\1", body[1:] if negated else body)
    try:
        re.compile(f"[{inner}]")
    except re.error:
        return r"(?!)"
    return f"(?!/)[{'^' if negated else ''}{inner}]"

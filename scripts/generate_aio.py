"""Writes ``florilege.aio`` from the public signatures of the synchronous classes.

    python scripts/generate_aio.py            # write the modules of src/florilege/aio
    python scripts/generate_aio.py --check    # fail when what is there is not what would be written

Each public method becomes a coroutine of the same signature whose body is one hop into a thread; a method that gives an
iterator becomes an asynchronous one; methods named here as immediate stay plain. Results that have twins come as twins.
"""

from __future__ import annotations

import argparse
import ast
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SRC = ROOT / "src"
ROOM = SRC / "florilege" / "aio"


@dataclass(frozen=True)
class Twinned:
    """A class with a twin: where it is, what stays plain, what is left out, which attributes show
    through, and whether it is made by hand."""

    module: str
    name: str
    bases: tuple[str, ...] = ()
    immediate: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    attributes: tuple[str, ...] = ()
    made: bool = True


FORMS = "florilege.retrieval.forms:Forms"
_RETRIEVING = ("as_retriever", "as_tools", "as_grounding", "fingerprint")
_INTERNAL = ("search", "plan", "origins")

RETRIEVAL = (
    Twinned(
        "florilege.retrieval.tools",
        "Tool",
        immediate=("openai", "anthropic", "mcp"),
        attributes=("name", "description", "parameters"),
        made=False,
    ),
    Twinned(
        "florilege.retrieval.evidence.session",
        "Session",
        immediate=("render", "tool"),
        attributes=("question", "trace"),
        made=False,
    ),
    Twinned("florilege.retrieval.evidence.asking", "Grounding", attributes=("id",), made=False),
    Twinned(
        "florilege.retrieval.functions",
        "FunctionRetriever",
        (FORMS,),
        _RETRIEVING,
        _INTERNAL,
        ("id", "namespace"),
        made=False,
    ),
    Twinned(
        "florilege.retrieval.retriever",
        "Retriever",
        (FORMS,),
        (*_RETRIEVING, "from_function", "with_options"),
        _INTERNAL,
        ("id", "namespace"),
    ),
    Twinned("florilege.retrieval.recipe", "Recipe", (FORMS,), (*_RETRIEVING, "draw"), _INTERNAL, ("id",)),
)
INDEXING = (
    Twinned(
        "florilege.indexing.indexer",
        "Indexer",
        immediate=("use", "hashes", "fingerprint"),
        hidden=("embeddings", "execution"),
        attributes=("id", "namespace"),
    ),
    Twinned("florilege.corpus", "Corpus", immediate=("retriever",), attributes=("id", "namespace", "indexer")),
)
MODULES = {
    "retrieval": (RETRIEVAL, (("florilege.retrieval.evidence.asking", "grounding"),)),
    "indexing": (INDEXING, (("florilege.opening", "open"),)),
}
CLASSES = (*RETRIEVAL, *INDEXING)
TWINS = frozenset(item.name for item in CLASSES)


@dataclass
class Module:
    """A source module: its tree, and where the names it uses come from."""

    name: str
    tree: ast.Module = field(init=False)
    origins: dict[str, tuple[str, str]] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        path = SRC.joinpath(*self.name.split(".")).with_suffix(".py")
        self.tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(self.tree):
            if isinstance(node, ast.ImportFrom) and node.module:
                for alias in node.names:
                    self.origins[alias.asname or alias.name] = (node.module, alias.name)
            elif isinstance(node, ast.Import):
                for alias in node.names:
                    self.origins[alias.asname or alias.name] = (alias.name, "")
        for statement in self.tree.body:
            names: list[str] = []
            if isinstance(statement, (ast.ClassDef, ast.FunctionDef)):
                names = [statement.name]
            elif isinstance(statement, ast.Assign):
                names = [target.id for target in statement.targets if isinstance(target, ast.Name)]
            for name in names:
                self.origins[name] = (self.name, name)

    def definition(self, name: str) -> ast.ClassDef | ast.FunctionDef:
        """The class or function of this name."""
        for node in self.tree.body:
            if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and node.name == name:
                return node
        raise SystemExit(f"generate_aio: {self.name} has no {name}")


class Writer:
    """Collects lines, and what they need imported."""

    def __init__(self, own: set[str]) -> None:
        self.own = own
        self.lines: list[str] = []
        self.typed: dict[str, set[str]] = {}
        self.used: dict[str, set[str]] = {}

    def method(self, module: Module, owner: Twinned, node: ast.FunctionDef) -> None:
        """One method's twin."""
        static = any(isinstance(item, ast.Name) and item.id == "staticmethod" for item in node.decorator_list)
        shown = any(isinstance(item, ast.Name) and item.id == "property" for item in node.decorator_list)
        returns = ast.unparse(node.returns) if node.returns else "Any"
        receiver = f"_{owner.name}" if static else "self.inner"
        signature = ast.unparse(node.args)
        self._need(module, node)
        doc = first_paragraph(node, "        ")
        call = f"{receiver}.{node.name}"
        if shown:
            body = f"return {self._twin(call, returns)}"
            self._write(["@property", f"def {node.name}(self) -> {returns}:"], doc, body)
            return
        if node.name in owner.immediate:
            head = ["@staticmethod"] if static else []
            body = self._twin(f"{call}({self._passed(node, unwrap=True)})", returns)
            self._write([*head, f"def {node.name}({signature}) -> {returns}:"], doc, f"return {body}")
        elif returns.startswith("Iterator["):
            self.typed.setdefault("collections.abc", set()).add("AsyncIterator")
            kind = "Async" + returns
            body = f"return iterate({self._join(call, self._passed(node))})"
            self._write([f"def {node.name}({signature}) -> {kind}:"], doc, body)
        else:
            body = self._twin(f"await hop({self._join(call, self._passed(node))})", returns)
            head = "" if returns == "None" else "return "
            self._write([f"async def {node.name}({signature}) -> {returns}:"], doc, head + body)

    def constructor(self, module: Module, owner: Twinned, node: ast.FunctionDef) -> None:
        """The twin made as the class itself is."""
        self._need(module, node)
        made = f"self.inner = _{owner.name}({self._passed(node, unwrap=True)})"
        self._write([f"def __init__({ast.unparse(node.args)}) -> None:"], "", made)

    def attribute(self, owner: Twinned, name: str, annotation: str) -> None:
        """A plain attribute, read through."""
        body = f"return {self._twin(f'self.inner.{name}', annotation)}"
        self._write(["@property", f"def {name}(self) -> {annotation}:"], f"As of the {owner.name} it speaks for.", body)

    def function(self, module: Module, node: ast.FunctionDef) -> None:
        """A function's twin."""
        self._need(module, node)
        returns = ast.unparse(node.returns) if node.returns else "Any"
        doc = first_paragraph(node, "    ")
        signature, passed = ast.unparse(node.args), self._passed(node)
        self.lines.append("")
        if node.name == "open":
            self.lines += [
                f"def open({signature}) -> Opening[{returns}]:",
                f'    """{doc}"""',
                "",
                f"    async def opened() -> {returns}:",
                f"        return {returns}.of(await hop(_open, {passed}))",
                "",
                "    return Opening(opened)",
                "",
            ]
        else:
            call = f"_{node.name}({self._passed(node, unwrap=True)})"
            head = [f"def {node.name}({signature}) -> {returns}:", f'    """{doc}"""']
            self.lines += [*head, f"    return {returns}.of({call})", ""]

    def _write(self, head: list[str], doc: str, body: str) -> None:
        self.lines += [f"    {line}" for line in head]
        if doc:
            self.lines.append(f'        """{doc}"""')
        self.lines += [f"        {body}", ""]

    def _twin(self, call: str, returns: str) -> str:
        if returns == "Self":
            return f"type(self).of({call})"
        inside = returns[5:-1] if returns.startswith("list[") else returns
        if inside not in TWINS:
            return call
        if inside not in self.own:
            self.used.setdefault("florilege.aio.retrieval", set()).add(inside)
        return f"{inside}.of({call})" if inside == returns else f"[{inside}.of(item) for item in {call}]"

    def _passed(self, node: ast.FunctionDef, *, unwrap: bool = False) -> str:
        arguments = node.args
        own = [item.arg for item in (*arguments.posonlyargs, *arguments.args) if item.arg != "self"]
        given = [f"unwrapped({name})" if unwrap else name for name in own]
        if arguments.vararg:
            given.append(f"*{arguments.vararg.arg}")
        for item in arguments.kwonlyargs:
            given.append(f"{item.arg}=unwrapped({item.arg})" if unwrap else f"{item.arg}={item.arg}")
        if arguments.kwarg:
            name = arguments.kwarg.arg
            given.append(f"**unwrapped({name})" if unwrap else f"**{name}")
        return ", ".join(given)

    @staticmethod
    def _join(*items: str) -> str:
        return ", ".join(item for item in items if item)

    def _need(self, module: Module, node: ast.FunctionDef) -> None:
        """Import what annotations name for the type checker, what defaults name for real."""
        annotations = [item.annotation for item in ast.walk(node.args) if isinstance(item, ast.arg) and item.annotation]
        self._names(module, [*annotations, *([node.returns] if node.returns else [])], self.typed)
        defaults = [item for item in (*node.args.defaults, *node.args.kw_defaults) if item is not None]
        self._names(module, defaults, self.used)

    def _names(self, module: Module, trees: list[ast.expr], wanted: dict[str, set[str]]) -> None:
        for tree in trees:
            for node in ast.walk(tree):
                if isinstance(node, ast.Name) and node.id in module.origins and node.id not in TWINS:
                    home, name = module.origins[node.id]
                    wanted.setdefault(home, set()).add(name)


def first_paragraph(node: ast.ClassDef | ast.FunctionDef, indent: str) -> str:
    """The first paragraph of a docstring, for an indent."""
    return (ast.get_docstring(node) or "").split("\n\n")[0].replace("\n", "\n" + indent)


def methods(owner: Twinned) -> Iterator[tuple[Module, ast.FunctionDef]]:
    """The public methods of a class and its bases, its own first, each name once."""
    seen: set[str] = set()
    for module_name, name in ((owner.module, owner.name), *(tuple(base.split(":")) for base in owner.bases)):
        module = Module(module_name)
        for node in module.definition(name).body:
            if not isinstance(node, ast.FunctionDef) or node.name in seen:
                continue
            seen.add(node.name)
            public = not node.name.startswith("_") or node.name in ("__init__", "__call__")
            if public and node.name not in owner.hidden:
                yield module, node


def written(classes: Sequence[Twinned], functions: Sequence[tuple[str, str]]) -> str:
    """A module as it should be, before formatting."""
    writer = Writer({item.name for item in classes})
    for owner in classes:
        found = list(methods(owner))
        doc = first_paragraph(Module(owner.module).definition(owner.name), "    ")
        writer.lines += ["", f"class {owner.name}(Twin):", f'    """{doc}"""', "", f"    inner: _{owner.name}", ""]
        for module, node in found:
            if node.name == "__init__" and owner.made:
                writer.constructor(module, owner, node)
        for name in owner.attributes:
            writer.attribute(owner, name, ANNOTATIONS.get((owner.name, name), "str"))
        for module, node in found:
            if node.name != "__init__":
                writer.method(module, owner, node)
        if any(node.name == "close" for _, node in found):
            writer.lines += CONTEXT
    for module_name, name in functions:
        node = Module(module_name).definition(name)
        assert isinstance(node, ast.FunctionDef)
        writer.function(Module(module_name), node)
    return "\n".join([HEADER, *imports(writer, classes, functions), *writer.lines])


HEADER = '''"""Awaitable twins of synchronous classes. Written by ``scripts/generate_aio.py``; change that, not this."""

from __future__ import annotations
'''
ANNOTATIONS = {
    ("Tool", "parameters"): "Mapping[str, Any]",
    ("Session", "trace"): "Trace | None",
    ("Corpus", "indexer"): "Indexer",
}
CONTEXT = [
    "    async def __aenter__(self) -> Self:",
    "        return self",
    "",
    "    async def __aexit__(",
    "        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None",
    "    ) -> None:",
    "        await self.close()",
    "",
]


def imports(writer: Writer, classes: Sequence[Twinned], functions: Sequence[tuple[str, str]]) -> list[str]:
    """The import lines."""
    typed = {home: set(names) for home, names in writer.typed.items()}
    for home, names in (
        ("types", {"TracebackType"}),
        ("typing", {"Any", "Self"}),
        ("collections.abc", {"Mapping"}),
        ("florilege.retrieval.trace", {"Trace"}),
    ):
        typed.setdefault(home, set()).update(names)
    used = {home: set(names) for home, names in writer.used.items()}
    used.setdefault("florilege.aio.bridge", set()).update({"Opening", "Twin", "hop", "iterate", "unwrapped"})
    lines = ["from typing import TYPE_CHECKING", ""]
    lines += _import_lines(used, "")
    for owner in classes:
        lines.append(f"from {owner.module} import {owner.name} as _{owner.name}")
    for module, name in functions:
        lines.append(f"from {module} import {name} as _{name}")
    lines += ["", "if TYPE_CHECKING:", *_import_lines(typed, "    "), ""]
    return lines


def _import_lines(wanted: dict[str, set[str]], indent: str) -> list[str]:
    lines = []
    for home, names in sorted(wanted.items()):
        if "" in names:
            lines.append(f"{indent}import {home}")
        if named := sorted(name for name in names if name):
            lines.append(f"{indent}from {home} import {', '.join(named)}")
    return lines


def formatted(text: str, target: Path) -> str:
    """``text`` as ruff leaves it."""
    ruff = [sys.executable, "-m", "ruff"]
    name = ["--stdin-filename", str(target)]
    check = [*ruff, "check", "--fix", "--quiet", "--exit-zero", "--select", "I,F401", *name, "-"]
    fixed = subprocess.run(check, input=text, capture_output=True, text=True, check=True).stdout
    shape = [*ruff, "format", "--quiet", *name, "-"]
    return subprocess.run(shape, input=fixed, capture_output=True, text=True, check=True).stdout


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; fail when a file is out of date")
    options = parser.parse_args()
    stale = []
    for name, (classes, functions) in MODULES.items():
        target = ROOM / f"{name}.py"
        text = formatted(written(classes, functions), target)
        if not target.is_file() or target.read_text(encoding="utf-8") != text:
            stale.append(target)
            if not options.check:
                target.write_text(text, encoding="utf-8")
    if options.check and stale:
        told = ", ".join(str(target.relative_to(ROOT)) for target in stale)
        print(f"out of date: {told}; run python scripts/generate_aio.py", file=sys.stderr)
    return 1 if options.check and stale else 0


if __name__ == "__main__":
    raise SystemExit(main())

"""The HTML reader: a walk over selectolax's tree that keeps headings, lists, tables and code and leaves out the chrome.

Chrome is told by tags and ARIA roles (navigation, footers, scripts) and by link density (blocks that are nearly all
short links). When that would leave out most of the page, link density is not applied.
"""

from __future__ import annotations

import re
from typing import Any

from florilege.ingest.markup.html_table import is_data_table, nested_tables, table_rows
from florilege.ingest.markup.html_tree import BLOCKS, events, is_hidden, link_blocks, nesting
from florilege.ingest.readers.assembly import Assembly, squeeze
from florilege.ingest.readers.decode import Decoded, decode
from florilege.interfaces.sources import ReadResult
from florilege.model.errors import ReadError

MAX_NESTING = 2000
_DROPPED = ["script", "style", "noscript", "template", "svg", "nav", "footer", "aside", "button", "select", "iframe",
            "object", "canvas", "dialog", "input", "textarea"]  # fmt: skip
_CHARSET = re.compile(rb"<meta\s[^>]*?charset\s*=\s*[\"']?\s*([A-Za-z0-9_:.-]+)", re.I)
_XML_CHARSET = re.compile(rb"^\s*<\?xml[^>]*\bencoding\s*=\s*[\"']([A-Za-z0-9_.-]+)")
_LANGUAGE = re.compile(r"(?:^|\s)(?:language|lang|highlight-source|brush:)[-: ]?\s*([\w+#-]+)", re.I)
_LEVELS = {f"h{level}": level for level in range(1, 7)}
_WESTERN = {"iso-8859-1": "cp1252", "latin1": "cp1252", "ascii": "cp1252", "us-ascii": "cp1252"}


class HtmlReader:
    """HTML and XHTML. Title: the ``title`` element, else the first ``h1``; metadata: author and publishing date."""

    id = "html"
    version = "1"
    media_types = ("text/html",)

    def read(self, content: bytes, media_type: str) -> ReadResult:
        """Read ``content``; raises :class:`ReadError` (``too_deep``) beyond 2,000 nested elements."""
        from selectolax.lexbor import LexborHTMLParser

        found = page_text(content)
        page = LexborHTMLParser(found.text)
        title, metadata = page_facts(page)
        assembly = read_tree(page)
        assembly.warnings[:0] = found.warnings
        if not assembly.parts:
            assembly.warn("empty", "the page shows no text")
        first = next((part.text for part in assembly.parts if part.level == 1), None)
        return assembly.result(title=title or first, metadata=metadata)


def page_text(content: bytes) -> Decoded:
    """A page decoded; raises :class:`ReadError` (``too_deep``) beyond 2,000 nested elements."""
    found = decode(content, declared_charset(content))
    if nesting(found.text) > MAX_NESTING:
        raise ReadError(f"elements are nested more than {MAX_NESTING} deep", code="too_deep")
    return found


def declared_charset(content: bytes) -> str | None:
    """The encoding an HTML file names in its first 4,096 bytes; names of ASCII and Latin-1 mean Windows-1252."""
    match = _CHARSET.search(content[:4096]) or _XML_CHARSET.search(content[:4096])
    name = match[1].decode("ascii").lower() if match else None
    return _WESTERN.get(name, name) if name else None


def read_tree(page: Any, assembly: Assembly | None = None) -> Assembly:
    """Append the visible text of a parsed page to ``assembly`` (a new one by default)."""
    assembly = assembly or Assembly()
    page.strip_tags(_DROPPED)
    if page.body is not None:
        _Walk(assembly, link_blocks(page.body)).run(page.body)
    return assembly


def page_facts(page: Any) -> tuple[str | None, dict[str, Any]]:
    """The title of a parsed page, and metadata: author and publishing date."""
    node = page.css_first("title")
    metadata: dict[str, Any] = {}
    for meta in page.css("meta[content]"):
        name = (meta.attributes.get("name") or meta.attributes.get("property") or "").lower()
        value = squeeze(meta.attributes.get("content") or "")
        key = {"author": "author", "article:published_time": "published"}.get(name)
        if key and value:
            metadata.setdefault(key, value)
    return (squeeze(node.text()) or None if node is not None else None), metadata


class _Walk:
    """One pass over the body: inline text gathers in a buffer that every block border flushes as a part."""

    def __init__(self, assembly: Assembly, skipped: set[int]) -> None:
        self.assembly = assembly
        self.skipped = skipped
        self.buffer: list[str] = []
        self.lists: list[int] = []
        self.marker = ""
        self.items = 0
        self.quotes = 0

    def run(self, body: Any) -> None:
        tree = events(body)
        for entering, node in tree:
            tag = node.tag
            if tag == "-text":
                self.buffer.append(node.text_content or "")
            elif entering and (is_hidden(node) or node.mem_id in self.skipped):
                self.flush()
                tree.send(True)
            elif entering and tag == "pre":
                self.flush()
                self._code(node)
                tree.send(True)
            elif entering and tag == "table" and is_data_table(node):
                self.flush()
                self._table(node)
                tree.send(True)
            elif tag == "br":
                self.buffer.append("\n" if entering else "")
            elif tag == "img":
                self._image(node, entering)
            elif tag in BLOCKS:
                self._border(tag, node, entering)
        self.flush()

    def _border(self, tag: str, node: Any, entering: bool) -> None:
        if tag in _LEVELS and not entering:
            title = self._taken()
            if title:
                self.assembly.heading(_LEVELS[tag], squeeze(title))
            return
        self.flush()
        step = 1 if entering else -1
        if tag in ("ul", "ol"):
            if entering:
                start = node.attributes.get("start") or "1"
                self.lists.append(int(start) if tag == "ol" and start.isdecimal() and len(start) < 10 else 1)
                self.lists[-1] = self.lists[-1] if tag == "ol" else -1
            elif self.lists:
                self.lists.pop()
        elif tag == "li":
            self.items += step
            if entering and self.lists:
                self.marker = "  " * (len(self.lists) - 1) + ("- " if self.lists[-1] < 0 else f"{self.lists[-1]}. ")
                self.lists[-1] += 1 if self.lists[-1] >= 0 else 0
            else:
                self.marker = ""
        elif tag == "blockquote":
            self.quotes += step

    def flush(self) -> None:
        """End the run of inline text: it becomes a list item, a quote or a paragraph."""
        text = self._taken()
        if text:
            role = "list_item" if self.items > 0 else "quote" if self.quotes > 0 else "paragraph"
            self.assembly.prose(self.marker + text, role)
            self.marker = ""

    def _taken(self) -> str:
        lines = "".join(
            " " if not piece else piece if piece == "\n" else piece.replace("\n", " ") for piece in self.buffer
        )
        self.buffer.clear()
        return "\n".join(filter(None, map(squeeze, lines.split("\n"))))

    def _code(self, node: Any) -> None:
        text = node.text().strip("\r\n").rstrip()
        inner = node.css_first("code[class]")
        classes = " ".join(n.attributes.get("class") or "" for n in (node, inner) if n is not None)
        match = _LANGUAGE.search(classes)
        if text.strip():
            path = self.assembly.trail.path
            self.assembly.add("code", text, language=match[1].lower() if match else None, heading_path=path)

    def _table(self, node: Any) -> None:
        caption, columns, rows = table_rows(node)
        if any(cell for row in rows for cell in row) or any(columns):
            self.assembly.table(columns, rows, caption=caption)
        for inner in nested_tables(node):
            if is_data_table(inner):
                self._table(inner)

    def _image(self, node: Any, entering: bool) -> None:
        caption = squeeze(node.attributes.get("alt") or "")
        if not entering or len(caption) < 2 or "".join(self.buffer).strip():
            return
        source = node.attributes.get("src") or ""
        reference = source if source and not source.startswith("data:") else None
        self.assembly.add("image", caption, caption=caption, reference=reference, heading_path=self.assembly.trail.path)

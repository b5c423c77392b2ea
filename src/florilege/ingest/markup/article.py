"""The reader of web pages that keeps the main text only: trafilatura (extra ``web``, asked for by name)."""

from __future__ import annotations

from florilege.ingest.markup.html import HtmlReader, page_facts, page_text, read_tree
from florilege.interfaces.sources import ReadResult
from florilege.model.document import IngestWarning


class ArticleReader:
    """HTML without menus, teasers and comments. A page in which no main text is found is read whole, with the warning
    ``no_article``."""

    id = "article"
    version = "1"
    media_types = ("text/html",)

    def read(self, content: bytes, media_type: str) -> ReadResult:
        """Read ``content``; raises :class:`ReadError` (``too_deep``) beyond 2,000 nested elements."""
        import trafilatura
        from selectolax.lexbor import LexborHTMLParser

        found = page_text(content)
        article = trafilatura.extract(
            found.text, output_format="html", include_formatting=True, include_tables=True, include_comments=False
        )
        assembly = read_tree(LexborHTMLParser(article or ""))
        if not assembly.parts:
            whole = HtmlReader().read(content, media_type)
            warning = IngestWarning(code="no_article", message="no main text was found; the page was read whole")
            return ReadResult(
                content=whole.content,
                parts=whole.parts,
                title=whole.title,
                metadata=whole.metadata,
                warnings=(*whole.warnings, warning),
            )
        assembly.warnings[:0] = found.warnings
        title, metadata = page_facts(LexborHTMLParser(found.text))
        first = next((part.text for part in assembly.parts if part.level == 1), None)
        return assembly.result(title=title or first, metadata=metadata)

"""Who cuts a page? Page chunkers asked in order, the shipped ones among them."""

from florilege.chunkers.paged.asking import Claim, PageCut, PageFloor, Refused
from florilege.chunkers.paged.executor import PagesChunker, pages
from florilege.chunkers.paged.lines import PdfLineChunker

__all__ = ["Claim", "PageCut", "PageFloor", "PagesChunker", "PdfLineChunker", "Refused", "pages"]

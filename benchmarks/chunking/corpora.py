"""Text to measure with: documentation installed on this machine, and generated text where there is none.

Each corpus is a list of documents. What is found depends on the machine, so figures compare within a run, not between
machines; the table prints the sizes.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import random
import re
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

ENGLISH = "en"
MARKDOWN = "md"
MULTILINGUAL = "mu"
_ROOTS = ("/usr/share/doc", "/usr/share", "/usr/lib/node_modules", "/usr/local/share", sys.base_prefix)
_MANUALS = Path("/usr/share/man")
_MACRO = re.compile(r"^(?:\.\\\".*|['.]\s*\\\".*|\.[A-Za-z]{1,2}\b ?)", re.M)
_ESCAPE = re.compile(r"\\f[A-Z]|\\&|\\\(..|\\s[-+]?\d")
_MIN_BYTES, _MAX_BYTES = 1_000, 200_000


def _walk(suffixes: tuple[str, ...]) -> Iterator[Path]:
    roots = [*_ROOTS, sysconfig.get_path("purelib")]
    for root in roots:
        for folder, folders, files in os.walk(root):
            folders.sort()
            for name in sorted(files):
                if name.lower().endswith(suffixes):
                    yield Path(folder, name)


def _manual(path: Path) -> str:
    with gzip.open(path, "rt", encoding="utf-8", errors="replace") as file:
        text = file.read()
    return _ESCAPE.sub("", _MACRO.sub("", text)).replace("\\-", "-").replace("\\e", "\\")


def _manuals(*languages: str) -> Iterator[str]:
    for language in languages:
        for path in sorted((_MANUALS / language).glob("man*/*.gz")):
            yield _manual(path)


def _files(*suffixes: str) -> Iterator[str]:
    for path in _walk(suffixes):
        try:
            yield path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            continue


def _alternate(*streams: Iterator[str]) -> Iterator[str]:
    waiting = list(streams)
    while waiting:
        for stream in list(waiting):
            document = next(stream, None)
            if document is None:
                waiting.remove(stream)
            else:
                yield document


_ALPHABETS = {
    "japanese": ("日本語のすべての文章を正しく切り分けることは検索にとって大切です", "。", ""),
    "chinese": ("检索系统需要把长文档切成大小合适的片段以便准确引用原文内容", "。", ""),
    "arabic": ("في كل نص طويل جمل قصيرة يجب تقسيمها عند حدودها الصحيحة دائما", "؟", " "),
    "hindi": ("हर लंबे पाठ को सही सीमा पर बाँटना खोज के लिए आवश्यक है", "।", " "),
    "thai": ("ข้อความยาวต้องถูกแบ่งตามขอบเขตที่ถูกต้องเพื่อการค้นหา", " ", ""),
    "russian": ("каждый длинный текст следует делить на части по границам предложений", ".", " "),
    "korean": ("모든 긴 글은 올바른 경계에서 나누어야 검색이 정확해진다", ".", " "),
    "emoji": ("👩‍👩‍👧‍👦 👍🏽 🇯🇵 🇩🇪 ❤️ e\u0301 n\u0303 🏳️‍🌈", "!", " "),
}


def _generated(seed: int) -> Iterator[str]:
    rng = random.Random(seed)
    while True:
        for sample, stop, space in _ALPHABETS.values():
            words = sample.split(" ") if " " in sample else [sample[i : i + 3] for i in range(0, len(sample), 3)]
            paragraphs = []
            for _ in range(rng.randint(4, 30)):
                sentences = [
                    space.join(rng.choices(words, k=rng.randint(4, 25))) + stop for _ in range(rng.randint(1, 8))
                ]
                paragraphs.append((space or "").join(sentences))
            yield "\n\n".join(paragraphs)


def corpus(name: str, megabytes: float) -> list[str]:
    """Documents of the corpus ``name`` ("en", "md" or "mu"), ``megabytes`` of UTF-8 at most, none twice."""
    streams = {
        ENGLISH: lambda: _alternate(_manuals(""), _files(".rst", ".txt")),
        MARKDOWN: lambda: _files(".md"),
        MULTILINGUAL: lambda: _alternate(_manuals("ja", "zh_CN", "zh_TW", "ru", "ko", "de", "fr"), _generated(7)),
    }
    documents: list[str] = []
    seen: set[bytes] = set()
    budget = int(megabytes * 1e6)
    for text in streams[name]():
        data = text.encode("utf-8", "replace")
        mark = hashlib.blake2b(data, digest_size=12).digest()
        if not _MIN_BYTES <= len(data) <= _MAX_BYTES or mark in seen:
            continue
        if (budget := budget - len(data)) < 0:
            break
        seen.add(mark)
        documents.append(text)
    return documents


def size(documents: list[str]) -> float:
    """Megabytes of UTF-8."""
    return sum(len(text.encode("utf-8", "replace")) for text in documents) / 1e6


def grown(documents: list[str], megabytes: float) -> str:
    """One document of about ``megabytes``: the corpus end to end, repeated as needed."""
    body = "\n\n".join(documents)
    times = max(1, round(megabytes / max(size([body]), 1e-9) + 0.5))
    text = "\n\n".join([body] * times)
    share = megabytes / size([text])
    return text[: int(len(text) * share)]


HOSTILE = {
    "one line": lambda n: "lorem ipsum dolor sit amet " * (n // 27),
    "letters": lambda n: "a" * n,
    "random letters": lambda n: "".join(random.Random(3).choices("abcdefghijklmnopqrstuvwxyz", k=n)),
    "base64": lambda n: "".join(random.Random(4).choices("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdef0123456789+/", k=n)),
    "newlines": lambda n: "\n" * n,
    "spaces": lambda n: " " * n,
    "full stops": lambda n: "." * n,
    "stops and spaces": lambda n: ". " * (n // 2),
    "abbreviations": lambda n: "e.g. " * (n // 5),
    "pipes": lambda n: "|" * n,
    "table": lambda n: "| a | b |\n|---|---|\n" + "| 1 | 2 |\n" * (n // 10),
    "wide row": lambda n: "|" + " x |" * (n // 8) + "\n|" + "-|" * (n // 8) + "\n",
    "headings": lambda n: "".join(f"{'#' * (1 + i % 6)} h{i}\n" for i in range(n // 10)),
    "open fence": lambda n: "```\n" + "code line\n" * (n // 10),
    "many fences": lambda n: "```\nx\n```\n" * (n // 10),
    "stars": lambda n: "*" * n,
    "brackets": lambda n: "[" * n,
    "quotes": lambda n: "> " * (n // 2),
    "family": lambda n: "👩\u200d" * (n // 7),
    "marks": lambda n: "e" + "\u0301" * (n // 2),
    "flags": lambda n: "🇯" * (n // 4),
    "ideographs": lambda n: "日本語" * (n // 9),
    "special": lambda n: "<|endoftext|>" * (n // 13),
}

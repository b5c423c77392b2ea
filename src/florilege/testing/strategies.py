"""Hypothesis strategies for text that breaks splitters."""

from __future__ import annotations

from hypothesis import strategies as st

FRAGMENTS = (
    "The quick brown fox jumps over the lazy dog.",
    "Really?! Yes... He said: “Stop.” Dr. Smith (v1.2) paid 3.14 at https://example.org/a.b?c=d.",
    "a",
    "word",
    "supercalifragilisticexpialidocious",
    "日本語のテキスト。改行なしで続く文章です！",
    "检索系统需要把长文档切成片段。",
    "الجملة الأولى. هل هذه ثانية؟ نعم۔",
    "שלום עולם. מה נשמע?",
    "यह पहला वाक्य है। दूसरा वाक्य॥",
    "ไม่มีช่องว่างระหว่างคำ",
    "한국어 문장입니다. 또 하나.",
    "👩\u200d👩\u200d👧\u200d👦",
    "👍🏽❤\ufe0f🏳\ufe0f\u200d🌈",
    "🇯🇵🇩🇪🇫🇷",
    "e\u0301n\u0303o\u0308",
    "Z\u0351\u036b\u0343\u0363\u0352a\u0300\u0301\u0302\u0303\u0304\u0305",
    "क्षि",
    "\u200f\u202eabc\u202c",
    "\u00a0\u3000\u2028\u2029\ufeff\u200b",
    "\t\x0b\x0c\x1b\x7f",
    "<|endoftext|>",
    "<|im_start|>user<|im_sep|>",
    "# Heading",
    "## Second ##",
    "Setext\n===",
    "```python\n# not a heading\ndef f():\n\n    return 1\n```",
    "~~~\nopen",
    "| a | b |\n|---|:-:|\n| 1 |  |\n| x \\| y | 2 |",
    "- item\n  continued\n- next",
    "> quoted\n> more",
    "<!-- comment -->",
    '<page_break page="2"/>',
    "{'key': [1, 2, 3]}",
    "0123456789",
    "----------",
    "||||||||",
    "........",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "iVBORw0KGgoAAAANSUhEUgAAAAUAAAAFCAYAAACNbyblAAAAHElEQVQI12P4",
)
SEPARATORS = (
    "",
    " ",
    "  ",
    "\n",
    "\r\n",
    "\n\n",
    "\r\n\r\n",
    "\r",
    "\n \n",
    "\n\n\n\n",
    ". ",
    "! ",
    "? ",
    "。",
    "\t",
    ", ",
)


def fragments() -> st.SearchStrategy[str]:
    """One short piece of text of a kind that goes wrong."""
    return st.one_of(
        st.sampled_from(FRAGMENTS),
        st.text(max_size=12).filter(_storable),
        st.builds(str.__mul__, st.sampled_from(FRAGMENTS), st.integers(2, 8)),
    )


def nasty_texts(max_fragments: int = 24) -> st.SearchStrategy[str]:
    """Texts of many scripts, controls, structures and separators, or of one thing over and over."""
    pair = st.tuples(fragments(), st.sampled_from(SEPARATORS))
    mixed = st.lists(pair, max_size=max_fragments).map(lambda pairs: "".join(a + b for a, b in pairs))
    endless = st.builds(
        str.__mul__,
        st.sampled_from((*FRAGMENTS, *filter(None, SEPARATORS), "👩\u200d", "\u0301", "🇯")),
        st.integers(1, 200),
    )
    return st.one_of(mixed, mixed, endless)


def prose(max_sentences: int = 40) -> st.SearchStrategy[str]:
    """Plain paragraphs of sentences, for properties that need sensible boundaries."""
    word = st.sampled_from(("alpha", "beta", "gamma", "a", "of", "the", "splitting", "naïve", "Zürich", "2024"))
    sentence = st.builds(
        lambda words, stop: " ".join(words).capitalize() + stop,
        st.lists(word, min_size=3, max_size=14),
        st.sampled_from(".!?"),
    )
    gap = st.sampled_from((" ", " ", " ", "\n", "\n\n"))
    return st.lists(st.tuples(sentence, gap), min_size=1, max_size=max_sentences).map(
        lambda pairs: "".join(a + b for a, b in pairs).rstrip()
    )


def _storable(text: str) -> bool:
    return "\x00" not in text

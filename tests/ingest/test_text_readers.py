"""Readers of text formats: Markdown, HTML, text, code, CSV, JSON, XML, mail; and how bytes become text."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from florilege.ingest.readers.decode import decode
from florilege.ingest.readers.markdown import plain_title
from florilege.ingest.reading import BUILTIN_READERS, Reading, checked, run_reader
from florilege.ingest.sniff import sniff_bytes
from florilege.ingest.values.front_matter import front_matter
from florilege.model.document import Document, Part
from florilege.model.errors import ReadError


def read(text: str | bytes, name: str) -> Document:
    data = text.encode() if isinstance(text, str) else text
    return Reading(isolate=False).document(data, source_id=name, name=name)


def shape(document: Document) -> list[tuple[Any, ...]]:
    return [(part.kind, part.role, part.text) for part in document.parts]


def warned(document: Document) -> list[str]:
    return [warning.code for warning in document.warnings]


# -- bytes to text ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be"]
)
def test_unicode_encodings_are_told_apart(encoding: str) -> None:
    text = "Größe und Maß, 東京\r\nsecond line of the file"
    assert decode(text.encode(encoding)).text == text


def test_declared_and_guessed_encodings() -> None:
    data = "Größe und Gewicht der Ärzte in Österreich".encode("cp1252")
    assert decode(data, "cp1252").text.startswith("Größe")
    assert decode(data, "no-such-encoding").warnings[0].code == "guessed_encoding"
    assert decode("é".encode(), "latin-1").text == "é"  # what is UTF-8 is UTF-8
    torn = decode(("Größe und Maß der Ärzte, schön. " * 9).encode() + b"\xff end")
    assert torn.text.endswith("schön. \ufffd end")
    assert torn.warnings[0].code == "undecodable"


def test_characters_no_store_keeps_are_replaced_before_offsets_are_taken() -> None:
    document = read(b"# a\x00b\n\nmore\n", "a.md")
    assert document.content == "# a\ufffdb\n\nmore\n"
    assert document.title == "a\ufffdb"
    assert warned(document) == ["replaced_characters"]
    wide = "a\ud800b".encode("utf-16-le", "surrogatepass")
    assert decode(b"\xff\xfe" + wide).text == "a\ufffdb"
    assert read(b'{"a": "x\\ud800y"}', "a.json").content == "a: x\ufffdy"


@pytest.mark.parametrize("data", [bytes(range(256)) * 8, b"\x89PNG\r\n\x1a\n" + bytes(50), b"\x7fELF" + bytes(90)])
def test_what_is_no_text_is_refused(data: bytes) -> None:
    with pytest.raises(ReadError) as failure:
        read(data, "data.txt")
    assert failure.value.code == "unsupported_format"


@given(st.binary(max_size=400))
def test_any_bytes_end_in_text_or_a_code(data: bytes) -> None:
    try:
        text = decode(data).text
    except ReadError as error:
        text = error.code
    assert "\x00" not in text


# -- kinds of files ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "name", "expected"),
    [
        (b"%PDF-1.7", "x.txt", "application/pdf"),
        (b"<!DOCTYPE html><p>", None, "text/html"),
        (b"<?xml version='1.0'?><a/>", "x.dat", "application/xml"),
        (b"plain", "x.docx", "text/plain"),
        (b"\x80\x81\x82\x83", "x.docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
        (b"#!/usr/bin/env python3\nprint()", "tool", "text/x-python"),
        (b"all:\n\ttrue\n", "Makefile", "text/x-makefile"),
        (b"Received: by x\nFrom: a@b\nTo: c@d\n\nhi", None, "message/rfc822"),
        (b"PK\x03\x04", "x.xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
        (b"{\\rtf1}", "x.doc", "application/rtf"),
        (b"", "x.md", "text/markdown"),
        (b"words", None, "text/plain"),
        (b"\x00\x01\x02", None, "application/octet-stream"),
    ],
)
def test_kinds_are_told_by_content_then_name(data: bytes, name: str | None, expected: str) -> None:
    assert sniff_bytes(data, name) == expected


# -- text, code, Markdown: the content is the file ----------------------------------------------------------------


def test_text_and_code_are_the_file_itself() -> None:
    text = "\n\n  First line\r\nsecond \n"
    document = read(text, "a.txt")
    assert document.content == text
    assert shape(document) == [("text", "body", "First line\r\nsecond")]
    code = read("\n    indented = 1\n", "a.py")
    assert [(part.kind, part.language, part.text) for part in code.parts] == [("code", "python", "    indented = 1")]
    for name in ("empty.txt", "empty.py", "empty.md"):
        assert warned(read("", name)) == ["empty"]


def test_markdown_parts_lie_in_the_file() -> None:
    text = (
        "---\ntitle: The *book*\ntags: [a, b]\ndraft: false\n---\n\n# Top [link](u)\n\nPara\n\n- item\n\n"
        "## Sub `x`\n\n```js\n# no\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n***\n> quote\n"
    )
    document = read(text, "a.md")
    assert document.content == text
    assert document.title == "The *book*"
    assert document.metadata == {"tags": ["a", "b"], "draft": False}
    assert [(part.kind, part.role, part.heading_path) for part in document.parts] == [
        ("text", "heading", ("Top link",)),
        ("text", "paragraph", ("Top link",)),
        ("text", "list_item", ("Top link",)),
        ("text", "heading", ("Top link", "Sub x")),
        ("code", None, ("Top link", "Sub x")),
        ("table", None, ("Top link", "Sub x")),
        ("text", "quote", ("Top link", "Sub x")),
    ]
    table = document.parts[5]
    assert (table.columns, table.rows) == (("a", "b"), (("1", "2"),))
    (row,) = table.row_spans
    assert text[row.start : row.end] == "| 1 | 2 |"
    assert read("## only\n\n# one **two**", "b.md").title == "one two"


@pytest.mark.parametrize(
    ("title", "plain"),
    [
        ("**a** b", "a b"),
        ("`x_y`", "x_y"),
        ("[a](b)", "a"),
        ("![alt](c)", "alt"),
        ("snake_case", "snake_case"),
        ("2 * 3", "2 * 3"),
    ],
)
def test_titles_lose_their_marks(title: str, plain: str) -> None:
    assert plain_title(title) == plain


def test_front_matter_is_read_as_far_as_it_is_plain() -> None:
    yaml = (
        "title: 'It''s: here'\n# comment\ncount: 3\nratio: 0.5\nnone: null\nday: 2024-02-29\nurl: http://x.y/z\n"
        "list:\n  - one\n  - \"two: 2\"\ninline: [x, 'y, z']\ntext: |\n  a\n  b\nfold: >-\n  c\n  d\n"
        "nested:\n  a: 1\nodd line\n"
    )
    fields, skipped = front_matter(yaml, "yaml")
    assert fields == {
        "title": "It's: here",
        "count": 3,
        "ratio": 0.5,
        "none": None,
        "day": "2024-02-29",
        "url": "http://x.y/z",
        "list": ["one", "two: 2"],
        "inline": ["x", "y, z"],
        "text": "a\nb",
        "fold": "c d",
    }
    assert skipped == ["nested", "line 20"]
    assert front_matter("a = 1\nd = 2024-02-29\n[t]\nx = 'y'\n", "toml") == (
        {"a": 1, "d": "2024-02-29", "t": {"x": "y"}},
        [],
    )
    assert warned(read("---\na: &x 1\n---\ntext", "a.md")) == ["front_matter"]


# -- HTML -------------------------------------------------------------------------------------------------------


def test_html_keeps_structure_and_leaves_out_chrome() -> None:
    menu = "".join(f"<li><a href='/{n}'>Section {n}</a></li>" for n in range(8))
    html = f"""<html><head><title> The  page </title><meta name=author content="A. Writer"></head><body>
      <header><a href=/>Site</a></header><nav>skip me</nav><ul>{menu}</ul><main>
      <h1>Refunds</h1><p>We pay <b>within</b> five<br>days. {"Long explanation of the rules. " * 12}</p>
      <ul><li>first<ol><li>inner</li></ol></li><li>second</li></ul>
      <pre><code class="language-Python">def f():
    return 1</code></pre>
      <blockquote>Said so</blockquote><p hidden>no</p><script>var x</script><img src=a.png alt="A chart">
      <table><caption>Rates</caption><tr><th>k<th>v</tr><tr><td rowspan=2>a<td>1<tr><td>2</table>
      <table><tr><td><p>layout</p></td></tr></table></main><footer>foot</footer></body></html>"""
    document = read(html, "a.html")
    assert document.title == "The page"
    assert document.metadata == {"author": "A. Writer"}
    assert [(part.kind, part.role, part.text[:24]) for part in document.parts] == [
        ("text", "heading", "Refunds"),
        ("text", "paragraph", "We pay within five\ndays."),
        ("text", "list_item", "- first"),
        ("text", "list_item", "  1. inner"),
        ("text", "list_item", "- second"),
        ("code", None, "def f():\n    return 1"),
        ("text", "quote", "Said so"),
        ("image", None, "A chart"),
        ("table", None, "k | v\na | 1\n | 2"),
        ("text", "paragraph", "layout"),
    ]
    code, table = document.parts[5], document.parts[8]
    assert code.language == "python"
    assert (table.caption, table.columns, table.rows) == ("Rates", ("k", "v"), (("a", "1"), ("", "2")))
    assert all(part.heading_path == ("Refunds",) for part in document.parts)


def test_a_page_of_links_is_kept() -> None:
    links = "".join(f"<li><a href='/{n}'>Chapter {n}</a></li>" for n in range(30))
    assert len(read(f"<body><ul>{links}</ul></body>", "a.html").parts) == 30


def test_html_charsets() -> None:
    for head, encoding in (
        ("<meta charset=iso-8859-1>", "cp1252"),
        ('<?xml version="1.0" encoding="cp1251"?>', "cp1251"),
    ):
        text = "Größe €" if encoding == "cp1252" else "Привет"
        document = read(f"{head}<html><body><p>{text}</p></body></html>".encode(encoding), "a.html")
        assert document.content == text


# -- CSV, JSON --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_dialect_is_found_by_trial(delimiter: str) -> None:
    rows = [["name", "note", "size"], ["a", 'say "hi"', "1,5"], ["b", "two\nlines", "2"], ["c", "", "3"]]
    quoted = "\r\n".join(delimiter.join('"' + cell.replace('"', '""') + '"' for cell in row) for row in rows)
    (table,) = read(quoted, "a.csv").parts
    assert table.columns == ("name", "note", "size")
    assert table.rows == (("a", 'say "hi"', "1,5"), ("b", "two lines", "2"), ("c", "", "3"))
    assert table.text.splitlines()[1] == 'a | say "hi" | 1,5'


def test_uneven_rows_are_kept_and_warned_about() -> None:
    document = read("a,b\n1\n2,3,4\n\n5,6\n", "a.csv")
    assert document.parts[0].rows == (("1",), ("2", "3", "4"), ("5", "6"))
    assert document.warnings[0].code == "ragged_rows"
    assert document.warnings[0].part_id == "table:1"


def test_headers_are_told_from_data() -> None:
    for text, columns in {
        "name,2019,2020\nx,1,2": ("name", "2019", "2020"),
        ",a,b\nx,1,2": ("", "a", "b"),
        "1,2\n3,4": (),
        "2024-01-01,x\n2024-01-02,y": (),
        "only,one": (),
        "one\ntwo\n": (),
    }.items():
        assert read(text, "a.csv").parts[0].columns == columns


def test_json_values_come_once_under_their_path() -> None:
    text = (
        '{"title": "T", "n": 1.10, "tags": ["x", "y"], "on": true, "no": null, '
        '"in": {"odd key": [{"v": 1}, {"v": 2}]}, "e": {}}'
    )
    document = read(text, "a.json")
    assert document.title == "T"
    assert [(part.json_path, part.json_type, part.text) for part in document.parts] == [
        ("$", "object", "title: T\nn: 1.10\ntags: x, y\non: true\nno: null"),
        ('$.in["odd key"][0]', "object", "v: 1"),
        ('$.in["odd key"][1]', "object", "v: 2"),
    ]
    assert [part.json_path for part in read('{"a":1}\n{"a":2}\n', "b.json").parts] == ["$[0]", "$[1]"]
    assert [part.text for part in read("[1, 2]", "c.json").parts] == ["1\n2"]
    broken = read("{not json}", "d.json")
    assert (broken.content, warned(broken)) == ("{not json}", ["invalid_json"])


def test_json_lines() -> None:
    document = read('{"a": 1}\n\nnot json\n{"b": {"c": "x"}}\n', "a.jsonl")
    assert [(part.json_path, part.text) for part in document.parts] == [
        ("$[0]", "a: 1"),
        ("$[1]", "not json"),
        ("$[2].b", "c: x"),
    ]
    assert warned(document) == ["invalid_json"]


# -- XML, mail --------------------------------------------------------------------------------------------------


def test_xml_documents_and_records() -> None:
    book = (
        "<book><title>Book</title><chapter><title>One</title><para>Some <b>bold</b> text.</para>"
        "<list><item>x y</item></list></chapter></book>"
    )
    assert [(p.role, p.text, p.heading_path) for p in read(book, "a.xml").parts] == [
        ("heading", "Book", ("Book",)),
        ("heading", "One", ("Book", "One")),
        ("paragraph", "Some bold text.", ("Book", "One")),
        ("list_item", "- x y", ("Book", "One")),
    ]
    data = "<rs xmlns='u'>" + "".join(f"<r><name>N{n}</name><size>{n}</size></r>" for n in range(50)) + "</rs>"
    assert read(data, "b.xml").parts[3].text == "name: N3\nsize: 3"


def test_mail_takes_the_best_alternative_and_forwarded_messages() -> None:
    mail = "\r\n".join(
        [
            "From: a@b.c",
            "Subject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=",
            "Date: Thu, 29 Feb 2024 12:00:00 +0100",
            "MIME-Version: 1.0",
            "Content-Type: multipart/mixed; boundary=x",
            "",
            "--x",
            "Content-Type: text/plain; charset=iso-8859-1",
            "",
            "Gr\xfc\xdfe",
            "",
            "zwei",
            "--x",
            "Content-Type: message/rfc822",
            "",
            "Subject: inner",
            "",
            "inside",
            "--x",
            "Content-Type: image/png",
            "",
            "xx",
            "--x--",
        ]
    ).encode("latin-1")
    document = read(mail, "a.eml")
    assert document.title == "Grüße"
    assert document.metadata == {"from": "a@b.c", "date": "2024-02-29T12:00:00+01:00"}
    assert [text for _, role, text in shape(document) if role != "header"] == ["Grüße", "zwei", "inside"]
    assert warned(document) == ["attachment"]


# -- every reader -----------------------------------------------------------------------------------------------


def assert_sound(content: str, parts: tuple[Part, ...]) -> None:
    previous = 0
    for part in parts:
        assert previous <= part.span.start <= part.span.end <= len(content)
        assert content[part.span.start : part.span.end] == part.text
        previous = part.span.end
        for span in part.row_spans:
            assert part.span.start <= span.start <= span.end <= part.span.end


_PIECES = st.sampled_from(
    [
        *("<p>", "</p>", "<table>", "<tr>", "<td>", "<th>", "</table>", "<li>", "<ul>", "<h1>", "</h1>", "<pre>"),
        *("text ", "中é", "\n", "\r\n", "| a | b |\n", "|--|--|\n", "# x\n", "- y\n", "```\n", '"', ",", ";", "{", "}"),
        *("[", "]", ":", "1", "&amp;", "\x00", "\u2028", "Subject: a\n", "<a>", "</a>", "<?xml version='1.0'?>"),
        *("<br>", "\ud83d", "🙂"),
    ]
)
_TEXT_READERS = [e for e in BUILTIN_READERS if e.in_process or e.id in ("json", "html", "xml", "eml")]


@pytest.mark.parametrize("entry", _TEXT_READERS, ids=lambda entry: entry.id)
@given(pieces=st.lists(_PIECES, max_size=25))
def test_spans_slice_back_whatever_the_text(entry: Any, pieces: list[str]) -> None:
    reader = entry.load()
    data = "".join(pieces).encode("utf-8", "surrogatepass")
    try:
        result = checked(run_reader(reader, data, entry.media_types[0]))
    except ReadError:
        return
    assert_sound(result.content, result.parts)


def test_toml_is_values_under_their_paths() -> None:
    document = read(
        b'title = "x"\nn = 1.50\nday = 2024-02-29\n[a.b]\nc = [1, 2]\n[[t]]\nk = true\n[[t]]\nk = 07:30:00\n', "x.toml"
    )
    assert [(part.json_path, part.text) for part in document.parts] == [
        ("$", "title: x\nn: 1.50\nday: 2024-02-29"),
        ("$.a.b", "c: 1, 2"),
        ("$.t[0]", "k: true"),
        ("$.t[1]", "k: 07:30:00"),
    ]
    broken = read(b"not = [toml", "x.toml")
    assert broken.content == "not = [toml"
    assert [warning.code for warning in broken.warnings] == ["invalid_toml"]
    assert [warning.code for warning in read(b"# nothing\n", "x.toml").warnings] == ["empty"]


def test_a_reader_whose_extra_is_missing_says_so_and_is_asked_again_later(monkeypatch: pytest.MonkeyPatch) -> None:
    from florilege.ingest import reading

    assert reading.Reading().mark("application/rtf") == "rtf/1"
    monkeypatch.setattr(reading, "find_spec", lambda name: None)
    assert reading.Reading().mark("application/rtf") == "none/1"
    with pytest.raises(ReadError) as failure:
        read(b"{\\rtf1 words}", "x.rtf")
    assert failure.value.code == "unsupported_format"
    assert "florilege[rtf]" in failure.value.message


# -- YAML --------------------------------------------------------------------------------------------------------


def paths(document: Document) -> list[tuple[str | None, str]]:
    return [(part.json_path, part.text) for part in document.parts]


def test_yaml_values_stand_under_their_paths() -> None:
    text = """# a comment
title: Rules of the house
version: 1.10
since: 2024-03-01
quiet: yes
silent: True
owner: ~
words: [one, two]
"odd key": |
  kept as
  written
places:
  - name: Hall
    seats: 0x10
  - name: "Attic: upper"
    seats: !!int "007"
"""
    document = read(text, "rules.yaml")
    assert document.title == "Rules of the house"
    assert paths(document) == [
        (
            "$",
            "title: Rules of the house\nversion: 1.10\nsince: 2024-03-01\nquiet: yes\nsilent: true\nowner: null\n"
            "words: one, two\nodd key: kept as\nwritten\n",
        ),
        ("$.places[0]", "name: Hall\nseats: 0x10"),
        ("$.places[1]", "name: Attic: upper\nseats: 007"),
    ]
    assert [part.json_type for part in document.parts] == ["object"] * 3
    assert all(document.content[part.span.start : part.span.end] == part.text for part in document.parts)


def test_yaml_of_several_documents_aliases_and_odd_keys() -> None:
    assert paths(read("a: 1\n---\n- b\n- c: {d: e}\n---\n", "a.yml")) == [
        ("$[0]", "a: 1"),
        ("$[1]", "b"),
        ("$[1][1].c", "d: e"),
    ]
    shared = read("base: &base {a: 1}\nother:\n  <<: *base\n  b: 2\n", "a.yaml")
    assert paths(shared) == [("$.base", "a: 1"), ("$.other", "<<: *base\nb: 2")]
    assert paths(read("? [x, y]\n: z\n", "a.yaml")) == [("$", '["x", "y"]: z')]
    assert paths(read("? {a: [b, 1, null]}\n: z\n", "a.yaml")) == [("$", '{a: ["b", "1", null]}: z')]
    assert read("just words\n", "a.yaml").content == "just words"
    assert warned(read("# only a comment\n", "a.yaml")) == ["empty"]
    assert warned(read("", "a.yaml")) == ["empty"]


def test_yaml_bombs_and_what_is_no_yaml() -> None:
    layers = "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 30))
    assert len(read("a0: &a0 lol\n" + layers, "bomb.yaml").content) < 5000
    assert "a: \n" not in read("a: &a [*a]\n", "round.yaml").content
    assert len(read("? " * 150 + "a", "keys.yaml").content) < 2000
    assert warned(read("[" * 100_000, "deep.yaml")) == ["invalid_yaml"]
    for deep in ("[" * 300 + "]" * 300, "- " * 5_000 + "x", "? " * 3_000 + "x"):
        with pytest.raises(ReadError) as failure:
            read(deep, "deep.yaml")
        assert failure.value.code == "too_deep"
    template = "{{ if .Values }}\nkind: {{ .Kind }}\n{{ end }}\n"
    document = read(template, "chart.yaml")
    assert (document.content, warned(document)) == (template, ["invalid_yaml"])
    assert [(part.kind, part.language) for part in document.parts] == [("code", "yaml")]

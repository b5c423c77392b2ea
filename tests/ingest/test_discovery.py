"""Finding sources: ids, order, ignore rules, links, stores, revisions, completeness."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import sqlite3
import subprocess
from pathlib import Path

import pytest

import florilege.ingest.files as files
import florilege.ingest.paths as paths
from florilege.ingest import load, read_bytes
from florilege.ingest.ignore import IgnoreRules, glob_regex, is_ignored
from florilege.model.document import Document, Failed, Loaded
from florilege.model.errors import ConfigError, LoadError, ReadError


def write(root: Path, *names: str) -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"text of {path.name}\n", encoding="utf-8")


def ids(*args: object, **options: object) -> list[str]:
    return [source.source_id for source in load(*args, **options).sources()]  # type: ignore[arg-type]


def document(result: Loaded | Failed) -> Document:
    assert isinstance(result, Loaded), result
    return result.document


def test_ids_are_relative_to_the_root_whatever_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, "docs/b.md", "docs/sub/a.md", "other.md")
    (tmp_path / "florilege.toml").touch()
    monkeypatch.chdir(tmp_path / "docs")
    assert ids(".") == ids(tmp_path / "docs") == ids("../docs/**/*") == ["docs/b.md", "docs/sub/a.md"]
    assert ids("sub/a.md") == ["docs/sub/a.md"]
    assert ids("sub/a.md", root=".") == ["sub/a.md"]
    outside = ids("../other.md", root=".")
    assert outside == [(tmp_path / "other.md").resolve().as_uri()]


def test_order_is_stable_and_sources_reached_twice_are_listed_once(tmp_path: Path) -> None:
    write(tmp_path, "b.md", "a/z.md", "a/y.md", "C.md")
    assert ids(tmp_path, root=tmp_path) == ["C.md", "a/y.md", "a/z.md", "b.md"]
    assert ids([tmp_path / "b.md", tmp_path, tmp_path / "a/y.md"], root=tmp_path) == [
        "b.md",
        "C.md",
        "a/y.md",
        "a/z.md",
    ]


def test_names_are_normal_form_c_and_two_files_with_one_id_collide(tmp_path: Path) -> None:
    composed, decomposed = "caf\u00e9.md", "cafe\u0301.md"
    write(tmp_path, composed, decomposed)
    if len(os.listdir(tmp_path)) == 1:
        pytest.skip("this file system takes both spellings for one name")
    first, second = load(tmp_path, root=tmp_path).sources()
    assert first.source_id == second.source_id == composed
    codes = [source.code for source in (first, second) if isinstance(source, Failed)]
    assert codes == ["duplicate_id"]


def test_bytes_in_names_that_are_no_text_are_percent_encoded(tmp_path: Path) -> None:
    try:
        (tmp_path / os.fsdecode(b"a\xff.md")).write_text("x")
    except OSError:
        pytest.skip("this file system takes no such names")
    (result,) = load(tmp_path, root=tmp_path)
    assert document(result).source_id == "a%FF.md"


def test_ignore_files_defaults_and_options(tmp_path: Path) -> None:
    write(
        tmp_path, "keep.md", "drop.tmp", "build/x.md", "sub/drop.md", "sub/keep.tmp", "node_modules/m.js", ".hidden.md"
    )
    (tmp_path / ".gitignore").write_text("*.tmp\n/build/\n")
    (tmp_path / "sub" / ".florilegeignore").write_text("!keep.tmp\ndrop.md\n")
    assert ids(tmp_path, root=tmp_path) == ["keep.md", "sub/keep.tmp"]
    assert ids(tmp_path / "sub", root=tmp_path) == ["sub/keep.tmp"]  # rules from above hold below
    assert ids(tmp_path, root=tmp_path, ignore="sub/") == ["keep.md"]
    assert ids(tmp_path, root=tmp_path, include="*.tmp") == ["sub/keep.tmp"]
    assert ".hidden.md" in ids(tmp_path, root=tmp_path, hidden=True)
    assert "drop.tmp" in ids(tmp_path, root=tmp_path, ignore_files=False)
    assert ids(tmp_path / "drop.tmp", root=tmp_path) == ["drop.tmp"]  # named itself


@pytest.mark.parametrize(
    ("pattern", "path", "is_folder", "ignored"),
    [
        ("*.md", "a/b.md", False, True),
        ("/*.md", "a/b.md", False, False),
        ("a/*.md", "a/b.md", False, True),
        ("a/*.md", "x/a/b.md", False, False),
        ("**/b.md", "x/a/b.md", False, True),
        ("a/**", "a/x/b.md", False, True),
        ("a/**/b", "a/b", False, True),
        ("b/", "a/b", False, False),
        ("b/", "a/b", True, True),
        ("[a-c].md", "b.md", False, True),
        ("[!a-c].md", "b.md", False, False),
        ("\\!x", "!x", False, True),
        ("\\#x", "#x", False, True),
        ("#x", "#x", False, False),
        ("x\\ ", "x ", False, True),
        ("x ", "x", False, True),
        ("?.md", "é.md", False, True),
        ("a*c", "a/c", False, False),
        ("[", "[", False, True),
    ],
)
def test_patterns_mean_what_git_says(pattern: str, path: str, is_folder: bool, ignored: bool) -> None:
    assert is_ignored(path, is_folder, [("", IgnoreRules([pattern]))]) is ignored


def test_the_last_matching_pattern_decides() -> None:
    rules = IgnoreRules(["*.md", "!a.md"])
    assert rules.decide("b.md", False) is True
    assert rules.decide("a.md", False) is False
    assert rules.decide("a.txt", False) is None


def test_globs_stay_in_a_folder_unless_doubled() -> None:
    assert glob_regex("*.md").match("a.md")
    assert not glob_regex("*.md").match("x/a.md")
    assert glob_regex("**/*.md").match("a.md")
    assert glob_regex("**/*").match("x/y/a")


def test_links_are_off_and_never_lead_outside(tmp_path: Path) -> None:
    write(tmp_path, "in/a.md", "out/secret.md")
    (tmp_path / "in" / "alias.md").symlink_to(tmp_path / "in" / "a.md")
    (tmp_path / "in" / "escape").symlink_to(tmp_path / "out")
    (tmp_path / "in" / "loop").symlink_to(tmp_path / "in")
    (tmp_path / "in" / "broken").symlink_to(tmp_path / "nowhere")
    assert ids(tmp_path / "in", root=tmp_path) == ["in/a.md"]
    assert ids(tmp_path / "in", root=tmp_path, links=True) == ["in/a.md"]


def test_a_file_swapped_for_a_link_after_listing_is_not_opened(tmp_path: Path) -> None:
    write(tmp_path, "in/a.md", "out/secret.md")
    (source,) = load(tmp_path / "in", root=tmp_path).sources()
    (tmp_path / "in" / "a.md").unlink()
    (tmp_path / "in" / "a.md").symlink_to(tmp_path / "out" / "secret.md")
    assert not isinstance(source, Failed)
    result = source.read()
    assert isinstance(result, Failed)
    assert result.code == "outside"


def test_nothing_inside_a_store_is_opened(tmp_path: Path) -> None:
    write(tmp_path, "a.md")
    store = tmp_path / "docs.florilege"
    store.mkdir()
    connection = sqlite3.connect(store / "store.db")
    connection.execute("CREATE TABLE t (x)")
    connection.commit()
    (store / "writer.lock").touch()
    os.link(store / "store.db", tmp_path / "copy.md")
    assert ids(tmp_path, root=tmp_path) == ["a.md"]
    for inside in (store, store / "store.db"):
        listing = load(inside, root=tmp_path)
        (only,) = listing.sources()
        assert isinstance(only, Failed)
        assert only.code == "store"
        assert listing.error is not None
    connection.close()


def test_revisions_are_trusted_once_they_are_old_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, "a.md")
    (source,) = load(tmp_path, root=tmp_path).sources()
    assert source.revision is not None
    assert not isinstance(source, Failed)
    assert document(source.read()).revision is None
    now = paths.time.time_ns
    monkeypatch.setattr(paths.time, "time_ns", lambda: now() + 3_000_000_000)
    assert document(source.read()).revision == source.revision
    (tmp_path / "a.md").write_text("other")
    (again,) = load(tmp_path, root=tmp_path).sources()
    assert again.revision != source.revision


def test_documents_say_where_they_come_from_and_fetch_their_bytes_again(tmp_path: Path) -> None:
    write(tmp_path, "a.md")
    (result,) = load(tmp_path, root=tmp_path, namespace="wiki")
    found = document(result)
    assert (found.namespace, found.reader, found.media_type) == ("wiki", "markdown/1", "text/markdown")
    assert found.uri == (tmp_path / "a.md").resolve().as_uri()
    assert found.read_bytes() == b"text of a.md\n"
    assert not found.metadata


def test_failures_are_records_with_codes(tmp_path: Path) -> None:
    (tmp_path / "a.pdf").write_bytes(b"%PDF-1.4 broken")
    (tmp_path / "b.bin").write_bytes(bytes(range(256)) * 20)
    (tmp_path / "c.md").write_text("x" * 2000)
    (tmp_path / "d.docx").write_bytes(b"")
    os.mkfifo(tmp_path / "pipe")
    results = {r.source_id: r for r in load(tmp_path, root=tmp_path, max_bytes=1000, isolate=False)}
    codes = {name: result.code for name, result in results.items() if isinstance(result, Failed)}
    assert codes == {"a.pdf": "damaged", "b.bin": "too_large", "c.md": "too_large", "d.docx": "empty"}
    assert all(not result.retryable and result.revision is None for result in results.values())  # type: ignore[union-attr]
    (result,) = load(tmp_path / "b.bin", root=tmp_path)
    assert isinstance(result, Failed)
    assert (result.code, result.reader) == ("unsupported_format", "none/1")
    (special,) = load(tmp_path / "pipe", root=tmp_path)
    assert isinstance(special, Failed)
    assert special.code == "not_a_file"


def test_unreadable_files_and_folders_fail_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, "a.md", "locked/b.md", "secret.md")
    real_open, real_scan = os.open, os.scandir

    def guarded_open(path: str, flags: int) -> int:
        if path.endswith("secret.md"):
            raise PermissionError(13, "Permission denied")
        return real_open(path, flags)

    def guarded_scan(path: str) -> object:
        if path.endswith("locked"):
            raise PermissionError(13, "Permission denied")
        return real_scan(path)

    monkeypatch.setattr(files.os, "open", guarded_open)
    monkeypatch.setattr(files.os, "scandir", guarded_scan)
    listing = load(tmp_path, root=tmp_path)
    outcomes = {result.source_id: getattr(result, "code", "ok") for result in listing}
    assert outcomes == {"a.md": "ok", "locked": "permission", "secret.md": "permission"}
    assert not listing.complete_for("locked/b.md")
    assert listing.complete_for("gone.md")
    assert all(result.retryable for result in listing if isinstance(result, Failed))


@pytest.mark.skipif(shutil.which("git") is None, reason="compares with git, which is not here")
def test_ignoring_agrees_with_git(tmp_path: Path) -> None:
    chance = random.Random(7)
    names = ["a", "b", "c.md", "d.tmp", "ab", "a b", "[x]"]
    atoms = ["a", "b", "*", "?", "**", "*.md", "[ab]", "[!a]", "c.*", "a*", "d.tmp", "\\[x\\]", "a\\ b", "**a", "a**"]

    def pattern() -> str:
        body = "/".join(chance.choice(atoms) for _ in range(chance.randint(1, 3)))
        return chance.choice(["", "", "!"]) + chance.choice(["", "", "/"]) + body + chance.choice(["", "", "/"])

    for number in range(15):
        root = tmp_path / str(number)
        subprocess.run(["git", "init", "-q", str(root)], check=True)
        for _ in range(12):
            path = root.joinpath(*(chance.choice(names) for _ in range(chance.randint(1, 4))))
            with contextlib.suppress(OSError):
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text("x")
        (root / ".gitignore").write_text("\n".join(pattern() for _ in range(4)))
        if (root / "a").is_dir():
            (root / "a" / ".gitignore").write_text(pattern())
        command = ["git", "-C", str(root), "ls-files", "-z", "--others", "--exclude-standard"]
        listed = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split("\0")
        expected = [name for name in listed if name and not name.rsplit("/", 1)[-1].startswith(".")]
        assert sorted(ids(root, root=root)) == sorted(expected)


def test_completeness_is_about_what_was_named(tmp_path: Path) -> None:
    write(tmp_path, "docs/a.md", "docs/b.txt", "other/c.md")
    listing = load([tmp_path / "docs" / "*.md", tmp_path / "other"], root=tmp_path)
    list(listing.sources())
    assert listing.complete_for("docs/gone.md")
    assert listing.complete_for("other/deep/gone.txt")
    assert not listing.complete_for("docs/gone.txt")
    assert not listing.complete_for("docs/deep/gone.md")
    assert not listing.complete_for("elsewhere/gone.md")
    assert not listing.complete_for("https://example.com/docs/gone.md")
    missing = load(tmp_path / "nowhere", root=tmp_path)
    (failure,) = missing
    assert isinstance(failure, Failed)
    assert failure.code == "not_found"
    assert missing.error == failure
    assert not missing.complete_for("nowhere/a.md")


def test_bytes_and_readers_of_ones_own(tmp_path: Path) -> None:
    (named,) = load(b"# Title\n\ntext", name="note.md")
    assert document(named).source_id == "note.md"
    assert document(named).title == "Title"
    (nameless,) = load(b"plain words")
    assert document(nameless).source_id.startswith("bytes:")
    assert read_bytes(b"a,b\n1,2\n", media_type="text/csv").parts[0].kind == "table"
    with pytest.raises(ReadError) as failure:
        read_bytes(b"\x00\x01\x02\x03" * 100, "x.dat")
    assert failure.value.code == "unsupported_format"
    with pytest.raises(ConfigError):
        load(tmp_path, time_limit=0)
    with pytest.raises(ConfigError):
        load(3)  # type: ignore[arg-type]


def test_documents_alone_end_at_the_first_failure(tmp_path: Path) -> None:
    for name in ("a.md", "c.md"):
        (tmp_path / name).write_text(f"text of {name}")
    (tmp_path / "b.pdf").write_bytes(b"")
    found = load(tmp_path, root=tmp_path).documents()
    assert next(found).content == "text of a.md"
    with pytest.raises(LoadError, match=r"b\.pdf: the file has 0 bytes") as failure:
        next(found)
    assert (failure.value.code, failure.value.source_id) == ("empty", "b.pdf")
    assert [item.source_id for item in load([tmp_path / "a.md", tmp_path / "c.md"], root=tmp_path).documents()] == [
        "a.md",
        "c.md",
    ]

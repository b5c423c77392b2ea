"""What installed providers add, and what a bad one costs."""

from __future__ import annotations

import os
import time
from importlib import import_module
from pathlib import Path

import pytest

import florilege
from florilege import chunkers, discovery, plugins
from florilege.apps.cli import main
from florilege.config import load_config
from florilege.indexing.sync import SyncPlan
from florilege.ingest import load
from florilege.ingest.reading import BUILTIN_READERS, OPTIONAL_READERS, NamedReader
from florilege.interfaces import Provider
from florilege.isolation import WorkerPool
from florilege.model.document import Document, Loaded
from florilege.model.errors import ConfigError, Conflict, PluginError
from florilege.models import named_model
from tests.ingest.build import pdf, text_at
from tests.plugins.conftest import Install

SAMPLE = "tests.plugins.sample:"
TEXT = "one paragraph\n\nanother paragraph\n\nand a third"


def document(content: str = TEXT, media_type: str = "text/plain") -> Document:
    return Document(source_id="a.txt", content=content, media_type=media_type)


def contents(chunking: florilege.model.chunk.Chunking) -> list[str]:  # type: ignore[name-defined]
    return [chunk.content for chunk in chunking.chunks]


def test_the_shipped_readers_are_declared_like_any_other() -> None:
    own = [offer for offer in discovery.offers() if offer.is_own]
    assert [offer.name for offer in own] == ["page_chunkers", "readers"]
    assert all(isinstance(offer.provider, Provider) for offer in own)
    (readers,) = [offer for offer in own if offer.name == "readers"]
    assert {(item.id, item.version) for item in readers.descriptors} == {
        (reader.id, reader.version) for reader in (*BUILTIN_READERS, *OPTIONAL_READERS)
    }
    assert readers.provider.create("csv").id == "csv"
    for offer in own:
        with pytest.raises(ValueError, match="no such"):
            offer.provider.create("no such")


def test_without_plugins_the_default_pipeline_is_the_plain_one() -> None:
    assert florilege.Pipeline().chunker == chunkers.structured()
    assert chunkers.pages() == chunkers.pages(())


def test_an_installed_page_chunker_is_asked_first(install: Install) -> None:
    install("some-paragraphs", f"{SAMPLE}Paragraphs", version="2.5")
    chunker = florilege.Pipeline().chunker
    chunks = chunker.chunk_document(document()).chunks
    assert [chunk.content for chunk in chunks] == TEXT.split("\n\n")
    assert {chunk.provenance.chunker for chunk in chunks} == {"some-paragraphs:entry0:ParagraphChunker"}
    assert [chunk.provenance.piece_id for chunk in chunks] == [f"page:1/chunk:{n}" for n in range(3)]
    assert contents(chunker.chunk_document(document(media_type="text/markdown"))) == [TEXT]  # nobody claims it


def test_who_is_asked_is_part_of_the_fingerprint(install: Install) -> None:
    prints = [florilege.Pipeline().chunker.fingerprint()]
    install("b-paragraphs", f"{SAMPLE}Paragraphs")
    prints.append(florilege.Pipeline().chunker.fingerprint())
    install("a-hostile", f"{SAMPLE}Hostile")
    prints.append(florilege.Pipeline().chunker.fingerprint())
    assert len(set(prints)) == 3
    assert [chunker.name for chunker in plugins.page_chunkers()] == [  # type: ignore[attr-defined]
        "a-hostile:entry0:Faulty",
        "a-hostile:entry0:Last",
        "b-paragraphs:entry0:ParagraphChunker",
    ]


def test_sizes_reach_the_chunker_that_cuts_the_rest(install: Install) -> None:
    install("some-paragraphs", f"{SAMPLE}Paragraphs")
    chunker = florilege.Pipeline().with_chunking({"max_chars": 40, "overlap_chars": 0}).chunker
    long = document("word " * 40, "text/markdown")
    assert max(map(len, contents(chunker.chunk_document(long)))) <= 40
    with pytest.raises(ConfigError):
        florilege.Pipeline().with_chunking({"no_such": 1})


@pytest.mark.crash
@pytest.mark.parametrize("fault", ["hang", "raise", "exit", "nonsense", "wrong type", "outside"])
def test_a_faulty_chunker_costs_its_answer_only(install: Install, fault: str) -> None:
    install("a-hostile", f"{SAMPLE}Hostile")
    install("b-paragraphs", f"{SAMPLE}Paragraphs")
    pool = WorkerPool(1)
    asked = plugins.page_chunkers(time_limit=1.5, pool=pool)
    started = time.monotonic()
    text = f"{fault}\n\nsecond"
    cut = chunkers.pages(asked, rest=chunkers.structured(), time_limit=None).chunk_document(document(text))
    assert contents(cut) == [fault, "second"]
    assert {chunk.provenance.chunker for chunk in cut.chunks} == {"b-paragraphs:entry0:ParagraphChunker"}
    assert time.monotonic() - started < 20
    pool.close()


def test_a_fallback_does_not_come_before_the_structured_chunker(install: Install) -> None:
    install("a-hostile", f"{SAMPLE}Hostile")
    assert contents(florilege.Pipeline().chunker.chunk_document(document())) == [TEXT]
    pages = chunkers.pages()
    assert contents(pages.chunk_document(document())) == TEXT.split("\n\n")


def test_pages_that_a_plugin_leaves_are_cut_by_structure(install: Install, tmp_path: Path) -> None:
    install("some-paragraphs", f"{SAMPLE}Paragraphs")
    (tmp_path / "a.pdf").write_bytes(pdf(text_at(50, 700, "first page"), text_at(50, 700, "second page")))
    (tmp_path / "b.txt").write_text(TEXT)
    with florilege.open(tmp_path / "store", dense=None) as corpus:
        corpus.sync(load(tmp_path, root=tmp_path, ignore=["site/", "store/"]))
        assert [chunk.content for chunk in corpus.chunks("a.pdf")] == ["first page", "second page"]
        assert [chunk.content for chunk in corpus.chunks("b.txt")] == TEXT.split("\n\n")


def test_an_installed_reader_reads_in_a_worker(install: Install) -> None:
    install("shouters", f"{SAMPLE}Reading")
    results = {}
    for name, data in {"a.shout": b"words", "b.csv": b"a,b\n", "c.txt": b"words", "d.shout": b"crash"}.items():
        (found,) = load(data, name=name)
        results[name] = found
    shout = results["a.shout"]
    assert isinstance(shout, Loaded)
    assert shout.document.content == "text/vnd.shout WORDS"
    assert shout.document.reader == "sample.shout/3"
    assert shout.document.metadata["reader_pid"] != os.getpid()
    assert results["b.csv"].document.content == "text/csv A,B\n"  # type: ignore[union-attr]
    assert results["c.txt"].document.reader == "text/1"  # type: ignore[union-attr]
    assert results["d.shout"].code == "crashed"  # type: ignore[union-attr]


def test_a_reader_that_cannot_be_imported_is_tried_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# Harps\n\nA harp has strings.")

    def synced(corpus: florilege.Corpus) -> list[tuple[str, str | None]]:
        result = corpus.sync(load(tmp_path, isolate=False))
        return [(source.action, source.error and source.error["code"]) for source in result.sources]

    with florilege.open(tmp_path / ".store", dense=None) as corpus:
        with monkeypatch.context() as broken:
            broken.setattr(NamedReader, "load", lambda reader: import_module("no.such.module"))
            assert synced(corpus) == [("failed", "broken_plugin")]
        assert synced(corpus) == [("added", None)]


def test_observers_add_metadata_and_their_failures_are_warnings(install: Install) -> None:
    install("watchers", f"{SAMPLE}Watching", f"{SAMPLE}Moody")
    (found,) = load(b"words", name="a.txt")
    assert isinstance(found, Loaded)
    assert found.document.content == "words"
    assert found.document.metadata["size"] == 5
    assert found.document.metadata["kind"] == "text/plain"
    assert found.document.metadata["by"] == "text/1"
    assert [warning.code for warning in found.document.warnings] == ["observer_failed", "observer_failed"]
    assert plugins.page_chunkers() == ()


def test_a_broken_provider_is_isolated_and_told(install: Install) -> None:
    install("broken", "no.such.module:Provider", f"{SAMPLE}Lying", f"{SAMPLE}NoSuch")
    install("some-paragraphs", f"{SAMPLE}Paragraphs")
    errors = {offer.target: offer.error for offer in discovery.offers() if offer.error}
    assert len(errors) == 3
    assert "ModuleNotFoundError" in str(errors["no.such.module:Provider"])
    assert len(plugins.page_chunkers()) == 1
    assert isinstance(next(iter(load(b"words", name="a.txt"))), Loaded)


def test_two_capabilities_of_one_id_are_an_error_that_names_both(install: Install) -> None:
    install("other-pdf", f"{SAMPLE}Duplicate", version="0.3")
    for call in (plugins.snapshot, plugins.page_chunkers, lambda: load(b"x", name="a.txt")):
        with pytest.raises(ConfigError) as failure:
            call()
        assert failure.value.code == "duplicate_capability"
        assert "florilege " in failure.value.message
        assert "other-pdf 0.3" in failure.value.message


def test_a_saved_plan_is_refused_when_its_reader_changed(install: Install, tmp_path: Path) -> None:
    install("shouters", f"{SAMPLE}Reading")
    with florilege.open(tmp_path / "store", dense=None) as corpus:
        shouted, plain = (list(load(b"words", name=name)) for name in ("a.shout", "b.txt"))
        corpus.plan(shouted).save(tmp_path / "shouted.json")
        corpus.plan(plain).save(tmp_path / "plain.json")
        assert SyncPlan.load(tmp_path / "shouted.json").capabilities["sample.shout"] == "3"
        (tmp_path / "site" / "shouters-1.0.dist-info" / "entry_points.txt").write_text(
            f"[{discovery.PROVIDERS}]\nentry0 = {SAMPLE}Renewed\n"
        )
        discovery.offers.cache_clear()
        discovery._entries.cache_clear()
        with pytest.raises(Conflict) as failure:
            corpus.sync(shouted, plan=SyncPlan.load(tmp_path / "shouted.json"))
        assert failure.value.code == "plan_stale"
        assert "sample.shout" in failure.value.message
        assert corpus.sync(plain, plan=SyncPlan.load(tmp_path / "plain.json")).added == 1


def test_other_groups_name_one_factory_each(install: Install) -> None:
    install("stores", f"{SAMPLE}Paragraphs", group="florilege.stores")
    install("more-stores", f"{SAMPLE}Hostile", group="florilege.stores")
    install("models", "no.such.module:make", f"{SAMPLE}SAMPLE_VALUE", group="florilege.models")
    with pytest.raises(ConfigError) as failure:
        plugins.factory("florilege.stores", "entry0")
    assert failure.value.code == "duplicate_plugin"
    with pytest.raises(ConfigError) as failure:
        plugins.factory("florilege.models", "nothing")
    assert "entry0, entry1" in failure.value.message
    with pytest.raises(ConfigError):
        plugins.factory("florilege.nothing", "entry0")
    with pytest.raises(PluginError):
        plugins.factory("florilege.models", "entry0")
    install("steps", f"{SAMPLE}Paragraphs", group="florilege.steps")
    assert plugins.factory("florilege.steps", "entry0")().chunkers()


def test_the_command_tells_of_broken_and_clashing_providers(
    install: Install, capsys: pytest.CaptureFixture[str]
) -> None:
    install("broken", "no.such.module:Provider", f"{SAMPLE}Moody")
    assert main(["plugins"]) == 1
    out = capsys.readouterr().out
    assert "cannot be used: ModuleNotFoundError" in out
    assert "(cannot be given: RuntimeError: not today)" in out
    install("other-pdf", f"{SAMPLE}Duplicate")
    assert main(["plugins"]) == 3
    assert "other-pdf" in capsys.readouterr().err


def test_factories_are_used_by_name(install: Install, tmp_path: Path) -> None:
    for group in ("embedders", "stores", "models", "steps"):
        target = f"{SAMPLE}make_{group.removesuffix('s')}"
        install(f"some-{group}", target, group=f"florilege.{group}")
    (tmp_path / "florilege.toml").write_text(
        "[embedders.mine]\nuse = 'entry0'\nsize = 16\n"
        "[recipes.short]\nsteps = [{ use = 'retrieve' }, { use = 'entry0', limit = 1 }]\n"
    )
    config = load_config(tmp_path)
    embedder = config.embedder("mine")
    assert embedder.space.identity.startswith("from-plugin/16/")
    assert florilege.Context(id="x", embedder={"model": "entry0", "size": 4}).embedder.space.dimensions == 4  # type: ignore[union-attr]
    assert named_model("entry0:oracle").generate([{"role": "user", "content": "?"}]).text == "oracle says so"
    with florilege.open(f"entry0://{tmp_path}/store", dense=None) as corpus:
        corpus.sync([Document(source_id=name, content="same words") for name in ("a", "b")])
        assert len(config.recipe("short", corpus).retrieve("words")) == 1
    with pytest.raises(ConfigError):
        florilege.open("nowhere://x")

"""Items of a context, and the answers of chunker operations."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from florilege.chunkers import ChunkerResponse, ItemChunk, checked_response, default_chunker
from florilege.model.errors import ChunkingError


def item(**fields: Any) -> dict[str, Any]:
    return {"id": "1", "name": None, "content": None, "description": None, **fields}


def test_name_and_content_are_cut_to_the_budget() -> None:
    given = item(name="Refunds", content="Money comes back in a week. " * 20, description="unused")
    response = default_chunker(given, 32)
    assert response.item is given
    assert response.chunks[0].content.startswith("Refunds\n\nMoney comes back")
    assert [chunk.index for chunk in response.chunks] == list(range(len(response.chunks)))
    assert len(response.chunks) > 3
    assert checked_response(response, given).chunks == response.chunks


def test_the_description_stands_in_and_blank_items_have_no_chunks() -> None:
    assert default_chunker(item(name="A", content=" ", description="Told here."), 100).chunks[0].content.startswith("A")
    assert default_chunker(item(content="", description="Told here."), 100).chunks[0].content == "Told here."
    assert default_chunker(item(name=" ", description=""), 100).chunks == ()


def test_answers_may_be_mappings_or_records() -> None:
    given = item()
    for answer in (
        {"item": given, "chunks": [{"content": "a", "index": 0, "metadata": {"page": 3}}]},
        SimpleNamespace(item=given, chunks=[SimpleNamespace(content="a", index=0, metadata={"page": 3})]),
    ):
        assert checked_response(answer, given).chunks == (ItemChunk(content="a", index=0, metadata={"page": 3}),)


def test_nul_is_taken_out_at_any_depth_and_told() -> None:
    given = item()
    answer = {
        "item": given,
        "chunks": [{"content": "a\x00b", "index": 0, "metadata": {"k\x00": ["x\x00", {"y": "\x00"}]}}],
    }
    response = checked_response(answer, given)
    assert response.chunks == (ItemChunk(content="ab", index=0, metadata={"k": ["x", {"y": ""}]}),)
    assert [warning.code for warning in response.warnings] == ["nul_removed"]
    assert checked_response(ChunkerResponse(item=given), given).warnings == ()


@pytest.mark.parametrize(
    ("chunks", "message"),
    [
        ([{"content": "a", "index": 1}], "index 1"),
        ([{"content": "a", "index": 0}, {"content": "b", "index": 0}], "index 0"),
        ([{"content": " ", "index": 0}], "blank"),
        ([{"content": "\x00", "index": 0}], "blank"),
        ([{"content": None, "index": 0}], "NoneType, not text"),
        ([{"index": 0}], "has no 'content'"),
        ([{"content": "a", "index": 0, "metadata": {"k": object()}}], "not a JSON value"),
        ([{"content": "a", "index": 0, "metadata": [1]}], "list, not a mapping"),
    ],
)
def test_answers_that_cannot_be_stored_are_refused(chunks: list[dict[str, Any]], message: str) -> None:
    with pytest.raises(ChunkingError, match=message):
        checked_response({"item": item(), "chunks": chunks}, item())


def test_another_items_answer_is_refused() -> None:
    with pytest.raises(ChunkingError, match="another item"):
        checked_response({"item": item(id="2"), "chunks": []}, item())
    with pytest.raises(ChunkingError, match="has no 'item'"):
        checked_response({}, item())

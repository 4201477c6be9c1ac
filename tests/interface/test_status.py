"""`memory_status`."""

from __future__ import annotations

from pathlib import Path

from .conftest import Layered, Remembered


def test_status_counts_what_there_is(residence: Remembered) -> None:
    data = residence.ok("memory_status")
    counts = {name: data[name] for name in ("topic_files", "blocks", "source_files", "sources")}
    assert counts == {"topic_files": 1, "blocks": 1, "source_files": 1, "sources": 1}
    assert data["timeline_files"] == 3
    assert data["relations"] == 0
    assert data["core_tokens"] > 0
    assert data["problems"] == []
    assert "layers" not in data


def test_status_tells_that_embeddings_are_not_configured(remembered: Remembered) -> None:
    embedding = remembered.ok("memory_status")["embedding"]
    assert {name: embedding[name] for name in ("available", "url", "model")} == {
        "available": False,
        "url": None,
        "model": None,
    }
    assert "config.yaml" in embedding["reason"]


def test_status_tells_of_ingest(remembered: Remembered) -> None:
    ingest = remembered.ok("memory_status")["ingest"]
    assert ingest["pending_tokens"] == 0
    assert ingest["last_run"] is None
    assert ingest["last_error"] is None
    assert ingest["spent_usd_today"] == 0


def test_status_names_a_file_that_cannot_be_read_as_it_should(residence: Remembered) -> None:
    (residence.root / "topics" / "bad.md").write_bytes(b"\xff\xfe")
    problems = residence.ok("memory_status")["problems"]
    assert [problem["path"] for problem in problems] == ["topics/bad.md"]


def test_the_revision_is_the_same_until_memory_changes(residence: Remembered) -> None:
    before = residence.revision
    assert residence.revision == before
    (residence.root / "core.md").write_text("# Changed\n")
    assert residence.revision != before


def test_layers_are_told_each_with_its_revision(layered: Layered) -> None:
    both = layered("project", "global")
    data = both.ok("memory_status")
    assert data["default_layer"] == "project"
    assert list(data["layers"]) == ["project", "global"]
    for name, layer in data["layers"].items():
        assert layer["revision"] in both.revision
        assert f"{name}:" in both.revision
        assert layer["topic_files"] == 0


def test_a_layer_that_cannot_be_made_costs_that_layer(layered: Layered, tmp_path: Path) -> None:
    (tmp_path / "global").write_text("a file, not a folder")
    both = layered("project", "global")
    data = both.ok("memory_status")
    assert data["layers"]["global"]["error"]
    assert [p["code"] for p in data["problems"]] == ["layer-left-out"]
    assert both.call("memory_list").ok
    assert both.refused("memory_read", path="global:core.md")["code"] == "INTERNAL_ERROR"


def test_the_only_workspace_missing_is_told_by_status_and_refused_elsewhere(
    layered: Layered, tmp_path: Path
) -> None:
    (tmp_path / "memory").write_text("a file, not a folder")
    alone = layered("memory")
    assert alone.ok("memory_status")["problems"]
    for tool, given in {
        "memory_list": {},
        "memory_read": {"path": "core.md"},
        "memory_grep": {"query": "x"},
        "memory_search": {"query": "x"},
        "memory_update": {"base_revision": alone.revision, "patch": "x"},
    }.items():
        error = alone.refused(tool, **given)
        assert error["code"] == "INTERNAL_ERROR"
        assert "Not a directory" in error["message"]

"""`memory_list` and `memory_read`."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from scriptorium.interface import envelope

from .conftest import MOVE, Layered, Remembered, creation, topic

PATH = "topics/personal/residence.md"


def _block(residence: Remembered) -> str:
    found = re.search(r"\^([0-9a-f]{8})$", (residence.root / PATH).read_text(), re.MULTILINE)
    assert found
    return found[1]


def test_list_shows_every_file_with_headings_and_kind(residence: Remembered) -> None:
    files = residence.ok("memory_list")["files"]
    kinds = {str(f["path"]): f["kind"] for f in files}
    assert kinds[PATH] == "topic"
    assert kinds["core.md"] == "core"
    assert kinds["relations.json"] == "relations"
    assert kinds["timeline/2026/08/03.md"] == "timeline"
    assert [f["headings"] for f in files if f["path"] == PATH] == [["Residence", "Facts"]]


def test_list_without_derived_leaves_the_views_out(residence: Remembered) -> None:
    files = residence.ok("memory_list", include_derived=False)["files"]
    assert {f["kind"] for f in files} == {"core", "topic", "source"}


@pytest.mark.parametrize("prefix", ["topics/", "topics", "topics/personal/", "personal/", PATH])
def test_list_takes_every_sensible_prefix(residence: Remembered, prefix: str) -> None:
    data = residence.ok("memory_list", prefix=prefix)
    assert [f["path"] for f in data["files"]] == [PATH]


def test_list_pages_through_all_files(residence: Remembered) -> None:
    whole = residence.ok("memory_list")["files"]
    paged: list[object] = []
    offset: object = 0
    while offset is not None:
        data = residence.ok("memory_list", limit=2, offset=offset)
        paged += data["files"]
        offset = data.get("next_offset")
        assert data["truncated"] is (offset is not None)
    assert paged == whole


def test_read_gives_the_exact_text(residence: Remembered) -> None:
    text = (residence.root / PATH).read_text(encoding="utf-8")
    data = residence.ok("memory_read", path=PATH)
    assert data["mode"] == "file"
    assert data["content"] == text.removesuffix("\n")
    assert (data["start_line"], data["end_line"], data["total_lines"]) == (1, 7, 7)
    assert data["truncated"] is False


@pytest.mark.parametrize(
    ("given", "lines"),
    [
        ({"offset": 2}, (2, 7)),
        ({"limit": 3}, (1, 3)),
        ({"offset": 3, "limit": 1}, (3, 3)),
        ({"offset": 7, "limit": 100}, (7, 7)),
    ],
)
def test_read_takes_a_window_of_lines(
    residence: Remembered, given: dict[str, int], lines: tuple[int, int]
) -> None:
    data = residence.ok("memory_read", path=PATH, **given)
    assert (data["mode"], data["start_line"], data["end_line"]) == ("lines", *lines)


def test_a_window_past_the_end_is_refused_with_the_length(residence: Remembered) -> None:
    error = residence.refused("memory_read", path=PATH, offset=8)
    assert (error["code"], error["path"]) == ("INVALID_ARGUMENT", PATH)


def test_read_takes_a_heading_with_all_below_it(remembered: Remembered) -> None:
    (remembered.root / "core.md").write_text("# A\none\n## B\ntwo\n# C\nthree\n## B\nfour\n")
    data = remembered.ok("memory_read", path="core.md", heading="A")
    assert (data["start_line"], data["end_line"], data["mode"]) == (1, 4, "heading")
    assert remembered.ok("memory_read", path="core.md", heading="# C")["end_line"] == 8
    again = remembered.ok("memory_read", path="core.md", heading="C > B")
    assert again["content"] == "## B\nfour"


def test_a_heading_that_stands_twice_is_refused_with_its_places(remembered: Remembered) -> None:
    (remembered.root / "core.md").write_text("# A\n## B\n# C\n## B\n")
    error = remembered.refused("memory_read", path="core.md", heading="B")
    assert error["details"] == {"headings": ["A > B (line 2)", "C > B (line 4)"]}


def test_a_missing_heading_is_refused_with_those_that_are_there(residence: Remembered) -> None:
    error = residence.refused("memory_read", path=PATH, heading="Elsewhere")
    assert error["details"] == {"headings": ["Residence (line 1)", "Residence > Facts (line 3)"]}


def test_a_block_comes_with_its_definitions_and_the_words_it_rests_on(
    residence: Remembered,
) -> None:
    data = residence.ok("memory_read", path=PATH, block_id=_block(residence))
    assert data["mode"] == "block"
    assert (data["start_line"], data["end_line"]) == (5, 5)
    assert "The user moved to Pudong." in str(data["content"])
    assert "Time: `2026-08-03`" in str(data["content"])
    (evidence,) = data["evidence"]
    assert evidence["time"] == "2026-08-03"
    (source,) = evidence["sources"]
    assert source["content"] == MOVE["content"]
    assert source["role"] == "user"
    assert source["observed_at"] == "2026-08-03T10:30:00+08:00"
    assert str(source["path"]).startswith("sources/claude-code/")
    assert str(source["id"]).startswith("claude-code/")
    assert "instructions" in str(data["note"])


def test_a_caret_before_the_block_id_is_accepted(residence: Remembered) -> None:
    assert (
        residence.ok("memory_read", path=PATH, block_id=f"^{_block(residence)}")["mode"] == "block"
    )


def test_a_block_of_another_file_is_refused_with_its_place(residence: Remembered) -> None:
    error = residence.refused("memory_read", path="core.md", block_id=_block(residence))
    assert PATH in str(error["message"])


def test_only_one_way_of_choosing_a_part_is_taken(residence: Remembered) -> None:
    error = residence.refused("memory_read", path=PATH, heading="Facts", offset=1)
    assert (error["code"], error["path"]) == ("INVALID_ARGUMENT", PATH)


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("topics/none.md", "INVALID_ARGUMENT"),
        ("topics", "INVALID_ARGUMENT"),
        ("/etc/passwd", "PATH_OUTSIDE_WORKSPACE"),
        ("../x.md", "PATH_OUTSIDE_WORKSPACE"),
        ("topics/../../x.md", "PATH_OUTSIDE_WORKSPACE"),
        (".scriptorium/runtime.json", "INVALID_ARGUMENT"),
        ("topics/a\nb.md", "INVALID_ARGUMENT"),
        ("topics/a\0b.md", "INVALID_ARGUMENT"),
        ("x:topics/a.md", "INVALID_ARGUMENT"),
    ],
)
def test_a_path_that_is_no_file_of_memory_is_refused(
    residence: Remembered, path: str, code: str
) -> None:
    error = residence.refused("memory_read", path=path)
    assert error["code"] == code
    assert error["path"]


def test_a_symlink_is_not_followed(residence: Remembered, tmp_path: Path) -> None:
    (tmp_path / "secret.md").write_text("secret")
    (residence.root / "topics" / "link.md").symlink_to(tmp_path / "secret.md")
    answer = residence.call("memory_read", path="topics/link.md")
    assert not answer.ok
    assert "secret" not in answer.text().replace("secret.md", "")


def test_a_long_file_is_read_in_pieces_that_join_to_the_whole(remembered: Remembered) -> None:
    text = "\n".join(f'line {n} — 浦东 \\ "quoted"' for n in range(5000))
    (remembered.root / "core.md").write_text(text, encoding="utf-8")
    pieces: list[str] = []
    offset: object = 1
    while offset is not None:
        answer = remembered.call("memory_read", path="core.md", offset=offset)
        assert len(answer.text().encode()) <= envelope.LIMIT
        pieces.append(str(answer.data["content"]))
        offset = answer.data.get("next_offset")
    assert len(pieces) > 3
    assert "\n".join(pieces) == text


def test_a_line_longer_than_an_answer_is_cut_and_named(remembered: Remembered) -> None:
    (remembered.root / "core.md").write_text("a\n" + "x" * 100_000 + "\nb\n", encoding="utf-8")
    data = remembered.ok("memory_read", path="core.md", offset=2)
    assert (data["cut_line"], data["next_offset"], data["truncated"]) == (2, 3, True)


def test_a_long_source_is_shown_in_part_with_the_way_to_the_rest(remembered: Remembered) -> None:
    long = {**MOVE, "content": "word " * 20_000}
    patch = creation(PATH, topic("residence", "The user moved."))
    block = remembered.update(patch, long)["block_ids"]["new-block-residence"]
    answer = remembered.call("memory_read", path=PATH, block_id=block)
    assert len(answer.text().encode()) <= envelope.LIMIT
    assert answer.data["truncated"] is True
    (evidence,) = json.loads(answer.text())["data"]["evidence"]
    (source,) = evidence["sources"]
    assert source["truncated"] is True
    rest = remembered.ok("memory_read", path=source["path"], heading=source["heading"])
    assert rest["mode"] == "heading"


def test_layers_qualify_paths_only_when_there_are_several(layered: Layered) -> None:
    alone, both = layered("project"), layered("project", "global")
    assert all(":" not in path for path in _paths(alone))
    assert set(_paths(both)) >= {"project:core.md", "global:core.md"}
    assert _paths(both, prefix="global:core") == ["global:core.md"]


def test_a_bare_path_in_several_layers_is_refused_with_the_choices(layered: Layered) -> None:
    both = layered("project", "global")
    error = both.refused("memory_read", path="core.md")
    assert "project:core.md" in str(error["message"])
    assert both.ok("memory_read", path="global:core.md")["path"] == "global:core.md"


@pytest.mark.parametrize("path", ["global:../x.md", "global:topics/bad.md"])
def test_a_refusal_names_the_path_with_its_layer(layered: Layered, path: str) -> None:
    both = layered("project", "global")
    (both.memory.workspace("global").root / "topics" / "bad.md").write_bytes(b"\xff\xfe")
    assert both.refused("memory_read", path=path)["path"] == path


def test_a_path_of_a_layer_that_does_not_exist_is_refused(layered: Layered) -> None:
    error = layered("project", "global").refused("memory_read", path="other:core.md")
    assert error["code"] == "INVALID_ARGUMENT"


def _paths(memory: Remembered, prefix: str = "") -> list[str]:
    files = memory.ok("memory_list", prefix=prefix)["files"]
    return [str(file["path"]) for file in files]

"""People edit memory in their editors, other programs put odd things there: all else goes on."""

from __future__ import annotations

import os
import socket
import unicodedata
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.workspace import updates

from scriptorium.errors import BrokenContract, InvalidArgument, InvalidTopicFormat
from scriptorium.format.model import Problem, RelPath
from scriptorium.workspace import scan
from scriptorium.workspace.archive import SourceInput
from scriptorium.workspace.transaction import Update, UpdateResult, update
from scriptorium.workspace.validate import validate
from scriptorium.workspace.workspace import Workspace

HOME = "topics/home.md"
PLAN = "topics/plan.md"


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    workspace = Workspace.open(tmp_path / "memory")
    remember(workspace, HOME, "home")
    return workspace


def remember(workspace: Workspace, path: str, name: str) -> UpdateResult:
    """A block more in the file."""
    snapshot = workspace.snapshot()
    text = updates.text_of(snapshot, path) or "# Title\n"
    end = "\r\n" if "\r\n" in text else "\n"
    added = updates.fact(name, f"Fact {name}.").replace("\n", end)
    if not text.endswith("\n"):
        return _append_to_unended(workspace, path, text, added, name)
    return updates.send(workspace, snapshot, {path: text + added}, name)


def _append_to_unended(
    workspace: Workspace, path: str, text: str, added: str, name: str
) -> UpdateResult:
    last = text.rsplit("\n", maxsplit=1)[-1]
    lines = "".join(f"+{line}\n" for line in [last, *added.removesuffix("\n").split("\n")])
    mark = "\\ No newline at end of file\n"
    patch = f"--- a/{path}\n+++ b/{path}\n@@ @@\n-{last}\n{mark}{lines}"
    source = SourceInput("new-source-1", "user", name, None)
    return update(workspace, Update(None, patch, (source,), git="off"), now=updates.NOW)


def goes_on(workspace: Workspace) -> None:
    """Reads and updates elsewhere work, here and in a process that knows nothing yet."""
    for process in (workspace, Workspace.open(workspace.root)):
        name = f"more-{process.snapshot().sequence}"
        remember(process, HOME, name)
        assert f"Fact {name}." in process.snapshot().read(RelPath(HOME))
        assert process.snapshot().locate_block("nothing") is None


def problems(workspace: Workspace, path: str) -> set[str]:
    """The rules that `validate` finds broken in the file, all of which name a line."""
    found = [p for p in validate(workspace) if p.path == path]
    assert all(p.line >= 1 for p in found)
    return {p.rule for p in found}


def told(workspace: Workspace) -> list[tuple[str, str]]:
    return [(problem.path, problem.rule) for problem in workspace.snapshot().problems]


def test_the_next_read_sees_an_edit_and_the_next_update_builds_on_it(workspace: Workspace) -> None:
    file = workspace.root / HOME
    file.write_text(file.read_text().replace("Fact home", "Fact of mine"))
    assert "Fact of mine" in workspace.snapshot().read(RelPath(HOME))
    remember(workspace, HOME, "more")
    assert "Fact of mine" in file.read_text()
    assert validate(workspace) == []


@pytest.mark.parametrize(
    ("mark", "end", "last"), [("\ufeff", "\n", "\n"), ("", "\r\n", "\r\n"), ("", "\n", "")]
)
def test_bom_line_ends_and_a_missing_final_newline_are_kept(
    workspace: Workspace, mark: str, end: str, last: str
) -> None:
    file = workspace.root / HOME
    text = mark + file.read_text().rstrip("\n").replace("\n", end) + last
    file.write_bytes(text.encode())
    assert workspace.snapshot().read(RelPath(HOME)) == text
    assert workspace.snapshot().counts().blocks == 1
    remember(workspace, HOME, "more")
    after = file.read_bytes().decode()
    assert after.startswith(text.removesuffix(last))
    assert after.startswith("\ufeff") == bool(mark)
    assert ("\r\n" in after) == (end == "\r\n")
    assert "\n" not in after.replace("\r\n", "") or end == "\n"
    assert workspace.snapshot().counts().blocks == 2
    assert validate(workspace) == []


def test_ids_that_a_person_gave_are_kept_and_can_be_linked_to(workspace: Workspace) -> None:
    file = workspace.root / HOME
    (block,) = workspace.snapshot().mirror.indexes.blocks
    file.write_text(file.read_text().replace(f"^{block}", "^my-own-Id"))
    snapshot = workspace.snapshot()
    assert snapshot.locate_block("my-own-Id") == HOME
    text = "# Plan\n" + updates.fact("plan", "See [home](home.md#^my-own-Id).")
    updates.send(workspace, snapshot, {PLAN: text}, "a plan")
    assert "#^my-own-Id" in (workspace.root / PLAN).read_text()
    assert validate(workspace) == []


def test_a_file_that_breaks_the_contract_refuses_updates_of_itself_only(
    workspace: Workspace,
) -> None:
    (workspace.root / PLAN).write_text("# Plan\n\nNo id, no evidence.\n")
    goes_on(workspace)
    assert problems(workspace, PLAN) == {"block-without-id", "uncited-block"}
    with pytest.raises(BrokenContract) as caught:
        remember(workspace, PLAN, "more")
    found = caught.value.details["problems"]
    assert isinstance(found, list)
    assert {p["path"] for p in found if isinstance(p, dict)} == {PLAN}
    assert "more" not in (workspace.root / PLAN).read_text()


def test_an_update_that_mends_a_broken_file_passes(workspace: Workspace) -> None:
    (workspace.root / PLAN).write_text("# Plan\n\nNo id, no evidence.\n")
    mended = "# Plan\n" + updates.fact("plan", "With id and evidence.")
    updates.send(workspace, workspace.snapshot(), {PLAN: mended}, "a plan")
    assert validate(workspace) == []


def test_links_that_a_person_broke_do_not_refuse_an_update_elsewhere(workspace: Workspace) -> None:
    (block,) = workspace.snapshot().mirror.indexes.blocks
    text = "# Plan\n" + updates.fact("plan", f"See [home](home.md#^{block}).")
    updates.send(workspace, workspace.snapshot(), {PLAN: text}, "a plan")
    (workspace.root / HOME).rename(workspace.root / "topics/house.md")
    assert "dangling-block-link" in problems(workspace, PLAN)
    assert workspace.snapshot().locate_block(block) == "topics/house.md"
    remember(workspace, "topics/house.md", "more")
    with pytest.raises(BrokenContract):
        remember(workspace, PLAN, "more")


def test_a_copied_file_breaks_both_and_neither_refuses_an_update_elsewhere(
    workspace: Workspace,
) -> None:
    (block,) = workspace.snapshot().mirror.indexes.blocks
    (workspace.root / "topics/copy.md").write_bytes((workspace.root / HOME).read_bytes())
    assert problems(workspace, HOME) == problems(workspace, "topics/copy.md")
    assert "duplicate-block-id" in problems(workspace, HOME)
    for path in (HOME, "topics/copy.md"):
        text = "# Plan\n" + updates.fact("plan", f"See [it]({path[7:]}#^{block}).")
        updates.send(workspace, workspace.snapshot(), {PLAN: text}, path)


def test_a_file_deleted_by_hand_is_gone_and_its_views_with_the_next_update(
    workspace: Workspace,
) -> None:
    remember(workspace, PLAN, "plan")
    (workspace.root / HOME).unlink()
    snapshot = workspace.snapshot()
    assert snapshot.counts().topic_files == 1
    assert snapshot.changes_since(0).removed == (HOME,)
    assert "stale-view" in problems(workspace, "recent_events.jsonl")
    remember(workspace, PLAN, "more")
    assert validate(workspace) == []


def test_a_core_deleted_by_hand_costs_nothing_else(workspace: Workspace) -> None:
    (workspace.root / "core.md").unlink()
    assert workspace.snapshot().counts().core_tokens == 0
    goes_on(workspace)


def test_a_view_edited_or_deleted_by_hand_is_restored_by_the_next_update(
    workspace: Workspace,
) -> None:
    month = workspace.root / "timeline/2026/08.md"
    recent = workspace.root / "recent_events.jsonl"
    stray = workspace.root / "timeline/1999.md"
    own = workspace.root / "timeline/notes of mine.md"
    expected = month.read_bytes()
    month.write_text("scribbled")
    stray.write_text("scribbled")
    own.write_text("mine")
    recent.unlink()
    assert {p.path for p in validate(workspace)} == {
        "timeline/2026/08.md",
        "timeline/1999.md",
        "recent_events.jsonl",
    }
    remember(workspace, HOME, "more")
    assert month.read_bytes() == expected
    assert recent.exists()
    assert not stray.exists()
    assert own.read_text() == "mine"
    assert validate(workspace) == []


def test_a_file_that_is_being_written_is_read_again_when_it_is_whole(
    workspace: Workspace,
) -> None:
    file = workspace.root / PLAN
    with file.open("w") as writer:
        writer.write("# Plan\n\nHalf a")
        writer.flush()
        assert workspace.snapshot().read(RelPath(PLAN)) == "# Plan\n\nHalf a"
        writer.write(" sentence.\n")
        writer.flush()
        topic = workspace.snapshot().topic(RelPath(PLAN))
    assert topic is not None
    assert topic.blocks[0].text == "Half a sentence."


def test_a_topic_of_five_megabytes_is_read_and_updated(workspace: Workspace) -> None:
    evidence = (workspace.root / HOME).read_text().split("\n\n")[-1]
    label = evidence.split("]")[0] + "]"
    blocks = "".join(f"Line {n} {'of a long file ' * 320}.{label} ^b{n}\n\n" for n in range(1100))
    (workspace.root / PLAN).write_text(f"# Plan\n\n{blocks}{evidence}")
    assert (workspace.root / PLAN).stat().st_size > 5_000_000
    assert workspace.snapshot().counts().blocks == 1101
    remember(workspace, PLAN, "more")
    assert workspace.snapshot().counts().blocks == 1102
    assert validate(workspace) == []


def directory_link(workspace: Workspace, path: Path) -> None:
    outside = workspace.root.parent / "outside"
    outside.mkdir()
    (outside / "secret.md").write_text("# Secret\n")
    path.symlink_to(outside)


def file_link(workspace: Workspace, path: Path) -> None:
    path.symlink_to(workspace.root / "core.md")


def pipe(_: Workspace, path: Path) -> None:
    os.mkfifo(path)


def listening(_: Workspace, path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        here = Path.cwd()
        os.chdir(path.parent)  # a socket's address may have 100 characters
        try:
            server.bind(path.name)
        finally:
            os.chdir(here)


@pytest.mark.parametrize("made", [directory_link, file_link, pipe, listening])
def test_what_is_no_file_is_reported_and_never_followed_or_opened(
    workspace: Workspace, made: Callable[[Workspace, Path], None]
) -> None:
    made(workspace, workspace.root / "topics" / "odd.md")
    assert told(workspace) == [("topics/odd.md", "not-a-file")]
    assert problems(workspace, "topics/odd.md") == {"not-a-file"}
    assert workspace.snapshot().counts().topic_files == 1
    goes_on(workspace)


def test_a_linked_directory_is_reported_and_not_followed(workspace: Workspace) -> None:
    directory_link(workspace, workspace.root / "topics" / "more")
    assert told(workspace) == [("topics/more", "not-a-file")]
    goes_on(workspace)


def test_what_lies_in_the_way_of_a_view_costs_that_view(workspace: Workspace) -> None:
    month = workspace.root / "timeline/2026/08.md"
    month.unlink()
    month.mkdir()
    goes_on(workspace)
    assert problems(workspace, "timeline/2026/08.md") == {"stale-view"}
    month.rmdir()
    goes_on(workspace)
    assert validate(workspace) == []


def test_bytes_that_are_no_utf_8_cost_that_file(workspace: Workspace) -> None:
    (workspace.root / PLAN).write_bytes("# Büro\n".encode("latin-1"))
    assert told(workspace) == [(PLAN, "not-utf-8")]
    with pytest.raises(InvalidTopicFormat):
        workspace.snapshot().read(RelPath(PLAN))
    assert workspace.snapshot().topic(RelPath(PLAN)) is None
    goes_on(workspace)
    assert problems(workspace, PLAN) == {"not-utf-8"}


def test_a_name_in_another_unicode_form_is_readable_and_its_twin_is_reported(
    workspace: Workspace,
) -> None:
    composed = unicodedata.normalize("NFC", "topics/é.md")
    decomposed = unicodedata.normalize("NFD", composed)
    (workspace.root / decomposed).write_text("# Apart\n")
    assert workspace.snapshot().read(RelPath(decomposed)) == "# Apart\n"
    goes_on(workspace)
    (workspace.root / composed).write_text("# Together\n")
    assert {path for path, rule in told(workspace) if rule == "case-only-twin"} == {
        composed,
        decomposed,
    }


def test_names_that_differ_in_case_only_are_reported_and_both_read(workspace: Workspace) -> None:
    (workspace.root / "topics/HOME.md").write_text("# Loud\n")
    assert workspace.snapshot().read(RelPath("topics/HOME.md")) == "# Loud\n"
    assert {path for path, rule in told(workspace) if rule == "case-only-twin"} == {
        HOME,
        "topics/HOME.md",
    }
    goes_on(workspace)


def test_a_name_that_is_no_text_is_reported(workspace: Workspace) -> None:
    (workspace.root / os.fsdecode(b"topics/\xff.md")).write_text("# Odd\n")
    ((path, rule),) = told(workspace)
    assert rule == "unusable-name"
    path.encode()
    goes_on(workspace)


def test_hidden_files_and_other_kinds_are_passed_over(workspace: Workspace) -> None:
    revision = workspace.snapshot().revision
    (workspace.root / "topics/.obsidian").mkdir()
    (workspace.root / "topics/.obsidian/x.md").write_text("x")
    (workspace.root / "topics/.home.md.swp").write_text("x")
    (workspace.root / "topics/picture.png").write_bytes(b"\x89PNG")
    assert workspace.snapshot().revision == revision
    assert told(workspace) == []


# --- unreadable is not deleted; root may read everything, so the refusal is played


@pytest.fixture
def forbid(monkeypatch: pytest.MonkeyPatch) -> Callable[[Path], None]:
    """Makes the file or directory unreadable."""
    forbidden: set[str] = set()
    open_, scandir = os.open, os.scandir

    def refusing_open(path: str | Path, *rest: int) -> int:
        if str(path) in forbidden:
            raise PermissionError(13, "Permission denied", str(path))
        return open_(path, *rest)

    def refusing_scandir(path: str | Path) -> object:
        if str(path) in forbidden:
            raise PermissionError(13, "Permission denied", str(path))
        return scandir(path)

    monkeypatch.setattr(scan.os, "open", refusing_open)
    monkeypatch.setattr(scan.os, "scandir", refusing_scandir)
    return lambda path: forbidden.add(str(path))


def test_an_unreadable_file_is_not_deleted(
    workspace: Workspace, forbid: Callable[[Path], None]
) -> None:
    remember(workspace, PLAN, "plan")
    before = workspace.snapshot()
    forbid(workspace.root / PLAN)
    os.utime(workspace.root / PLAN, ns=(1, 1))
    after = workspace.snapshot()
    assert after.revision == before.revision
    assert after.counts().blocks == 2
    assert told(workspace) == [(PLAN, "unreadable")]
    with pytest.raises(InvalidArgument):
        after.read(RelPath(PLAN))
    goes_on_here(workspace)
    assert "Fact plan." in (workspace.root / "recent_events.jsonl").read_text()
    assert problems(workspace, PLAN) == {"unreadable"}


def test_an_unreadable_directory_is_not_deleted(
    workspace: Workspace, forbid: Callable[[Path], None]
) -> None:
    remember(workspace, "topics/work/plan.md", "plan")
    before = workspace.snapshot()
    forbid(workspace.root / "topics/work")
    assert workspace.snapshot().revision == before.revision
    assert told(workspace) == [("topics/work", "unreadable")]
    goes_on_here(workspace)
    assert workspace.snapshot().counts().blocks == before.counts().blocks + 1


def test_unreadable_sources_are_not_deleted(
    workspace: Workspace, forbid: Callable[[Path], None]
) -> None:
    before = workspace.snapshot()
    (source,) = [info.path for info in before.files() if info.kind == "source"]
    forbid((workspace.root / source).parent)
    os.utime((workspace.root / source).parent)
    remember(workspace, HOME, "more")
    fresh = Workspace.open(workspace.root).snapshot()
    assert fresh.counts().sources == 2
    assert (source.rpartition("/")[0], "unreadable") in [(p.path, p.rule) for p in fresh.problems]


def goes_on_here(workspace: Workspace) -> None:
    remember(workspace, HOME, "more")
    assert "Fact more." in workspace.snapshot().read(RelPath(HOME))


def test_a_source_edited_in_place_is_found_out_by_validate_and_by_reading_it(
    workspace: Workspace,
) -> None:
    snapshot = workspace.snapshot()
    (source,) = [info.path for info in snapshot.files() if info.kind == "source"]
    file = workspace.root / source
    file.write_text(file.read_text().replace("## source-", "## sauce-"))
    rules: set[str] = {problem.rule for problem in _of(validate(workspace), source)}
    assert "damaged-source" in rules
    assert "unknown-source" in problems(workspace, HOME)


def _of(found: list[Problem], path: str) -> list[Problem]:
    return [problem for problem in found if problem.path == path]


def test_an_edit_in_place_is_seen_in_a_directory_in_which_nothing_else_happens(
    workspace: Workspace,
) -> None:
    place = workspace.root / HOME
    settle(workspace)
    for text in ("# One\n", "# Two\n", "# One\n"):
        with place.open("r+", encoding="utf-8") as file:
            file.write(text)
            file.truncate()
        assert workspace.snapshot().read(RelPath(HOME)) == text
        assert workspace.snapshot().counts().blocks == 0


def test_files_made_moved_and_removed_in_a_quiet_directory_are_seen(workspace: Workspace) -> None:
    topics = workspace.root / "topics"
    settle(workspace)
    (topics / "a.md").write_text("# A\n")
    assert workspace.snapshot().exists(RelPath("topics/a.md"))
    settle(workspace)
    (topics / "deep").mkdir()
    (topics / "a.md").rename(topics / "deep" / "b.md")
    assert not workspace.snapshot().exists(RelPath("topics/a.md"))
    assert workspace.snapshot().exists(RelPath("topics/deep/b.md"))
    settle(workspace)
    (topics / "deep" / "b.md").unlink()
    assert not workspace.snapshot().exists(RelPath("topics/deep/b.md"))
    assert workspace.snapshot().counts().topic_files == 1


def settle(workspace: Workspace) -> None:
    """The directories of topics are old enough for their times to tell of what comes next."""
    for directory in [workspace.root / "topics", *(workspace.root / "topics").glob("*/")]:
        os.utime(directory, (1_700_000_000, 1_700_000_000.5))
    tick = workspace.root / "tick"
    while (workspace.root / "topics").stat().st_ctime_ns + 25_000_000 > _now(tick):
        workspace.snapshot()
    workspace.snapshot()
    workspace.snapshot()


def _now(file: Path) -> int:
    """The file system's clock."""
    file.touch()
    return file.stat().st_mtime_ns


@pytest.mark.parametrize("odd", ["topics/odd.md", "sources/claude-code/odd.md"])
def test_what_is_odd_is_told_of_each_time(workspace: Workspace, odd: str) -> None:
    (workspace.root / odd).symlink_to(workspace.root / "core.md")
    for _ in range(3):
        settle(workspace)
        assert told(workspace) == [(odd, "not-a-file")]
    (workspace.root / odd).unlink()
    assert told(workspace) == []


@pytest.mark.parametrize(
    "path", ["core.md", HOME, "sources/claude-code/thread.md", "topics/deep/er.md"]
)
def test_the_copy_of_an_edit_that_met_an_installation_is_told_until_it_is_removed(
    workspace: Workspace, path: str
) -> None:
    copy = workspace.root / f"{path}.conflict-20260804T120000Z"
    copy.parent.mkdir(exist_ok=True)
    copy.write_text("# Mine\n")
    for _ in range(2):
        settle(workspace)
        assert told(workspace) == [(f"{path}.conflict-20260804T120000Z", "conflict-copy")]
    assert problems(workspace, f"{path}.conflict-20260804T120000Z") == {"conflict-copy"}
    goes_on(workspace)
    copy.unlink()
    assert told(workspace) == []

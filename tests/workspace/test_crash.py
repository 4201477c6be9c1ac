"""A writer is killed, or its disk fails, at every step: all of the update or none of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.workspace import crash
from tests.workspace.crash import Scenario, State

from scriptorium.workspace import installed, journal, layout
from scriptorium.workspace.digests import digest
from scriptorium.workspace.journal import Change

BEFORE = {
    ".gitignore": "*\n",
    "core.md": "# Core\n",
    "topics/person.md": "old person\n",
    "topics/gone/only.md": "to be deleted\n",
    "sources/p/t.md": "one\n",
    "recent_events.jsonl": "{}\n",
}
AFTER = {
    ".gitignore": "*\n",
    "core.md": "# Core\n\nnew\n",
    "topics/person.md": "new person\n",
    "topics/deep/er/new.md": "created\n",
    "sources/p/t.md": "one\ntwo\n",
    "recent_events.jsonl": "{}\n{}\n",
    "timeline/2026.md": "a year\n",
}
CURSOR = "ingest/cursor.json"


def update(root: Path) -> None:
    """One update as a transaction makes it: edits, creations, a deletion and a runtime file."""
    place = layout.Layout.of(root)
    with journal.locked(place):
        journal.recover(place)
        if crash.files(root) == AFTER:
            return
        paths = sorted(BEFORE.keys() | AFTER.keys())
        changes = [_change(path) for path in paths]
        cursor = Change(place.runtime_path(CURSOR), None, b"2")
        journal.commit(place, [*changes, cursor])


def _change(path: str) -> Change:
    before, after = BEFORE.get(path), AFTER.get(path)
    return Change(
        path,
        None if before is None else digest(before.encode()),
        None if after is None else after.encode(),
    )


def start(root: Path) -> None:
    place = layout.Layout.of(root)
    with journal.locked(place):
        journal.recover(place)
    assert not journal.pending(place)


def state(root: Path) -> State:
    found = crash.files(root)
    cursor = (root / ".scriptorium" / CURSOR).exists()
    assert not [path for path in root.rglob("*") if path.is_dir() and path.name == "gone"] or (
        found == BEFORE
    )
    assert (found, cursor) in ((BEFORE, False), (AFTER, True))
    return "after" if cursor else "before"


@pytest.fixture
def scenario(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Scenario:
    monkeypatch.setattr(installed, "MOST", 2)  # so that the update also settles an earlier one
    place = layout.create(tmp_path / "template", ignore=True)
    texts = BEFORE | {"core.md": "# Core\n"}
    with journal.locked(place):
        journal.commit(
            place,
            [
                Change(path, _digest(place, path), text.encode())
                for path, text in texts.items()
                if path != ".gitignore"
            ],
        )
    return Scenario(place.root, update, start, state)


def _digest(place: layout.Layout, path: str) -> str | None:
    content = layout.read_bytes(place, path)
    return None if content is None else digest(content)


def test_an_update_stopped_at_any_step_is_there_whole_or_not_at_all(
    scenario: Scenario, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    matrix = crash.run_matrix(scenario, tmp_path / "run")

    with capsys.disabled():
        print("\n\n" + matrix.table("journal"))
    assert matrix.broken == []
    assert {"all", "none"} == set(matrix.cells.values())


def test_the_harness_notices_an_update_that_is_not_atomic(
    scenario: Scenario, tmp_path: Path
) -> None:
    """Without the journal's replay the matrix fails, so it can fail."""

    def forgetful(root: Path) -> None:
        (root / ".scriptorium" / "journal").unlink(missing_ok=True)

    careless = Scenario(scenario.template, scenario.act, forgetful, scenario.state)
    with pytest.raises(AssertionError):
        crash.run_matrix(careless, tmp_path / "run")


def test_a_recovery_killed_at_any_step_is_done_again(
    scenario: Scenario, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = tmp_path / "run"
    steps = crash.steps_of(update, scenario.copy(place))
    commit_point = next(n for n, step in enumerate(steps) if step == "rename")
    last = max(n for n, step in enumerate(steps) if step == "rename")
    runs = 0
    for number in (commit_point, (commit_point + last) // 2):
        stopped = scenario.copy(tmp_path / "stopped")
        crash.killed(update, stopped, number, crash.die_after)
        halted = Scenario(stopped, start, start, state)
        for at in range(len(crash.steps_of(start, halted.copy(place)))):
            for harm in (crash.die, crash.die_within):
                root = halted.copy(place)
                crash.killed(start, root, at, harm)
                start(root)
                assert state(root) == "after"
                assert crash.litter(root) == []
                runs += 1
    with capsys.disabled():
        print(f"\nrecovery killed: {runs} runs, the whole update was there after each")
    assert runs > 100


def test_an_edit_between_the_crash_and_the_recovery_survives(
    scenario: Scenario, tmp_path: Path
) -> None:
    place = tmp_path / "run"
    edited = 0
    for number in range(len(crash.steps_of(update, scenario.copy(place)))):
        root = scenario.copy(place)
        crash.killed(update, root, number, crash.die_after)
        (root / "topics" / "person.md").write_text("by hand\n", encoding="utf-8")
        start(root)
        texts = crash.files(root)
        assert "by hand\n" in texts.values()
        if texts["topics/person.md"] != "by hand\n":
            assert texts["topics/person.md"] == AFTER["topics/person.md"]
            assert any(path.startswith("topics/person.md.conflict-") for path in texts)
            edited += 1
    assert edited > 0


def test_an_edit_after_the_installation_is_never_reverted(
    scenario: Scenario, tmp_path: Path
) -> None:
    root = scenario.copy(tmp_path / "run")
    update(root)
    (root / "topics" / "person.md").write_text(BEFORE["topics/person.md"], encoding="utf-8")
    (root / "topics" / "deep" / "er" / "new.md").unlink()
    for _ in range(2):
        start(root)
    assert (root / "topics" / "person.md").read_text(encoding="utf-8") == "old person\n"
    assert not (root / "topics" / "deep" / "er" / "new.md").exists()


def test_a_writer_that_cannot_begin_leaves_every_byte(scenario: Scenario, tmp_path: Path) -> None:
    root = scenario.copy(tmp_path / "run")
    before = {p: (p.stat().st_mtime_ns, p.stat().st_ino) for p in root.rglob("*.md")}
    full = crash.Saboteur(0, crash.failing(28), lasting=True)
    assert crash.attempted(update, root, full) == "refused"
    assert before == {p: (p.stat().st_mtime_ns, p.stat().st_ino) for p in root.rglob("*.md")}
    assert list((root / ".scriptorium" / "staging").iterdir()) == []

"""A whole update of memory is stopped at every step: catalog, views and contract included."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.workspace import crash, updates
from tests.workspace.crash import Scenario, State

from scriptorium.workspace.transaction import rebuild_views
from scriptorium.workspace.validate import validate

type Files = dict[str, str]


def prepare(root: Path) -> None:
    """A workspace with two topics, one of which links to the other."""
    workspace = updates.open_workspace(root)
    updates.send(
        workspace,
        workspace.snapshot(),
        {
            "topics/person.md": "# Person\n" + updates.fact("a", "The user lives in Pudong."),
            "topics/old/plan.md": "# Plan\n" + updates.fact("b", "They plan to move."),
        },
        "I live in Pudong, and plan to move.",
    )


def remember(root: Path) -> None:
    """One update that edits, creates and deletes topics, edits core and archives a source."""
    workspace = updates.open_workspace(root)
    snapshot = workspace.snapshot()
    person = updates.text_of(snapshot, "topics/person.md")
    updates.send(
        workspace,
        snapshot,
        {
            "core.md": updates.text_of(snapshot, "core.md") + "\nThe user commutes.\n",
            "topics/person.md": person + updates.fact("c", "They commute by metro."),
            "topics/work/office.md": "# Office\n" + updates.fact("d", "The office is far."),
            "topics/old/plan.md": None,
        },
        "I take the metro to the office.",
    )


def next_start(root: Path) -> None:
    """The next session reads; then everything must be right, the views included."""
    workspace = updates.open_workspace(root)
    workspace.snapshot()
    assert validate(workspace) == []
    assert rebuild_views(workspace) == ()


@pytest.fixture
def scenario(tmp_path: Path) -> Scenario:
    return prepared(tmp_path)


def prepared(folder: Path) -> Scenario:
    """The update above, and what is there before and after it; the benchmarks count with it too."""
    template, done = folder / "template", folder / "done"
    prepare(template)
    before = crash.files(template)
    reference = Scenario(template, remember, next_start, lambda _: "before")
    remember(reference.copy(done))
    after = crash.files(done)
    assert before != after

    def state(root: Path) -> State:
        found = crash.files(root)
        assert found in (before, after)
        return "after" if found == after else "before"

    return Scenario(template, remember, next_start, state)


def test_a_whole_update_stopped_at_any_step_is_there_or_not(
    scenario: Scenario, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    matrix = crash.run_matrix(scenario, tmp_path / "run", rotate=True)

    with capsys.disabled():
        print("\n\n" + matrix.table("memory_update"))
    assert matrix.broken == []
    assert {"all", "none"} == set(matrix.cells.values())


def test_an_edit_between_the_crash_and_the_next_update_survives(
    scenario: Scenario, tmp_path: Path
) -> None:
    place = tmp_path / "run"
    steps = crash.steps_of(remember, scenario.copy(place))
    for number in [n for n, step in enumerate(steps) if step == "rename"]:
        root = scenario.copy(place)
        crash.killed(remember, root, number, crash.die_after)
        person = root / "topics" / "person.md"
        edited = person.read_text(encoding="utf-8").replace("Pudong", "Puxi")
        person.write_text(edited, encoding="utf-8")

        updates.open_workspace(root).snapshot()

        assert any("Puxi" in text for text in crash.files(root).values())

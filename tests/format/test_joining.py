"""Two forms of one source file become one: by records, without loss, whichever side is ours."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from scriptorium.format import sources
from scriptorium.format.joining import joined
from scriptorium.format.model import SourceId, SourceRecord

CONTENTS = st.text(max_size=40) | st.sampled_from(["same\nlines\n\nhere", "## source-x", "> q"])


def record(name: str, content: str, day: int = 1) -> SourceRecord:
    time = f"2026-08-{day:02}T10:00:00+00:00"
    return SourceRecord(SourceId(f"codex/thread/{name}"), "user", time, content)


def names(text: str) -> list[str]:
    found, faults = sources.parse(text)
    assert faults == []
    return [r.id.rpartition("/")[2] for r in found]


@st.composite
def threads(draw: st.DrawFn) -> tuple[list[SourceRecord], list[SourceRecord], list[SourceRecord]]:
    """A common past, and what each side heard afterwards."""
    days = st.integers(1, 28)
    sizes = [draw(st.integers(0, 3)) for _ in range(3)]
    past, ours, theirs = (
        [record(f"{side}{n}", draw(CONTENTS), draw(days)) for n in range(size)]
        for side, size in zip("pot", sizes, strict=True)
    )
    return past, ours, theirs


@settings(max_examples=60)
@given(threads())
def test_no_record_is_lost_or_changed_and_each_side_keeps_its_order(
    thread: tuple[list[SourceRecord], list[SourceRecord], list[SourceRecord]],
) -> None:
    past, ours, theirs = thread
    base = sources.append("", past)
    mine, other = sources.append(base, ours), sources.append(base, theirs)
    both = joined(mine, other)
    found, faults = sources.parse(both)
    assert faults == []
    every = [*past, *ours, *theirs]
    assert {r.id: r for r in found} == {r.id: r for r in every}
    assert len(found) == len(every)
    assert [r for r in found if r in [*past, *ours]] == [*past, *ours]
    assert [r for r in found if r in [*past, *theirs]] == [*past, *theirs]


@settings(max_examples=60)
@given(threads())
def test_the_result_is_the_same_from_either_side_and_when_joined_again(
    thread: tuple[list[SourceRecord], list[SourceRecord], list[SourceRecord]],
) -> None:
    past, ours, theirs = thread
    base = sources.append("", past)
    mine, other = sources.append(base, ours), sources.append(base, theirs)
    both = joined(mine, other)
    assert joined(other, mine) == both
    assert joined(both, mine) == joined(other, both) == both
    if not theirs and (past or ours):
        assert both == mine, "what one side has is written as `append` writes it"


@settings(max_examples=60)
@given(st.text(max_size=80), st.text(max_size=80))
def test_any_two_texts_can_be_joined(ours: str, theirs: str) -> None:
    assert joined(ours, theirs) == joined(theirs, ours)


def test_the_earlier_message_comes_first() -> None:
    base = sources.append("", [record("p", "past")])
    ours = sources.append(base, [record("a", "a", 2), record("d", "d", 9)])
    theirs = sources.append(base, [record("b", "b", 3), record("c", "c", 4)])
    assert names(joined(ours, theirs)) == ["p", "a", "b", "c", "d"]


def test_an_erased_record_is_erased_on_both_sides() -> None:
    text = sources.append("", [record("p", "secret"), record("q", "fine")])
    erased = sources.tombstone(text, [SourceId("codex/thread/p")], "2026-08-09")
    more = sources.append(text, [record("r", "more")])
    for both in (joined(erased, more), joined(more, erased)):
        assert "secret" not in both
        assert names(both) == ["p", "q", "r"]


def test_a_section_that_cannot_be_read_is_carried_along() -> None:
    text = sources.append("", [record("p", "past")])
    damaged = f"{text}\n## source-0000000000000000\n\nsomeone wrote here\n"
    both = joined(damaged, sources.append(text, [record("q", "more")]))
    assert "someone wrote here" in both
    assert {r.id for r in sources.parse(both)[0]} == {"codex/thread/p", "codex/thread/q"}

"""Random texts, random edits, random damage to the diff: the intended text, or a refusal."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence

from hypothesis import assume, given
from hypothesis import strategies as st

from scriptorium.errors import InvalidArgument, PatchConflict, ScriptoriumError
from scriptorium.format import patch

A = "topics/a.md"
HEAD = [f"--- a/{A}", f"+++ b/{A}"]

TRICKY = [
    "a",
    "b",
    "c",
    "",
    "  x",
    "- item",
    "+ item",
    "-- b",
    "++ b",
    "-- a/topics/q.md",
    "++ b/topics/q.md",
    "@@ -1,2 +1,2 @@",
    "@@",
    "```",
    "```diff",
    "diff --git a/x b/x",
    "\\ No newline at end of file",
    "---",
    "a\rb",
    "a\x0cb\x85c\u2028d",
    "日本語",
]
LINE = st.sampled_from(TRICKY) | st.text(
    st.characters(codec="utf-8", exclude_characters="\n\r"), max_size=5
)
LINES = st.lists(LINE, max_size=12)
DISTINCT = st.lists(LINE, max_size=12, unique_by=lambda line: line.rstrip())


@st.composite
def edit_of(draw: st.DrawFn, lines: st.SearchStrategy[list[str]]) -> tuple[list[str], list[str]]:
    """A text and the same after one to three random edits."""
    old = draw(lines)
    new = list(old)
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(new)))
        taken = draw(st.integers(0, 3))
        new[at : at + taken] = draw(st.lists(LINE, max_size=3))
    assume(new != old)
    return old, new


def hunks(old: Sequence[str], new: Sequence[str], context: int = 3) -> list[str]:
    return list(difflib.unified_diff(old, new, lineterm="", n=context))[2:]


def whole(lines: Sequence[str]) -> str:
    return "".join(line + "\n" for line in lines)


def result(old: str, diff: str) -> str:
    out = patch.apply(patch.parse(diff), {A: old.encode("utf-8")}.get)[
        patch.parse(diff).files[0].path
    ]
    assert out is not None
    return out.decode("utf-8")


def intended_or_refused(old: str, diff: str, new: str) -> None:
    try:
        made = result(old, diff)
    except (PatchConflict, InvalidArgument):
        return
    assert made == new


@given(edit_of(LINES), st.integers(1, 4))
def test_an_honest_diff_gives_exactly_the_new_text(
    edit: tuple[list[str], list[str]], context: int
) -> None:
    old, new = edit
    diff = hunks(old, new, context)
    # Lines added at the top without any context are refused: they look like a new file's.
    assume(not (old and diff[0].startswith("@@ -0,0 ")))
    # Without an explicit count, an added line may be context that begins with + itself.
    assume(not any(f"+{line.rstrip()}" in old for line in new))
    assert result(whole(old), whole(HEAD + diff)) == whole(new)


@given(edit_of(LINES), st.sampled_from(["\n", "\r\n"]), st.booleans(), st.booleans())
def test_line_ends_final_newline_and_wrapping_do_not_matter(
    edit: tuple[list[str], list[str]], end: str, fenced: bool, cut: bool
) -> None:
    old, new = edit
    diff = hunks(old, new)
    assume(not (old and diff[0].startswith("@@ -0,0 ")))
    text = end.join([f"--- {A}", f"+++ {A}", *diff]) + ("" if cut else end)
    if fenced:
        text = f"The patch:{end}{end}````diff{end}{text}{end if cut else ''}````{end}So.{end}"
    assert result(whole(old), text) == whole(new)
    assume("\r" not in "".join(old + new))
    windows = whole(old).replace("\n", "\r\n")
    assert result(windows, text) == whole(new).replace("\n", "\r\n" if old else "\n")


@given(st.lists(st.tuples(LINE, st.sampled_from(["\n", "\r\n"])), max_size=8), st.data())
def test_mixed_line_ends_come_out_as_the_diff_shows_them(
    pieces: list[tuple[str, str]], data: st.DataObject
) -> None:
    old = [line + end for line, end in pieces]
    new = list(old)
    at = data.draw(st.integers(0, len(new)))
    new[at : at + data.draw(st.integers(0, 2))] = [
        line + data.draw(st.sampled_from(["\n", "\r\n"]))
        for line in data.draw(st.lists(LINE, max_size=2))
    ]
    assume(new != old)
    diff = list(difflib.unified_diff(old, new))[2:]
    assume(not (old and diff[0].startswith("@@ -0,0 ")))
    # Without one line of either kind in the diff nothing shows which kind an added line is to be.
    shown = [line.endswith("\r\n") for line in diff if line[0] in " +-"]
    assume(any(shown))
    text = "".join([f"{name}\n" for name in HEAD] + diff)
    assert result("".join(old), text) == "".join(new)


@given(edit_of(LINES), st.booleans(), st.booleans())
def test_a_missing_final_newline_is_kept_as_the_markers_say(
    edit: tuple[list[str], list[str]], old_ended: bool, new_ended: bool
) -> None:
    old, new = edit
    assume(old and old[-1] and new and new[-1])
    before = [*old[:-1], old[-1] + ("" if old_ended else "\0")]
    after = [*new[:-1], new[-1] + ("" if new_ended else "\0")]
    assume(before != after)
    diff = hunks(before, after)
    marked = [line.replace("\0", "\n\\ No newline at end of file") for line in diff]
    assume(not diff[0].startswith("@@ -0,0 "))
    assume("\0" not in "".join(old + new))
    made = result(whole(before).replace("\0\n", ""), whole(HEAD + marked))
    assert made == whole(after).replace("\0\n", "")


COUNTS = ["@@", "@@ ... @@", "@@ -{old} +{new} @@", "@@ -{old},{n} +{new},{n} @@ ## Section"]
NUMBERS = [*COUNTS, "@@ -{n},{n} +{n},{n} @@", "@@ -{n} +{new} @@"]
RANGES = re.compile(r"^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@")


def with_headers(diff: list[str], form: str, number: int) -> list[str]:
    def header(match: re.Match[str]) -> str:
        return form.format(old=match[1], new=match[2], n=number)

    return [RANGES.sub(header, line) if line[0] == "@" else line for line in diff]


@given(edit_of(LINES), st.sampled_from(COUNTS), st.integers(0, 9), st.integers(1, 4))
def test_wrong_counts_never_give_a_wrong_text(
    edit: tuple[list[str], list[str]],
    form: str,
    number: int,
    context: int,
) -> None:
    old, new = edit
    diff = with_headers(hunks(old, new, context), form, number)
    intended_or_refused(whole(old), whole(HEAD + diff), whole(new))


@given(edit_of(DISTINCT), st.sampled_from(NUMBERS), st.integers(0, 9))
def test_wrong_numbers_never_give_a_wrong_text(
    edit: tuple[list[str], list[str]],
    form: str,
    number: int,
) -> None:
    old, new = edit
    honest = hunks(old, new)
    # A hunk without any old line goes where its number says: that number is then all there is.
    assume(not any(re.match(r"@@ -\d+,0 ", line) for line in honest))
    diff = with_headers(honest, form, number)
    intended_or_refused(whole(old), whole(HEAD + diff), whole(new))


@given(
    edit_of(LINES),
    st.sampled_from([None, *COUNTS]),
    st.integers(0, 9),
    st.randoms(use_true_random=False),
)
def test_stripped_blanks_and_marks_never_give_a_wrong_text(
    edit: tuple[list[str], list[str]],
    form: str | None,
    number: int,
    random: object,
) -> None:
    old, new = ([line.rstrip() for line in side] for side in edit)
    assume(old != new)
    diff = hunks(old, new)
    chance = random.random  # type: ignore[attr-defined]
    old = [line + "  " * (chance() < 0.2) for line in old]
    if form:
        diff = with_headers(diff, form, number)
    # Wrong counts may agree by chance with `+ x`, context without its blank, as an added line.
    kept = (" +",) if form and "{n}" in form else ()
    diff = [
        line[1:]
        if line.startswith(" ") and not line.startswith(kept) and chance() < 0.3
        else line.rstrip(" ")
        for line in diff
    ]
    try:
        made = result(whole(old), whole(HEAD + diff))
    except (PatchConflict, InvalidArgument):
        return
    assert [line.rstrip() for line in made.split("\n")] == [
        line.rstrip() for line in whole(new).split("\n")
    ]


FRAGMENTS = st.sampled_from(
    [
        *HEAD,
        "--- /dev/null",
        "+++ /dev/null",
        "diff --git a/topics/a.md b/topics/a.md",
        "new file mode 100644",
        "deleted file mode 100644",
        "rename from x",
        "@@ -1,2 +1,2 @@",
        "@@ -0,0 +1,2 @@",
        "@@ -1,99999 +1 @@",
        "@@",
        *(mark + line for mark in ("", " ", "+", "-") for line in TRICKY),
    ]
)


@given(
    st.lists(FRAGMENTS | st.text(max_size=8), max_size=14), LINES, st.sampled_from(["\n", "\r\n"])
)
def test_garbage_raises_nothing_but_expected_errors(
    pieces: list[str], old: list[str], end: str
) -> None:
    try:
        patch.apply(patch.parse(end.join(pieces)), {A: whole(old).encode("utf-8")}.get)
    except ScriptoriumError as refused:
        assert refused.message

"""Sources: whatever a message says, it is read back exactly and can pass for nothing else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scriptorium.errors import InvalidArgument
from scriptorium.format import ids, paths, sources
from scriptorium.format.model import SourceId, SourceRecord

THREAD = "cc9f0000aaaa1111"
OTHER = ids.source_id("claude-code", THREAD, "other")


def record(content: str, message: str = "m1", role: str = "user") -> SourceRecord:
    source = ids.source_id("claude-code", THREAD, message)
    return SourceRecord(source, role, "2026-08-03T10:30:00+08:00", content)


FORGERIES = [
    "",
    "\n",
    "\n\n",
    "a",
    "a\n",
    " ",
    "trailing  \n",
    "a\r\nb",
    "a\rb",
    "\r",
    "a\u2028b\u2029c\x85d\x0be\x0cf",
    "␛{41} and ␛ and ␛{241B}",
    "\x00\x1b[31mred",
    "\ud800 lone",
    "\ufeffbom",
    f"\n## {ids.anchor(OTHER)}\n\n`{OTHER}` · `user` · `unknown`\n\n> forged\n",
    f"x\r## {ids.anchor(OTHER)}\r\r`{OTHER}` · `user` · `unknown`\r\r> forged\r",
    "> quoted\n>\n> ## heading",
    "<!-- open",
    "```\nfence",
    "-->\n## x",
]

CONTENT = st.text(max_size=60) | st.lists(
    st.sampled_from([*FORGERIES, "\n", "\r", ">", "> ", "## ", "`", " · ", "x"]), max_size=6
).map("".join)


def file_of(*records: SourceRecord) -> str:
    return sources.append("", list(records))


@pytest.mark.parametrize("content", FORGERIES)
def test_a_content_is_read_back_exactly(content: str) -> None:
    assert sources.parse(file_of(record(content))) == ([record(content)], [])


@given(st.lists(CONTENT, min_size=1, max_size=4))
def test_any_contents_give_their_records_and_no_other(contents: list[str]) -> None:
    records = [record(c, f"m{n}") for n, c in enumerate(contents)]
    text = file_of(*records)
    text.encode("utf-8")
    assert sources.parse(text) == (records, [])


@given(CONTENT)
def test_a_content_adds_no_heading_for_any_reader_of_lines(content: str) -> None:
    lines = file_of(record(content)).splitlines()
    assert len([line for line in lines if line.startswith("#")]) == 2
    assert "\r" not in file_of(record(content))


def test_a_quoted_heading_is_not_the_anchor_of_another_record() -> None:
    text = file_of(record(f"## {ids.anchor(OTHER)}"))
    assert ids.anchor(OTHER) not in text
    assert sources.parse(text)[0][0].content == f"## {ids.anchor(OTHER)}"


def test_a_copy_with_crlf_and_bom_reads_the_same() -> None:
    records = [record("a\n\nb\r\n", "m1"), record("", "m2")]
    copy = "\ufeff" + file_of(*records).replace("\n", "\r\n")
    assert sources.parse(copy) == (records, [])


def test_an_unknown_time_is_read_back_as_none() -> None:
    untimed = SourceRecord(OTHER, "assistant", None, "x")
    assert sources.parse(file_of(untimed)) == ([untimed], [])


@given(st.lists(CONTENT, min_size=1, max_size=3), st.lists(CONTENT, min_size=1, max_size=3))
def test_appending_keeps_every_byte_and_adds_a_record_once(old: list[str], new: list[str]) -> None:
    before = file_of(*(record(c, f"old{n}") for n, c in enumerate(old)))
    added = [record(c, f"new{n}") for n, c in enumerate(new)]
    after = sources.append(before, added)
    assert after.startswith(before)
    assert len(sources.parse(after)[0]) == len(old) + len(new)
    assert sources.append(after, added) == after
    assert sources.append(before, added + added) == after


@pytest.mark.parametrize("damage", ["> no end", "\ufeffnote", "## source-zz\n\nx", "> a\r\n"])
def test_appending_to_a_damaged_file_still_gives_a_good_record(damage: str) -> None:
    after = sources.append(damage, [record("x")])
    assert after.startswith(damage)
    assert record("x") in sources.parse(after)[0]


def test_a_file_starts_with_its_thread() -> None:
    assert file_of(record("x")).startswith(sources.header(record("x").id))


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("`user`", "user", 7),
        ("> two", "two", 10),
        ("> two", "", 11),
        ("## source-", "## sauce-", 5),
        ("claude-code/cc9f0000aaaa1111/m1", "claude-code/cc9f0000aaaa1111/m9", 5),
    ],
)
def test_a_damaged_record_costs_that_record_and_names_its_line(
    old: str, new: str, line: int
) -> None:
    text = file_of(record("one\ntwo\nthree", "m1"))
    start = text.index("## source-")
    damaged = text[:start] + text[start:].replace(old, new, 1)
    records, faults = sources.parse(sources.append(damaged, [record("good", "m2")]))
    assert [r.content for r in records] == ["good"]
    assert [number for number, _ in faults] == [line]


def test_a_note_between_records_is_named_and_costs_nothing() -> None:
    text = file_of(record("one", "m1")) + "\na note\n"
    records, faults = sources.parse(sources.append(text, [record("two", "m2")]))
    assert [r.content for r in records] == ["one", "two"]
    assert [number for number, _ in faults] == [11]


def test_the_same_record_twice_is_one_and_with_another_content_a_fault() -> None:
    text = file_of(record("one"))
    again = "\n" + sources.render_record(record("one"))
    assert sources.parse(text + again) == ([record("one")], [])
    changed = "\n" + sources.render_record(record("two"))
    records, faults = sources.parse(text + changed)
    assert records == [record("one")]
    assert len(faults) == 1


@given(st.text(max_size=200) | CONTENT)
def test_reading_never_raises(text: str) -> None:
    sources.parse(text)
    sources.parse(file_of(record("x")) + text)


def test_an_erased_record_keeps_its_heading_and_loses_its_words() -> None:
    kept, gone = record("kept\r\n", "m1"), record("secret\nwords", "m2")
    text = file_of(kept, gone)
    after = sources.tombstone(text, {gone.id}, "2026-08-09")
    assert "secret" not in after
    assert f"## {ids.anchor(gone.id)}" in after
    assert after.startswith(text[: text.index(ids.anchor(gone.id))])
    assert sources.parse(after) == ([kept, record("", "m2")], [])
    assert sources.tombstone(after, {gone.id}, "2026-09-01") == after
    assert sources.append(after, [gone]) == after


@pytest.mark.parametrize("role", ["", " user", "a`b", "us\ner", "us\u202eer", "x" * 65])
def test_a_role_that_could_forge_or_hide_is_refused(role: str) -> None:
    with pytest.raises(InvalidArgument):
        sources.render_record(record("x", role=role))


def test_a_time_that_could_forge_is_refused() -> None:
    with pytest.raises(InvalidArgument):
        sources.render_record(SourceRecord(OTHER, "user", "2026` · `x", "x"))


def test_a_record_without_content_is_a_fault() -> None:
    text = file_of(record("x")).replace("> x\n", "")
    assert sources.parse(text) == ([], [(7, f"{record('x').id} has no quoted content")])


def test_an_id_that_was_not_made_is_refused() -> None:
    with pytest.raises(InvalidArgument):
        sources.render_record(SourceRecord(SourceId("a/b`c/d"), "user", None, "x"))


def test_a_thread_has_its_file_below_its_provider() -> None:
    assert sources.thread_path(record("x").id) == f"sources/claude-code/{THREAD}.md"


def test_odd_threads_get_safe_files_of_their_own() -> None:
    odd = ["ABC", "abc", "..", ".hidden", "con", "CON", "a b", "a/b", "x.", "日本", "-", "y" * 300]
    made = [sources.thread_path(ids.source_id("My Client", t, "m")) for t in odd]
    assert len({paths.twin_key(p) for p in made}) == len(odd)
    assert all(paths.rel_path(p) == p and paths.kind(p) == "source" for p in made)


@given(st.text(min_size=1, max_size=20), st.text(min_size=1, max_size=20))
def test_any_thread_has_a_path(provider: str, thread: str) -> None:
    path = sources.thread_path(ids.source_id(provider, thread, "m"))
    assert paths.kind(path) == "source"

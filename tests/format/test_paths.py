"""Paths: what may be written, what may be read, and links from one file to another."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scriptorium.errors import (
    InvalidArgument,
    PathOutsideWorkspace,
    ReadOnlyPath,
    ScriptoriumError,
)
from scriptorium.format import paths
from scriptorium.format.model import RelPath

NFD = unicodedata.normalize("NFD", "topics/café.md")


@pytest.mark.parametrize(
    "text",
    [
        "core.md",
        "topics/a.md",
        "topics/工作/办公室.md",
        "topics/🏠 home.md",
        "topics/بيت.md",
        "topics/می‌خواهم.md",
        "topics/Console.md",
        "topics/a..b.md",
        "topics/" + "é" * 98 + ".md",
        "/".join(["d"] * 31 + ["x.md"]),
    ],
)
def test_a_clean_path_is_itself(text: str) -> None:
    assert paths.rel_path(text) == text


@pytest.mark.parametrize(
    "text",
    ["/etc/passwd", "//host/x", "\\\\host\\x", "C:/x.md", "c:x", "topics/../x", "..", "a\\..\\b"],
)
def test_a_way_out_of_the_workspace_is_refused(text: str) -> None:
    with pytest.raises(PathOutsideWorkspace):
        paths.rel_path(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "./topics/a.md",
        "topics//a.md",
        "topics/",
        "topics/.hidden.md",
        ".scriptorium/x.md",
        "topics/a\x00.md",
        "topics/a\n.md",
        "topics/a\x85.md",
        "topics/a\u2028.md",
        "topics/a\u202e.md",
        "topics/a\u200b.md",
        "topics/a\ud800.md",
        "topics/a:b.md",
        "topics/a\\b.md",
        "topics/dir./a.md",
        "topics/dir /a.md",
        "topics/a.md ",
        "topics/nul.md",
        "topics/COM1/a.md",
        "topics/lpt³.md",
        "topics/con .md",
        "topics/" + "é" * 101,
        "/".join(["d"] * 32 + ["x.md"]),
    ],
)
def test_a_name_that_some_system_cannot_keep_is_refused(text: str) -> None:
    with pytest.raises(InvalidArgument):
        paths.rel_path(text)


def test_a_path_not_in_nfc_is_refused_with_the_form_to_write() -> None:
    with pytest.raises(InvalidArgument) as refused:
        paths.rel_path(NFD)
    assert unicodedata.normalize("NFC", NFD) in refused.value.message


@pytest.mark.parametrize(
    "text", [NFD, "topics/a:b.md", "topics/nul.md", "topics/end .md", "x" * 300]
)
def test_a_persons_odd_name_can_be_read(text: str) -> None:
    assert paths.existing_path(text) == text


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("/x", PathOutsideWorkspace),
        ("a/../../x", PathOutsideWorkspace),
        ("", InvalidArgument),
        ("a/.git/config", InvalidArgument),
        ("a\nb", InvalidArgument),
    ],
)
def test_reading_stays_inside_and_off_hidden_files(
    text: str, error: type[ScriptoriumError]
) -> None:
    with pytest.raises(error):
        paths.existing_path(text)


@given(st.text(max_size=40))
def test_any_text_is_a_path_or_an_expected_error(text: str) -> None:
    try:
        path = paths.rel_path(text)
    except ScriptoriumError as refused:
        refused.message.encode("utf-8")
        return
    assert path == text
    assert paths.existing_path(text) == text


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("core.md", "core"),
        ("topics/a.md", "topic"),
        ("topics/x/y/a.md", "topic"),
        ("topics/a.txt", "other"),
        ("topics", "other"),
        ("sources/p/t.md", "source"),
        ("timeline/2026/08/03.md", "timeline"),
        ("recent_events.jsonl", "recent_events"),
        ("relations.json", "relations"),
        ("topics/core.md", "topic"),
        ("README.md", "other"),
    ],
)
def test_a_path_tells_what_the_file_is(path: str, expected: str) -> None:
    assert paths.kind(RelPath(path)) == expected


@pytest.mark.parametrize("path", ["core.md", "topics/a.md"])
def test_authored_files_are_writable(path: str) -> None:
    assert paths.writable(RelPath(path)) == path


@pytest.mark.parametrize(
    "path", ["sources/p/t.md", "timeline/2026.md", "relations.json", "topics/a.txt", "notes.md"]
)
def test_everything_else_is_read_only(path: str) -> None:
    with pytest.raises(ReadOnlyPath):
        paths.writable(RelPath(path))


@pytest.mark.parametrize(
    ("origin", "target", "expected"),
    [
        ("topics/a/b.md", "../c.md", "topics/c.md"),
        ("topics/a.md", "", "topics/a.md"),
        ("topics/a.md", "./x/../b.md", "topics/b.md"),
        ("topics/a.md", "../sources/p/t.md", "sources/p/t.md"),
        ("topics/a.md", "../../x.md", None),
        ("topics/a.md", "https://example.org/x.md", None),
        ("topics/a.md", "mailto:x", None),
        ("topics/a.md", "/etc/passwd", None),
        ("topics/a.md", "..", None),
        ("topics/a.md", "../.scriptorium/x", None),
    ],
)
def test_a_link_resolves_inside_the_workspace_or_to_nothing(
    origin: str, target: str, expected: str | None
) -> None:
    assert paths.resolve(RelPath(origin), target) == expected


@pytest.mark.parametrize(
    ("origin", "target", "expected"),
    [
        ("topics/a.md", "topics/b.md", "b.md"),
        ("topics/x/a.md", "topics/y/b.md", "../y/b.md"),
        ("core.md", "topics/b.md", "topics/b.md"),
        ("topics/x/a.md", "core.md", "../../core.md"),
        ("topics/a.md", "topics/my note (2).md", "my%20note%20%282%29.md"),
        ("topics/a.md", "topics/日 本.md", "日%20本.md"),
        ("topics/a.md", "topics/100%.md", "100%25.md"),
        ("topics/a.md", "topics/a&amp;#?.md", "a%26amp;%23%3F.md"),
        ("topics/a.md", "topics/a/b.md", "a/b.md"),
    ],
)
def test_a_written_link_is_relative_and_safe_in_markdown(
    origin: str, target: str, expected: str
) -> None:
    assert paths.relative(RelPath(origin), RelPath(target)) == expected


def test_twins_differ_in_case_or_normal_form_only() -> None:
    assert paths.twin_key("topics/Café.md") == paths.twin_key(NFD)
    assert paths.twin_key("topics/STRASSE.md") == paths.twin_key("topics/straße.md")
    assert paths.twin_key("topics/a.md") != paths.twin_key("topics/b.md")

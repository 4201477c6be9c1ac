"""Patches: what is unambiguous is applied exactly, everything else is refused and says why."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from scriptorium.errors import (
    InternalError,
    InvalidArgument,
    PatchConflict,
    PathOutsideWorkspace,
    ReadOnlyPath,
    ScriptoriumError,
)
from scriptorium.format import patch

CASES = json.loads(
    (Path(__file__).parent.parent / "fixtures" / "patch-cases.json").read_text(encoding="utf-8")
)
A = "topics/a.md"
HEAD = f"--- a/{A}\n+++ b/{A}\n"
TWENTY = "".join(f"line {n}\n" for n in range(1, 21))


def patched(files: Mapping[str, str], diff: str) -> dict[str, str]:
    """All files after `diff`; raises as `parse` and `apply` do."""
    before = {path: text.encode("utf-8") for path, text in files.items()}
    result = before | patch.apply(patch.parse(diff), before.get)
    return {path: data.decode("utf-8") for path, data in result.items() if data is not None}


def edited(text: str, hunks: str) -> str:
    return patched({A: text}, HEAD + hunks)[A]


def conflict(text: str, hunks: str) -> dict[str, object]:
    with pytest.raises(PatchConflict) as refused:
        edited(text, hunks)
    assert refused.value.path == A
    conflicts = refused.value.details["conflicts"]
    assert isinstance(conflicts, list)
    return dict(conflicts[0])


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_a_case_gives_one_of_its_results(case: dict[str, object]) -> None:
    files, diff, accept = case["files"], case["diff"], case["accept"]
    assert isinstance(files, dict)
    assert isinstance(diff, str)
    result: object
    try:
        result = patched(files, diff)
    except ScriptoriumError:
        result = "reject"
    assert result in (accept if isinstance(accept, list) else [accept])


@pytest.mark.parametrize(
    ("text", "hunks", "expected"),
    [
        ("a\nb\n", "@@ -1,9 +1,9 @@\n a\n-b\n+c\n", "a\nc\n"),
        ("a\nb\n", "@@\n-b\n+c\n", "a\nc\n"),
        ("a\nb\n", "@@ @@ ## Heading\n-b\n+c\n", "a\nc\n"),
        ("a\n\nb\n", "@@ -1,2 +1,3 @@\n a\n\n+c\n", "a\n\nc\nb\n"),
        ("a\n\nb\n", "@@ -1,9 +1,9 @@\n a\n\n-b\n+c\n\n\n", "a\n\nc\n"),
        ("a\nb\nc\n", "@@ -1,3 +1,3 @@\n a\n-b\n+B\nc\n", "a\nB\nc\n"),
        ("a\nb\nc\nd\n", "@@\n a\n-b\n+B\n c\n@@\n c\n-d\n+D\n", "a\nB\nc\nD\n"),
        ("@@ x\na\n", "@@ -1,2 +1,2 @@\n @@ x\n-a\n+@@ y\n", "@@ x\n@@ y\n"),
        ("\ufeffa\nb\n", "@@\n a\n-b\n+c\n", "\ufeffa\nc\n"),
        ("\ufeffa\n", "@@\n-\ufeffa\n+\ufeffb\n", "\ufeffb\n"),
        ("a\r\nb\n", "@@ -1,2 +1,2 @@\n-a\r\n+A\r\n b\n", "A\r\nb\n"),
        ("a\r\nb\r\n", "@@\n a\n+x\n", "a\r\nx\r\nb\r\n"),
        ("a\r\nb", "@@\n b\n+x\n", "a\r\nb\r\nx\r\n"),
        ("a  \nb\n", "@@\n a\n-b\n+B\n", "a  \nB\n"),
        ("a\nb\n", "@@\n a\n-b\n+b\n\\ No newline at end of file\n", "a\nb"),
        ("a\nb", "@@\n-a\n+A\n", "A\nb"),
        ("a\nb", "@@\n a\n-b\n\\ No newline at end of file\n", "a\n"),
        ("x\n-- y\n++ z\n", "@@ -1,3 +1,3 @@\n x\n--- y\n+++ y\n ++ z\n", "x\n++ y\n++ z\n"),
        ("a\nb\n", "@@ -1,2 +1,2 @@\n a\n-b\n+c\n-- \n2.39.0\n\n", "a\nc\n"),
        ("a\n\n\nb\n", "@@ -1,3 +1,3 @@\n-a\n+x\n\n\n", "x\n\n\nb\n"),
        ("a\n\nb\nc\n", "@@ -1,1 +1,1 @@\n-a\n+x\n\n-b\n+y\n c\n", "x\n\ny\nc\n"),
        ("+ x\ny\n", "@@ -1,2 +1,3 @@\n+ w\n + x\n y\n", " w\n+ x\ny\n"),
    ],
)
def test_an_unambiguous_hunk_is_applied_exactly(text: str, hunks: str, expected: str) -> None:
    assert edited(text, hunks) == expected


@pytest.mark.parametrize(
    "wrap",
    [
        "{}",
        "Here is the patch:\n\n{}\nThat is all.\n",
        "```diff\n{}```\nDone.\n",
        "~~~~patch\n{}~~~~\n",
        "\ufeff{}",
        "From 1234 Mon Sep 17\nSubject: x\n---\n topics/a.md | 2 +-\n\n{}-- \n2.39.0\n",
        "Index: topics/a.md\n====\n{}",
    ],
)
def test_what_stands_around_a_diff_does_not_matter(wrap: str) -> None:
    diff = wrap.format(HEAD + "@@ -1,2 +1,2 @@\n line 1\n-line 2\n+two\n")
    assert patched({A: TWENTY}, diff)[A] == TWENTY.replace("line 2\n", "two\n", 1)


def test_prose_between_the_files_does_not_matter() -> None:
    diff = HEAD + "@@\n-x\n+y\n\nAnd core:\n\n--- core.md\n+++ core.md\n\n@@\n-c\n+d\n"
    assert patched({A: "x\n", "core.md": "c\n"}, diff) == {A: "y\n", "core.md": "d\n"}


@pytest.mark.parametrize(
    ("header", "path"),
    [
        ('--- "a/topics/\\346\\227\\245.md"\n+++ "b/topics/\\346\\227\\245.md"\n', "topics/日.md"),
        ('--- "a/topics/q\\"q.md"\n+++ "b/topics/q\\"q.md"\n', 'topics/q"q.md'),
        ("--- a/topics/b c.md 2026-01-01 00:00:00\n+++ b/topics/b c.md\n", "topics/b c.md"),
        ("--- i/topics/x.md\n+++ w/topics/x.md\n", "topics/x.md"),
        ("--- topics/a/b/x.md\t2026-01-01\n+++ topics/a/b/x.md\t2026-01-02\n", "topics/a/b/x.md"),
    ],
)
def test_a_file_is_found_under_any_form_of_its_name(header: str, path: str) -> None:
    assert patched({path: "x\n"}, header + "@@ -1 +1 @@\n-x\n+y\n") == {path: "y\n"}


@pytest.mark.parametrize(
    ("diff", "expected"),
    [
        (f"--- /dev/null\n+++ b/{A}\n@@ -0,0 +1,3 @@\n+a\n\n+b\n", "a\n\nb\n"),
        (f"--- /dev/null\n+++ b/{A}\n@@\n+a\n+\n+b\n\n", "a\n\nb\n"),
        (f"--- /dev/null\n+++ b/{A}\n", ""),
        (f"diff --git a/{A} b/{A}\nnew file mode 100644\nindex 0000000..e69de29\n", ""),
        (f"--- /dev/null\r\n+++ b/{A}\r\n@@ -0,0 +1,1 @@\r\n+a\r\n", "a\n"),
        (f"--- /dev/null\n+++ b/{A}\n@@ -0,0 +1,1 @@\n+a\r\n", "a\r\n"),
    ],
)
def test_a_file_is_created(diff: str, expected: str) -> None:
    assert patched({}, diff) == {A: expected}


@pytest.mark.parametrize(
    ("text", "diff"),
    [
        ("a\nb\n", f"--- a/{A}\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-a\n-b\n"),
        ("a\nb", f"--- a/{A}\n+++ /dev/null\n@@\n-a\n-b\n"),
        ("", f"--- a/{A}\n+++ /dev/null\n"),
        ("", f"diff --git a/{A} b/{A}\ndeleted file mode 100644\nindex e69de29..0000000\n"),
        ("a\n", f"--- a/{A}\n+++ b/{A}\t1970-01-01 00:00:00 +0000\n@@ -1 +0,0 @@\n-a\n"),
    ],
)
def test_a_file_is_deleted_when_the_patch_names_all_of_it(text: str, diff: str) -> None:
    assert patched({A: text}, diff) == {}


def test_a_deletion_that_leaves_lines_is_a_conflict_that_shows_them() -> None:
    with pytest.raises(PatchConflict) as refused:
        patched({A: "a\nb\nc\n"}, f"--- a/{A}\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-a\n-b\n")
    assert '"text": "c"' in json.dumps(refused.value.details)


def test_a_deletion_without_its_lines_is_a_conflict() -> None:
    with pytest.raises(PatchConflict):
        patched({A: "a\n"}, f"--- a/{A}\n+++ /dev/null\n")


def test_a_conflict_shows_the_lines_that_are_there() -> None:
    found = conflict(TWENTY, "@@ -9,3 +9,3 @@\n line 10\n-line 1111\n+L11\n line 12\n")
    assert found["expected"] == "line 1111"
    assert found["expected_at_line"] == 11
    assert {"line": 11, "text": "line 11"} in found["file_lines"]  # type: ignore[operator]
    assert found["patch_line"] == 3


def test_a_hunk_that_fits_at_several_places_says_where() -> None:
    assert conflict("a\nb\na\nb\na\n", "@@\n a\n-b\n+c\n")["fits_at_lines"] == [1, 3]
    assert edited("a\nb\na\nb\na\n", "@@ -3,2 +3,2 @@\n a\n-b\n+c\n") == "a\nb\na\nc\na\n"


def test_a_conflict_is_small_however_large_the_file_and_the_patch() -> None:
    hunks = "".join(f"@@ -{n} +{n} @@\n-{'y' * 500}{n}\n+z\n" for n in range(1, 200))
    with pytest.raises(PatchConflict) as refused:
        edited(("x" * 5000 + "\n") * 3000, hunks)
    details = refused.value.details
    assert len(json.dumps(details)) < 16_000
    assert details["total"] == 199
    shown = [line for c in details["conflicts"] for line in c["file_lines"]]  # type: ignore[union-attr,index,call-overload]
    assert len(shown) <= 40


def test_the_conflicts_of_all_files_are_reported_together() -> None:
    with pytest.raises(PatchConflict) as refused:
        patched(
            {A: "x\n", "core.md": "c\n"},
            HEAD + "@@\n-1\n+y\n--- a/core.md\n+++ b/core.md\n@@\n-2\n+d\n",
        )
    assert refused.value.details["total"] == 2


@pytest.mark.parametrize(
    ("text", "hunks"),
    [
        ("a\n", "@@\n+x\n"),
        ("a\n", "@@ -1 +1 @@\n+x\n"),
        ("a\n", "@@ -0,0 +1 @@\n+x\n"),
        ("a\n", "@@ -2,0 +3 @@\n+x\n"),
        ("a\nb\n", "@@\n-a\n+A\n@@\n-a\n-b\n"),
        ("a\nb\n", "@@\n-a\n+A\n@@\n a\n-b\n+B\n"),
        ("a\nb\nc\n", "@@\n-a\n-b\n@@ -1,0 +1,1 @@\n+x\n"),
        ("a\nb\n", "@@\n a\n+x\n@@ -1,0 +2,1 @@\n+y\n"),
        ("a\n\nb\n", "@@\n\n a\n-b\n+c\n"),
        ("+ item\nb\n", "@@\n+ item\n-b\n+c\n"),
        ("a\n+ item\nb\n", "@@ -1,2 +1,3 @@\n a\n+ item\n+c\n"),
    ],
)
def test_a_hunk_that_could_mean_two_things_or_nothing_is_a_conflict(text: str, hunks: str) -> None:
    conflict(text, hunks)


def test_a_file_that_is_not_utf8_is_a_conflict() -> None:
    with pytest.raises(PatchConflict):
        patch.apply(patch.parse(HEAD + "@@\n-a\n+b\n"), {A: b"a\n\xff\n"}.get)


@pytest.mark.parametrize(
    ("diff", "error"),
    [
        ("no diff at all", InvalidArgument),
        ("*** Begin Patch\n*** Update File: topics/a.md\n@@\n-a\n+b\n", InvalidArgument),
        (HEAD, InvalidArgument),
        (HEAD + "-a\n+b\n", InvalidArgument),
        (HEAD + "@@ -x +y @@\n-a\n+b\n", InvalidArgument),
        (HEAD + "@@@ -1 -1 +1 @@@\n- a\n+ b\n", InvalidArgument),
        (HEAD + "@@ -1 +1 @@\n a\n", InvalidArgument),
        (HEAD + "@@\n-a\n+a\n", InvalidArgument),
        (HEAD + "@@ -1,1 +1,1 @@\n-a\n+b\n\n+ Prose, or a line?\n", InvalidArgument),
        (HEAD + "@@ -1,1 +1,1 @@\n-a\n+b\nSo:\n- Prose, or a line?\n", InvalidArgument),
        (f"--- a/{A}\n@@\n-a\n+b\n", InvalidArgument),
        ("--- /dev/null\n+++ /dev/null\n@@\n+a\n", InvalidArgument),
        (f"--- a/{A}\n+++ b/topics/b.md\n@@\n-a\n+b\n", InvalidArgument),
        ("--- /dev/null\n+++ b/topics/n.md\n@@\n+a\n\n+b\n", InvalidArgument),
        ("--- /dev/null\n+++ b/topics/n.md\n@@ -0,0 +1,2 @@\n a\n+b\n", InvalidArgument),
        ("--- /dev/null\n+++ b/topics/n.md\n@@\n+a\n@@\n+b\n", InvalidArgument),
        ("--- /dev/null\n+++ b/topics/\u0065\u0301.md\n@@\n+a\n", InvalidArgument),
        ("diff --git a/topics/l.md b/topics/l.md\nnew file mode 120000\n", InvalidArgument),
        (f"diff --git a/{A} b/{A}\nindex 1..2 120000\n{HEAD}@@\n-a\n+b\n", InvalidArgument),
        (f"diff --git a/{A} b/{A}\ncopy from {A}\ncopy to topics/b.md\n", InvalidArgument),
        ("diff --git a/topics/x.md b/topics/y.md\nnew file mode 100644\n", InvalidArgument),
        (f"diff --git a/{A} b/{A}\nindex 1..2\n", InvalidArgument),
        (HEAD + "@@\n a\n\\ No newline at end of file\n+b\n", InvalidArgument),
        (f"diff --git a/{A} b/{A}\nGIT binary patch\nliteral 3\n", InvalidArgument),
        (HEAD + "@@\n-a\n+\ud800\n", InvalidArgument),
        (HEAD + "@@\n-a\n+" + "x" * 262_144, InvalidArgument),
        ("--- /dev/null\n+++ b/../x.md\n@@\n+a\n", PathOutsideWorkspace),
        ("--- /dev/null\n+++ /topics/x.md\n@@\n+a\n", PathOutsideWorkspace),
        ('--- /dev/null\n+++ "b/..\\057x.md"\n@@\n+a\n', PathOutsideWorkspace),
        ("--- /dev/null\n+++ C:\\x.md\n@@\n+a\n", PathOutsideWorkspace),
        ("--- /dev/null\n+++ b/sources/p/t.md\n@@\n+a\n", ReadOnlyPath),
        ("--- /dev/null\n+++ b/topics/x.txt\n@@\n+a\n", ReadOnlyPath),
        ("--- /dev/null\n+++ b/relations.json\n@@\n+a\n", ReadOnlyPath),
    ],
)
def test_what_no_patch_of_memory_may_say_is_refused(
    diff: str, error: type[ScriptoriumError]
) -> None:
    with pytest.raises(error):
        patched({A: "a\n"}, diff)


def test_a_refusal_names_the_line_of_the_patch() -> None:
    with pytest.raises(InvalidArgument, match="line 4"):
        patch.parse("Prose.\n" + HEAD + "@@ nonsense\n-a\n+b\n")


def test_a_patch_tells_its_files_before_it_is_applied() -> None:
    parsed = patch.parse(
        HEAD + "@@\n-a\n+b\n--- /dev/null\n+++ b/topics/n.md\n@@\n+a\n"
        "--- a/core.md\n+++ /dev/null\n@@\n-a\n"
    )
    assert [(f.path, f.kind) for f in parsed.files] == [
        (A, "edit"),
        ("topics/n.md", "create"),
        ("core.md", "delete"),
    ]


def test_a_second_opinion_that_differs_stops_the_patch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("patch_ng.PatchSet.patch_stream", lambda *_: iter([b"other\n"]))
    with pytest.raises(InternalError):
        edited("a\n", "@@\n-a\n+b\n")


def test_a_hostile_patch_takes_no_long_time() -> None:
    blank = HEAD + "@@ -1,1 +1,1 @@\n" + "\n" * 200_000
    with pytest.raises(InvalidArgument):
        patch.parse(blank)
    same = "@@\n" + " a\n" * 60_000 + "+b\n"
    with pytest.raises(PatchConflict):
        edited("a\n" * 100_000, same)

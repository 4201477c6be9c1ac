"""What both sides added to the same place of a topic stays, and everything else is a conflict."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from scriptorium.format import additions

BASE = "# Anna\n\n- Lives in Lyon.[^a] ^a\n\n[^a]: Time: `2026`; Sources: s\n"


def merged(folder: Path, base: str, ours: str, theirs: str) -> str | None:
    for name, text in (("ours", ours), ("base", base), ("theirs", theirs)):
        (folder / name).write_text(text, encoding="utf-8", newline="")
    size = f"--marker-size={additions.MARKER_SIZE}"
    done = subprocess.run(
        ["git", "merge-file", "-p", "--zdiff3", size, "ours", "base", "theirs"],
        cwd=folder,
        check=False,
        capture_output=True,
    )
    return additions.joined(done.stdout.decode("utf-8"), base, ours, theirs)


def learned(text: str, name: str, statement: str) -> str:
    """The topic with one more item, and its definition at the end."""
    start, end = text.split("\n\n[^", 1)
    return (
        f"{start}\n- {statement}[^{name}] ^{name}\n\n[^{end}[^{name}]: Time: `2026`; Sources: s\n"
    )


def test_items_and_definitions_of_both_stay_in_order(tmp_path: Path) -> None:
    ours, theirs = learned(BASE, "b", "Has a cat."), learned(BASE, "c", "Drinks tea.")
    assert merged(tmp_path, BASE, ours, theirs) == learned(ours, "c", "Drinks tea.")


def test_an_edited_item_and_one_that_was_added_after_it(tmp_path: Path) -> None:
    ours = BASE.replace("Lyon", "Paris")
    theirs = learned(BASE, "c", "Drinks tea.")
    expected = learned(ours, "c", "Drinks tea.")
    assert merged(tmp_path, BASE, ours, theirs) == expected
    assert merged(tmp_path, BASE, theirs, ours) == expected


def test_paragraphs_that_would_run_together_are_kept_apart(tmp_path: Path) -> None:
    base = "# Anna\n"
    text = merged(tmp_path, base, f"{base}\nOne.[^a] ^a\n", f"{base}\nTwo.[^b] ^b\n")
    assert text == f"{base}\nOne.[^a] ^a\n\nTwo.[^b] ^b\n"


def test_a_block_is_not_taken_below_the_other_sides_new_heading(tmp_path: Path) -> None:
    ours = f"{BASE}\n## Work\n\n- Works at a mill.[^a] ^b\n"
    theirs = f"{BASE}\n- Has a cat.[^a] ^c\n"
    expected = f"{BASE}\n- Has a cat.[^a] ^c\n\n## Work\n\n- Works at a mill.[^a] ^b\n"
    assert merged(tmp_path, BASE, ours, theirs) == expected
    assert merged(tmp_path, BASE, theirs, ours) == expected


def test_the_same_heading_from_both_sides_is_there_once(tmp_path: Path) -> None:
    ours = f"{BASE}\n## Work\n\n- Works at a mill.[^a] ^b\n"
    theirs = f"{BASE}\n## Work\n\n- Is a miller.[^a] ^c\n"
    text = merged(tmp_path, BASE, ours, theirs)
    assert text is not None
    assert text.count("## Work") == 1
    assert "^b" in text
    assert "^c" in text


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (BASE.replace("Lyon", "Paris"), BASE.replace("Lyon", "Rome")),
        (BASE.replace("- Lives in Lyon.[^a] ^a\n", ""), BASE.replace("Lyon", "Rome")),
        (f"{BASE}\nOne.[^a] ^twice\n", f"{BASE}\nTwo.[^a] ^twice\n"),
        (BASE.replace("Lives", "Lives\n  and works"), BASE.replace("Lives", "Dwells")),
    ],
    ids=["both-edited", "deleted-and-edited", "one-id-twice", "words-added-within"],
)
def test_more_than_additions_is_a_conflict(tmp_path: Path, ours: str, theirs: str) -> None:
    assert merged(tmp_path, BASE, ours, theirs) is None

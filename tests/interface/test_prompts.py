"""What is written for the model works when it is done to the letter."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from scriptorium.capture import prompts
from scriptorium.interface import descriptions

from .conftest import MOVE, Remembered, creation

SKILL = Path(__file__).resolve().parents[2] / "skills" / "scriptorium"


def _first_patch(text: str) -> str:
    """The first new file that a text shows as a patch."""
    found = re.search(r"^--- /dev/null\n\+\+\+ .*\n@@.*\n(?:\+.*\n)+", text, re.MULTILINE)
    assert found
    return found[0]


@pytest.mark.parametrize(
    "text",
    [
        descriptions.UPDATE,
        prompts.protocol("instructions"),
        (SKILL / "references" / "patches.md").read_text(encoding="utf-8"),
    ],
    ids=["description", "instructions", "skill"],
)
def test_the_patch_that_is_shown_is_accepted(remembered: Remembered, text: str) -> None:
    patch = _first_patch(text)
    (label,) = set(re.findall(r"new-source-\w+", patch))
    data = remembered.update(patch, {**MOVE, "label": label})
    assert len(data["block_ids"]) == 1


def test_the_edit_that_the_skill_shows_is_accepted(remembered: Remembered) -> None:
    skill = (SKILL / "SKILL.md").read_text(encoding="utf-8")
    found = re.search(r"```diff\n(--- a/(\S+)\n.*?)```", skill, re.DOTALL)
    assert found
    shown, path = found[1], found[2]
    old = "The user lives in Hangzhou.[^new-evidence-old] ^new-block-old"
    note = "[^new-evidence-old]: Time: `2024`; Sources: new-source-move"
    names = remembered.update(creation(path, f"# Residence\n\n{old}\n\n{note}\n"), MOVE)
    written = (remembered.root / path).read_text(encoding="utf-8")
    for placeholder, real in {
        "e-0b12cd34ef": names["evidence_ids"]["new-evidence-old"],
        "91ab03fe": names["block_ids"]["new-block-old"],
        "[claude-code/…](../../sources/…)": written.rsplit("Sources: ", 1)[1].strip(),
    }.items():
        assert placeholder in shown
        shown = shown.replace(placeholder, real)
    assert len(remembered.update(shown, MOVE)["block_ids"]) == 1


def test_the_blocks_that_the_skill_shows_are_accepted(remembered: Remembered) -> None:
    text = (SKILL / "references" / "patches.md").read_text(encoding="utf-8")
    found = re.search(r"```markdown\n(.*?)```", text, re.DOTALL)
    assert found
    shown = re.sub(r"\^e-(\d)\d+", r"^new-evidence-\1", found[1])
    shown = re.sub(r" ?\^aaaa(\d)\d+", r" ^new-block-\1", shown)
    names = ["one", "two", "three", "four"]
    shown = re.sub(r"\^new-block-\d", lambda _: f"^new-block-{names.pop(0)}", shown)
    lines = ["# Shown", "", *shown.rstrip().splitlines(), ""]
    lines += [f"[^new-evidence-{n}]: Time: `2026`; Sources: new-source-move" for n in (1, 2)]
    patch = "--- /dev/null\n+++ b/topics/shown.md\n@@ @@\n" + "".join(f"+{ln}\n" for ln in lines)
    assert len(remembered.update(patch, MOVE)["block_ids"]) == 4


def test_the_skill_says_when_and_its_references_are_there() -> None:
    text = (SKILL / "SKILL.md").read_text(encoding="utf-8")
    head = yaml.safe_load(text.split("---")[1])
    assert set(head) == {"name", "description"}
    assert head["name"] == SKILL.name
    assert head["description"].startswith("Use when ")
    assert len(head["description"]) <= 1024
    named = set(re.findall(r"references/\w+\.md", text))
    assert named == {f"references/{file.name}" for file in (SKILL / "references").iterdir()}


def test_every_error_code_has_its_remedy_in_the_skill() -> None:
    text = (SKILL / "references" / "errors.md").read_text(encoding="utf-8")
    codes = set(re.findall(r"^\| `([A-Z_]+)`", text, re.MULTILINE))
    assert codes == {
        "INVALID_ARGUMENT",
        "PATH_OUTSIDE_WORKSPACE",
        "READ_ONLY_PATH",
        "PATCH_CONFLICT",
        "INVALID_TOPIC_FORMAT",
        "MISSING_SOURCE",
        "DANGLING_BLOCK_LINK",
        "CONCURRENT_UPDATE",
        "EMBEDDING_UNAVAILABLE",
        "GIT_COMMIT_FAILED",
        "INTERNAL_ERROR",
    }

"""The page that tells the contract keeps it."""

from __future__ import annotations

import re
from pathlib import Path

from tests.format.cases import read
from tests.format.strategies import Known

from scriptorium.format.contract import check_topic
from scriptorium.format.markdown import parse_topic
from scriptorium.format.model import RelPath


def test_the_example_keeps_the_contract(root: Path) -> None:
    page = (root / "protocol" / "FORMAT.md").read_text(encoding="utf-8")
    [example] = re.findall(r"^```markdown\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    topic = parse_topic(example)
    world = Known(
        {"91ab03fe": "topics/work/office.md"},
        frozenset({"claude-code/cc9f/bd17", "claude-code/cc9f/0c2e"}),
    )
    assert check_topic(RelPath("topics/personal/residence.md"), topic, world) == []
    assert [block.id for block in topic.blocks] == ["76fd3b6c", "5d0e1f7a", "c41b22d9", "8a90b7e2"]


def test_every_rule_stands_on_the_page(root: Path) -> None:
    page = (root / "protocol" / "FORMAT.md").read_text(encoding="utf-8")
    cases = [*read("contract"), *read("core")]
    rules = {
        line.split()[1] for case in cases for line in case.expected.splitlines() if " " in line
    }
    assert [rule for rule in sorted(rules) if f"`{rule}`" not in page] == []

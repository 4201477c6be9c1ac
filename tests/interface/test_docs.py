"""The documentation keeps up with the program: codes, commands, rules and links."""

from __future__ import annotations

import copy
import importlib
import itertools
import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest

from scriptorium import errors
from scriptorium.format.model import Rule
from scriptorium.interface import parser

from .conftest import MOVE, Remembered, creation

RESIDENCE = "topics/personal/residence.md"
PAGES = ["README.md", "docs/*.md"]
_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[[^\]^]*\]\(([^)\s]+)\)")


def pages(root: Path) -> list[Path]:
    found = [page for pattern in PAGES for page in sorted(root.glob(pattern))]
    assert len(found) > 2
    return found


def codes() -> set[str]:
    """The code of every error in the tree."""
    found, waiting = set(), [errors.ScriptoriumError]
    while waiting:
        kind = waiting.pop()
        if kind.__module__ == errors.__name__:
            found.add(kind.code)
            waiting += kind.__subclasses__()
    return found


def sections(text: str) -> dict[str, str]:
    """The text below each heading of the third level."""
    parts = re.split(r"^#{2,3} (.+)\n", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def commands(page: Path) -> list[list[str]]:
    """The words of every command of ours in the page's shell blocks."""
    found = []
    for language, block in _FENCE.findall(page.read_text(encoding="utf-8")):
        if language in ("sh", "bash", "shell", "console"):
            lines = block.replace("\\\n", " ").splitlines()
            found += [shlex.split(line.removeprefix("$ "), comments=True) for line in lines]
    return [words[1:] for words in found if words and Path(words[0]).name == "scriptorium"]


def example(root: Path, code: str) -> str:
    """The message that the page shows for a code: the indented lines at the section's start."""
    text = sections((root / "docs/troubleshooting.md").read_text(encoding="utf-8"))[code]
    lines = text.strip("\n").split("\n")
    shown = itertools.takewhile(lambda line: line.startswith("    "), lines)
    return "\n".join(line.removeprefix("    ") for line in shown)


def test_every_error_code_has_its_section_with_an_example_and_what_to_do(root: Path) -> None:
    found = sections((root / "docs/troubleshooting.md").read_text(encoding="utf-8"))
    named = {title for title in found if re.fullmatch(r"[A-Z_]+", title)}
    assert named == codes()
    for code in named:
        said = example(root, code)
        assert said, code
        assert len(found[code].split()) > len(said.split()) + 15, code


FACT = "# Work\n\nThe user works at a mill.{}\n\n[^new-evidence-a]: Time: `2026`; Sources: {}\n"
CITED = "[^new-evidence-a] ^new-block-a"
LINKED = " Near [home](personal/residence.md#^00000000)." + CITED
WORK = "topics/work.md"
HUNK = f"--- a/{RESIDENCE}\n+++ b/{RESIDENCE}\n@@ -5 +5 @@\n-The user moved to Lyon.\n+Rome.\n"


@pytest.mark.parametrize(
    ("code", "tool", "given"),
    [
        ("INVALID_ARGUMENT", "memory_search", {"query": "x", "top_k": 99}),
        ("PATH_OUTSIDE_WORKSPACE", "memory_read", {"path": "../secrets.md"}),
        ("READ_ONLY_PATH", "memory_update", {"patch": creation("timeline/2026.md", "# x\n")}),
        ("PATCH_CONFLICT", "memory_update", {"patch": HUNK}),
        (
            "INVALID_TOPIC_FORMAT",
            "memory_update",
            {"patch": creation(WORK, "# Work\n\nThe user works at a mill. ^new-block-a\n")},
        ),
        (
            "MISSING_SOURCE",
            "memory_update",
            {"patch": creation(WORK, FACT.format(CITED, "new-source-b"))},
        ),
        (
            "DANGLING_BLOCK_LINK",
            "memory_update",
            {"patch": creation(WORK, FACT.format(LINKED, "new-source-move")), "sources": [MOVE]},
        ),
        ("EMBEDDING_UNAVAILABLE", "memory_search", {"query": "x", "method": "hybrid"}),
    ],
)
def test_the_example_of_an_error_is_what_the_tools_say(
    root: Path, shared: Remembered, code: str, tool: str, given: dict[str, object]
) -> None:
    base = {"base_revision": shared.revision} if tool == "memory_update" else {}
    error = shared.refused(tool, **base, **given)
    assert (error["code"], error["message"]) == (code, example(root, code))


def test_every_command_in_a_shell_block_is_one_that_the_parser_takes(root: Path) -> None:
    shown = [(page.name, words) for page in pages(root) for words in commands(page)]
    assert len(shown) > 3
    for page, words in shown:
        try:
            parser.build().parse_args(words, namespace=parser.Arguments())
        except SystemExit as ended:
            assert ended.code == 0, f"{page}: scriptorium {shlex.join(words)}"


@pytest.mark.parametrize("text", ["scriptorium nonsense", "scriptorium sync --nonsense"])
def test_a_command_that_is_none_is_found_out(tmp_path: Path, text: str) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"```sh\n{text}\n```\n")
    (words,) = commands(page)
    with pytest.raises(SystemExit) as ended:
        parser.build().parse_args(words, namespace=parser.Arguments())
    assert ended.value.code == 2


def test_every_link_between_pages_leads_to_a_file(root: Path) -> None:
    for page in pages(root):
        text = _FENCE.sub("", page.read_text(encoding="utf-8"))
        text = re.sub(r"`[^`\n]*`", "", text)
        for target in _LINK.findall(text):
            if "://" not in target and not target.startswith(("#", "mailto:")):
                assert (page.parent / target.partition("#")[0]).exists(), f"{page.name}: {target}"


def test_every_rule_is_in_one_of_the_tables(root: Path) -> None:
    tables = [root / "protocol/FORMAT.md", root / "docs/format.md"]
    text = "\n".join(page.read_text(encoding="utf-8") for page in tables)
    rows = "\n".join(line for line in text.split("\n") if line.startswith("| `"))
    documented = re.findall(r"`([a-z0-9]+(?:-[a-z0-9]+)*)`", rows.replace("validate", ""))
    assert set(get_args(Rule.__value__)) <= set(documented)
    assert len(documented) == len(set(documented))


# --- figures


@pytest.fixture
def report(root: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The module that writes what the benchmarks found."""
    monkeypatch.syspath_prepend(root / "benchmarks")
    return importlib.import_module("report")


def test_the_figures_in_the_readme_are_those_of_the_results(root: Path, report: Any) -> None:
    text = (root / "README.md").read_text(encoding="utf-8")
    assert text.count(report.BEGIN) == text.count(report.END) == 1
    between = text.partition(report.BEGIN)[2].partition(report.END)[0]
    assert between.strip() == report.section(report.load()).strip()


def test_the_page_and_the_plots_are_those_of_the_results(report: Any) -> None:
    assert report.PAGE.read_text(encoding="utf-8") == report.page(report.load())
    drawn = {file.stem: file.read_text(encoding="utf-8") for file in report.PLOTS.glob("*.svg")}
    assert drawn == dict(report.plots(report.load()))


def test_the_results_are_of_a_whole_run(report: Any) -> None:
    results = report.load()
    assert results["made"]["quick"] is False
    assert all(results[part] for part in ("start", "hooks", "beside", "search", "tools"))
    assert [row["name"] for row in results["beside"]][1:] == [
        "@modelcontextprotocol/server-memory",
        "smriti-mcp",
    ]


def test_the_results_hold_figures_and_no_text_of_the_data(report: Any) -> None:
    def texts(value: object) -> Iterator[str]:
        if isinstance(value, dict):
            yield from (text for each in value.values() for text in texts(each))
        elif isinstance(value, list):
            yield from (text for each in value for text in texts(each))
        elif isinstance(value, str):
            yield value

    said = list(texts(report.load()))
    assert said
    assert [text for text in said if len(text.split()) > 4 or "/home" in text] == []


def test_a_peer_that_cannot_be_had_is_told_with_the_reason(report: Any) -> None:
    results = copy.deepcopy(dict(report.load()))
    reason = "npm is not installed"
    results["beside"][1] |= {"sizes": [], "start_s": None, "start_mb": None, "reason": reason}
    assert reason in report.page(results)
    cells = {row[2] for row in report.beside(results)[1:]}
    assert cells == {report.NONE}
    assert json.dumps(dict(report.plots(results)))

"""The table of scenario × client in docs/clients.md, made of what a run of these tests found.

Promises to write only where `SCRIPTORIUM_WRITE_SCENARIOS` is set, only between the two markers, and
only after a run that left no test of this folder out. A test is a scenario of the client whose
binary it asks for; `@pytest.mark.scenario(NAME, client=…)` gives it a name that it shares with the
same scenario of another client, or a client that has no binary; without it the test's own serves.
"""

from __future__ import annotations

import json
import os
from collections import defaultdict
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
PAGE = HERE.parent.parent / "docs" / "clients.md"
BEGIN, END = "<!-- scenarios -->", "<!-- /scenarios -->"
COMMAND = "SCRIPTORIUM_WRITE_SCENARIOS=1 bin/test tests/clients"
BINARIES = {"claude_binary": "Claude Code", "codex_binary": "Codex"}
PACKAGES = {
    "Claude Code": ["@anthropic-ai/claude-code"],
    "Codex": ["@openai/codex"],
    "TypeScript library": ["@modelcontextprotocol/sdk", "@modelcontextprotocol/client"],
}
MARKER = "scenario(name, client=None): what the table in docs/clients.md calls this test"
PROPERTY = "scenario"

type Place = tuple[str, int]


@dataclass
class Row:
    """A scenario: where its first test stands, and each client's outcomes, one a test."""

    place: Place
    outcomes: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))


class Scenarios:
    """A plugin of pytest's, in the process that sees the reports of all workers."""

    def __init__(self) -> None:
        self.rows: dict[str, Row] = {}
        self.missing = {path.name for path in HERE.glob("test_*.py")}
        self.deselected = False

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Each report of a scenario's test carries its name, its client and its place."""
        for item in items:
            if HERE in item.path.parents and (named := scenario(item)):
                line = item.location[1] or 0
                item.user_properties.append((PROPERTY, [*named, item.path.name, line]))

    def pytest_deselected(self) -> None:
        self.deselected = True

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.missing.discard(Path(report.location[0]).name)
        if report.when != "call" and report.passed:
            return
        for key, value in report.user_properties:
            if key == PROPERTY and isinstance(value, list):
                name, client, *place = value
                self.add(name, client, (place[0], place[1]), report.outcome)

    def add(self, name: str, client: str, place: Place, outcome: str) -> None:
        row = self.rows.setdefault(name, Row(place))
        row.place = min(row.place, place)
        row.outcomes[client].append(outcome)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        option = terminalreporter.config.option
        partial = self.missing or self.deselected or option.keyword or option.markexpr
        if partial:
            terminalreporter.write_line(f"{PAGE.name} is not written: a part of the tests ran")
            return
        page = PAGE.read_text(encoding="utf-8")
        before, _, rest = page.partition(BEGIN)
        after = rest.partition(END)[2]
        PAGE.write_text(f"{before}{BEGIN}\n{table(self.rows)}{END}{after}", encoding="utf-8")


def configure(config: pytest.Config) -> None:
    """The marker is known; where a table is asked for, what the tests find is gathered."""
    config.addinivalue_line("markers", MARKER)
    if os.environ.get("SCRIPTORIUM_WRITE_SCENARIOS"):
        config.pluginmanager.register(Scenarios(), "scenarios")


def scenario(item: pytest.Item) -> tuple[str, str] | None:
    """The test's scenario and client; None for a test of neither."""
    marker = item.get_closest_marker("scenario")
    used = getattr(item, "fixturenames", ())
    client = next((BINARIES[name] for name in used if name in BINARIES), None)
    client = (marker and marker.kwargs.get("client")) or client
    if client is None:
        return None
    return (marker.args[0] if marker and marker.args else sentence(item.name)), client


def sentence(test: str) -> str:
    words = test.partition("[")[0].removeprefix("test_").replace("_", " ")
    return words[0].upper() + words[1:]


def table(rows: dict[str, Row]) -> str:
    """The Markdown, with the clients' versions in its head; a row for each scenario."""
    clients = sorted({client for row in rows.values() for client in row.outcomes})
    lines = [f"\nWritten by a run of the tests (`{COMMAND}`), not by hand; n: that many tests.\n"]
    lines.append(line("Scenario", *(titled(client) for client in clients)))
    lines.append(line(*["---"] * (len(clients) + 1)))
    for name, row in sorted(rows.items(), key=lambda item: item[1].place):
        lines.append(line(name, *(cell(row.outcomes.get(client, [])) for client in clients)))
    return "\n".join([*lines, "", ""])


def line(*cells: str) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def cell(outcomes: list[str]) -> str:
    if not outcomes:
        return "–"
    counted = {outcome: outcomes.count(outcome) for outcome in ("failed", "skipped", "passed")}
    return ", ".join(
        outcome if number == len(outcomes) == 1 else f"{outcome} ({number})"
        for outcome, number in counted.items()
        if number
    )


def titled(client: str) -> str:
    pinned = json.loads((HERE / "package.json").read_text(encoding="utf-8"))["dependencies"]
    versions = [pinned[package] for package in PACKAGES.get(client, [])]
    if client == "Python library":
        versions = [version("mcp")]
    return " ".join([client, " and ".join(versions)]).strip()

"""The views that updates write piece by piece are those that a rebuild from nothing writes."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from tests.workspace import updates

from scriptorium.errors import DanglingBlockLink
from scriptorium.format import views
from scriptorium.format.model import RelPath
from scriptorium.workspace import rendering, view_files
from scriptorium.workspace.archive import SourceInput
from scriptorium.workspace.snapshot import Snapshot
from scriptorium.workspace.transaction import Update, update
from scriptorium.workspace.workspace import Workspace

PATHS = st.sampled_from([f"topics/{name}.md" for name in ("a", "b", "c/d", "c/e", "居")])
TIMES = st.sampled_from(
    ["undated", "2024", "2025", "2025-01", "2025-02", "2025-02-03", "2025-02-04", "2026-08-03"]
)
OBSERVED = st.sampled_from([None, "2025-01-01T10:00:00Z", "2025-01-01T11:30:00+02:00"])


LINK = re.compile(r", see \[it\]\([^)]*\)")

type Texts = Callable[[Callable[[str], str]], dict[str, str | None]]
"""New texts of files, given a way to read the present ones."""


class Memory(RuleBasedStateMachine):
    """Random updates and hand edits by two processes on one workspace."""

    @initialize()
    def begin(self) -> None:
        self.root = Path(tempfile.mkdtemp(prefix="scriptorium-views-"))
        self.processes = [Workspace.open(self.root / "memory") for _ in range(2)]
        self.number = 0
        self.rendered = True

    def teardown(self) -> None:
        if hasattr(self, "root"):
            for workspace in self.processes:
                workspace.close()
            shutil.rmtree(self.root)

    # --- updates

    @rule(
        process=st.integers(0, 1),
        path=PATHS,
        times=st.tuples(TIMES, TIMES),
        observed=OBSERVED,
        link=st.integers(0, 50),
    )
    def add_a_block(
        self, process: int, path: str, times: tuple[str, str], observed: str | None, link: int
    ) -> None:
        self.number += 1
        name = f"n{self.number}"
        text = f"Fact {self.number}{self._link(path, link)}"
        block = (
            f"\n{text}.[^new-evidence-{name}] And so on.[^new-evidence-{name}b] ^new-block-{name}\n"
        )
        defined = "".join(
            f"[^new-evidence-{name}{which}]: Time: `{when}`; Sources: new-source-1\n"
            for which, when in (("", times[0]), ("b", times[1]))
        )
        self._send(
            process,
            lambda old: {path: (old(path) or f"# {path}\n") + f"{block}\n{defined}"},
            observed,
        )

    @precondition(lambda self: self._topics())
    @rule(process=st.integers(0, 1), which=st.integers(0, 20))
    def edit_a_heading(self, process: int, which: int) -> None:
        path = self._topics()[which % len(self._topics())]
        self.number += 1
        self._send(
            process,
            lambda old: {path: f"# Heading {self.number}\n" + "\n".join(old(path).split("\n")[1:])},
        )

    @precondition(lambda self: self._topics())
    @rule(process=st.integers(0, 1), which=st.integers(0, 20), to=PATHS)
    def move_a_topic(self, process: int, which: int, to: str) -> None:
        path = self._topics()[which % len(self._topics())]
        if not (self.root / "memory" / to).exists():
            self._send(process, lambda old: {path: None, to: old(path)})

    @precondition(lambda self: self._topics())
    @rule(process=st.integers(0, 1), which=st.integers(0, 20))
    def delete_a_topic(self, process: int, which: int) -> None:
        path = self._topics()[which % len(self._topics())]
        self._send(process, lambda _: {path: None})

    @precondition(lambda self: self._topics())
    @rule(process=st.integers(0, 1), which=st.integers(0, 20))
    def cut_the_links(self, process: int, which: int) -> None:
        path = self._topics()[which % len(self._topics())]
        if "see [it]" in (self.root / "memory" / path).read_text(encoding="utf-8"):
            self._send(process, lambda old: {path: LINK.sub("", old(path))})

    # --- what a person does

    @precondition(lambda self: self._topics())
    @rule(which=st.integers(0, 20), old=TIMES, new=TIMES)
    def edit_by_hand(self, which: int, old: str, new: str) -> None:
        file = self.root / "memory" / self._topics()[which % len(self._topics())]
        text = file.read_text(encoding="utf-8")
        file.write_text(text.replace(f"`{old}`", f"`{new}`"), encoding="utf-8")
        self.rendered = False

    @precondition(lambda self: self._topics())
    @rule(which=st.integers(0, 20))
    def delete_by_hand(self, which: int) -> None:
        (self.root / "memory" / self._topics()[which % len(self._topics())]).unlink()
        self.rendered = False

    @rule(view=st.sampled_from(["timeline/2025.md", "recent_events.jsonl", "timeline/2025/07.md"]))
    def scribble_in_a_view(self, view: str) -> None:
        file = self.root / "memory" / view
        file.parent.mkdir(exist_ok=True, parents=True)
        file.write_text("scribbled", encoding="utf-8")
        self.rendered = False

    @rule()
    def delete_the_timeline(self) -> None:
        shutil.rmtree(self.root / "memory" / "timeline", ignore_errors=True)
        self.rendered = False

    @rule(process=st.integers(0, 1))
    def look(self, process: int) -> None:
        self.processes[process].snapshot()

    @rule(process=st.integers(0, 1))
    def start_again(self, process: int) -> None:
        self.processes[process].close()
        self.processes[process] = Workspace.open(self.root / "memory")

    # --- what holds after each step

    @invariant()
    def the_processes_agree(self) -> None:
        if hasattr(self, "root"):
            one, other = (w.snapshot() for w in self.processes)
            assert (one.revision, one.sequence) == (other.revision, other.sequence)

    @invariant()
    def the_views_are_those_of_a_rebuild(self) -> None:
        if hasattr(self, "root") and self.rendered:
            mirror = self._anew().mirror
            expected = {
                rendering.path_of(key): rendering.render(mirror, key)
                for key in rendering.every_key(mirror)
            }
            assert self._views() == ({} if self.number == 0 else expected)

    def _anew(self) -> Snapshot:
        """A snapshot that owes nothing to what was known before."""
        place = self.root / "anew"
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(self.root / "memory", place, ignore=shutil.ignore_patterns(".scriptorium"))
        workspace = Workspace.open(place)
        snapshot = workspace.snapshot()
        workspace.close()
        assert snapshot.revision == self.processes[0].snapshot().revision
        return snapshot

    def _views(self) -> dict[RelPath, str]:
        return {
            RelPath(file.relative_to(self.root / "memory").as_posix()): file.read_text("utf-8")
            for file in (self.root / "memory").rglob("*")
            if file.is_file()
            and (file.suffix in (".json", ".jsonl") or "timeline" in file.parts)
            and ".scriptorium" not in file.parts
        }

    def _send(self, process: int, texts: Texts, observed: str | None = None) -> None:
        workspace = self.processes[process]
        snapshot = workspace.snapshot()
        self.number += 1
        source = SourceInput("new-source-1", "user", f"said {self.number}", observed)
        wanted = texts(lambda path: updates.text_of(snapshot, path))
        before = self._inodes()
        try:
            update(
                workspace,
                Update(snapshot.revision, updates.patch_of(snapshot, wanted), (source,), git="off"),
                now=updates.NOW,
            )
        except DanglingBlockLink:
            assert self._inodes() == before
            return
        self.rendered = True
        after = self._inodes()
        same = {path for path, (text, _) in after.items() if before.get(path, ("", 0))[0] == text}
        assert {path: after[path] for path in same} == {path: before[path] for path in same}

    def _inodes(self) -> dict[RelPath, tuple[str, int]]:
        root = self.root / "memory"
        return {p: (text, (root / p).stat().st_ino) for p, text in self._views().items()}

    def _topics(self) -> list[str]:
        if not hasattr(self, "root"):
            return []
        return [p for p in self.processes[0].snapshot().authored() if p.startswith("topics/")]

    def _link(self, origin: str, which: int) -> str:
        snapshot = self.processes[0].snapshot()
        blocks = sorted(snapshot.mirror.indexes.blocks)
        if which % (len(blocks) + 1) == len(blocks):
            return ""
        block = blocks[which % (len(blocks) + 1)]
        up = "../" * origin.count("/")
        return f", see [it]({up}{snapshot.locate_block(block)}#^{block})"


TestIncrementalViews = Memory.TestCase
TestIncrementalViews.settings = settings(
    max_examples=25,
    stateful_step_count=20,
    # Shrinking takes minutes, and the steps of a failure are few enough to read.
    phases=(Phase.explicit, Phase.reuse, Phase.generate),
)


def test_of_many_views_each_is_looked_at_in_its_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(view_files, "LOOKS", 2)
    workspace = Workspace.open(tmp_path)

    def remember(number: int, month: str) -> None:
        text = updates.fact(f"n{number}", f"Fact {number}.").replace("2026-08-03", month)
        wanted: dict[str, str | None] = {f"topics/{number}.md": f"# Topic\n{text}"}
        updates.send(workspace, workspace.snapshot(), wanted, "said")

    for number, month in enumerate(("2020-01", "2021-01", "2022-01", "2023-01")):
        remember(number, month)
    edited, deleted = tmp_path / "timeline/2020.md", tmp_path / "timeline/2021/01.md"
    before = {file: file.read_text() for file in (edited, deleted)}
    edited.write_text("scribbled")
    deleted.unlink()
    remember(10, "2024-01")
    assert edited.read_text() == "scribbled" or not deleted.exists()
    for number in range(11, 18):
        remember(number, "2024-01")
    assert {file: file.read_text() for file in (edited, deleted)} == before


def test_a_link_that_is_cut_leaves_both_directions(tmp_path: Path) -> None:
    workspace = Workspace.open(tmp_path)

    def send(wanted: dict[str, str | None]) -> None:
        updates.send(workspace, workspace.snapshot(), wanted, "said")

    send({"topics/a.md": "# A\n" + updates.fact("a", "A fact.")})
    (block,) = workspace.snapshot().mirror.indexes.blocks
    linking = f"Another, see [it](a.md#^{block})."
    send({"topics/b.md": "# B\n" + updates.fact("b", linking)})
    assert len((tmp_path / "relations.json").read_text().split(block)) == 3
    text = (tmp_path / "topics/b.md").read_text()
    send({"topics/b.md": LINK.sub("", text)})
    assert (tmp_path / "relations.json").read_text() == views.relations([])

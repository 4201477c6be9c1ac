"""Two clones of one memory are updated on both sides and meet again, and nothing is lost on the
way.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from scriptorium.errors import (
    ConcurrentUpdate,
    GitCommitFailed,
    InternalError,
    InvalidArgument,
    InvalidTopicFormat,
)
from scriptorium.format import sources
from scriptorium.format.model import RelPath, SourceId
from scriptorium.workspace import disk, remote, sync
from scriptorium.workspace.archive import SourceInput
from scriptorium.workspace.git_run import Git
from scriptorium.workspace.sync import SyncResult
from scriptorium.workspace.transaction import Update, update
from scriptorium.workspace.validate import validate
from scriptorium.workspace.workspace import Workspace

from .updates import NOW, fact, open_workspace, send, text_of

TOPIC = "topics/people/anna.md"


def run(root: Path, *arguments: str) -> str:
    person = ("-c", "user.name=A Person", "-c", "user.email=person@example.org")
    done = subprocess.run(
        ["git", *person, *arguments],
        cwd=root,
        check=True,
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    return done.stdout.rstrip("\n")


def state(root: Path) -> dict[str, str]:
    """Every file that a person can see, the index and the branch, as digests."""
    files = {
        str(p.relative_to(root)): hashlib.sha256(p.read_bytes()).hexdigest()
        for p in sorted(root.rglob("*"))
        if p.is_file() and p.relative_to(root).parts[0] not in (".git", ".scriptorium")
    }
    return files | {"index": run(root, "status", "--porcelain"), "head": head(root)}


def head(root: Path) -> str:
    return run(root, "rev-parse", "HEAD")


@dataclass(frozen=True, slots=True)
class Machine:
    """One clone."""

    root: Path

    @property
    def workspace(self) -> Workspace:
        return open_workspace(self.root)

    def sync(self) -> SyncResult:
        return sync.sync(self.workspace)

    def text(self, path: str) -> str:
        return text_of(self.workspace.snapshot(), path)

    def write(self, path: str, text: str) -> None:
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text, encoding="utf-8")

    def learn(self, path: str, name: str, statement: str) -> None:
        """A block is added to the end of the topic, with a source of its own."""
        workspace = self.workspace
        text = self.text(path) or f"# {name.title()}\n"
        send(workspace, workspace.snapshot(), {path: text + fact(name, statement)}, statement)

    def hear(self, message: str, content: str, time: str) -> None:
        """A message of the thread that both machines hear is archived."""
        source = SourceInput(
            "new-source-1", "user", content, time, SourceId(f"codex/thread/{message}")
        )
        update(self.workspace, Update(None, sources=(source,), git="off"), now=NOW)

    def records(self, path: str = "sources/codex/thread.md") -> list[tuple[str, str]]:
        found, faults = sources.parse((self.root / path).read_text(encoding="utf-8"))
        assert faults == []
        return [(record.id.rpartition("/")[2], record.content) for record in found]


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    root = tmp_path / "bare.git"
    run(tmp_path, "init", "--quiet", "--bare", "--initial-branch=main", str(root))
    return root


def machine(bare: Path, name: str) -> Machine:
    """A new workspace with a repository of its own, whose remote is the bare one."""
    root = bare.parent / name
    Workspace.open(root, ignore=False)
    run(root, "init", "--quiet", "--initial-branch=main")
    run(root, "remote", "add", "origin", str(bare))
    return Machine(root)


@pytest.fixture
def one(bare: Path) -> Machine:
    """The first machine, whose memory is on the remote."""
    made = machine(bare, "one")
    made.learn(TOPIC, "anna", "Anna lives in Lyon.")
    made.hear("m0", "hello", "2026-08-01T10:00:00Z")
    made.sync()
    return made


@pytest.fixture
def two(bare: Path, one: Machine) -> Machine:
    """The second machine, which has what the first one sent."""
    made = machine(bare, "two")
    made.sync()
    return made


def assert_same(*machines: Machine) -> None:
    states = [state(m.root) for m in machines]
    for other in states[1:]:
        assert other == states[0]
    assert states[0]["index"] == ""
    for m in machines:
        assert validate(m.workspace) == []
        assert "<<<<<<<" not in "".join(m.text(i.path) for i in m.workspace.snapshot().files())


def test_a_second_machine_gets_the_whole_memory(one: Machine, two: Machine) -> None:
    assert_same(one, two)
    assert "Lyon" in two.text(TOPIC)


def test_updates_on_both_sides_meet(one: Machine, two: Machine) -> None:
    one.learn("topics/work.md", "job", "Anna works at a mill.")
    two.learn("topics/home.md", "cat", "Anna has a cat.")
    sent = one.sync()
    got = two.sync()
    back = one.sync()

    assert_same(one, two)
    assert "topics/work.md" in got.received
    assert {"topics/home.md"} <= set(back.received)
    assert (sent.received, sent.sent, back.sent) == ((), 1, 0)
    assert "mill" in two.text("topics/work.md")
    assert "cat" in one.text("topics/home.md")
    views = one.text("timeline/2026/08/03.md")
    assert "mill" in views
    assert "cat" in views


def test_a_sync_with_nothing_new_makes_no_commit(one: Machine, two: Machine) -> None:
    before = head(two.root)
    result = two.sync()
    assert (result.committed, result.received, result.sent) == ((), (), 0)
    assert head(two.root) == before == result.commit


def test_edits_of_one_topic_in_different_places_are_merged_as_text(
    one: Machine, two: Machine
) -> None:
    text = one.text(TOPIC)
    one.write(TOPIC, text.replace("# Anna", "# Anna Martin"))
    two.learn(TOPIC, "tea", "Anna drinks tea.")
    one.sync()
    two.sync()
    one.sync()
    assert_same(one, two)
    assert "# Anna Martin" in two.text(TOPIC)
    assert "tea" in one.text(TOPIC)


def test_a_moved_topic_takes_the_other_sides_edit_along(one: Machine, two: Machine) -> None:
    text = one.text(TOPIC)
    (one.root / TOPIC).unlink()
    one.write("topics/people/martin.md", text)
    two.write(TOPIC, text.replace("# Anna", "# Anna Martin"))
    one.sync()
    two.sync()
    assert "# Anna Martin" in two.text("topics/people/martin.md")
    assert not (two.root / TOPIC).exists()


def test_hand_edits_are_committed_first_and_only_memory_is(one: Machine, two: Machine) -> None:
    one.write(TOPIC, one.text(TOPIC).replace("Lyon", "Lille"))
    one.write("notes.txt", "mine\n")
    result = one.sync()
    assert TOPIC in result.committed
    assert run(one.root, "log", "-1", "--format=%s") == "Edit memory by hand"
    assert run(one.root, "status", "--porcelain") == "?? notes.txt"
    two.sync()
    assert "Lille" in two.text(TOPIC)
    assert not (two.root / "notes.txt").exists()


def test_the_runtime_directory_is_never_committed(one: Machine, two: Machine) -> None:
    run(one.root, "add", "--all")
    assert "scriptorium" not in run(one.root, "ls-files")

    (one.root / ".scriptorium" / ".gitignore").unlink()
    run(one.root, "add", "--force", "--all")
    run(one.root, "commit", "--quiet", "--message=everything")
    before = (two.root / ".scriptorium" / "runtime.json").read_bytes()
    one.sync()
    two.sync()
    assert (two.root / ".scriptorium" / "runtime.json").read_bytes() == before
    for place in (one.root, two.root):
        assert not [
            p
            for p in run(place, "ls-tree", "-r", "--name-only", "HEAD").split("\n")
            if p.startswith(".scriptorium")
        ]
        assert run(place, "status", "--porcelain") == ""


def test_runtime_files_of_a_strangers_commit_are_not_taken(one: Machine, two: Machine) -> None:
    two.write(".scriptorium/hostile", "x")
    two.write("timeline/2026.md", "nonsense\n")
    run(two.root, "add", "--force", ".scriptorium/hostile", "timeline/2026.md")
    run(two.root, "commit", "--quiet", "--message=x")
    run(two.root, "push", "--quiet", "origin", "main")
    one.sync()
    assert not (one.root / ".scriptorium" / "hostile").exists()
    assert validate(one.workspace) == []


def test_a_conflict_is_refused_and_every_byte_is_as_before(one: Machine, two: Machine) -> None:
    text = one.text(TOPIC)
    one.write(TOPIC, text.replace("Lyon", "Paris"))
    two.write(TOPIC, text.replace("Lyon", "Rome"))
    two.learn("topics/home.md", "cat", "Anna has a cat.")
    one.sync()
    before = state(two.root)
    with pytest.raises(ConcurrentUpdate) as refused:
        two.sync()

    assert state(two.root) == before
    assert refused.value.path == TOPIC
    assert refused.value.details["conflicts"] == [
        {"path": TOPIC, "told": "lines 3 here, 3 there", "lines": [[3, 3]]}
    ]
    assert not (two.root / ".scriptorium" / "sync.json").exists()


def test_what_a_conflict_says_to_do_leads_out_of_it(one: Machine, two: Machine) -> None:
    text = one.text(TOPIC)
    one.write(TOPIC, text.replace("Lyon", "Paris"))
    two.write(TOPIC, text.replace("Lyon", "Rome"))
    one.sync()
    with pytest.raises(ConcurrentUpdate):
        two.sync()
    run(two.root, "add", "core.md", "topics")
    run(two.root, "commit", "--quiet", "-m", "Edits")
    with pytest.raises(subprocess.CalledProcessError):
        run(two.root, "merge", "origin/main")
    with pytest.raises(GitCommitFailed, match="merge is in progress"):
        two.sync()
    two.write(TOPIC, text.replace("Lyon", "Paris, then Rome"))
    run(two.root, "commit", "--quiet", "-am", "Merge")
    two.sync()
    one.sync()
    assert_same(one, two)
    assert "Paris, then Rome" in one.text(TOPIC)


def test_a_merge_by_hand_that_took_one_sides_sources_drops_no_message(
    one: Machine, two: Machine
) -> None:
    text = one.text(TOPIC)
    one.hear("m1", "said to one", "2026-08-02T10:00:00Z")
    two.hear("m2", "said to two", "2026-08-03T10:00:00Z")
    one.write(TOPIC, text.replace("Lyon", "Paris"))
    two.write(TOPIC, text.replace("Lyon", "Rome"))
    one.sync()
    with pytest.raises(ConcurrentUpdate, match="`git merge origin/main`"):
        two.sync()
    run(two.root, "add", "--force", "core.md", "topics", "sources")
    run(two.root, "commit", "--quiet", "-m", "Edits")
    with pytest.raises(subprocess.CalledProcessError):
        run(two.root, "merge", "origin/main")
    two.write(TOPIC, text.replace("Lyon", "Paris, then Rome"))
    run(two.root, "commit", "--quiet", "-am", "Merge")
    assert [m for m, _ in two.records()] == ["m0", "m2"]

    two.sync()
    one.sync()
    assert_same(one, two)
    assert [m for m, _ in one.records()] == ["m0", "m1", "m2"]


def test_messages_that_a_pull_dropped_come_back_even_after_it_was_pushed(
    one: Machine, two: Machine
) -> None:
    one.hear("m1", "said to one", "2026-08-02T10:00:00Z")
    two.hear("m2", "said to two", "2026-08-03T10:00:00Z")
    one.sync()
    run(two.root, "add", "--force", "sources")
    run(two.root, "commit", "--quiet", "-m", "Edits")
    with pytest.raises(subprocess.CalledProcessError):
        run(two.root, "pull", "--quiet", "--no-rebase", "origin", "main")
    run(two.root, "commit", "--quiet", "-am", "Merge")
    run(two.root, "push", "--quiet", "origin", "main")
    two.hear("m3", "said later", "2026-08-04T10:00:00Z")
    two.sync()
    one.sync()
    assert_same(one, two)
    assert [m for m, _ in one.records()] == ["m0", "m1", "m2", "m3"]
    before = head(one.root)
    assert one.sync().commit == before


def test_what_was_erased_since_a_merge_by_hand_stays_erased(one: Machine, two: Machine) -> None:
    one.hear("m1", "said to one", "2026-08-02T10:00:00Z")
    two.hear("m2", "said to two", "2026-08-03T10:00:00Z")
    one.sync()
    run(two.root, "add", "--force", "sources")
    run(two.root, "commit", "--quiet", "-m", "Edits")
    with pytest.raises(subprocess.CalledProcessError):
        run(two.root, "pull", "--quiet", "--no-rebase", "origin", "main")
    run(two.root, "commit", "--quiet", "-am", "Merge")
    path = two.root / "sources/codex/thread.md"
    text = path.read_text(encoding="utf-8")
    path.write_text(sources.tombstone(text, [SourceId("codex/thread/m2")], "2026-08-09"))
    two.sync()
    assert two.records() == [("m0", "hello"), ("m1", "said to one"), ("m2", "")]


def test_two_updates_of_one_topic_are_no_conflict(one: Machine, two: Machine) -> None:
    one.learn(TOPIC, "tea", "Anna drinks tea.")
    two.learn(TOPIC, "cat", "Anna has a cat.")
    one.sync()
    two.sync()
    one.sync()
    assert_same(one, two)
    text = one.text(TOPIC)
    assert [word for word in ("Lyon", "tea", "cat") if word in text] == ["Lyon", "tea", "cat"]


def test_a_topic_made_on_both_sides_is_no_conflict(one: Machine, two: Machine) -> None:
    one.learn("topics/home.md", "home", "Anna has a cat.")
    two.learn("topics/home.md", "home", "Anna has a dog.")
    one.sync()
    two.sync()
    one.sync()
    assert_same(one, two)
    assert one.text("topics/home.md").count("# Home\n") == 1
    assert "cat" in one.text("topics/home.md")
    assert "dog" in one.text("topics/home.md")


def test_what_both_add_to_the_core_stays(one: Machine, two: Machine) -> None:
    one.write("core.md", "# Core memory\n\n- Anna likes tea.\n")
    one.sync()
    two.sync()
    one.write("core.md", one.text("core.md") + "- She lives in Lyon.\n")
    two.write("core.md", two.text("core.md") + "- She has a cat.\n")
    one.sync()
    two.sync()
    one.sync()
    assert_same(one, two)
    assert {"- She lives in Lyon.", "- She has a cat."} <= {*one.text("core.md").split("\n")}


def test_a_remote_whose_history_was_rewritten_brings_nothing_back(
    one: Machine, two: Machine
) -> None:
    one.learn("topics/home.md", "cat", "Anna has a secret cat.")
    one.sync()
    two.sync()
    first = run(one.root, "rev-list", "--max-parents=0", "HEAD")
    run(one.root, "reset", "--quiet", "--hard", first)
    one.learn("topics/work.md", "job", "Anna works at a mill.")
    run(one.root, "add", "--all")
    run(one.root, "commit", "--quiet", "-m", "Work")
    run(one.root, "push", "--quiet", "--force", "origin", "main")
    two.learn("topics/food.md", "tea", "Anna drinks tea.")
    before = state(two.root)
    with pytest.raises(GitCommitFailed, match="--accept-rewrite"):
        two.sync()
    assert state(two.root) == before

    sync.sync(two.workspace, accept_rewrite=True)
    one.sync()
    assert_same(one, two)
    assert not (two.root / "topics/home.md").exists()
    assert "mill" in two.text("topics/work.md")
    assert "tea" in one.text("topics/food.md")
    assert "secret" not in run(two.root, "log", "-p", "main")
    assert two.sync().sent == 0


def test_history_that_was_rewritten_here_is_not_undone_by_the_remotes(one: Machine) -> None:
    one.write("core.md", "# Core memory\n\nA secret.\n")
    one.sync()
    first = run(one.root, "rev-list", "--max-parents=0", "HEAD")
    run(one.root, "reset", "--quiet", "--hard", first)
    with pytest.raises(GitCommitFailed, match="`git push --force origin HEAD:main`"):
        one.sync()
    run(one.root, "push", "--quiet", "--force", "origin", "HEAD:main")
    assert one.sync().received == ()
    assert "secret" not in one.text("core.md")


def test_a_fetch_by_hand_does_not_hide_that_history_was_rewritten(
    one: Machine, two: Machine
) -> None:
    one.write("core.md", "# Core memory\n\nA secret.\n")
    one.sync()
    two.sync()
    run(one.root, "commit", "--quiet", "--amend", "-m", "rewritten")
    run(one.root, "push", "--quiet", "--force", "origin", "main")
    run(two.root, "fetch", "--quiet")
    with pytest.raises(GitCommitFailed, match="--accept-rewrite"):
        two.sync()


def test_a_topic_deleted_here_and_edited_there_is_a_conflict(one: Machine, two: Machine) -> None:
    one.write(TOPIC, one.text(TOPIC).replace("Lyon", "Paris"))
    (two.root / TOPIC).unlink()
    one.sync()
    before = state(two.root)
    with pytest.raises(ConcurrentUpdate) as refused:
        two.sync()
    assert refused.value.details["changed_files"] == [TOPIC]
    assert state(two.root) == before


def test_committed_conflict_markers_are_refused(one: Machine) -> None:
    text = one.text(TOPIC).replace("# Anna", "<<<<<<< HEAD\n# Anna\n=======\n# A\n>>>>>>> b")
    one.write(TOPIC, text)
    before = state(one.root)
    with pytest.raises(InvalidTopicFormat) as refused:
        one.sync()
    assert refused.value.path == TOPIC
    assert state(one.root) == before


@pytest.mark.parametrize(
    "marks",
    ["<<<<<<< HEAD\na\n=======\nb\n>>>>>>> b", "<<<<<<< HEAD\na", "b\n>>>>>>> origin/main"],
    ids=["whole", "first", "last"],
)
def test_conflict_markers_that_a_person_committed_are_not_sent(one: Machine, marks: str) -> None:
    one.write("core.md", f"# Core memory\n\n{marks}\n")
    run(one.root, "commit", "--quiet", "-am", "x")
    before = state(one.root)
    with pytest.raises(InvalidTopicFormat, match="conflict") as refused:
        one.sync()
    assert refused.value.path == "core.md"
    assert state(one.root) == before


def test_the_same_block_id_made_on_both_sides_is_reported(one: Machine, two: Machine) -> None:
    source = one.workspace.snapshot().sources_of(RelPath("sources/codex/thread.md"))[0].id
    for m, name in ((one, "a"), (two, "b")):
        m.write(
            f"topics/{name}.md",
            f"# {name}\n\nSame.[^1] ^twice\n\n[^1]: Time: `2026`; Sources: {source}\n",
        )
    one.sync()
    before = state(two.root)
    with pytest.raises(InvalidTopicFormat) as refused:
        two.sync()
    problems = refused.value.details["problems"]
    assert isinstance(problems, list)
    assert {p["code"] for p in problems} == {"duplicate-block-id"}
    assert {p["path"] for p in problems} == {"topics/a.md", "topics/b.md"}
    assert state(two.root) == before


def test_a_link_that_the_other_side_cut_is_reported(one: Machine, two: Machine) -> None:
    two.learn("topics/home.md", "cat", "Anna has a cat.")
    two.sync()
    one.sync()
    block = next(b.id for b in two.workspace.snapshot().topic(RelPath("topics/home.md")).blocks)
    source = two.workspace.snapshot().sources_of(RelPath("sources/codex/thread.md"))[0].id
    (one.root / "topics/home.md").unlink()
    one.sync()
    two.write(
        "topics/b.md",
        f"# B\n\nSee [cat](home.md#^{block}).[^1] ^b\n\n[^1]: Time: `2026`; Sources: {source}\n",
    )
    before = state(two.root)
    with pytest.raises(Exception, match="contract") as refused:
        two.sync()
    assert refused.value.code == "DANGLING_BLOCK_LINK"
    assert state(two.root) == before


def test_sources_of_both_sides_are_joined_record_by_record(one: Machine, two: Machine) -> None:
    log = "\n".join(f"line {n} of a log that both were shown" for n in range(12))
    one.hear("m1", f"one\n{log}\nend of one", "2026-08-02T10:00:00Z")
    one.hear("m3", "later", "2026-08-04T10:00:00Z")
    two.hear("m2", f"two\n{log}\nend of two", "2026-08-03T10:00:00Z")
    one.sync()
    two.sync()
    one.sync()
    assert_same(one, two)
    assert one.records() == [
        ("m0", "hello"),
        ("m1", f"one\n{log}\nend of one"),
        ("m2", f"two\n{log}\nend of two"),
        ("m3", "later"),
    ]


def test_an_erased_record_stays_erased(one: Machine, two: Machine) -> None:
    path = one.root / "sources/codex/thread.md"
    text = path.read_text(encoding="utf-8")
    erased = sources.tombstone(text, [SourceId("codex/thread/m0")], "2026-08-09")
    path.write_text(erased, encoding="utf-8")
    two.hear("m1", "more", "2026-08-02T10:00:00Z")
    one.sync()
    two.sync()
    one.sync()
    assert_same(one, two)
    assert one.records() == [("m0", ""), ("m1", "more")]


def test_views_that_diverged_are_rebuilt(one: Machine, two: Machine) -> None:
    one.learn("topics/work.md", "job", "Anna works at a mill.")
    two.learn("topics/home.md", "cat", "Anna has a cat.")
    one.write("relations.json", "by hand\n")
    two.write("recent_events.jsonl", "by hand too\n")
    (two.root / "timeline/2026/08/03.md").unlink()
    one.sync()
    two.sync()
    one.sync()
    assert_same(one, two)
    lines = one.text("recent_events.jsonl").splitlines()
    assert len([json.loads(line) for line in lines]) == 3


def test_two_memories_without_a_common_past_are_joined(bare: Path, one: Machine) -> None:
    one.write("core.md", "# Core memory\n\nAnna is the user.\n")
    one.sync()
    other = machine(bare, "other")
    other.learn("topics/home.md", "cat", "Anna has a cat.")
    other.sync()
    one.sync()
    assert_same(one, other)
    assert "Anna is the user" in other.text("core.md")


def test_a_remote_that_holds_something_else_is_refused(bare: Path, tmp_path: Path) -> None:
    project = tmp_path / "project"
    run(tmp_path, "init", "--quiet", "--initial-branch=main", str(project))
    (project / "main.c").write_text("int main;\n")
    run(project, "add", "--all")
    run(project, "commit", "--quiet", "-m", "x")
    run(project, "push", "--quiet", str(bare), "main")
    made = machine(bare, "one")
    with pytest.raises(GitCommitFailed, match="holds no memory"):
        made.sync()
    assert not (made.root / "main.c").exists()


def test_another_branchs_name_is_told_instead_of_making_a_second_one(
    bare: Path, one: Machine
) -> None:
    other = machine(bare, "other")
    run(other.root, "branch", "-m", "master")
    with pytest.raises(GitCommitFailed, match="`git branch -m main`"):
        other.sync()
    run(other.root, "branch", "-m", "main")
    other.sync()
    assert_same(one, other)


def test_a_clone_of_what_was_empty_then_is_told_both_commands(bare: Path, tmp_path: Path) -> None:
    root = tmp_path / "clone"
    run(bare, "symbolic-ref", "HEAD", "refs/heads/master")
    run(tmp_path, "clone", "--quiet", str(bare), str(root))
    Workspace.open(root, ignore=False)
    first = machine(bare, "one")
    first.sync()
    with pytest.raises(GitCommitFailed) as failed:
        Machine(root).sync()
    assert "`git branch -m main`, then `git branch --unset-upstream`" in failed.value.message
    run(root, "branch", "-m", "main")
    run(root, "branch", "--unset-upstream")
    Machine(root).sync()
    assert_same(first, Machine(root))


def test_a_conflict_between_memories_without_a_common_past_leads_out(
    bare: Path, one: Machine
) -> None:
    other = machine(bare, "other")
    other.write(TOPIC, one.text(TOPIC).replace("Lyon", "Rome"))
    other.write("sources/codex/thread.md", one.text("sources/codex/thread.md"))
    with pytest.raises(ConcurrentUpdate, match="merge --allow-unrelated-histories origin/main"):
        other.sync()


def test_work_on_no_branch_is_refused_with_the_way_back(one: Machine) -> None:
    run(one.root, "checkout", "--quiet", "--detach")
    with pytest.raises(GitCommitFailed, match="git switch"):
        one.sync()


def test_other_files_travel_too_but_never_over_a_change_of_yours(
    one: Machine, two: Machine
) -> None:
    one.write("notes.txt", "theirs\n")
    run(one.root, "add", "notes.txt")
    run(one.root, "commit", "--quiet", "-m", "x")
    one.sync()
    two.write("notes.txt", "mine\n")
    before = state(two.root)
    with pytest.raises(GitCommitFailed, match=r"notes\.txt"):
        two.sync()
    assert state(two.root) == before
    (two.root / "notes.txt").unlink()
    two.sync()
    assert (two.root / "notes.txt").read_text() == "theirs\n"


def test_a_symbolic_link_is_not_taken(one: Machine, two: Machine) -> None:
    (two.root / "topics/link.md").symlink_to("/etc/hostname")
    run(two.root, "add", "topics/link.md")
    run(two.root, "commit", "--quiet", "-m", "x")
    run(two.root, "push", "--quiet", "origin", "main")
    with pytest.raises(GitCommitFailed, match="symbolic link"):
        one.sync()
    assert not (one.root / "topics/link.md").is_symlink()


def test_a_push_that_comes_too_late_is_made_once_more(
    one: Machine, two: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    two.learn("topics/home.md", "cat", "Anna has a cat.")
    one.learn("topics/work.md", "job", "Anna works at a mill.")
    real = remote.push
    tries: list[str] = []

    def late(git: Git, end: remote.Remote, commit: str) -> None:
        tries.append(commit)
        if len(tries) == 1:
            monkeypatch.setattr(remote, "push", real)
            one.sync()
        real(git, end, commit)

    monkeypatch.setattr(remote, "push", late)
    two.sync()
    one.sync()
    assert_same(one, two)
    assert "mill" in two.text("topics/work.md")


def test_an_unreachable_remote_changes_nothing(one: Machine) -> None:
    one.write(TOPIC, one.text(TOPIC).replace("Lyon", "Paris"))
    run(one.root, "remote", "set-url", "origin", str(one.root.parent / "nowhere.git"))
    before = state(one.root)
    with pytest.raises(GitCommitFailed) as failed:
        one.sync()
    assert failed.value.details["memory_committed"] is False
    assert state(one.root) == before


def test_a_refused_push_leaves_the_merge_in_place(bare: Path, one: Machine, two: Machine) -> None:
    hook = bare / "hooks" / "pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)
    two.learn("topics/home.md", "cat", "Anna has a cat.")
    with pytest.raises(GitCommitFailed) as failed:
        two.sync()
    assert failed.value.details["memory_committed"] is True
    hook.unlink()
    two.sync()
    one.sync()
    assert_same(one, two)


def test_hooks_of_the_user_do_not_run(one: Machine) -> None:
    for name in ("pre-commit", "pre-push", "post-merge", "reference-transaction"):
        hook = one.root / ".git/hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(f"#!/bin/sh\ntouch {one.root}/ran\nexit 1\n")
        hook.chmod(0o755)
    one.learn("topics/home.md", "cat", "Anna has a cat.")
    one.sync()
    assert not (one.root / "ran").exists()


@pytest.mark.parametrize("told", [True, False], ids=["no-remote", "no-repository"])
def test_without_repository_or_remote_the_command_is_told(tmp_path: Path, told: bool) -> None:
    root = tmp_path / "memory"
    workspace = Workspace.open(root, ignore=False)
    if told:
        run(root, "init", "--quiet")
    with pytest.raises(InvalidArgument, match="git remote add" if told else "git init"):
        sync.sync(workspace)


KILLED = """
import os, sys
from pathlib import Path
from scriptorium.workspace import disk, git_run, sync
from scriptorium.workspace.workspace import Workspace

left = int(sys.argv[2])

def step(work):
    def counted(*arguments, **more):
        global left
        left -= 1
        if left < 0:
            os._exit(9)
        return work(*arguments, **more)
    return counted

workspace = Workspace.open(Path(sys.argv[1]))
for name in ("write", "rename", "unlink", "create", "sync_dir"):
    setattr(disk.current, name, step(getattr(disk.current, name)))
git_run.Git._run = step(git_run.Git._run)
sync.sync(workspace)
"""


def test_a_sync_killed_at_any_step_is_completed_by_the_next_one(
    bare: Path, one: Machine, two: Machine, tmp_path: Path
) -> None:
    one.learn("topics/work.md", "job", "Anna works at a mill.")
    one.hear("m1", "one", "2026-08-02T10:00:00Z")
    two.write(TOPIC, two.text(TOPIC).replace("Lyon", "Lille"))
    two.hear("m2", "two", "2026-08-03T10:00:00Z")
    one.sync()
    killed = 0
    step = 0
    while True:
        copy, there = tmp_path / "copy", tmp_path / "there.git"
        for source, target in ((two.root, copy), (bare, there)):
            shutil.rmtree(target, ignore_errors=True)
            shutil.copytree(source, target)
        run(copy, "remote", "set-url", "origin", str(there))
        done = subprocess.run(
            [sys.executable, "-c", KILLED, str(copy), str(step)], check=False, capture_output=True
        )
        if done.returncode == 0:
            break
        assert done.returncode == 9, done.stderr
        killed += 1
        (copy / ".git" / "index.lock").unlink(missing_ok=True)
        after = Machine(copy)
        after.sync()
        assert validate(after.workspace) == []
        assert run(copy, "status", "--porcelain") == ""
        assert head(copy) == run(there, "rev-parse", "main")
        assert "Lille" in after.text(TOPIC)
        assert "mill" in after.text("topics/work.md")
        assert after.records() == [("m0", "hello"), ("m1", "one"), ("m2", "two")]
        parents = run(copy, "log", "--merges", "--format=%P")
        assert len(parents.splitlines()) == 1, step
        step += 5
    assert killed > 6


def test_a_full_disk_while_the_merge_is_put_in_place_loses_nothing(
    one: Machine, two: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    one.learn("topics/work.md", "job", "Anna works at a mill.")
    one.sync()
    two.learn("topics/home.md", "cat", "Anna has a cat.")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    before = state(two.root)
    with monkeypatch.context() as patched:
        patched.setattr(disk.current, "write", full)
        with pytest.raises(InternalError):
            two.sync()
    assert state(two.root) == before
    two.sync()
    one.sync()
    assert_same(one, two)


def test_a_remote_that_does_not_answer_ends_in_time_and_changes_nothing(one: Machine) -> None:
    slow = one.root.parent / "slow"
    slow.write_text("#!/bin/sh\nexec sleep 60\n")
    slow.chmod(0o755)
    run(one.root, "config", "core.sshCommand", str(slow))
    run(one.root, "remote", "set-url", "origin", "ssh://nowhere/memory.git")
    before = state(one.root)
    with pytest.raises(GitCommitFailed, match="did not end"):
        sync.sync(one.workspace, limit=2.0)
    assert state(one.root) == before


def test_ssh_is_told_to_ask_nothing(one: Machine) -> None:
    git = Git(one.root, 30.0)
    assert "BatchMode=yes" in remote.find(git, None, {}).options[1]
    own = remote.find(git, None, {"GIT_SSH_COMMAND": "/usr/bin/ssh -i key"}).options[1]
    assert own == "core.sshCommand=/usr/bin/ssh -i key -o BatchMode=yes -o ConnectTimeout=15"
    assert remote.quiet({"SSH_ASKPASS": "window", "PATH": "p"}).get("SSH_ASKPASS") is None

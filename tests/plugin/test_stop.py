"""hooks/stop, run as the clients run it, with a recorder where the launcher stands."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

RECORDER = """#!/bin/sh
[ "$1 $2" = "ingest --hook" ] || exit 9
cat >"$RECORD.part"
echo "noise on stdout"; echo "noise on stderr" >&2
umask >"$RECORD.umask"
ps -o pgid= -p $$ >"$RECORD.group" 2>/dev/null
mv "$RECORD.part" "$RECORD"
"""
EVENT = {
    "session_id": "cc9f",
    "transcript_path": "/nonexistent/cc9f.jsonl",
    "cwd": "/",
    "hook_event_name": "Stop",
    "stop_hook_active": False,
    "last_assistant_message": "Done.",
    "permission_mode": "default",
}
CODEX = {**EVENT, "transcript_path": None, "turn_id": "t1", "model": "mock"}


@pytest.fixture
def hooked(bare_machine, root, tmp_path):
    """(machine, hook, file that the recorder writes)."""
    plugin = tmp_path / "plüg in"
    shutil.copytree(root / "hooks", plugin / "hooks")
    launcher = plugin / "bin" / "scriptorium"
    launcher.parent.mkdir()
    launcher.write_text(RECORDER)
    launcher.chmod(0o755)
    record = tmp_path / "record"
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    bare_machine.extra |= {"RECORD": str(record), "TMPDIR": str(temporary), "PATH": "/usr/bin:/bin"}
    return bare_machine, plugin / "hooks" / "stop", record


def arrives(record: Path, seconds: float = 120) -> bytes:
    end = time.monotonic() + seconds
    while not record.exists():
        assert time.monotonic() < end, "ingest was not started"
        time.sleep(0.005)
    return record.read_bytes()


@pytest.mark.parametrize("event", [EVENT, CODEX], ids=["claude", "codex"])
def test_the_turn_reaches_ingest_and_nothing_is_printed(hooked, event):
    machine, hook, record = hooked
    done = machine.run([hook], json.dumps(event).encode())
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert json.loads(arrives(record)) == event


def test_a_10_mb_last_message_reaches_ingest_whole_and_leaves_no_file(hooked, tmp_path):
    machine, hook, record = hooked
    event = json.dumps({**EVENT, "last_assistant_message": "语" * 3_500_000}, ensure_ascii=False)
    done = machine.run([hook], event.encode())
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert arrives(record) == event.encode()
    assert list((tmp_path / "tmp").iterdir()) == []


def test_ingest_runs_in_a_process_group_of_its_own(hooked):
    machine, hook, record = hooked
    machine.run([hook], b"{}")
    arrives(record)
    group = record.with_suffix(".group").read_text().strip()
    assert group
    assert int(group) != os.getpgrp()


def test_ingest_has_the_users_umask(hooked):
    machine, hook, record = hooked
    machine.run(["/bin/sh", "-c", 'umask 027; exec "$0"', hook], b"{}")
    arrives(record)
    assert record.with_suffix(".umask").read_text().strip().endswith("027")


def test_ingest_holds_nothing_open_that_the_client_waits_for(hooked, tmp_path):
    machine, hook, _ = hooked
    launcher = hook.parent.parent / "bin" / "scriptorium"
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    launcher.write_text(f"#!/bin/sh\nread line <'{gate}'\n")
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as end:
        with subprocess.Popen(
            [hook],
            env=machine.environment(),
            stdin=subprocess.PIPE,
            pass_fds=[7],
            preexec_fn=lambda: os.dup2(writing, 7),  # noqa: PLW1509 - in a child that has one thread
        ) as process:
            os.close(writing)
            process.communicate(b"{}")
        assert end.read() == b"", "ended while ingest waits at its gate"
    with gate.open("w") as held:
        held.write("go on\n")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_killed_while_the_client_still_speaks_nothing_is_left_behind(hooked, tmp_path, number):
    machine, hook, _ = hooked
    with subprocess.Popen(
        [hook], env=machine.environment(), stdin=subprocess.PIPE, start_new_session=True
    ) as process:
        process.stdin.write(b'{"last_assistant_message": "secret')
        process.stdin.flush()
        time.sleep(0.3)  # until it waits for the rest
        os.killpg(process.pid, number)
        process.wait()
    assert list((tmp_path / "tmp").iterdir()) == []


def test_where_there_is_no_setsid_the_turn_reaches_ingest_all_the_same(
    hooked, shell_tools, tmp_path
):
    machine, hook, record = hooked
    tools = tmp_path / "tools"
    tools.mkdir()
    for tool in (*shell_tools.iterdir(), Path("/bin/mv"), Path("/bin/ps")):
        if tool.name != "setsid":
            (tools / tool.name).symlink_to(tool)
    machine.extra["PATH"] = str(tools)
    done = machine.run([hook], b"{}")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert arrives(record) == b"{}"


def test_a_turn_of_the_writer_starts_nothing(hooked, tmp_path):
    machine, hook, record = hooked
    machine.extra["SCRIPTORIUM_CHILD"] = "1"
    # The launcher would have to be opened: a pipe without a reader tells, without waiting.
    launcher = hook.parent.parent / "bin" / "scriptorium"
    launcher.unlink()
    done = machine.run([hook], json.dumps(EVENT).encode())
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert not record.exists()
    assert list((tmp_path / "tmp").iterdir()) == []


@pytest.mark.parametrize("close", ["<&-", "</dev/null"])
def test_with_nothing_on_stdin_nothing_is_said_and_nothing_left(hooked, tmp_path, close):
    machine, hook, _ = hooked
    done = machine.run(["/bin/sh", "-c", f'"$0" {close}', hook])
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert list((tmp_path / "tmp").iterdir()) == []


@pytest.mark.parametrize("missing", ["launcher", "tmp", "home"])
def test_whatever_is_missing_it_prints_nothing_and_exits_0(hooked, tmp_path, missing):
    machine, hook, _ = hooked
    if missing == "launcher":
        (hook.parent.parent / "bin" / "scriptorium").unlink()
    elif missing == "tmp":
        machine.extra["TMPDIR"] = "/nonexistent"
    else:
        machine.home = Path("/nonexistent")
    done = machine.run([hook], json.dumps(EVENT).encode(), cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")

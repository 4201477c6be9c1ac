"""bin/scriptorium on machines as users have them."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest


def tree(folder: Path) -> dict[str, str]:
    """Every file below, with its content's digest: what must not change."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file()
    }


def wait_for(condition: Callable[[], object], seconds: float = 30) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.005)


def lines(stderr: bytes) -> list[str]:
    return stderr.decode().splitlines()


def ready(machine) -> list[str]:
    """The environments that are whole; the uv that made them is left aside."""
    names = (stamp.parent.name for stamp in machine.envs.glob("*/.ready"))
    return sorted(name for name in names if name != "uv")


def test_with_only_an_old_python_on_path_the_hidden_one_serves_and_the_plugin_is_not_touched(
    bare_machine, plugin, older_python, tmp_path
):
    machine = bare_machine
    odd = tmp_path / "plügin mit 空白"
    plugin.rename(odd)
    if older_python is not None:
        on_path = tmp_path / "bin"
        on_path.mkdir()
        (on_path / "python3").symlink_to(older_python)
        machine.path.append(on_path)
    machine.extra["PYTHONDONTWRITEBYTECODE"] = "1"
    for path in [odd, *odd.rglob("*")]:
        path.chmod(path.stat().st_mode & ~0o222)
    before = tree(odd)

    told = machine.told(odd / "bin" / "scriptorium", "mcp", "a b", "ü", stdin=b"from the client")

    assert told["arguments"] == ["mcp", "a b", "ü"]
    assert told["stdin"] == "from the client"
    assert told["root"] == str(odd.resolve())
    assert tree(odd) == before
    package = machine.envs / Path(str(told["python"])).parent.parent.name
    wait_for(lambda: list(package.rglob("scriptorium/interface/__pycache__/cli.*.pyc")))
    pinned = "deps-*/lib/*/site-packages/filelock/__pycache__/"
    wait_for(lambda: list(machine.envs.glob(f"{pinned}asyncio.*.pyc")))  # the stub imports no such


def test_the_launcher_becomes_the_server_and_says_nothing_when_warm(machine, plugin):
    launcher = plugin / "bin" / "scriptorium"
    machine.told(launcher)
    process = machine.start([launcher])
    stdout, stderr = process.communicate(b"", timeout=120)
    assert json.loads(stdout)["pid"] == process.pid
    assert stderr == b""


def test_warm_no_python_is_looked_for(machine, plugin, shell_tools):
    launcher = plugin / "bin" / "scriptorium"
    served_by = machine.told(launcher)["python"]
    machine.path = [shell_tools]
    (machine.home / ".pyenv" / "versions" / "3.x").unlink()
    assert machine.told(launcher)["python"] == served_by


def test_two_first_starts_at_once_build_once_and_both_serve(machine, plugin):
    starts = [machine.start([plugin / "bin" / "scriptorium"]) for _ in range(2)]
    answers = [start.communicate(b"", timeout=120) for start in starts]
    assert [start.returncode for start in starts] == [0, 0], answers
    assert len({json.loads(stdout)["python"] for stdout, _ in answers}) == 1
    assert len(ready(machine)) == 2  # what is pinned, and the package
    assert all(len(lines(stderr)) == 2 for _, stderr in answers)


def test_a_builder_killed_half_way_leaves_nothing_and_the_next_start_serves(bare_machine, plugin):
    machine = bare_machine
    first = machine.start([plugin / "bin" / "scriptorium"])
    wait_for(lambda: list(machine.envs.glob("deps-*/bin/python*")))
    builder = int((machine.envs / "lock").read_text())
    os.killpg(builder, signal.SIGKILL)
    _, stderr = first.communicate(b"", timeout=120)
    assert first.returncode == 2
    assert len(lines(stderr)) == 2
    assert ready(machine) == []
    (machine.envs / ("deps-" + "0" * 16) / "bin").mkdir(parents=True)

    machine.told(plugin / "bin" / "scriptorium")

    assert len(ready(machine)) == 2
    assert not (machine.envs / ("deps-" + "0" * 16)).exists()


def test_a_start_that_the_client_gives_up_on_leaves_its_builder_at_work(machine, plugin):
    first = machine.start([plugin / "bin" / "scriptorium"], stderr=subprocess.DEVNULL)
    wait_for(lambda: list(machine.envs.glob("deps-*")))
    first.kill()
    first.communicate(timeout=120)
    wait_for(lambda: list(machine.envs.glob("start/*")))
    done = machine.run([plugin / "bin" / "scriptorium"])
    assert (done.returncode, done.stderr) == (0, b"")


def test_an_edit_is_served_at_once_and_installs_nothing_anew(machine, plugin):
    launcher = plugin / "bin" / "scriptorium"
    first = machine.told(launcher)
    cli = plugin / "server" / "scriptorium" / "interface" / "cli.py"
    stat = cli.stat()
    cli.write_text(cli.read_text().replace("as first written", "as then editd."))
    os.utime(cli, ns=(stat.st_atime_ns, stat.st_mtime_ns))

    second = machine.told(launcher)

    assert (first["text"], second["text"]) == ("as first written", "as then editd.")
    assert len([name for name in ready(machine) if name.startswith("deps-")]) == 1


def test_a_changed_pin_makes_another_environment(machine, plugin):
    launcher = plugin / "bin" / "scriptorium"
    machine.told(launcher)
    lock = plugin / "requirements.lock"
    lock.write_text(lock.read_text() + "    # another one\n")
    machine.told(launcher)
    assert len([name for name in ready(machine) if name.startswith("deps-")]) == 2


def test_an_interpreter_that_went_away_is_replaced(machine, plugin):
    launcher = plugin / "bin" / "scriptorium"
    told = machine.told(launcher)
    python = Path(str(told["python"]))
    python.unlink()
    python.symlink_to("/nonexistent/python")
    done = machine.run([launcher])
    assert done.returncode == 0, done.stderr


def test_when_what_is_pinned_went_away_it_is_installed_again(machine, plugin):
    launcher = plugin / "bin" / "scriptorium"
    machine.told(launcher)
    (pinned,) = machine.envs.glob("deps-*")
    pinned.rename(machine.home / "gone")
    assert machine.told(launcher)["text"] == "as first written"
    assert list(machine.envs.glob("deps-*")) == [pinned]


def test_what_lies_in_the_project_or_on_pythonpath_is_not_imported(machine, plugin, tmp_path):
    project = tmp_path / "project"
    project.mkdir()
    for name in ("filelock.py", "scriptorium.py", "json.py", "sitecustomize.py"):
        (project / name).write_text("raise SystemExit('imported from the project')")
    machine.extra["PYTHONPATH"] = str(project)
    done = machine.run([plugin / "bin" / "scriptorium"], cwd=project)
    assert done.returncode == 0, done.stderr
    assert str(project) not in json.loads(done.stdout)["path"]


def test_a_link_to_the_launcher_starts_the_plugin_it_points_to(machine, plugin, tmp_path):
    (tmp_path / "middle").symlink_to("plugin/bin/scriptorium")
    (tmp_path / "link").symlink_to(tmp_path / "middle")
    assert machine.told(tmp_path / "link")["root"] == str(plugin.resolve())


@pytest.mark.parametrize("given", ["absolute", "relative", "home"])
def test_the_environment_is_made_where_it_is_asked_for(machine, plugin, tmp_path, given):
    where = {"absolute": str(tmp_path / "my env"), "relative": "my env", "home": "~/my env"}[given]
    made = tmp_path / "my env" if given == "absolute" else machine.home / "my env"
    machine.extra["SCRIPTORIUM_ENV_DIR"] = where
    told = machine.told(plugin / "bin" / "scriptorium")
    assert Path(str(told["python"])).is_relative_to(made)


def test_without_home_in_the_environment_a_named_folder_is_enough(machine, plugin, tmp_path):
    machine.extra |= {"SCRIPTORIUM_ENV_DIR": str(tmp_path / "env")}
    machine.extra |= {"PYENV_ROOT": str(machine.home / ".pyenv")}
    environment = machine.environment()
    del environment["HOME"]
    done = subprocess.run(
        [plugin / "bin" / "scriptorium"],
        env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(
    any(Path(place).exists() for place in ("/usr/local/bin/python3", "/opt/homebrew/bin/python3")),
    reason="this machine keeps a Python where the launcher looks beside PATH",
)
def test_without_python_one_line_says_what_to_install(bare_machine, plugin):
    machine = bare_machine
    (machine.home / ".pyenv" / "versions" / "3.x").unlink()
    done = machine.run([plugin / "bin" / "scriptorium", "mcp"])
    assert (done.returncode, done.stdout) == (2, b"")
    assert len(lines(done.stderr)) == 1
    assert "Python 3.12" in lines(done.stderr)[0]
    assert (machine.envs / "last-error.txt").exists()


def test_a_python_that_exists_but_does_not_run_is_passed_over(machine, plugin, tmp_path):
    shims = tmp_path / "shims"
    shims.mkdir()
    for name in ("python3.14", "python3.13", "python3.12", "python3", "python"):
        (shims / name).write_text("#!/bin/sh\necho 'pyenv: command not found' >&2\nexit 127\n")
        (shims / name).chmod(0o755)
    machine.path.insert(0, shims)
    assert machine.told(plugin / "bin" / "scriptorium")["text"] == "as first written"


def test_when_nothing_can_be_downloaded_the_reason_is_said_and_kept_until_it_works(machine, plugin):
    offline = {
        "PIP_NO_INDEX": "1",
        "UV_OFFLINE": "1",
        "PIP_FIND_LINKS": "",
        "PIP_NO_CACHE_DIR": "1",
        "UV_CACHE_DIR": str(machine.home / "empty"),
    }
    machine.extra |= offline | {"PIP_CONFIG_FILE": os.devnull}
    done = machine.run([plugin / "bin" / "scriptorium"])
    assert (done.returncode, done.stdout) == (2, b"")
    kept = (machine.envs / "last-error.txt").read_text().splitlines()
    assert lines(done.stderr)[-1] == f"scriptorium: {kept[0]}"
    assert "is the package index reachable?" in kept[0]
    assert f"more in {machine.envs}/build.log" in kept[0]
    for name in (*offline, "PIP_CONFIG_FILE"):
        del machine.extra[name]
    machine.told(plugin / "bin" / "scriptorium")
    assert not (machine.envs / "last-error.txt").exists()


def test_a_home_that_cannot_be_written_is_one_line(machine, plugin):
    machine.extra["SCRIPTORIUM_ENV_DIR"] = "/dev/null/env"
    done = machine.run([plugin / "bin" / "scriptorium"])
    assert (done.returncode, done.stdout) == (2, b"")
    assert "SCRIPTORIUM_ENV_DIR" in lines(done.stderr)[0]
    assert len(lines(done.stderr)) == 1


def test_every_file_of_the_package_is_part_of_the_launchers_key(root):
    launcher = (root / "bin" / "scriptorium").read_text()
    patterns = re.findall(r"(?:server|protocol)/\S+", launcher.split("cksum", 1)[1].split("2>")[0])
    keyed = {path for pattern in patterns for path in root.glob(pattern)}
    package = [*(root / "server" / "scriptorium").rglob("*"), *(root / "protocol").rglob("*")]
    files = {file for file in package if file.is_file() and file.suffix != ".pyc"}
    assert {file for file in files if not re.search(r"/\.", str(file.relative_to(root)))} <= keyed


@pytest.mark.skipif(shutil.which("dash") is None, reason="dash is not installed")
def test_the_scripts_are_posix_shell(root):
    for script in (
        "bin/scriptorium",
        "bin/test",
        "server/bootstrap/python.sh",
        "hooks/session-start",
        "hooks/stop",
    ):
        assert subprocess.run(["dash", "-n", root / script], check=False).returncode == 0

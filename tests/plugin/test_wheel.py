"""`pip install .`: the wheel has what the command line needs, prompts included."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile

import pytest


@pytest.fixture(scope="module")
def wheel(root, tmp_path_factory):
    copy = tmp_path_factory.mktemp("source")
    unwanted = shutil.ignore_patterns("__pycache__", ".*")
    for name in ("server", "protocol"):
        shutil.copytree(root / name, copy / name, ignore=unwanted)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(root / name, copy)
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(copy / "dist")]
    subprocess.run(command, cwd=copy, check=True, capture_output=True, timeout=120)
    (made,) = (copy / "dist").glob("*.whl")
    return made


def test_the_wheel_has_every_module_and_every_prompt(wheel, root):
    inside = set(zipfile.ZipFile(wheel).namelist())
    server = root / "server"
    modules = {str(path.relative_to(server)) for path in (server / "scriptorium").rglob("*.py")}
    prompts = {f"scriptorium/protocol/{path.name}" for path in (root / "protocol").iterdir()}
    assert modules | prompts <= inside
    assert [name for name in inside if name.startswith("bootstrap")] == []


def test_what_the_wheel_installs_runs_away_from_the_checkout(wheel, tmp_path):
    target = tmp_path / "installed"
    zipfile.ZipFile(wheel).extractall(target)
    home = tmp_path / "home"
    home.mkdir()
    run = "import sys; sys.path.insert(0, sys.argv.pop(1)); from scriptorium.interface import cli"
    code = f"{run}; sys.exit(cli.main())"
    done = subprocess.run(
        [sys.executable, "-P", "-c", code, str(target), "demo"],
        cwd=home,
        env={"HOME": str(home), "PATH": "/usr/bin:/bin", "PYTHONPATH": str(target)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()

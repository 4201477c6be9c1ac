"""The environments: one of what is pinned, and one of this package on top of it.

    DIR/deps-<16 hex>/   what a lock file pins; named by a hash of the lock and of the interpreter
    DIR/<16 hex>/        this package; named by a hash of the former and of the package (its version
                         and every file), so that an update or an edit of the package does not
                         install everything anew, and each checkout starts what it holds
    DIR/start/<key>      the launcher's index

Promises: `.ready` is written last, and a folder without it, left by a killed builder, is removed.
Bytecode is no part of being ready: it is made while the server runs already, which compiles what it
imports by itself. The caller holds the lock. Nothing is written below the plugin. Python 3.8,
standard library only.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import interpreters
from interpreters import PIP, Uv
from steps import BuildError, download, is_ready, mark_ready, read, run, works

# What newer ones replaced goes, but not at once: servers may still run from it.
KEPT_DEPS, KEPT_PACKAGES = 3, 20
DIGITS = set("0123456789abcdef")


def of_tests(root: Path, envs: Path) -> str:
    """The path of a Python that has what the tests need, and the checkout itself as it stands."""
    deps = dependencies(root, envs, "requirements-dev.lock")
    folder = envs / hashlib.sha256(f"{deps.name}\0{root}".encode()).hexdigest()[:16]
    if not usable(folder):
        make_environment(deps, folder)
        # Not environment variables: tests start processes with an environment of their own.
        server, bytecode = ascii(str(root / "server")), ascii(str(envs / "caches" / "pycache"))
        line = f"import sys; sys.path.append({server}); sys.pycache_prefix = {bytecode}\n"
        (site_packages(folder) / "checkout.pth").write_text(line, encoding="ascii")
        mark_ready(folder, deps.name)
    os.utime(folder / ".ready")
    return str(folder / "bin" / "python")


def of_plugin(root: Path, envs: Path) -> str:
    """The name of the folder whose Python has the server."""
    deps = dependencies(root, envs, "requirements.lock")
    files = [(path.read_bytes(), path_inside) for path, path_inside in package_files(root)]
    digest = hashlib.sha256(deps.name.encode())
    for content, path_inside in files:
        digest.update(f"\0{path_inside}\0{len(content)}\0".encode() + content)
    folder = envs / digest.hexdigest()[:16]
    if not usable(folder):
        make_environment(deps, folder)
        for content, path_inside in files:
            target = site_packages(folder) / path_inside
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
        mark_ready(folder, deps.name)
        compile_meanwhile(folder, deps)
    os.utime(folder / ".ready")
    return folder.name


def package_files(root: Path) -> Iterator[tuple[Path, str]]:
    """Every file of the package and its path below site-packages, as a wheel has them."""
    for source, target in (
        ("server/scriptorium", "scriptorium"),
        ("protocol", "scriptorium/protocol"),
    ):
        top = root / source
        for path in sorted(top.rglob("*")):
            inside = path.relative_to(top)
            made_by_tools = any(part.startswith((".", "__pycache__")) for part in inside.parts)
            if path.is_file() and not made_by_tools:
                yield path, f"{target}/{inside.as_posix()}"


def make_environment(deps: Path, folder: Path) -> None:
    """An empty virtual environment that sees `deps` by a .pth; the launcher sees it by a link."""
    create = "import sys, venv; venv.EnvBuilder(symlinks=True, with_pip=False).create(sys.argv[1])"
    run([str(deps / "bin" / "python"), "-I", "-c", create, str(folder)])
    packages = site_packages(folder)
    # Relative, because Python reads a .pth in the locale's encoding and the path may be in another.
    relative = os.path.relpath(site_packages(deps), packages)
    (packages / "deps.pth").write_text(relative + "\n", encoding="utf-8")
    (folder / "deps").symlink_to(os.path.relpath(deps, folder))


def dependencies(root: Path, envs: Path, lock_name: str) -> Path:
    """The folder with what the lock file pins, installed once per lock and interpreter."""
    remove_half_built(envs)
    lock = root / lock_name
    uv = Uv(root, envs)
    python = interpreters.find(uv)
    digest = hashlib.sha256(lock.read_bytes() + f"{python.identity} {python.path}".encode())
    folder = envs / f"deps-{digest.hexdigest()[:16]}"
    if not usable(folder):
        install(lock, folder, python.path, uv)
        mark_ready(folder, python.path)
    os.utime(folder / ".ready")
    return folder


def install(lock: Path, folder: Path, python: str, uv: Uv) -> None:
    """By uv, the user's or our own, else by pip, which takes several times as long."""
    try:
        by_uv(lock, folder, python, uv)
    except BuildError as failure:
        shutil.rmtree(folder, ignore_errors=True)
        try:
            by_pip(lock, folder, python)
        except BuildError:
            raise failure from None


def by_uv(lock: Path, folder: Path, python: str, uv: Uv) -> None:
    run([python, "-I", "-m", "venv", "--without-pip", str(folder)])
    target = str(folder / "bin" / "python")
    options = ("--no-deps", "--require-hashes", "--only-binary", ":all:", "-r", str(lock))
    download([uv.path(), "pip", "install", "--python", target, *options])


def by_pip(lock: Path, folder: Path, python: str) -> None:
    run([python, "-I", "-m", "venv", str(folder)])
    download([str(folder / "bin" / "python"), *PIP, "-r", str(lock)])


def compile_meanwhile(folder: Path, deps: Path) -> None:
    """A process of its own compiles everything, which takes longer than all the rest."""
    packages = [str(site_packages(place)) for place in (folder, deps)]
    gently = "import compileall, os; os.nice(10); compileall.main()"
    subprocess.Popen(
        [str(folder / "bin" / "python"), "-I", "-c", gently, "-q", "-j", "0", *packages],
        stdin=subprocess.DEVNULL,
        stdout=sys.stdout,
        stderr=sys.stdout,
        start_new_session=True,
    )


def site_packages(folder: Path) -> Path:
    return next((folder / "lib").glob("python3*")) / "site-packages"


# --- upkeep


def usable(folder: Path) -> bool:
    """False, and nothing there, for one that is not whole or whose interpreter went away."""
    if is_ready(folder) and works([str(folder / "bin" / "python"), "-I", "-c", ""]):
        return True
    shutil.rmtree(folder, ignore_errors=True)
    return False


def ours(envs: Path) -> list[Path]:
    """The folders that were made here."""
    stems = [
        (path, path.name[5:] if path.name.startswith("deps-") else path.name)
        for path in envs.iterdir()
    ]
    return [
        path for path, stem in stems if stem == "uv" or (len(stem) == 16 and not set(stem) - DIGITS)
    ]


def remove_half_built(envs: Path) -> None:
    for folder in ours(envs):
        if not is_ready(folder):
            shutil.rmtree(folder, ignore_errors=True)


def prune(envs: Path) -> None:
    made = [folder for folder in ours(envs) if folder.name != "uv"]
    made.sort(key=lambda folder: (folder / ".ready").stat().st_mtime, reverse=True)
    deps = [folder for folder in made if folder.name.startswith("deps-")]
    packages = [folder for folder in made if folder not in deps]
    kept = {folder.name for folder in deps[:KEPT_DEPS]}
    orphans = [folder for folder in packages if read(folder / ".ready") not in kept]
    for folder in [*deps[KEPT_DEPS:], *packages[KEPT_PACKAGES:], *orphans]:
        shutil.rmtree(folder, ignore_errors=True)
    for entry in (envs / "start").iterdir():
        # An absolute path names a file in its environment, a name its folder.
        if not (envs / read(entry)).exists():
            entry.unlink()

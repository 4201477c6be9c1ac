"""Makes the environment that the launcher starts, and says how that went.

    bootstrap.py --root PLUGIN --envs DIR --key KEY [--dev]

prints what DIR/start/KEY then holds: the name of the plugin's environment in DIR, or, with `--dev`,
the path of the tests' Python.

Promises: everything is built under a lock that a killed holder frees, by a process that outlives
its starter: a client gives up on a server after 30 s, and a slow network must not begin from
nothing each time. A second first start waits for the first. Progress and failure go to stderr, one
line each; the last failure stays in DIR/last-error.txt until a build succeeds. Nothing is written
below PLUGIN. Runs on any Python 3.8, with the standard library only.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import os
import subprocess
import sys
import time
from pathlib import Path

sys.dont_write_bytecode = True  # a __pycache__ here would be a change of the plugin
sys.path.insert(0, str(Path(__file__).resolve().parent))

import environments
from steps import BuildError, read, write


def main() -> int:
    options = arguments()
    if options.build:
        return build(options)
    try:
        options.envs.mkdir(parents=True, exist_ok=True)
        log = (options.envs / "build.log").open("a", encoding="utf-8")
    except OSError as error:
        return say(
            f"cannot write {options.envs} ({error.strerror}); "
            "set SCRIPTORIUM_ENV_DIR to a folder that can be written"
        )
    with log:
        return wait_for_builder(options, log.fileno())


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Makes the environment that the launcher starts.")
    parser.add_argument("--root", type=Path, required=True, help="the plugin's folder")
    parser.add_argument("--envs", type=Path, required=True, help="where environments live")
    parser.add_argument("--key", required=True, help="the launcher's checksum of the sources")
    parser.add_argument("--dev", action="store_true", help="the tests' environment")
    parser.add_argument("--build", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


def wait_for_builder(options: argparse.Namespace, log: int) -> int:
    say("preparing the Python environment, once (some 10 seconds, more on a slow network) ...")
    started = time.monotonic()
    code = subprocess.call(
        [sys.executable, "-I", *sys.argv, "--build"],
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=log,
        start_new_session=True,
    )
    answer = read(options.envs / "start" / options.key)
    if code or not answer:
        failure = read(error_file(options)) or "the builder was killed; start again"
        return say(failure.split("\n")[0])
    say(f"ready after {time.monotonic() - started:.1f} s")
    print(answer)
    return 0


def build(options: argparse.Namespace) -> int:
    """The builder: one at a time; every other one waits here and then finds the work done."""
    for name in [name for name in os.environ if name.startswith("PYTHON")]:
        del os.environ[name]
    with (options.envs / "lock").open("a+b") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        lock.truncate(0)
        lock.write(b"%d\n" % os.getpid())
        lock.flush()
        os.ftruncate(sys.stdout.fileno(), 0)
        try:
            make = environments.of_tests if options.dev else environments.of_plugin
            write(options.envs / "start" / options.key, make(options.root, options.envs) + "\n")
        except (BuildError, OSError, subprocess.SubprocessError) as error:
            reason = " ".join(str(error).split())
            when = time.strftime("%Y-%m-%d %H:%M:%S %z")
            write(error_file(options), f"{reason} (more in {options.envs}/build.log)\nat {when}\n")
            return 2
        with contextlib.suppress(FileNotFoundError):
            error_file(options).unlink()
        environments.prune(options.envs)
        return 0


def error_file(options: argparse.Namespace) -> Path:
    return Path(options.envs, "last-error.txt")


def say(text: str) -> int:
    print(f"scriptorium: {text}", file=sys.stderr, flush=True)
    return 2


if __name__ == "__main__":
    sys.exit(main())

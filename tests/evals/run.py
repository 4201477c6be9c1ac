"""Asks a real model ten things, and says whether it used its memory. README.md says more."""

from __future__ import annotations

import argparse
import contextlib
import json
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.evals import scripted
from tests.evals.session import Home, SessionError
from tests.evals.situations import SITUATIONS, Situation


@dataclass(frozen=True, slots=True)
class Trial:
    situation: str
    called: tuple[str, ...]
    faults: tuple[str, ...]
    usd: float
    seconds: float

    @property
    def passed(self) -> bool:
        return not self.faults


def main() -> int:
    options = arguments()
    claude = shutil.which(options.claude)
    if claude is None:
        print(f"{options.claude} is not there: install Claude Code, or name it with --claude")
        return 2
    chosen = [s for s in SITUATIONS if not options.only or options.only in s.name]
    with contextlib.ExitStack() as stack:
        more = stack.enter_context(model_service(options.scripted))
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="scriptorium-evals-")))
        home = Home(folder / "home", claude, more)
        try:
            home.prepare()
        except SessionError as error:
            print(f"the plugin cannot be installed: {error}")
            return 2
        trials = [
            report(trial(home, situation, folder / f"{number}-{round_}", options))
            for number, situation in enumerate(chosen)
            for round_ in range(options.repeat)
        ]
    return conclude(trials, options)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.evals.run", description=__doc__)
    parser.add_argument("--claude", default="claude", help="the client's binary")
    parser.add_argument("--model", help="the client's default where it is not given")
    parser.add_argument("--repeat", type=int, default=1, help="sessions a situation")
    parser.add_argument("--only", help="situations whose name holds this")
    parser.add_argument("--timeout", type=float, default=300, help="seconds a session may take")
    parser.add_argument("--at-least", type=float, default=0.9, help="the share that must pass, 0-1")
    parser.add_argument("--json", type=Path, help="write the trials to this file as well")
    parser.add_argument(
        "--scripted", choices=scripted.CHARACTERS, help="no model, to try the runner"
    )
    return parser.parse_args()


@contextlib.contextmanager
def model_service(character: str | None) -> Iterator[Mapping[str, str]]:
    """What the sessions' environment needs for the scripted model; nothing for a real one."""
    if character is None:
        yield {}
        return
    with scripted.service(character) as api:
        yield {"ANTHROPIC_BASE_URL": api.url, "ANTHROPIC_API_KEY": "dummy"}


def trial(home: Home, situation: Situation, folder: Path, options: argparse.Namespace) -> Trial:
    """One session in a copy of the home, so that no situation meets what another one saved."""
    folder.mkdir()
    copy = home.copy(folder / "home")
    try:
        outcome = copy.ask(
            situation.prompt, folder / "project", model=options.model, timeout=options.timeout
        )
    except SessionError as error:
        return Trial(situation.name, (), (f"no answer: {error}",), 0.0, 0.0)
    faults = tuple(situation.faults(outcome.called))
    called = tuple(sorted(outcome.called))
    return Trial(situation.name, called, faults, outcome.usd, outcome.seconds)


def report(trial: Trial) -> Trial:
    verdict = "pass" if trial.passed else "FAIL"
    why = "; ".join(trial.faults) or ", ".join(trial.called) or "no call"
    print(f"{verdict}  {trial.situation:36} {trial.seconds:5.1f} s  {why}", flush=True)
    return trial


def conclude(trials: list[Trial], options: argparse.Namespace) -> int:
    passed = sum(trial.passed for trial in trials)
    usd = sum(trial.usd for trial in trials)
    print(f"{passed} of {len(trials)} passed, {usd:.2f} USD")
    if options.json:
        rows = [asdict(trial) | {"passed": trial.passed} for trial in trials]
        options.json.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")
    return 0 if trials and passed >= options.at_least * len(trials) else 1


if __name__ == "__main__":
    sys.exit(main())

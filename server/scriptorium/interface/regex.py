"""Regular expressions with an end: matching runs in a short-lived child that is killed at the
deadline.

Python's matcher cannot be interrupted from another thread and holds the interpreter while it
runs, so `(a+)+$` on one line would stop the whole server. This file is also the child: run as a
script with only the standard library, it reads one JSON request on stdin and writes one JSON
answer.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypedDict

DEADLINE = 2.0
"""Seconds for one query over all texts."""


class _Request(TypedDict):
    pattern: str
    case: bool
    texts: list[str]


def matching_lines(
    pattern: str, texts: Sequence[str], *, case_sensitive: bool, deadline: float = DEADLINE
) -> list[list[int]]:
    """For each text the 0-based numbers of the lines in which the pattern is found.

    Raises ValueError, with a reason for the caller, for a bad pattern and at the deadline.
    """
    request = json.dumps({"pattern": pattern, "case": case_sensitive, "texts": list(texts)})
    try:
        done = subprocess.run(
            [sys.executable, "-I", "-S", str(Path(__file__))],
            input=request.encode(),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=deadline,
            check=True,
        )
    except subprocess.TimeoutExpired:
        raise ValueError(f"it was still being matched after {deadline:g} s") from None
    except subprocess.CalledProcessError as error:
        raise ValueError(f"the matcher ended with status {error.returncode}") from None
    answer = json.loads(done.stdout)
    if "error" in answer:
        raise ValueError(str(answer["error"]))
    return [[int(number) for number in numbers] for numbers in answer["lines"]]


def _answer(request: _Request) -> dict[str, object]:
    try:
        flags = re.RegexFlag(0) if request["case"] else re.IGNORECASE
        found = re.compile(str(request["pattern"]), flags).search
    except (re.error, OverflowError, RecursionError, ValueError) as error:
        return {"error": str(error) or "it is too deeply nested"}
    return {"lines": [_matching(found, text) for text in request["texts"]]}


def _matching(found: Callable[[str], object], text: str) -> list[int]:
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()  # what follows the last line's end is no line
    return [n for n, line in enumerate(lines) if found(line.rstrip("\r"))]


if __name__ == "__main__":
    sys.stdout.write(json.dumps(_answer(json.load(sys.stdin))))

"""Does a value look drawn by chance, as secrets are, or is it an example, a name, a path? Pure."""

from __future__ import annotations

import math
import re
from collections import Counter
from functools import cache


def is_varied(value: str) -> bool:
    """No example: it has many different characters and does not say that it is one."""
    return len(set(value)) >= 8 and not is_example(value)


def is_random(value: str) -> bool:
    """It has a long run of letters and digits that is neither word, number, name nor path."""
    if not is_varied(value):
        return False
    run = max(re.findall(r"[A-Za-z0-9+/]+", value), key=len, default="")
    digits = sum(c.isdigit() for c in run)
    if len(run) < 16 or not 2 <= digits < len(run) or _entropy(run) < 3.2:
        return False
    return digits >= len(run) / 10 or _changes(run) >= 0.25


def is_example(value: str) -> bool:
    """It says of itself that it stands for something."""
    return _example().search(value) is not None


@cache
def _example() -> re.Pattern[str]:
    return re.compile(
        r"EXAMPLE|\bexample|placeholder|your[-_]|x{6,}|\.\.\.|\*{3}|1234567890abcdef",
        re.IGNORECASE,
    )


def _changes(run: str) -> float:
    """How often case or kind changes within it, a character; in `CamelCaseName2` rarely."""
    plain = re.sub(r"[+/]", "", run)
    changes = re.findall(r"[a-z](?=[A-Z0-9])|[A-Z](?=[0-9])|[0-9](?=[A-Za-z])", plain)
    return len(changes) / max(len(plain), 1)


def _entropy(text: str) -> float:
    """Shannon's entropy in bits a character."""
    counts = Counter(text[:200]).values()
    total = sum(counts)
    return -sum(n / total * math.log2(n / total) for n in counts)

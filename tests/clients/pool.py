"""What waits to be written into a memory: the pending pool, as its file says."""

from __future__ import annotations

import json
from pathlib import Path


def pending(memory: Path) -> list[str]:
    """What the person said, of the turns that wait to be written, in order."""
    file = memory / ".scriptorium" / "ingest" / "pending.jsonl"
    lines = file.read_bytes().splitlines() if file.exists() else []
    rows = [json.loads(line) for line in lines]
    return [row["text"] for row in rows if row["role"] == "user"]

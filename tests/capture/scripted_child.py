"""A stand-in for `claude` and `codex`: reads the request, answers by its script, and notes the
call.

Beside it lie `script.json` (a list of moods, one a call, the last one for ever) and `calls.jsonl`,
where each call leaves its arguments, its environment, its directory and its request. In the mood
`facts` it makes one addition of each `FACT-<word>` that the messages hold, naming the messages
that say so.
"""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(sys.argv[0]).absolute().parent
CODEX = Path(sys.argv[0]).name == "codex"


def main() -> None:
    request = "" if _mood_is("deaf") else sys.stdin.buffer.read().decode("utf-8")
    mood = _next_mood(request)
    if mood == "hang":
        grandchild = [sys.executable, "-c", "import time; time.sleep(600)"]
        pid = subprocess.Popen(grandchild).pid
        (HERE / "grandchild").write_text(str(pid))
        time.sleep(600)
    if mood == "suicide":
        os.kill(os.getpid(), signal.SIGKILL)
    if mood == "flood":
        while True:
            sys.stdout.write("x" * 65536)
    if mood == "empty":
        return
    if mood in FAILURES:
        _fail(*FAILURES[mood])
    if mood == "malformed":
        _say(None, "I would rather chat about it.")
        return
    _say(_answer(mood, request), "")


FAILURES = {
    "not-logged-in": ("Not logged in · Please run /login", None, "error_during_execution"),
    "unauthorised": ("API Error: 401 authentication_error", 401, "success"),
    "rate-limited": ("API Error: 429 rate_limit_error", 429, "success"),
    "overloaded": ("API Error: 529 Overloaded", 529, "success"),
    "budget": ("Reached maximum budget", None, "error_max_budget_usd"),
    "too-long": ("Prompt is too long", 400, "success"),
    "usage-limit": ("Credit balance is too low", 400, "success"),
}


def _answer(mood: str, request: str) -> object:
    if mood == "nothing":
        return {"additions": [], "revisions": [], "core": []}
    if mood.startswith("{"):
        return json.loads(mood)
    if mood == "invalid":
        bad = {"topic": "../../etc/passwd", "heading": "x", "text": "[^1]", "time": "soon"}
        return {"additions": [bad | {"messages": [99999]}], "revisions": [], "core": []}
    facts: dict[str, list[int]] = {}
    for line in request.splitlines():
        row = json.loads(line) if line.startswith('{"message"') else {}
        for fact in re.findall(r"FACT-[a-z0-9]+", row.get("text", "")):
            facts.setdefault(fact, []).append(row["message"])
    additions = [
        {
            "topic": f"topics/facts/{fact[5:6]}.md",
            "heading": "Facts",
            "text": f"It was said: {fact}.",
            "time": "2026-08-03",
            "messages": sorted(set(numbers)),
        }
        for fact, numbers in facts.items()
    ]
    return {"additions": additions, "revisions": [], "core": []}


def _say(answer: object, text: str) -> None:
    if CODEX:
        last = Path(sys.argv[sys.argv.index("-o") + 1])
        last.write_text(json.dumps(answer) if answer is not None else text, encoding="utf-8")
        for event in (
            {"type": "thread.started", "thread_id": "t"},
            {"type": "turn.completed", "usage": {"input_tokens": 900, "output_tokens": 50}},
        ):
            print(json.dumps(event))
        return
    print(json.dumps({**RESULT, "result": text, "structured_output": answer}))


RESULT = {
    "type": "result",
    "subtype": "success",
    "is_error": False,
    "num_turns": 1,
    "total_cost_usd": float(os.environ.get("SCRIPTED_COST", "0.01")),
    "usage": {"input_tokens": 1000, "output_tokens": 100, "cache_read_input_tokens": 24},
    "modelUsage": {"scripted-model": {}},
}


def _fail(message: str, status: int | None, subtype: str) -> None:
    if CODEX:
        print(json.dumps({"type": "error", "message": message}))
        print(json.dumps({"type": "turn.failed", "error": {"message": message}}))
    else:
        failure = {"subtype": subtype, "is_error": True, "result": message}
        print(json.dumps({**RESULT, **failure, "api_error_status": status, "total_cost_usd": 0}))
    sys.exit(1)


def _moods() -> list[str]:
    return json.loads((HERE / "script.json").read_text(encoding="utf-8"))


def _mood_is(mood: str) -> bool:
    return _moods()[0] == mood


def _next_mood(request: str) -> str:
    note = {
        "argv": sys.argv[1:],
        "environ": dict(os.environ),
        "cwd": str(Path.cwd()),
        "files": sorted(p.name for p in Path.cwd().iterdir()),
        "request": request,
    }
    data = (json.dumps(note) + "\n").encode()
    fd = os.open(HERE / "calls.jsonl", os.O_CREAT | os.O_APPEND | os.O_WRONLY)
    os.write(fd, data)
    os.close(fd)
    call = (HERE / "calls.jsonl").read_bytes().count(b"\n") - 1
    moods = _moods()
    return moods[min(call, len(moods) - 1)]


if __name__ == "__main__":
    main()

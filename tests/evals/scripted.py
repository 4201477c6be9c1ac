"""Models that are none: they show that the runner sees what a model does. No network, no cost.

`obedient` calls exactly what each situation asks for; `deaf` never calls anything; `eager` calls
both tools whatever is said.
"""

from __future__ import annotations

import json
from collections.abc import Callable

from tests.clients.anthropic_api import AnthropicApi, call, say
from tests.clients.scripted import Answer, Body, texts
from tests.evals.situations import SEARCH, SITUATIONS, UPDATE

PATCH = """--- /dev/null
+++ b/topics/people/noted.md
@@ -0,0 +1,5 @@
+# Noted
+
+The user said so.[^new-evidence-it] ^new-block-it
+
+[^new-evidence-it]: Time: `2026-11`; Sources: new-source-it
"""
CHARACTERS: dict[str, Callable[[str], frozenset[str]]] = {
    "obedient": lambda said: next(s.calls for s in SITUATIONS if s.prompt in said),
    "deaf": lambda _: frozenset(),
    "eager": lambda _: frozenset({SEARCH, UPDATE}),
}


def service(character: str) -> AnthropicApi:
    """A model service on loopback; enter it to start it."""
    wants = CHARACTERS[character]
    api = AnthropicApi()
    api.aside = [(lambda _: True, lambda body: _next(body, wants(texts(body["messages"]))))]
    return api


def _next(body: Body, wanted: frozenset[str]) -> Answer:
    """The first of the wanted calls that the conversation does not hold yet."""
    results = _results(body)
    made = len(results)
    if wanted and made == 0:
        return call(SEARCH, query="user") if SEARCH in wanted else call("memory_status")
    if UPDATE in wanted and made == 1:
        words = {"label": "new-source-it", "role": "user", "content": "I said so."}
        revision = json.loads(results[-1])["revision"]
        return call(UPDATE, base_revision=revision, patch=PATCH, sources=[words])
    return say("Done.")


def _results(body: Body) -> list[str]:
    contents = [message["content"] for message in body["messages"]]
    blocks = [block for content in contents if isinstance(content, list) for block in content]
    return [texts(block["content"]) for block in blocks if block.get("type") == "tool_result"]

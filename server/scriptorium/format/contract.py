"""The topic contract: what makes a file memory, checked rule by rule, all problems at once.

Promises that every breach of a file is in the answer, in the order of its lines, each with the next
step. What lies outside the file it asks of a `World`; it reads nothing itself.

1  a block ends with one id           block-without-id, several-ids, block-id-format, empty-block
2  a block cites its evidence         uncited-block, uncited-prose, undefined-evidence,
                                      uncited-evidence, duplicate-evidence
3  evidence has a time and sources    evidence-format, evidence-time, evidence-without-source,
                                      unknown-source
4  links between topics name blocks   link-without-block, dangling-block-link
5  ids are unique                     duplicate-block-id
6  facts are added, not overwritten   (for the writer to keep)
7  core is small, its links resolve   core-budget, core-dangling-link
"""

from __future__ import annotations

from scriptorium.format import markdown, paths
from scriptorium.format.model import Problem, RelPath, Topic
from scriptorium.format.references import References
from scriptorium.format.rules import citation_problems, definition_problems, id_problems
from scriptorium.format.tokens import estimate_tokens
from scriptorium.format.world import World

__all__ = ["CORE_BUDGET", "World", "check_core", "check_topic"]

CORE_BUDGET = 2000
"""Tokens that core.md may cost, as `estimate_tokens` counts."""


def check_topic(path: RelPath, topic: Topic, world: World) -> list[Problem]:
    """Every breach of the contract in the topic at `path`, in the order of its lines."""
    references = References(path, topic, world)
    found = [
        *id_problems(path, topic),
        *citation_problems(path, topic),
        *definition_problems(path, topic),
        *references.ids(),
        *references.sources(),
        *references.links(),
    ]
    return sorted(found, key=lambda problem: problem.line)


def check_core(text: str, world: World, *, budget: int = CORE_BUDGET) -> list[Problem]:
    """Every breach in core.md: its cost over `budget` tokens, and sources and links that lead
    nowhere.
    """
    found: list[Problem] = []
    tokens = estimate_tokens(text)
    if tokens > budget:
        message = (
            f"core.md costs about {tokens} tokens, its budget is {budget}. "
            "Shorten it: move detail into a topic and link to the block."
        )
        found.append(Problem(paths.CORE, 1, "core-budget", message))
    references = References(paths.CORE, markdown.parse_topic(text), world)
    return [*found, *references.sources(), *references.core_links(markdown.links(text))]

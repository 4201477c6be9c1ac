"""The rules of the contract that a topic keeps or breaks by itself: ids, citations, definitions.

Each function yields the breaches of one group of rules, with the next step in the message. None
asks what lies outside the file.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence

from scriptorium.format import claims, evidence
from scriptorium.format.inline import IdMark
from scriptorium.format.lines import split_lines
from scriptorium.format.model import Block, Claim, EvidenceId, Problem, RelPath, Rule, Topic

_SHOWN = 60
_FORM = "Write `[^{0}]: Time: `YYYY-MM-DD`; Sources: <source>, <source>`"
_FAULTS: dict[evidence.Fault, str] = {
    "evidence-format": "The definition of [^{0}] is not in the form of evidence. "
    f"{_FORM} and nothing else; text of a block needs a blank line between.",
    "evidence-time": "The time of [^{0}] is no time. "
    "Write YYYY, YYYY-MM, a real YYYY-MM-DD, or undated: when the fact held.",
    "evidence-without-source": f"The definition of [^{{0}}] names no source. {_FORM}.",
}


def shown(text: str) -> str:
    """`text` on one line, cut to what a message can carry."""
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN else line[: _SHOWN - 1] + "…"


def id_problems(path: RelPath, topic: Topic) -> Iterator[Problem]:
    """Rule 1: a block has one id, in its form, at its end."""
    for block in topic.blocks:
        # Nor is the caret of a citation or of a link's `#^…` ever the one of an id.
        carets = block.text.count("^") - block.text.count("[^") - block.text.count("#^")
        if block.id is None or carets > 1:
            for line, rule, message in _id_faults(block, claims.id_marks(block)):
                yield Problem(path, line, rule, message)


def _id_faults(block: Block, marks: Sequence[IdMark]) -> Iterator[tuple[int, Rule, str]]:
    malformed = [mark for mark in marks if not mark.well_formed]
    ids = [mark.text for mark in marks if mark.well_formed]
    for mark in malformed:
        yield (
            block.end_line,
            "block-id-format",
            (
                f"^{shown(mark.text)} is no block id. "
                "Write a blank, ^, and then only A-Z, a-z, 0-9 and hyphens."
            ),
        )
    if len(ids) > 1:
        listed = ", ".join(f"^{text}" for text in ids)
        yield (
            block.start_line,
            "several-ids",
            (
                f"The block has {len(ids)} ids ({shown(listed)}). "
                "Keep the one at its end, or part the blocks with a blank line."
            ),
        )
    elif block.id is None and not malformed:
        step = (
            f"^{ids[0]} is not at its end: move it there, or put a blank line below it."
            if ids
            else "End it with ` ^new-block-<name>`; a table, fence or quote with that on a line "
            "of its own below."
        )
        yield (
            block.start_line,
            "block-without-id",
            (f"The block “{shown(block.text)}” ends without an id. {step}"),
        )


def citation_problems(path: RelPath, topic: Topic) -> Iterator[Problem]:
    """Rule 2: prose is followed by a citation, and citations and definitions match."""
    for block in topic.blocks:
        fault = _uncited(block)
        if fault is not None:
            yield Problem(path, *fault)
    defined = {definition.id for definition in topic.evidence}
    cited: dict[EvidenceId, Claim] = {}
    for claim in (claim for block in topic.blocks for claim in block.claims):
        for label in claim.evidence:
            cited.setdefault(label, claim)
    for label, claim in cited.items():
        if label not in defined:
            message = f"[^{label}] is cited but not defined in this file. " + _FORM.format(label)
            yield Problem(path, claim.line, "undefined-evidence", f"{message} at its end.")
    yield from _uncited_definitions(path, topic, cited.keys())


def _uncited(block: Block) -> tuple[int, Rule, str] | None:
    if block.trailing and not block.claims:
        return (
            block.start_line,
            "uncited-block",
            (
                f"The block “{shown(block.text)}” cites no evidence. "
                "Put [^new-evidence-<name>] behind what it says and define it where the file ends."
            ),
        )
    if block.trailing:
        return (
            _line_of_trailing(block),
            "uncited-prose",
            (
                f"No citation follows “{shown(block.trailing)}”. "
                "Cite its evidence behind it, or move it before the citation that supports it."
            ),
        )
    if not any(claim.text for claim in block.claims):
        return (
            block.start_line,
            "empty-block",
            (
                "The block says nothing: it is an id or citations only. "
                "Let it follow the block that it closes, or remove it."
            ),
        )
    return None


def _line_of_trailing(block: Block) -> int:
    at = block.text.rfind(block.trailing.split("\n", 1)[0])
    before = block.text[: max(at, 0)]
    return block.start_line + len(split_lines(before + "x")) - 1


def _uncited_definitions(
    path: RelPath, topic: Topic, cited: Container[EvidenceId]
) -> Iterator[Problem]:
    for definition in topic.evidence:
        if definition.id in cited:
            continue
        in_heading = any(f"[^{definition.id}]" in heading.text for heading in topic.headings)
        step = (
            "A heading cites it, and a heading is no block: text above a line of --- needs a blank "
            "line between."
            if in_heading
            else "Cite it behind the prose that it supports, or remove the definition."
        )
        message = f"[^{definition.id}] is defined but no block of this file cites it. {step}"
        yield Problem(path, definition.line, "uncited-evidence", message)


def definition_problems(path: RelPath, topic: Topic) -> Iterator[Problem]:
    """Rules 2 and 3: a label is defined once, in the form of evidence."""
    seen: set[EvidenceId] = set()
    for definition in topic.evidence:
        label, line = definition.id, definition.line
        if label in seen:
            message = (
                f"[^{label}] is defined twice in this file. "
                "Remove one definition, or give this one a label of its own and cite that."
            )
            yield Problem(path, line, "duplicate-evidence", message)
        seen.add(label)
        for fault in evidence.read(definition.text).faults:
            yield Problem(path, line, fault, _FAULTS[fault].format(label))

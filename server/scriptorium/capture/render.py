"""A checked answer as new text of authored files, with `new-…` names for the runtime to replace.

Promises: what is there stays, byte for byte, line ends and BOM included; a statement is added and
none is overwritten; every new claim ends in its own evidence. Called under the write lock with the
memory as it is then: where a block has gone since the model saw it, the statement becomes an
addition. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Protocol

from scriptorium.capture.answer import Addition, Answer, Revision
from scriptorium.format import markdown
from scriptorium.format.model import Block, RelPath, Topic
from scriptorium.format.paths import CORE, twin_key
from scriptorium.format.tokens import estimate_tokens

CORE_TOKENS = 2_000
HOMELESS = RelPath("topics/notes.md")
"""Where a statement goes whose block is gone and left no trace."""


class Memory(Protocol):
    """What rendering needs of a snapshot."""

    def exists(self, path: RelPath) -> bool: ...
    def read(self, path: RelPath) -> str: ...
    def locate_block(self, block: str) -> RelPath | None: ...
    def authored(self) -> list[RelPath]: ...


@dataclass(frozen=True, slots=True)
class Places:
    """Where blocks stood when the model saw them, and files that cannot take anything."""

    homes: Mapping[str, tuple[RelPath, str]]
    """Block id to (topic, innermost heading)."""
    closed: frozenset[RelPath] = frozenset()
    """Files that break the contract already; what belongs there goes into a file beside."""


def label(number: int) -> str:
    """The source label of the message with that number."""
    return f"new-source-{number}"


def edits(answer: Answer, memory: Memory, places: Places) -> dict[RelPath, str | None]:
    """The new text of every file that the answer changes."""
    texts: dict[RelPath, str | None] = {}
    spelled = {twin_key(path): path for path in memory.authored()}
    serial = 0

    def text_of(path: RelPath) -> str:
        known = texts.get(path)
        return known if known is not None else memory.read(path) if memory.exists(path) else ""

    additions = list(answer.additions)
    for revision in answer.revisions:
        path = memory.locate_block(revision.block_id)
        serial += 1
        revised = None
        if path is not None and path not in places.closed:
            revised = _revised(text_of(path), revision, f"{serial}")
        if path is not None and revised is not None:
            texts[path] = revised
        else:
            additions.append(_as_addition(revision, path, places))
    for addition in additions:
        serial += 1
        path = _open(addition.topic, places)
        path = spelled.setdefault(twin_key(path), path)  # not beside a twin that differs in case
        texts[path] = _added(text_of(path) or _title(path), addition, f"{serial}")
    wanted = answer.core if CORE not in places.closed else ()
    core = _core(text_of(CORE), wanted) if wanted else None
    if core is not None:
        texts[CORE] = core
    return texts


def _as_addition(revision: Revision, path: RelPath | None, places: Places) -> Addition:
    topic, heading = places.homes.get(revision.block_id, (path or HOMELESS, ""))
    return Addition(path or topic, heading, revision.text, revision.time, revision.messages)


def _open(path: RelPath, places: Places) -> RelPath:
    return RelPath(f"{path.removesuffix('.md')}-captured.md") if path in places.closed else path


def _title(path: RelPath) -> str:
    words = re.sub(r"[-_]+", " ", PurePosixPath(path).stem).strip() or "Notes"
    return f"# {words[0].upper()}{words[1:]}\n"


def _revised(text: str, revision: Revision, name: str) -> str | None:
    """The text with the statement at the end of the block; None where it cannot stand there."""
    lines, end = _lines(text)
    topic = markdown.parse_topic("\n".join(lines))
    block = next((b for b in topic.blocks if b.id == revision.block_id), None)
    if block is None or block.trailing or not _is_prose(block):
        return None
    match = re.fullmatch(r"(.*\S)([ \t]+\^[A-Za-z0-9-]+[ \t]*)", lines[block.end_line - 1])
    if match is None:
        return None
    lines[block.end_line - 1] = f"{match[1]} {revision.text}[^new-evidence-{name}]{match[2]}"
    return end.join(_defined(lines, topic, _definition(name, revision.time, revision.messages)))


def _is_prose(block: Block) -> bool:
    """Whether more prose can follow: in a paragraph, item or quote, not in a table or fence."""
    starts = [line.lstrip("> \t") for line in block.text.split("\n")]
    return not any(s.startswith(("|", "```", "~~~")) for s in starts) and not starts[-1].startswith(
        ("[^", "^")
    )


def _added(text: str, addition: Addition, name: str) -> str:
    """The text with a new block at the end of its section, which is made where it is missing."""
    lines, end = _lines(text)
    topic = markdown.parse_topic("\n".join(lines))
    block = f"{addition.text}[^new-evidence-{name}] ^new-block-{name}"
    position, heading = _section(topic, addition.heading, len(lines))
    position = _before_definitions(lines, topic, position)
    new = ["", f"## {addition.heading}", "", block] if heading else ["", block]
    if position < len(lines) and lines[position].strip():
        new.append("")
    if position == 0:
        del new[0]
    lines[position:position] = new
    topic = markdown.parse_topic("\n".join(lines))
    return end.join(_defined(lines, topic, _definition(name, addition.time, addition.messages)))


def _section(topic: Topic, heading: str, length: int) -> tuple[int, bool]:
    """Where the section with that heading ends (0-based, exclusive); whether it must be made."""
    wanted = _folded(heading)
    for index, found in enumerate(topic.headings):
        title = found.level == 1 and not wanted
        if title or _folded(found.text) == wanted:
            after = topic.headings[index + 1 :]
            return (after[0].line - 1 if after else length), False
    return length, bool(wanted)


def _before_definitions(lines: Sequence[str], topic: Topic, position: int) -> int:
    """The position moved up over evidence definitions and blank lines."""
    defined = {
        line for evidence in topic.evidence for line in range(evidence.line, evidence.end_line + 1)
    }
    while position > 0 and (not lines[position - 1].strip() or position in defined):
        position -= 1
    return position


def _definition(name: str, time: str, messages: Sequence[int]) -> str:
    sources = ", ".join(label(number) for number in messages)
    return f"[^new-evidence-{name}]: Time: `{time}`; Sources: {sources}"


def _defined(lines: list[str], topic: Topic, definition: str) -> list[str]:
    """The lines with the definition at their end, directly below the others."""
    while lines and not lines[-1].strip():
        lines.pop()
    below = any(evidence.end_line == len(lines) for evidence in topic.evidence)
    return [*lines, *([] if below else [""]), definition, ""]


def _core(text: str, new: Sequence[str]) -> str | None:
    """The core with those lines that it lacks and that fit into its budget; None when none does."""
    lines, end = _lines(text)
    while lines and not lines[-1].strip():
        lines.pop()
    changed = False
    for line in new:
        item = f"- {line}"
        known = {_folded(there) for there in lines}
        grown = [*lines, *([] if lines and lines[-1].startswith("- ") else [""]), item]
        if _folded(item) not in known and estimate_tokens("\n".join(grown)) <= CORE_TOKENS:
            lines, changed = grown, True
    return end.join([*lines, ""]) if changed else None


def _lines(text: str) -> tuple[list[str], str]:
    """The lines and the line end to join them by; a file of mixed line ends keeps its own."""
    windows = text.count("\r\n")
    if windows and windows == text.count("\n"):
        return text.split("\r\n"), "\r\n"
    return text.split("\n"), "\n"


def _folded(text: str) -> str:
    return " ".join(text.replace("\\", "").casefold().split())

"""What an update would make of the workspace: every file that changes, whole, in memory.

Owns the order of the steps: patch, edits, sources, stable ids, links to what moves. Judges only
what cannot be drafted at all; whether the result keeps the contract is `checking`'s to say. Writes
nothing.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from scriptorium.errors import InvalidArgument, InvalidTopicFormat
from scriptorium.format import links, markdown, materialise, paths, sources
from scriptorium.format.model import (
    BlockId,
    RelPath,
    SourceId,
    SourceRecord,
    Topic,
)
from scriptorium.workspace import scan
from scriptorium.workspace.digests import digest
from scriptorium.workspace.facts import extract, topic_facts
from scriptorium.workspace.lookout import Found
from scriptorium.workspace.snapshot import Snapshot

_LABEL = re.compile(r"\[\^([^\]\s]+)\]")

type Texts = dict[RelPath, str | None]
"""Authored files by path; None is no file."""


@dataclass(frozen=True, slots=True)
class Draft:
    """The files that change, and the names that became ids."""

    before: Mapping[RelPath, bytes | None]
    """Every changed file as it is; None where there is none."""
    texts: Mapping[RelPath, str | None]
    """Authored files, edited by the update or for the sake of what it moves; None deletes one."""
    edited: frozenset[RelPath]
    """Those of them that the update itself edits."""
    topics: Mapping[RelPath, Topic]
    """The parse of each file in `texts`."""
    names: materialise.Materialised
    source_ids: Mapping[str, SourceId]
    """The id of each label."""

    contents: Mapping[RelPath, bytes | None]
    """Every changed file as it will be."""
    findings: Mapping[RelPath, Found | None]
    """The changed files as the tracker will know them."""


def draft(
    snapshot: Snapshot,
    edits: Mapping[RelPath, str | None],
    records: Mapping[str, SourceRecord],
    archives: Mapping[RelPath, bytes],
) -> Draft:
    """The files after `edits`, which may use names of blocks and evidence and the labels of
    `records`.

    Raises InvalidArgument for a file that cannot stand where it is to be made.
    """
    before: Texts = {path: text_of(path, snapshot.bytes_now(path)) for path in edits}
    made = [path for path, text in edits.items() if text is not None and before[path] is None]
    _check_together(made)
    for path in made:
        _check_place(snapshot, path, edits)
    names = _materialised(snapshot, edits, before, records)
    texts, topics = _linked(snapshot, names.texts, before, archives)
    encoded = {p: None if t is None else t.encode("utf-8") for p, t in texts.items()}
    contents = {**encoded, **archives}
    return Draft(
        before={path: snapshot.bytes_now(path) for path in contents},
        contents=contents,
        findings={p: _found(p, content, topics.get(p)) for p, content in contents.items()},
        texts=texts,
        edited=frozenset(edits),
        topics=topics,
        names=names,
        source_ids={label: record.id for label, record in records.items()},
    )


def _found(path: RelPath, content: bytes | None, topic: Topic | None) -> Found | None:
    if content is None:
        return None
    facts = extract(path, content) if topic is None else topic_facts(path, topic)
    return Found(digest(content), len(content), facts)


def text_of(path: RelPath, content: bytes | None) -> str | None:
    """The text of an authored file. Raises InvalidTopicFormat for other than UTF-8."""
    try:
        return None if content is None else content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidTopicFormat(
            f"{path} is not UTF-8 (byte {error.start}). A person has to save it as UTF-8 first.",
            path=path,
        ) from error


def _materialised(
    snapshot: Snapshot,
    edits: Mapping[RelPath, str | None],
    before: Texts,
    records: Mapping[str, SourceRecord],
) -> materialise.Materialised:
    mirror = snapshot.mirror
    known = {label for text in before.values() if text for label in _LABEL.findall(text)}
    new = {record.id: sources.thread_path(record.id) for record in records.values()}
    return materialise.materialise(
        edits,
        before,
        labels={label: record.id for label, record in records.items()},
        block_taken=lambda block: bool(mirror.block_places(block)),
        evidence_taken=lambda evidence: evidence in known,
        source_path=lambda source: snapshot.source_path(source) or new.get(SourceId(source)),
    )


def _linked(
    snapshot: Snapshot,
    edits: Mapping[RelPath, str | None],
    before: Texts,
    archives: Mapping[RelPath, bytes],
) -> tuple[Texts, dict[RelPath, Topic]]:
    """`edits` and the other files that link to what they move, with the links that this needs."""
    topics = {p: markdown.parse_topic(t) for p, t in edits.items() if t is not None}
    were = {b.id: p for p in edits for b in snapshot.mirror.topic(p).blocks}
    are = {b.id: p for p, t in topics.items() for b in t.blocks if b.id is not None}
    moved = links.moves(were, are)
    targets = {block: target for block, (_, target) in moved.items()}

    def exists(path: RelPath) -> bool:
        if path in edits:
            return edits[path] is not None
        return path in archives or snapshot.exists(path)

    texts: Texts = dict(edits)
    for path in {p for block in moved for p in snapshot.mirror.linkers(block)}:
        if path not in texts:
            texts[path] = text_of(path, snapshot.bytes_now(path))
    for path, text in texts.items():
        if text is None:
            continue
        origin = _origin(path, edits, before, moved)
        if not moved and origin == path:
            continue
        came = {block: source for block, (source, target) in moved.items() if target == path}
        texts[path] = links.rewrite_links(text, origin, path, targets, exists=exists, came=came)
        topics[path] = markdown.parse_topic(texts[path] or "")
    return texts, topics


def _origin(
    path: RelPath,
    edits: Mapping[RelPath, str | None],
    before: Texts,
    moved: Mapping[BlockId, tuple[RelPath, RelPath]],
) -> RelPath:
    """The deleted file that lives on as the created file `path`; `path` itself when there
    is none.
    """
    if path not in edits or before.get(path) is not None:
        return path
    deleted = Counter(
        source for source, target in moved.values() if target == path and edits.get(source) is None
    )
    return deleted.most_common(1)[0][0] if deleted else path


def _check_together(made: Iterable[RelPath]) -> None:
    """The files that one update makes can stand side by side, on every system.

    Raises InvalidArgument.
    """
    names: dict[str, tuple[str, RelPath]] = {}
    for path in made:
        parts = path.split("/")
        for count in range(1, len(parts) + 1):
            name = "/".join(parts[:count])
            same, other = names.setdefault(paths.twin_key(name), (name, path))
            if same != name or (path != other and name in (path, other)):
                raise InvalidArgument(
                    f"{path} and {other} cannot both be made: {name} and {same} are one name, or"
                    " one is a file where the other needs a directory. Choose another name.",
                    path=path,
                )


def _check_place(snapshot: Snapshot, path: RelPath, edits: Mapping[RelPath, str | None]) -> None:
    """A file can be made at `path`, on every system. Raises InvalidArgument."""
    root = snapshot.layout.root
    obstacle = scan.obstacle(root, path)
    if obstacle is not None:
        raise InvalidArgument(
            f"{path} cannot be made: {obstacle} is something else. Choose another path.", path=path
        )
    twin = _twin(root, path, {p for p, text in edits.items() if text is None})
    if twin is not None:
        # A name on disk that is not in the normal form looks the same, and no patch can name it.
        step = f"Edit {twin}" if twin == paths.composed(twin) else "A person has to rename that one"
        raise InvalidArgument(
            f"{path} differs from {twin} only in case or Unicode form, and some systems"
            f" take them for one file. {step}, or choose another name.",
            path=path,
        )


def _twin(root: Path, path: RelPath, deleted: set[RelPath]) -> str | None:
    """A file or directory on disk that a case-insensitive system takes for a part of `path`."""
    parts = path.split("/")
    for count in range(1, len(parts)):
        directory = "/".join(parts[:count])
        key = paths.twin_key(parts[count])
        for name in scan.names(root, directory):
            other = f"{directory}/{name}"
            if name != parts[count] and paths.twin_key(name) == key and other not in deleted:
                return other
    return None

"""The generated files as text: timeline, recent events, relations. A pure function of authored
memory.

Promises: the same blocks give the same bytes, whatever the order of the updates that made them.
Every line of a view stands for one block, one period or one link, so that a person's diff shows
what changed. Must not look at the clock ("newest" is what the files say) or at the disk.

    timeline/2026.md           what is known to the year, then the months
    timeline/2026/08.md        what is known to the month, then the days
    timeline/2026/08/03.md     what is known to the day
    recent_events.jsonl        the newest blocks, oldest first
    relations.json             every link between two blocks, by origin and by target
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from scriptorium.format.model import BlockId, RelPath
from scriptorium.format.paths import CORE, relative

RECENT = 50
"""How many blocks `recent_events.jsonl` holds."""
RECENT_PATH = RelPath("recent_events.jsonl")
RELATIONS_PATH = RelPath("relations.json")
_EXCERPT = 160

_CODE = re.compile(r"(?<![`\\])(`+)(?!`).+?(?<!`)\1(?!`)", re.DOTALL)
_FOOTNOTE = re.compile(r"\[\^[^\]\s]+\]")
_BLOCK_ID = re.compile(r"(?:(?:^|\s)\^[A-Za-z0-9-]+)+\s*$")
_LINK = re.compile(
    r"!?\[([^\[\]]*)\]\((?:<[^<>]*>|[^()\s]*(?:\([^()]*\)[^()\s]*)*)(?:\s+\"[^\"]*\")?\)"
)
_MARKER = re.compile(
    r"^[ \t]*(?:>[ \t]?|[-*+][ \t]+(?:\[[ xX]\][ \t]+)?|\d{1,9}[.)][ \t]+|#{1,6}[ \t]+)+",
    re.MULTILINE,
)
# What could start a link, a tag or code in the line where the excerpt will stand, or undo its end;
# an escape that is there already stays.
_ACTIVE = re.compile(r"\\[!-/:-@\[-`{-~]|[\[\]<`\\]")
_ENCODER = json.JSONEncoder(ensure_ascii=False)
_LINE_ENDS = re.compile("[\x85\u2028\u2029]")


@dataclass(frozen=True, slots=True)
class Moment:
    """A block at one of its times, as the timeline shows it."""

    path: RelPath
    block: BlockId
    headings: tuple[str, ...]
    text: str
    """An excerpt of the claims that held then."""


@dataclass(frozen=True, slots=True)
class Event:
    """A block as `recent_events.jsonl` shows it."""

    path: RelPath
    block: BlockId
    headings: tuple[str, ...]
    times: tuple[str, ...]
    observed_at: str | None
    text: str


@dataclass(frozen=True, slots=True)
class Relation:
    """A link from one block to another."""

    origin_path: RelPath
    origin: BlockId
    target_path: RelPath
    target: BlockId


def timeline_path(time: str) -> RelPath:
    """Where the timeline shows `time`, which is `YYYY`, `YYYY-MM` or `YYYY-MM-DD`."""
    return RelPath(f"timeline/{time.replace('-', '/')}.md")


def timeline(time: str, moments: Sequence[Moment], finer: Sequence[str]) -> str | None:
    """The timeline file of `time`: its moments in the order given, then the periods within it.

    `finer` are the months of a year or the days of a month that have a file. None: nothing to show.
    """
    if not moments and not finer:
        return None
    here = timeline_path(time)
    lines = [f"# {time}"]
    if moments:
        lines += ["", *(_moment_line(here, m) for m in moments)]
    if finer:
        lines += ["", "## Months" if len(time) == 4 else "## Days", ""]
        lines += [f"- [{t}]({relative(here, timeline_path(t))})" for t in finer]
    return "\n".join(lines) + "\n"


def recent_events(events: Iterable[Event]) -> str:
    """`recent_events.jsonl`: one JSON object a line, in the order given (oldest first)."""
    return "".join(_event_line(event) for event in events)


def relations(found: Iterable[Relation]) -> str:
    """`relations.json`: each link once in `links`, by origin, and once in `backlinks`, by
    target.
    """
    every = set(found)
    return relations_file(joined(links(every)), joined(backlinks(every)))


def links(found: Iterable[Relation]) -> list[str]:
    """The lines of `links`, by path and id of the origin, then of the target."""
    ordered = sorted(found, key=lambda r: (r.origin_path, r.origin, r.target_path, r.target))
    return [_json({"from": _ref(r, 0), "to": _ref(r, 1)}) for r in ordered]


def backlinks(found: Iterable[Relation]) -> list[str]:
    """The lines of `backlinks`, by path and id of the target, then of the origin."""
    ordered = sorted(found, key=lambda r: (r.target_path, r.target, r.origin_path, r.origin))
    return [_json({"to": _ref(r, 1), "from": _ref(r, 0)}) for r in ordered]


def joined(lines: Iterable[str]) -> str:
    """Lines that `links` or `backlinks` made, or several such texts, as one text, in their
    order.
    """
    return ",\n".join(lines)


def relations_file(forward: str, backward: str) -> str:
    """`relations.json` of texts that `joined` made."""
    return f'{{\n"links": {_rows(forward)},\n"backlinks": {_rows(backward)}\n}}\n'


def excerpt(markdown: str, limit: int = _EXCERPT) -> str:
    """`markdown` as one line of prose of at most `limit` characters, safe to stand in another file.

    Citations, ids, link targets and list markers are left out; code spans stay.
    """
    text = _BLOCK_ID.sub("", markdown)
    text = _FOOTNOTE.sub("", text)
    text = _LINK.sub(r"\1", text)
    text = " ".join(_MARKER.sub("", text).split())
    if len(text) > limit:
        cut = text[: limit - 1]
        text = (cut.rsplit(" ", 1)[0] if " " in cut[limit // 2 :] else cut).rstrip() + "…"
    return _harmless(text)


def _harmless(text: str) -> str:
    """`text` with what Markdown could take for more than prose escaped, but in code spans."""
    pieces, at = [], 0
    for code in _CODE.finditer(text):
        pieces += [_escaped(text[at : code.start()]), code[0]]
        at = code.end()
    return "".join([*pieces, _escaped(text[at:])])


def _escaped(text: str) -> str:
    return _ACTIVE.sub(lambda m: m[0] if len(m[0]) == 2 else f"\\{m[0]}", text)


def _moment_line(here: RelPath, moment: Moment) -> str:
    name = " › ".join(moment.headings) or moment.path.rpartition("/")[2].removesuffix(".md")
    label = excerpt(name, 120) or moment.block
    if label.startswith("^"):
        label = f"\\{label}"  # else `[^…]` is a citation
    up = "../" * here.count("/")
    target = f"{up}{_from_root(moment.path)}#^{moment.block}"
    return f"- [{label}]({target}): {moment.text}".rstrip()


@lru_cache(maxsize=8192)
def _from_root(path: RelPath) -> str:
    """The destination of a link from the workspace's root, made once for many lines."""
    return relative(CORE, path)


@lru_cache(maxsize=4 * RECENT)  # most are in the file for many updates
def _event_line(event: Event) -> str:
    shown = {
        "id": event.block,
        "path": event.path,
        "headings": event.headings,
        "times": event.times,
        "observed_at": event.observed_at,
        "text": event.text,
    }
    return f"{_json(shown)}\n"


def _ref(relation: Relation, end: int) -> str:
    if end == 0:
        return f"{relation.origin_path}#^{relation.origin}"
    return f"{relation.target_path}#^{relation.target}"


def _rows(lines: str) -> str:
    return f"[\n{lines}\n]" if lines else "[]"


def _json(value: object) -> str:
    # Some readers take these characters for a line end, and a line is a record here.
    text = _ENCODER.encode(value)
    return _LINE_ENDS.sub(lambda m: f"\\u{ord(m[0]):04x}", text)

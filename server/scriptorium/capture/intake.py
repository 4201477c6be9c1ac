"""From a session's transcript into the pool: the light first half of every ingest.

Promises: the cursor moves only after the messages are on the medium, so that a killed intake is
done again and the messages' ids keep it from adding any twice. Imports neither search nor anything
that writes memory.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from scriptorium.capture import area, pending, transcript
from scriptorium.capture.conversation import Message
from scriptorium.capture.options import IngestOptions, Surroundings
from scriptorium.capture.transcript import Cursor, Reading
from scriptorium.workspace.layout import Layout
from scriptorium.workspace.runtime_files import write_runtime

IGNORE = ".scriptorium-ignore"
"""A file of this name in a directory, or in one above, keeps what is said there out of memory."""
PATIENCE = 2.0
"""Seconds that the last answer is waited for; usually it comes within 0.1."""
_PAUSE = 0.05


def take_in(layout: Layout, options: IngestOptions, around: Surroundings) -> int:
    """The transcript's new messages are pending; how many these are.

    0 also where there is no such transcript, or the pool stays locked: the next call takes them in.
    Raises OSError.
    """
    if options.transcript is None:
        return 0
    path = options.transcript.absolute()
    name = _cursor_name(path)
    place = area.place(layout, name)
    cursor = transcript.load(area.read(place))
    reading = _patient(path, cursor, options, around)
    if reading is None:
        return 0
    with area.pool_lock(layout) as held:
        if not held:
            return 0
        current = transcript.load(area.read(place))
        if current != cursor:  # another ingest of the same session came first
            reading = transcript.read_new(path, current)
        if reading is None:
            return 0
        reading = _complete(reading, path, options, around)
        kept = _captured(reading.messages, options.cwd)
        added = pending.add(layout, kept, around.now())
        if reading.cursor != current:
            write_runtime(layout, area.named(name), reading.cursor.dump())
    return added


def preview(layout: Layout, path: Path, cwd: str | None) -> Sequence[Message]:
    """The transcript's new messages, read and left as they are. Raises OSError."""
    path = path.absolute()
    reading = _read(path, transcript.load(area.read(area.place(layout, _cursor_name(path)))))
    return _captured(reading.messages, cwd) if reading else ()


def is_read(layout: Layout, path: Path) -> bool:
    """Whether nothing of the transcript is left to read. Raises OSError."""
    cursor = transcript.load(area.read(area.place(layout, _cursor_name(path.absolute()))))
    return cursor is not None and cursor.offset == path.stat().st_size


def is_ignored(directory: str | None) -> bool:
    """Whether what is said in the directory stays out of memory."""
    if not directory or not Path(directory).is_absolute():
        return False
    place = Path(directory)
    return any(_exists(folder / IGNORE) for folder in (place, *place.parents))


def forget_gone(layout: Layout) -> None:
    """No cursor is kept of a transcript that is gone (the client deletes them after some weeks)."""
    for place in area.place(layout, "cursors").glob("*.json"):
        cursor = transcript.load(area.read(place))
        if cursor is None or not _exists(Path(cursor.path)):
            area.remove(place)


def _patient(
    path: Path, cursor: Cursor | None, options: IngestOptions, around: Surroundings
) -> Reading | None:
    """The reading, once it holds the last answer that the hook told, or the patience is over."""
    size = _size(path)
    reading = _read(path, cursor)
    left = PATIENCE
    while options.last_message and left > 0:
        if reading is not None and transcript.holds(reading, options.last_message):
            break
        around.sleep(_PAUSE)
        left -= _PAUSE
        if _size(path) != size:  # a first reading may take seconds
            size = _size(path)
            reading = _read(path, cursor)
    return reading


def _read(path: Path, cursor: Cursor | None) -> Reading | None:
    try:
        return transcript.read_new(path, cursor)
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return None


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _complete(
    reading: Reading, path: Path, options: IngestOptions, around: Surroundings
) -> Reading:
    """The reading with the answer that the hook told, where the file still lacks it."""
    last = options.last_message
    if not last or not last.strip() or reading.cursor.session.subagent:
        return reading
    if transcript.knows(reading, last):
        return reading
    time = around.now().isoformat(timespec="milliseconds")
    return transcript.with_answer(reading, last, session=path.stem, time=time, cwd=options.cwd)


def _captured(messages: Sequence[Message], cwd: str | None) -> list[Message]:
    """The messages that were not said in an ignored directory; `cwd` where they do not tell."""
    places = {message.cwd or cwd for message in messages}
    ignored = {place for place in places if is_ignored(place)}
    return [m for m in messages if (m.cwd or cwd) not in ignored]


def _cursor_name(path: Path) -> str:
    name = hashlib.sha256(str(path).encode("utf-8", "surrogateescape")).hexdigest()[:24]
    return f"cursors/{name}.json"


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:
        return True  # what cannot be looked at is not gone

"""The case-folded text of memory's files, kept while the files stay as they are.

Most files do not hold what is looked for; with their folded text at hand that is known without
reading them again. Promises that a text is of the content that the snapshot knows, and that no more
than `MOST` characters are kept. Safe for threads.
"""

from __future__ import annotations

import threading
from collections import OrderedDict

from scriptorium.format.model import RelPath
from scriptorium.workspace.snapshot import Snapshot

MOST = 24_000_000
"""Characters: about a memory of 50,000 blocks. Of a larger one, what was used last."""

type _Key = tuple[str, RelPath]
"""The workspace's root and the path in it."""


class FoldedTexts:
    def __init__(self) -> None:
        self._kept: OrderedDict[_Key, tuple[str, str]] = OrderedDict()
        self._size = 0
        self._guard = threading.Lock()

    def of(self, snapshot: Snapshot, path: RelPath) -> str | None:
        """The folded text; None for a file that cannot be read, which costs that file only."""
        known = snapshot.mirror.files.get(path)
        key = (str(snapshot.layout.root), path)
        if known is not None:
            with self._guard:
                kept = self._kept.get(key)
                if kept is not None and kept[0] == known.digest:
                    self._kept.move_to_end(key)
                    return kept[1]
        text = snapshot.text(path)
        folded = None if text is None else text.casefold()
        if known is not None and folded is not None:
            self._keep(key, known.digest, folded)
        return folded

    def _keep(self, key: _Key, digest: str, folded: str) -> None:
        with self._guard:
            self._size += len(folded) - len(self._kept.pop(key, ("", ""))[1])
            self._kept[key] = (digest, folded)
            while self._size > MOST:
                _, (_, oldest) = self._kept.popitem(last=False)
                self._size -= len(oldest)

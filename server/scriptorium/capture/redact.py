"""What must not be remembered is taken out of a message before it is stored or sent anywhere.

Promises: text in `<private>…</private>` is gone, to the message's end where the tag is never
closed; a value with the shape of a secret becomes `[redacted:<kind>]` and the words around it
stay. Commit ids, UUIDs, digests, base64 data and the keys that documentation uses as examples are
left alone. The time grows linearly with the text. Pure.
"""

from __future__ import annotations

import re

from scriptorium.capture import secret_names, secret_shapes


def redact(text: str) -> str:
    """The text without what is private and without secrets."""
    return without_secrets(without_private(text))


def without_secrets(text: str) -> str:
    """The text with `[redacted:<kind>]` in the place of every secret."""
    return secret_names.replaced(secret_shapes.replaced(text))


def without_private(text: str) -> str:
    """The text outside `<private>` tags; tags nest, and an unclosed one reaches to the end.

    A tag alone in backticks is spoken of, not used.
    """
    kept: list[str] = []
    depth, position = 0, 0
    for tag in _PRIVATE_TAG.finditer(text):
        if text[tag.start() - 1 : tag.start()] == "`" == text[tag.end() : tag.end() + 1]:
            continue
        if depth == 0:
            kept.append(text[position : tag.start()])
        closing = tag[1] == "/"
        depth = max(depth - 1, 0) if closing else depth + 1
        position = tag.end()
    if depth == 0:
        kept.append(text[position:])
    return "".join(kept)


_PRIVATE_TAG = re.compile(r"<(/?)private\b[^<>]{0,100}>", re.IGNORECASE)

"""A YAML settings file as names, texts and lines, with nothing interpreted.

Owns the use of PyYAML. Promises that any bytes give a result: broken YAML and duplicate keys
become mistakes with a line, and aliases cannot grow the file (the tree is walked two levels deep
only).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import yaml

from scriptorium.interface.config import Mistake

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_DEPTH = 2


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting as written: exactly one of text, items and fields, or none of them for null."""

    name: str
    line: int
    text: str | None = None
    items: tuple[Setting, ...] | None = None
    fields: tuple[Setting, ...] | None = None


def parse(raw: bytes) -> tuple[Sequence[Setting], Sequence[Mistake]]:
    """The entries at the top of the file, the last of a duplicate; and what is wrong with it."""
    try:
        root = yaml.compose(raw, Loader=_LOADER)
    except yaml.MarkedYAMLError as error:
        last = len(raw.splitlines())  # the parser may place a problem behind the end
        line = min(error.problem_mark.line + 1, last) if error.problem_mark else 0
        return (), (Mistake(line, f"not valid YAML: {error.problem}; defaults hold"),)
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        reason = str(error).splitlines()[0] if str(error) else "too deeply nested"
        return (), (Mistake(0, f"not valid YAML: {reason}; defaults hold"),)
    if root is None:
        return (), ()
    if not isinstance(root, yaml.MappingNode):
        return (), (Mistake(_line(root), "expected a mapping of settings; defaults hold"),)
    mistakes: list[Mistake] = []
    return _fields(root, mistakes, _DEPTH), mistakes


def _fields(node: yaml.MappingNode, mistakes: list[Mistake], depth: int) -> tuple[Setting, ...]:
    found: dict[str, Setting] = {}
    for key, value in node.value:
        if not isinstance(key, yaml.ScalarNode):
            mistakes.append(Mistake(_line(key), "a setting's name must be a text; it is ignored"))
            continue
        if key.value in found:
            earlier = found.pop(key.value).line
            message = f"{key.value[:80]!r} is given twice; the one of line {earlier} is ignored"
            mistakes.append(Mistake(_line(key), message))
        found[key.value] = _entry(key.value, _line(key), value, mistakes, depth - 1)
    return tuple(found.values())


def _entry(name: str, line: int, node: yaml.Node, mistakes: list[Mistake], depth: int) -> Setting:
    if isinstance(node, yaml.ScalarNode):
        empty = node.tag == "tag:yaml.org,2002:null"
        return Setting(name, line, text=None if empty else str(node.value))
    if depth <= 0:
        return Setting(name, line, fields=())
    if isinstance(node, yaml.SequenceNode):
        items = (_entry("", _line(item), item, mistakes, 0) for item in node.value)
        return Setting(name, line, items=tuple(items))
    if isinstance(node, yaml.MappingNode):
        return Setting(name, line, fields=_fields(node, mistakes, depth))
    return Setting(name, line)


def _line(node: yaml.Node) -> int:
    return int(node.start_mark.line) + 1

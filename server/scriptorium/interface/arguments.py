"""A tool's arguments: the schema a model sees and the check of what it sent, from one signature.

Owns the reading of annotated signatures. Promises that a checked call has exactly the types that
the function declares ("3" is not 3), and that a refusal names every bad argument at once. The
schemas are flat objects: no `$ref`, no union at the top.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from types import NoneType, UnionType
from typing import Annotated, Literal, Union, get_args, get_origin, get_type_hints

from scriptorium.errors import InvalidArgument, Json

REQUIRED: Json = "\0required"


@dataclass(frozen=True, slots=True)
class Arg:
    """What a signature cannot say: the words for the model, and limits."""

    description: str = ""
    least: int | None = None
    """The smallest integer, or the fewest characters."""
    most: int | None = None
    """The largest integer, or the most characters or records."""


@dataclass(frozen=True, slots=True)
class Source:
    """One message that a patch may cite."""

    label: Annotated[str, Arg("`new-source-<name>`: the patch cites it by this label", 1, 200)]
    role: Annotated[str, Arg("user or assistant: who said it", 1, 64)]
    content: Annotated[str, Arg("the words, verbatim", 1)]
    observed_at: Annotated[str | None, Arg("when it was said: ISO 8601 with an offset")] = None


@dataclass(frozen=True, slots=True)
class Parameter:
    name: str
    kind: object
    """`str`, `int`, `bool`, a Literal, or a tuple of a dataclass."""
    arg: Arg
    optional: bool
    """Whether null stands for absence."""
    default: Json


def parameters(function: Callable[..., object]) -> tuple[Parameter, ...]:
    """The keyword-only parameters of a tool, in order."""
    # The first parameter's type is not needed, and would have to be loaded.
    unloaded = dict.fromkeys(("Call", "Reading"), object)
    hints = get_type_hints(function, localns=unloaded, include_extras=True)
    return tuple(
        _parameter(name, hints[name], REQUIRED if p.default is p.empty else p.default)
        for name, p in inspect.signature(function).parameters.items()
        if p.kind is p.KEYWORD_ONLY
    )


def schema(of: tuple[Parameter, ...]) -> dict[str, Json]:
    """The JSON Schema of an object with these parameters and no others."""
    required: list[Json] = [p.name for p in of if p.default == REQUIRED]
    result: dict[str, Json] = {
        "type": "object",
        "properties": {p.name: _property(p) for p in of},
        "additionalProperties": False,
    }
    return result | ({"required": required} if required else {})


def check(of: tuple[Parameter, ...], given: Mapping[str, object]) -> dict[str, object]:
    """The arguments as keywords for the function.

    Raises InvalidArgument that lists every unknown, missing or ill-typed argument.
    """
    mistakes: list[tuple[str, str]] = []
    values = _object(of, given, "", mistakes)
    if mistakes:
        raise InvalidArgument(
            "Nothing was done: " + "; ".join(f"{name}: {why}" for name, why in mistakes[:20]) + ".",
            details={"arguments": [{"name": name, "problem": why} for name, why in mistakes]},
        )
    return values


def _object(
    of: tuple[Parameter, ...],
    given: Mapping[str, object],
    prefix: str,
    mistakes: list[tuple[str, str]],
) -> dict[str, object]:
    known = {p.name: p for p in of}
    expected = ", ".join(known) or "no arguments"
    for name in given:
        if name not in known:
            shown = f"{prefix}{name}"[:200]
            mistakes.append((shown, f"unknown argument; expected {expected}"))
    values: dict[str, object] = {}
    for name, parameter in known.items():
        value = given.get(name)
        if value is None and (parameter.optional or name not in given):
            if parameter.default == REQUIRED:
                mistakes.append((prefix + name, "required, but missing"))
            values[name] = parameter.default
        else:
            values[name] = _value(parameter, value, prefix + name, mistakes)
    return values


def _value(p: Parameter, value: object, name: str, mistakes: list[tuple[str, str]]) -> object:
    problem: str | None
    if p.kind is str:
        problem = _text_problem(value, p.arg)
    elif p.kind is bool:
        problem = None if isinstance(value, bool) else f"expected a boolean, got {_shown(value)}"
    elif p.kind is int:
        value = int(value) if isinstance(value, float) and value.is_integer() else value
        problem = _count_problem(value, p.arg)
    elif get_origin(p.kind) is Literal:
        choices = get_args(p.kind)
        listed = ", ".join(map(str, choices))
        known = isinstance(value, str) and value in choices
        problem = None if known else f"expected one of {listed}, got {_shown(value)}"
    else:
        return _records(p, value, name, mistakes)
    if problem:
        mistakes.append((name, problem))
    return value


def _text_problem(value: object, arg: Arg) -> str | None:
    if not isinstance(value, str):
        return f"expected a string, got {_shown(value)}"
    if arg.least is not None and len(value) < arg.least:
        return "must not be empty"
    if arg.most is not None and len(value) > arg.most:
        return f"{len(value)} characters are over the limit of {arg.most}"
    return None if _is_unicode(value) else "holds a lone surrogate, which is not valid Unicode"


def _count_problem(value: object, arg: Arg) -> str | None:
    if isinstance(value, bool) or not isinstance(value, int):
        return f"expected an integer, got {_shown(value)}"
    if arg.least is not None and value < arg.least:
        return f"must be at least {arg.least}"
    if arg.most is not None and value > arg.most:
        return f"must be at most {arg.most}"
    return None


def _records(p: Parameter, value: object, name: str, mistakes: list[tuple[str, str]]) -> object:
    if not isinstance(value, list):
        mistakes.append((name, f"expected an array of objects, got {_shown(value)}"))
        return ()
    if p.arg.most is not None and len(value) > p.arg.most:
        mistakes.append((name, f"{len(value)} are over the limit of {p.arg.most}"))
        return ()
    record = _record_type(p.kind)
    of = _fields(record)
    made = []
    for index, item in enumerate(value):
        if not isinstance(item, dict):
            mistakes.append((f"{name}[{index}]", f"expected an object, got {_shown(item)}"))
            continue
        before = len(mistakes)
        values = _object(of, item, f"{name}[{index}].", mistakes)
        if len(mistakes) == before:
            made.append(record(**values))  # type: ignore[arg-type]  # checked just above
    return tuple(made)


def _property(p: Parameter) -> dict[str, Json]:
    result: dict[str, Json] = {"description": p.arg.description} if p.arg.description else {}
    if p.kind is str:
        result["type"] = "string"
    elif p.kind is bool:
        result["type"] = "boolean"
    elif p.kind is int:
        result["type"] = "integer"
        result |= {"minimum": p.arg.least} if p.arg.least is not None else {}
        result |= {"maximum": p.arg.most} if p.arg.most is not None else {}
    elif get_origin(p.kind) is Literal:
        result |= {"type": "string", "enum": list(get_args(p.kind))}
    else:
        result |= {"type": "array", "items": schema(_fields(_record_type(p.kind)))}
        return result
    if p.default not in (REQUIRED, None, ""):
        result["default"] = p.default
    return result


def _parameter(name: str, hint: object, default: Json) -> Parameter:
    arg = Arg()
    if get_origin(hint) is Annotated:
        hint, arg = get_args(hint)
    optional = get_origin(hint) in (Union, UnionType) and NoneType in get_args(hint)
    if optional:
        (hint,) = (kind for kind in get_args(hint) if kind is not NoneType)
    return Parameter(name, hint, arg, optional, default)


def _record_type(kind: object) -> type[Source]:
    if get_args(kind)[0] is not Source:
        raise TypeError(f"sources are the only records that a tool takes, not {kind}")
    return Source


def _fields(record: type[Source]) -> tuple[Parameter, ...]:
    hints = get_type_hints(record, include_extras=True)
    return tuple(
        _parameter(f.name, hints[f.name], REQUIRED if f.default is not None else None)
        for f in fields(record)
    )


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _shown(value: object) -> str:
    names = {dict: "an object", list: "an array", NoneType: "null", bool: "a boolean"}
    if type(value) in names:
        return names[type(value)]
    if isinstance(value, int):
        return f"the number {value}" if abs(value) < 10**20 else "a number of over 20 digits"
    return f"the string {value[:40]!r}" if isinstance(value, str) else f"the number {value!s:.40}"

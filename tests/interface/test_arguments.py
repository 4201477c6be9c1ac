"""What a signature promises to a model, and how a call is checked against it."""

from __future__ import annotations

from typing import Annotated, Literal

import pytest

from scriptorium.errors import InvalidArgument
from scriptorium.interface import arguments
from scriptorium.interface.arguments import Arg, Source


def _tool(
    call: object,
    *,
    text: Annotated[str, Arg("words", least=1, most=10)],
    count: Annotated[int, Arg(least=1, most=5)] = 3,
    flag: Annotated[bool, Arg()] = True,
    mode: Annotated[Literal["a", "b"], Arg()] = "a",
    note: Annotated[str | None, Arg()] = None,
    sources: Annotated[tuple[Source, ...], Arg(most=2)] = (),
) -> None: ...


OF = arguments.parameters(_tool)


def test_defaults_fill_what_is_not_given() -> None:
    assert arguments.check(OF, {"text": "x"}) == {
        "text": "x",
        "count": 3,
        "flag": True,
        "mode": "a",
        "note": None,
        "sources": (),
    }


def test_the_schema_is_a_flat_object_that_refuses_the_unknown() -> None:
    schema = arguments.schema(OF)
    assert schema["type"] == "object"
    assert schema["additionalProperties"] is False
    assert schema["required"] == ["text"]
    properties = schema["properties"]
    assert isinstance(properties, dict)
    assert properties["count"] == {"type": "integer", "minimum": 1, "maximum": 5, "default": 3}
    assert properties["mode"] == {"type": "string", "enum": ["a", "b"], "default": "a"}
    assert properties["note"] == {"type": "string"}
    assert "$ref" not in str(schema)
    assert "anyOf" not in str(schema)


def test_sources_become_records() -> None:
    source = {"label": "new-source-a", "role": "user", "content": "hi"}
    checked = arguments.check(OF, {"text": "x", "sources": [source]})
    assert checked["sources"] == (Source("new-source-a", "user", "hi", None),)


def test_null_stands_for_an_optional_argument_that_is_not_given() -> None:
    assert arguments.check(OF, {"text": "x", "note": None})["note"] is None


BAD: dict[str, tuple[dict[str, object], list[str]]] = {
    "nothing at all": ({}, ["text"]),
    "unknown": ({"text": "x", "texts": "y"}, ["texts"]),
    "text is a number": ({"text": 3}, ["text"]),
    "text is null": ({"text": None}, ["text"]),
    "empty text": ({"text": ""}, ["text"]),
    "long text": ({"text": "x" * 11}, ["text"]),
    "surrogate": ({"text": "\ud800"}, ["text"]),
    "digits are no integer": ({"text": "x", "count": "3"}, ["count"]),
    "true is no integer": ({"text": "x", "count": True}, ["count"]),
    "a half": ({"text": "x", "count": 2.5}, ["count"]),
    "infinite": ({"text": "x", "count": float("inf")}, ["count"]),
    "too many digits": ({"text": "x", "count": 10**5000}, ["count"]),
    "below": ({"text": "x", "count": 0}, ["count"]),
    "above": ({"text": "x", "count": 6}, ["count"]),
    "one is no boolean": ({"text": "x", "flag": 1}, ["flag"]),
    "yes is no boolean": ({"text": "x", "flag": "yes"}, ["flag"]),
    "no such mode": ({"text": "x", "mode": "c"}, ["mode"]),
    "mode is a list": ({"text": "x", "mode": ["a"]}, ["mode"]),
    "sources is a string": ({"text": "x", "sources": "[]"}, ["sources"]),
    "sources is an object": ({"text": "x", "sources": {}}, ["sources"]),
    "a source is a string": ({"text": "x", "sources": ["a"]}, ["sources[0]"]),
    "a source lacks fields": (
        {"text": "x", "sources": [{"label": "a"}]},
        ["sources[0].role", "sources[0].content"],
    ),
    "a source has more": (
        {"text": "x", "sources": [{"label": "a", "role": "u", "content": "c", "id": "z"}]},
        ["sources[0].id"],
    ),
    "too many sources": (
        {"text": "x", "sources": [{"label": "a", "role": "u", "content": "c"}] * 3},
        ["sources"],
    ),
    "all at once": ({"count": "1", "flag": 0, "q": 1}, ["q", "text", "count", "flag"]),
    "a huge number for a text": ({"text": 10**5000}, ["text"]),
}


@pytest.mark.parametrize("name", BAD)
def test_a_refusal_names_every_bad_argument(name: str) -> None:
    given, named = BAD[name]
    with pytest.raises(InvalidArgument) as refused:
        arguments.check(OF, given)
    listed = refused.value.details["arguments"]
    assert isinstance(listed, list)
    assert [entry["name"] for entry in listed if isinstance(entry, dict)] == named


def test_a_whole_number_written_with_a_point_is_an_integer() -> None:
    assert arguments.check(OF, {"text": "x", "count": 2.0})["count"] == 2

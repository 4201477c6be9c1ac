"""The prompts of `protocol/` and the one place that finds them."""

from __future__ import annotations

import pytest

from scriptorium.capture.prompts import protocol
from scriptorium.errors import InternalError


@pytest.mark.parametrize("name", ["session-start", "writer"])
def test_a_prompt_is_found(name: str) -> None:
    assert protocol(name).endswith("\n")


def test_a_prompt_that_the_installation_lacks_is_an_error() -> None:
    with pytest.raises(InternalError):
        protocol("no-such-prompt")


def test_what_every_session_is_told_stays_short() -> None:
    assert len(protocol("session-start")) <= 2_500

"""The embedding endpoint: which API it speaks, how long it may take, what its answers are worth."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator

import pytest

from scriptorium.errors import EmbeddingUnavailable
from scriptorium.search import embedding
from scriptorium.search.embedding import Endpoint, embed, status

from .endpoints import Server, serving, vector


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as running:
        yield running


@pytest.fixture(autouse=True)
def forgetful(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedding, "_dialects", {})
    monkeypatch.setattr(embedding, "_probes", {})


@pytest.mark.parametrize(
    ("path", "dialect", "asked"),
    [
        ("/api/embed", "ollama", ["/api/embed"]),
        ("/api", "ollama", ["/api/embed"]),
        ("/v1/embeddings", "openai", ["/v1/embeddings"]),
        ("/v1", "openai", ["/v1/embeddings"]),
        ("/v1/", "openai", ["/v1/embeddings"]),
        ("", "ollama", ["/api/embed"]),
        ("/", "openai", ["/api/embed", "/v1/embeddings"]),
    ],
)
def test_the_api_is_known_by_its_url_or_by_asking(
    server: Server, path: str, dialect: str, asked: list[str]
) -> None:
    server.dialects = {dialect}
    assert embed(server.endpoint(path), ["tea", "cat"], seconds=5) == [vector("tea"), vector("cat")]
    assert server.asked == asked


def test_the_api_is_asked_for_once_only(server: Server) -> None:
    server.dialects = {"openai"}
    for _ in range(3):
        embed(server.endpoint(), ["tea"], seconds=5)
    assert server.asked.count("/api/embed") == 1


def test_the_key_is_sent_and_never_shown(server: Server) -> None:
    endpoint = Endpoint(server.url.replace("//", "//me:secret1@"), "m", "secret2")
    embed(Endpoint(server.url, "m", "secret2"), ["tea"], seconds=5)
    assert server.headers["authorization"] == "Bearer secret2"
    shown = repr(endpoint) + str(status(endpoint)) + str(status(Endpoint("http://x:y@[", "m", "z")))
    assert "secret" not in shown


def test_a_proxy_of_the_environment_does_not_catch_loopback(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "socks5://127.0.0.1:9")
    assert embed(server.endpoint(), ["tea"], seconds=5)


def ollama(rows: object) -> bytes:
    return json.dumps({"embeddings": rows}).encode()


@pytest.mark.parametrize(
    ("code", "answer"),
    [
        pytest.param(200, b"<html>", id="garbage"),
        pytest.param(200, b"", id="empty"),
        pytest.param(200, b"[" * 100_000, id="deep"),
        pytest.param(200, b'{"embeddings": null}', id="null"),
        pytest.param(200, ollama([]), id="too few"),
        pytest.param(200, ollama([[1.0], [2.0], [3.0]]), id="too many"),
        pytest.param(200, ollama([[1.0, 2.0], [1.0]]), id="of two lengths"),
        pytest.param(200, ollama([[], []]), id="of no length"),
        pytest.param(200, ollama([[float("nan")], [1.0]]), id="NaN"),
        pytest.param(200, ollama([[float("inf")], [1.0]]), id="infinite"),
        pytest.param(200, ollama([[1e308, 1e308], [0.0, 0.0]]), id="zeros"),
        pytest.param(200, ollama([["a"], ["b"]]), id="words"),
        pytest.param(400, b"bad", id="400"),
        pytest.param(401, b"key", id="401"),
        pytest.param(404, b"nothing", id="404"),
        pytest.param(500, b"broken", id="500"),
    ],
)
def test_what_is_no_list_of_vectors_is_unavailable(
    server: Server, code: int, answer: bytes
) -> None:
    server.override = lambda _: (code, answer)
    with pytest.raises(EmbeddingUnavailable):
        embed(server.endpoint("/api/embed"), ["tea", "cat"], seconds=5)
    assert len(server.requests) <= 2


@pytest.mark.parametrize("code", [401, 404, 405, 500])
def test_a_refusal_tells_its_status(server: Server, code: int) -> None:
    server.override = lambda _: (code, b"no")
    with pytest.raises(EmbeddingUnavailable, match=rf"\b{code}\b"):
        embed(server.endpoint("/api/embed"), ["tea"], seconds=5)


def test_a_missing_model_is_to_be_pulled(server: Server) -> None:
    server.dialects = {"ollama", "openai"}
    with pytest.raises(EmbeddingUnavailable, match="ollama pull other"):
        embed(server.endpoint(model="other"), ["tea"], seconds=5)
    assert server.asked == ["/api/embed"]


def test_a_busy_endpoint_is_asked_once_more(server: Server) -> None:
    server.override = lambda _: (503, b"busy") if len(server.requests) == 1 else None
    assert embed(server.endpoint("/api"), ["tea"], seconds=5) == [vector("tea")]
    assert len(server.requests) == 2


def test_texts_that_are_too_long_are_sent_shorter(server: Server) -> None:
    long = "tea " * 1000
    server.override = lambda texts: (413, b"too long") if len(texts[0]) > 1000 else None
    assert len(embed(server.endpoint("/api"), [long], seconds=5)) == 1
    assert [len(text) for text in server.sent] == [4000, 800]


def test_lone_surrogates_and_empty_texts_are_sent_as_something(server: Server) -> None:
    assert len(embed(server.endpoint("/api"), ["\ud800", ""], seconds=5)) == 2


def test_an_endpoint_that_is_not_there_is_unavailable_at_once() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    # Not after the deadline, which is told in other words.
    with pytest.raises(EmbeddingUnavailable, match="cannot be reached"):
        embed(Endpoint(f"http://127.0.0.1:{port}", "m"), ["tea"], seconds=30)


@pytest.mark.parametrize("url", ["", "nonsense", "http://", "ftp://x", "http://[", "http://a b/"])
def test_a_url_that_is_none_is_unavailable(url: str) -> None:
    with pytest.raises(EmbeddingUnavailable):
        embed(Endpoint(url, "m"), ["tea"], seconds=5)


@pytest.mark.parametrize("dripping", [b"", b"H"], ids=["silent", "dripping"])
def test_the_deadline_holds_for_an_endpoint_that_never_ends(dripping: bytes) -> None:
    stop = threading.Event()

    def drip(listener: socket.socket) -> None:
        connection, _ = listener.accept()
        with connection:
            while not stop.wait(0.02):
                if dripping:
                    connection.sendall(dripping)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=drip, args=(listener,))
        thread.start()
        endpoint = Endpoint(f"http://127.0.0.1:{listener.getsockname()[1]}/api", "m")
        with pytest.raises(EmbeddingUnavailable, match=r"within 0\.3 s"):
            embed(endpoint, ["tea"], seconds=0.3)
        stop.set()
        thread.join()


def test_the_status_says_what_to_set(server: Server) -> None:
    none = status(None)
    assert (none.available, none.url, none.model) == (False, None, None)
    assert none.reason
    good = status(server.endpoint())
    assert (good.available, good.url, good.model, good.reason) == (True, server.url, "m", None)
    bad = status(server.endpoint(model="other"))
    assert not bad.available
    assert bad.reason


def test_the_status_asks_once_for_many_calls(server: Server) -> None:
    for _ in range(5):
        status(server.endpoint())
    assert len(server.requests) == 1

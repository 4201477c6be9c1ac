"""Vectors from the configured embedding endpoint. The only importer of httpx, and that lazily.

Speaks Ollama's `/api/embed` and OpenAI's `/v1/embeddings`; which of them, the URL says, or the
endpoint is asked once. Sends text nowhere else and downloads no model. Promises an end: a call
returns or raises EmbeddingUnavailable by its deadline, having sent each batch twice at most. Text
is sent as it is: a model's own prefixes for queries and passages are the endpoint's business.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING
from urllib.parse import urlsplit, urlunsplit

from scriptorium.errors import EmbeddingUnavailable
from scriptorium.search import dialect
from scriptorium.search.dialect import Dialect, Refused, Vector

if TYPE_CHECKING:
    import httpx

BATCH = 32
"""Texts in one request."""
QUERY_SECONDS = 10.0
_PROBE_SECONDS = 2.0
_PROBE_LASTS = 60.0
_SHORT = 800
"""Characters of each text that are sent after the endpoint refused longer ones."""
_TRY_AGAIN = frozenset((408, 425, 429, 500, 502, 503, 504))
_TOO_LONG = frozenset((400, 413, 422))

UNCONFIGURED = (
    "No embedding endpoint is configured. Set `embedding: {url, model}` in"
    " ~/.scriptorium/config.yaml, or start with --embedding-url and --embedding-model (for Ollama:"
    " http://127.0.0.1:11434 and nomic-embed-text), or search with method `bm25`."
)


@dataclass(frozen=True, slots=True)
class Endpoint:
    url: str
    """A base URL (`http://127.0.0.1:11434`, `https://api.openai.com/v1`) or the whole address."""
    model: str
    api_key: str | None = None

    def __repr__(self) -> str:
        return f"Endpoint(url={self.shown!r}, model={self.model!r})"

    @property
    def shown(self) -> str:
        """The URL without user name, password and query."""
        try:
            parts = urlsplit(self.url)
            host = parts.netloc.rpartition("@")[2]
            return urlunsplit((parts.scheme, host, parts.path, "", ""))
        except ValueError:
            return "a URL that cannot be read"


@dataclass(frozen=True, slots=True)
class EmbeddingStatus:
    available: bool
    url: str | None
    model: str | None
    reason: str | None
    """Why it is not available, and what to set; None where it is."""


_dialects: dict[str, Dialect] = {}
_probes: dict[Endpoint, tuple[float, EmbeddingStatus]] = {}
_probing = threading.Lock()


def status(endpoint: Endpoint | None, *, seconds: float = _PROBE_SECONDS) -> EmbeddingStatus:
    """Whether the endpoint gives vectors; asks it once a minute, for so many seconds, at most."""
    if endpoint is None:
        return EmbeddingStatus(False, None, None, UNCONFIGURED)
    with _probing:
        asked, known = _probes.get(endpoint, (-math.inf, None))
        if known is not None and time.monotonic() - asked < _PROBE_LASTS:
            return known
        reason = None
        try:
            embed(endpoint, ["probe"], seconds=seconds)
        except EmbeddingUnavailable as error:
            reason = error.message
        now = EmbeddingStatus(reason is None, endpoint.shown, endpoint.model, reason)
        _probes[endpoint] = (time.monotonic(), now)
        return now


def embed(endpoint: Endpoint, texts: Sequence[str], *, seconds: float) -> list[Vector]:
    """One vector for each text, all of one length, every number finite; at most BATCH texts.

    Raises EmbeddingUnavailable, which says what to set or to start, after `seconds` at the latest.
    """
    sent = [text.encode("utf-8", "replace").decode("utf-8") or " " for text in texts]
    answers: SimpleQueue[list[Vector] | EmbeddingUnavailable] = SimpleQueue()
    # httpx bounds each read, not the whole: an endpoint that drips bytes must not hold the caller.
    threading.Thread(
        target=lambda: answers.put(_answer(endpoint, sent, seconds)),
        name="scriptorium-embed",
        daemon=True,
    ).start()
    try:
        answer = answers.get(timeout=seconds)
    except Empty:
        raise EmbeddingUnavailable(_late(endpoint, seconds)) from None
    if isinstance(answer, EmbeddingUnavailable):
        raise answer
    return answer


def _answer(
    endpoint: Endpoint, texts: list[str], seconds: float
) -> list[Vector] | EmbeddingUnavailable:
    import httpx  # noqa: PLC0415 - a search by words never pays for it

    try:
        with _client(endpoint) as client:
            return _asked(client, endpoint, texts, time.monotonic() + seconds)
    except Refused as refused:
        return EmbeddingUnavailable(_refusal(endpoint, refused))
    except httpx.TimeoutException:
        return EmbeddingUnavailable(_late(endpoint, seconds))
    except (httpx.HTTPError, httpx.InvalidURL, OSError, ValueError) as error:
        return EmbeddingUnavailable(
            f"The embedding endpoint {endpoint.shown} cannot be reached ({type(error).__name__})."
            " Start it, or correct embedding.url, or search with method `bm25`."
        )


def _late(endpoint: Endpoint, seconds: float) -> str:
    return (
        f"The embedding endpoint {endpoint.shown} did not answer within {seconds:g} s. It may be"
        " loading its model: try again, or search with method `bm25`."
    )


def _client(endpoint: Endpoint) -> httpx.Client:
    import httpx  # noqa: PLC0415

    parts = urlsplit(endpoint.url)
    here = parts.hostname in ("localhost", "127.0.0.1", "::1")
    headers = {"Authorization": f"Bearer {endpoint.api_key}"} if endpoint.api_key else {}
    # A proxy of the environment must not catch loopback; TLS takes 80 ms to set up.
    return httpx.Client(
        headers=headers,
        trust_env=not here,
        verify=parts.scheme != "http",
        follow_redirects=False,
    )


def _asked(
    client: httpx.Client, endpoint: Endpoint, texts: list[str], deadline: float
) -> list[Vector]:
    """The vectors, in the dialect of the URL or of an earlier answer; else each is tried."""
    known = dialect.of_url(endpoint.url) or _dialects.get(endpoint.url)
    if known:
        return _patiently(client, endpoint, known, texts, deadline)
    try:
        vectors = _patiently(client, endpoint, "ollama", texts, deadline)
        _dialects[endpoint.url] = "ollama"
    except Refused as refused:
        if refused.status not in (0, 404, 405, 501) or _names_model(refused, endpoint):
            raise
        vectors = _patiently(client, endpoint, "openai", texts, deadline)
        _dialects[endpoint.url] = "openai"
    return vectors


def _patiently(
    client: httpx.Client, endpoint: Endpoint, spoken: Dialect, texts: list[str], deadline: float
) -> list[Vector]:
    """The vectors after one more try at most, where a second one can help and there is time."""
    try:
        return _once(client, endpoint, spoken, texts, deadline)
    except Refused as refused:
        if refused.status in _TOO_LONG and max(map(len, texts)) > _SHORT:
            texts = [text[:_SHORT] for text in texts]
        elif refused.status not in _TRY_AGAIN:
            raise
        time.sleep(max(0.0, min(0.25, deadline - time.monotonic() - 0.1)))
        return _once(client, endpoint, spoken, texts, deadline)


def _once(
    client: httpx.Client, endpoint: Endpoint, spoken: Dialect, texts: list[str], deadline: float
) -> list[Vector]:
    import httpx  # noqa: PLC0415

    left = deadline - time.monotonic()
    if left <= 0:
        raise httpx.ReadTimeout("the deadline has passed")
    address = dialect.address(endpoint.url, spoken)
    body = {"model": endpoint.model, "input": texts}
    with client.stream("POST", address, json=body, timeout=left) as response:
        content = bytearray()
        for piece in response.iter_bytes():
            content += piece
            if time.monotonic() > deadline:  # httpx counts each read for itself
                raise httpx.ReadTimeout("the deadline has passed")
        status_code = response.status_code
    if status_code != 200:
        raise Refused(status_code, content[:500].decode("utf-8", "replace"))
    return dialect.vectors(bytes(content), spoken, len(texts))


def _names_model(refused: Refused, endpoint: Endpoint) -> bool:
    text = refused.text.casefold()
    return refused.status == 404 and ("model" in text or endpoint.model.casefold() in text)


def _refusal(endpoint: Endpoint, refused: Refused) -> str:
    where = f"The embedding endpoint {endpoint.shown}"
    if _names_model(refused, endpoint):
        return f"{where} has no model {endpoint.model}. Run `ollama pull {endpoint.model}`."
    match refused.status:
        case 401 | 403:
            return (
                f"{where} refuses the key ({refused.status})."
                " Set embedding.api_key_env to the variable that holds it."
            )
        case 404 | 405:
            return f"{where} has no embedding API there ({refused.status}). Correct embedding.url."
        case status_code if status_code > 0:
            return (
                f"{where} answered with status {status_code}."
                " Look at its log, or search with method `bm25`."
            )
        case _:
            return (
                f"{where} sent no usable vectors: {refused.text}."
                " Check embedding.url and embedding.model."
            )

"""What must not be remembered is taken out of a message before it is stored or sent anywhere.

Promises: text in `<private>…</private>` is gone, to the message's end where the tag is never
closed; a value with the shape of a secret becomes `[redacted:<kind>]` and the words around it
stay. Commit ids, UUIDs, digests, base64 data and the keys that documentation uses as examples are
left alone. The time grows linearly with the text. Pure.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache


def redact(text: str) -> str:
    """The text without what is private and without secrets."""
    return without_secrets(without_private(text))


def without_secrets(text: str) -> str:
    """The text with `[redacted:<kind>]` in the place of every secret."""
    for shape in _SHAPES:
        if any(hint in text for hint in shape.hints):
            text = _compiled(shape.pattern).sub(shape.substitute, text)
    if _NAME.search(text):
        text = _compiled(_ASSIGNMENT, re.IGNORECASE).sub(_assigned, text)
    return text


def without_private(text: str) -> str:
    """The text outside `<private>` tags; tags nest, and an unclosed one reaches to the end."""
    kept: list[str] = []
    depth, position = 0, 0
    for tag in _PRIVATE_TAG.finditer(text):
        if depth == 0:
            kept.append(text[position : tag.start()])
        closing = tag[1] == "/"
        depth = max(depth - 1, 0) if closing else depth + 1
        position = tag.end()
    if depth == 0:
        kept.append(text[position:])
    return "".join(kept)


_PRIVATE_TAG = re.compile(r"<(/?)private\b[^<>]{0,100}>", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Shape:
    """A kind of secret: how it looks, and letters that stand in each one (a cheap first look)."""

    kind: str
    hints: tuple[str, ...]
    pattern: str
    is_secret: Callable[[str], bool]

    def substitute(self, match: re.Match[str]) -> str:
        """The match with the group `secret`, or the whole of it, taken out."""
        group = "secret" if "secret" in match.re.groupindex else 0
        if not self.is_secret(match[group]):
            return match[0]
        start, end = match.start(group) - match.start(), match.end(group) - match.start()
        return f"{match[0][:start]}[redacted:{self.kind}]{match[0][end:]}"


def _varied(value: str) -> bool:
    """No example: it has many different characters and does not say that it is one."""
    return len(set(value)) >= 8 and not _EXAMPLE.search(value)


def _random(value: str) -> bool:
    """It looks drawn by chance: a long run of letters and digits, neither word nor number."""
    if not _varied(value):
        return False
    run = max(_RUN.findall(value), key=len, default="")
    digits = sum(c.isdigit() for c in run)
    return len(run) >= 16 and 2 <= digits < len(run) and _entropy(run) >= 3.2


def _any(value: str) -> bool:
    return bool(value)


def _entropy(text: str) -> float:
    """Shannon's entropy in bits a character."""
    counts = Counter(text[:200]).values()
    total = sum(counts)
    return -sum(n / total * math.log2(n / total) for n in counts)


_EXAMPLE = re.compile(
    r"EXAMPLE|\bexample|placeholder|your[-_]|x{6,}|\.\.\.|\*{3}|1234567890abcdef", re.IGNORECASE
)
_RUN = re.compile(r"[A-Za-z0-9+/]+")
# A secret never starts in the middle of a word or of base64 data.
_START = r"(?<![A-Za-z0-9+_-])"
_END = r"(?![A-Za-z0-9_-])"


def _shape(
    kind: str, hints: str, pattern: str, is_secret: Callable[[str], bool] = _varied
) -> _Shape:
    return _Shape(kind, tuple(hints.split()), pattern, is_secret)


@cache
def _compiled(pattern: str, flags: int = 0) -> re.Pattern[str]:
    # Compiling all of them takes longer than most messages: most hold no hint of a secret.
    return re.compile(pattern, flags)


_GAP = r"(?:\s|\\[rn])"
_KEY_BODY = (
    rf"(?:[A-Za-z0-9+/=]{{16,76}}{_GAP}+)*[A-Za-z0-9+/=]{{16,}}(?:{_GAP}+[A-Za-z0-9+/=]{{1,76}})?"
)
_SHAPES: tuple[_Shape, ...] = (
    _shape(
        "private-key",
        "PRIVATE",
        r"-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----"
        r"(?:[^-]{0,20000}-----END (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----"
        rf"|(?:\s|\\[rn])*{_KEY_BODY})",
        _any,
    ),
    _shape(
        "private-key",
        "AGE-SECRET-KEY-1",
        rf"{_START}AGE-SECRET-KEY-1[A-Z0-9]{{20,}}{_END}",
    ),
    _shape("anthropic-key", "sk-ant-", rf"{_START}sk-ant-[A-Za-z0-9_-]{{16,}}"),
    _shape(
        "api-key",
        "sk-",
        rf"{_START}sk-(?:(?:proj|svcacct|admin|or-v1|lf|live|test)-)?"
        r"(?=[A-Za-z_-]{0,40}[0-9])(?=[A-Za-z0-9_-]{0,60}[A-Za-z0-9]{12})[A-Za-z0-9_-]{20,}",
    ),
    _shape(
        "github-token",
        "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_",
        rf"{_START}(?:gh[pousr]_[A-Za-z0-9]{{20,}}|github_pat_[A-Za-z0-9_]{{22,}})",
    ),
    _shape(
        "gitlab-token",
        "gl",
        rf"{_START}gl(?:pat|ptt|rt|dt|oas|cbt|soat|ft|agent)-[A-Za-z0-9_.-]{{16,}}",
    ),
    _shape("aws-key", "AKIA ASIA", rf"{_START}A(?:KIA|SIA)[A-Z0-9]{{16}}{_END}"),
    _shape("slack-token", "xox xapp-", rf"{_START}(?:xox[abeoprs]|xapp)-[A-Za-z0-9-]{{10,}}"),
    _shape(
        "slack-webhook",
        "hooks.slack.com",
        r"hooks\.slack\.com/(?:services|workflows)/(?P<secret>[A-Za-z0-9/_-]{20,})",
    ),
    _shape(
        "google-key",
        "AIza ya29. GOCSPX-",
        rf"{_START}(?:AIza[A-Za-z0-9_-]{{35}}{_END}|ya29\.[A-Za-z0-9_-]{{20,}}|GOCSPX-[A-Za-z0-9_-]{{20,}})",
    ),
    _shape("npm-token", "npm_", rf"{_START}npm_[A-Za-z0-9]{{30,}}{_END}"),
    _shape("pypi-token", "pypi-", rf"{_START}pypi-[A-Za-z0-9_-]{{40,}}"),
    _shape("huggingface-token", "hf_", rf"{_START}hf_[A-Za-z0-9]{{30,}}{_END}"),
    _shape(
        "stripe-key",
        "_live_ _test_ whsec_",
        rf"{_START}(?:[rsp]k_(?:live|test)_[A-Za-z0-9]{{16,}}|whsec_[A-Za-z0-9+/=]{{20,}})",
    ),
    _shape(
        "api-key",
        "SG. dop_v1_ hvs. gsk_ xai- r8_ lin_api_ ntn_ PMAK- shp tskey- sbp_ pplx- nfp_ dckr_pat_",
        rf"{_START}(?:SG\.[A-Za-z0-9_-]{{16,}}\.[A-Za-z0-9_-]{{16,}}|dop_v1_[a-f0-9]{{64}}|hvs\.[A-Za-z0-9_-]{{20,}}"
        r"|(?:gsk|r8|lin_api|ntn|sbp|nfp)_[A-Za-z0-9]{30,}|xai-[A-Za-z0-9]{40,}|pplx-[A-Za-z0-9]{30,}"
        r"|PMAK-[a-f0-9-]{50,}|shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}|tskey-[a-z]{3,8}-[A-Za-z0-9-]{16,}"
        r"|dckr_pat_[A-Za-z0-9_-]{20,})",
    ),
    _shape("telegram-token", ":AA", rf"{_START}[0-9]{{8,10}}:AA[A-Za-z0-9_-]{{33}}{_END}"),
    _shape(
        "jwt",
        "eyJ",
        rf"{_START}eyJ[A-Za-z0-9_-]{{8,4000}}\.[A-Za-z0-9_-]{{8,8000}}\.[A-Za-z0-9_-]{{8,2000}}",
    ),
    _shape(
        "bearer-token",
        "earer EARER",
        r"\b[Bb](?:earer|EARER)[ \t]{1,4}(?P<secret>[A-Za-z0-9._~+/-]{16,}={0,2})",
        lambda value: _varied(value) and any(c.isdigit() for c in value),
    ),
    _shape(
        "basic-auth",
        "asic ",
        r"uthorization[\"']?:?\s{0,4}[\"']?[Bb]asic[ ](?P<secret>[A-Za-z0-9+/]{8,}={0,2})",
    ),
    _shape(
        "url-password",
        "://",
        r"(?<![A-Za-z0-9+.-])[A-Za-z][A-Za-z0-9+.-]{1,20}://[^\s:/@?#\"'<>]{0,200}:(?P<secret>[^\s/?#\"'<>]{1,300})@",
        lambda value: not _is_placeholder(value),
    ),
    _shape(
        "account-key",
        "AccountKey= SharedAccessKey=",
        r"(?:AccountKey|SharedAccessKey)=(?P<secret>[A-Za-z0-9+/]{30,}={0,2})",
    ),
)

_NAME = re.compile(r"pass|pwd|secret|token|key|credential", re.IGNORECASE)
# Names end a word: `max_tokens=4096` and `secretary: …` are no secrets.
_ASSIGNMENT = (
    r"(?P<name>pass(?:word|wd|phrase|code)?|pwd|secret|token|api[_-]?key|apikey|access[_-]?key(?:[_-]?id)?"
    r"|secret[_-]?key|private[_-]?key|signing[_-]?key|encryption[_-]?key|auth[_-]?key|credentials?"
    r"|client[_-]?secret)(?![a-z])(?P<rest>[\"']?\s{0,4}(?::=|=>|=|:)\s{0,4})"
    r"(?P<quote>[\"'`]?)(?P<value>[^\s\"'`,;<>(){}\[\]]{4,500})(?P<close>[\"'`]?)"
)
_PASSWORDS = re.compile(r"pass|pwd", re.IGNORECASE)
_PLACEHOLDERS = frozenset(
    [
        *("string", "str", "text", "null", "none", "nil", "true", "false", "undefined"),
        *("required", "optional", "password", "passwd", "pass", "secret", "token", "user"),
        *("username", "changeme", "default", "example", "hidden", "redacted", "empty", "value"),
        *("unset", "prompt"),
    ]
)


def _assigned(match: re.Match[str]) -> str:
    value = match["value"].rstrip(".")
    quoted = match["quote"] != "" and match["quote"] == match["close"]
    if _PASSWORDS.match(match["name"]):
        kind, secret = "password", _is_password(value, quoted=quoted)
    else:
        kind, secret = "secret", _random(value)
    if not secret or value.startswith("[redacted"):
        return match[0]
    start = match.start("value") - match.start()
    return f"{match[0][:start]}[redacted:{kind}]{match[0][start + len(value) :]}"


def _is_password(value: str, *, quoted: bool) -> bool:
    """A password need not be long; a word of prose or code after the colon is none."""
    if len(value) < 6 or _is_placeholder(value) or not _varied_a_little(value):
        return False
    if _CODE.search(value):
        return False
    return quoted or (any(c.isdigit() for c in value) and any(c.isalpha() for c in value))


def _varied_a_little(value: str) -> bool:
    return len(set(value)) >= 4


_CODE = re.compile(
    r"^(?:\$|%|https?://|os\.|env\.|process\.|self\.|this\.|config\.|settings\.|args\.)|->|::|^[a-z_]+\.[a-z_.]+$"
)


def _is_placeholder(value: str) -> bool:
    plain = value.strip("<>[]{}()$%*_").lower()
    if plain in _PLACEHOLDERS or not plain.strip("x.*•·-"):
        return True
    return value[0] in "$<{%" or _EXAMPLE.search(value) is not None

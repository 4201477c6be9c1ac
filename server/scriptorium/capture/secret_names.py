"""Secrets that are known by the name they are given to, such as `password: …`. Pure."""

from __future__ import annotations

import re
from functools import cache

from scriptorium.capture.chance import is_example, is_random


def replaced(text: str) -> str:
    """The text with `[redacted:<kind>]` in the place of every value that is called a secret."""
    return _assignment().sub(_assigned, text) if _hint().search(text) else text


def is_placeholder(value: str) -> bool:
    """A word, a variable or an example in the place of a secret."""
    plain = value.strip("<>[]{}()$%*_").lower()
    if plain in _PLACEHOLDERS or not plain.strip("x.*•·-"):
        return True
    return value[0] in "$<{%" or is_example(value)


@cache
def _hint() -> re.Pattern[str]:
    return re.compile(
        r"pass|pw|secret|token|key|credential|kennwort|contrase|密|口令|令牌", re.IGNORECASE
    )


@cache
def _assignment() -> re.Pattern[str]:
    """A name, what stands between, and a value: code, YAML, JSON in JSON, tables, prose."""
    # Names end a word: `max_tokens=4096` and `secretary: …` are no secrets.
    return re.compile(
        r"(?P<name>pass(?:word|wd|phrase|code|wort)?|(?<![a-z])pwd?|kennwort|contraseña|密码|口令"
        r"|(?:secret|private|signing|encryption|api|auth)[ _-]?key|apikey"
        r"|access[ _-]?key(?:[_-]?id)?|client[_-]?secret|secret|token|credentials?|密钥|令牌)"
        r"(?![a-z])(?P<rest>[\\\"'`*]{0,4}(?:"
        r"\s{0,4}(?::=|=>|=|:|：|\|)[\\*]{0,4}(?:[ \t]{0,4}[|>]-?[ \t]{0,4}\n)?\s{0,8}"
        r"|[ \t]{1,4}(?:is[ \t]{1,4})?|[ \t]{0,4}是[ \t]{0,4})[\\*]{0,4})"
        r"(?P<quote>[\"'`]?)(?P<value>[^\s\"'`,;<>(){}\[\]|，。；]{4,500})(?P<close>[\"'`]?)",
        re.IGNORECASE,
    )


_PASSWORD = re.compile(r"pass|pw|kennwort|contrase|密码|口令", re.IGNORECASE)
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_CODE = re.compile(
    r"^(?:[$%/~]|\./|https?://|os\.|env\.|process\.|self\.|this\.|config\.|settings\.|args\.)"
    r"|->|::|^[a-z_]+\.[a-z_.]+$"
)
_PLACEHOLDERS = frozenset(
    [
        *("string", "str", "text", "null", "none", "nil", "true", "false", "undefined"),
        *("required", "optional", "password", "passwd", "pass", "secret", "token", "user"),
        *("username", "changeme", "default", "example", "hidden", "redacted", "empty", "value"),
        *("unset", "prompt"),
    ]
)


def _assigned(match: re.Match[str]) -> str:
    value = match["value"].rstrip(".\\*")
    if not value or value.startswith("[redacted") or not _is_secret(match, value):
        return match[0]
    kind = "password" if _PASSWORD.match(match["name"]) else "secret"
    start = match.start("value") - match.start()
    return f"{match[0][:start]}[redacted:{kind}]{match[0][start + len(value) :]}"


def _is_secret(match: re.Match[str], value: str) -> bool:
    name, between = match["name"].lower(), match["rest"].strip("\"'`*\\ \t\r\n")
    quoted = match["quote"] != "" and match["quote"] == match["close"]
    if not _PASSWORD.match(name):
        is_key = "key" in name or "secret" in name
        return is_random(value) or (is_key and between != "" and _UUID.fullmatch(value) is not None)
    if between in (":", "=", ":=", "=>", "：", "是"):
        # `PASS: test_login_2` and `pass: 12/14` are what tests print.
        reported = name == "pass" and between == ":" and not quoted and not _follows_word(match)
        return not reported and _is_password(value, quoted=quoted)
    return _is_password(value, quoted=False) and _is_strong(value)


def _follows_word(match: re.Match[str]) -> bool:
    """Whether the name is the end of a longer one, such as `DB_PASS`."""
    return match.string[max(match.start() - 1, 0) : match.start()] in ("_", "-")


def _is_password(value: str, *, quoted: bool) -> bool:
    """A password need not be long; a word of prose or code after the colon is none."""
    if len(value) < 6 or len(set(value)) < 4 or is_placeholder(value) or _CODE.search(value):
        return False
    return quoted or (any(c.isdigit() for c in value) and any(c.isalpha() for c in value))


def _is_strong(value: str) -> bool:
    """No word of prose: `is S3cretPw99`, not `is bcrypt12` or `is PBKDF2WithHmac`."""
    mixed = any(c.islower() for c in value) and any(c.isupper() for c in value)
    named = re.fullmatch(r"(?:[A-Z]+[a-z0-9]*|[a-z]+[0-9]*)(?:[-_./]?[A-Z]*[a-z]+[0-9]*)*", value)
    return len(value) >= 8 and mixed and (named is None or value[-2:].isdigit())

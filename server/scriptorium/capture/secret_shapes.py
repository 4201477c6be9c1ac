"""Secrets that are known by their own shape, whatever stands around them. Pure."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from scriptorium.capture.chance import is_random, is_varied
from scriptorium.capture.secret_names import is_placeholder


def replaced(text: str) -> str:
    """The text with `[redacted:<kind>]` in the place of every secret of a known shape."""
    for shape in _SHAPES:
        if any(hint in text for hint in shape.hints):
            text = _compiled(shape.pattern).sub(shape.substitute, text)
    return text


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


def _any(value: str) -> bool:
    return bool(value)


def _has_user_and_password(value: str) -> bool:
    try:
        return b":" in base64.b64decode(value)
    except ValueError:
        return False


# A secret never starts in the middle of a word or of base64 data.
_START = r"(?<![A-Za-z0-9+_-])"
_END = r"(?![A-Za-z0-9_-])"


def _shape(
    kind: str, hints: str, pattern: str, is_secret: Callable[[str], bool] = is_varied
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
        r"(?:(?:(?!-----)[\s\S]){0,20000}-----END (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----"
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
        lambda value: is_varied(value) and any(c.isdigit() for c in value),
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
        lambda value: not is_placeholder(value),
    ),
    _shape(
        "account-key",
        "AccountKey= SharedAccessKey=",
        r"(?:AccountKey|SharedAccessKey)=(?P<secret>[A-Za-z0-9+/]{30,}={0,2})",
    ),
    _shape(
        "api-key",
        "figd_ secret_ key- -us sq0 ATATT3 dp. .atlasv1. dapi glsa_ glc_ NRAK- EAACEdEose0cBA",
        rf"{_START}(?:figd_[A-Za-z0-9_-]{{30,}}|secret_[A-Za-z0-9]{{40,}}|key-[0-9a-f]{{32}}{_END}"
        rf"|[0-9a-f]{{32}}-us[0-9]{{1,2}}{_END}|sq0(?:atp|csp)-[A-Za-z0-9_-]{{20,}}|ATATT3[A-Za-z0-9_=-]{{50,}}"
        r"|dp\.(?:pt|st|ct|sa)\.[A-Za-z0-9.]{40,}|[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{40,}"
        rf"|dapi[0-9a-f]{{32}}{_END}|gl(?:sa|c)_[A-Za-z0-9_=-]{{30,}}|NRAK-[A-Z0-9]{{20,}})",
    ),
    _shape(
        "bot-token",
        "M N O",
        rf"{_START}[MNO][A-Za-z0-9_-]{{23,27}}\.[A-Za-z0-9_-]{{6}}\.[A-Za-z0-9_-]{{27,40}}{_END}",
        is_random,
    ),
    _shape(
        "webhook",
        "/api/webhooks/",
        r"discord(?:app)?\.com/api/webhooks/[0-9]{5,25}/(?P<secret>[A-Za-z0-9_-]{30,})",
    ),
    _shape(
        "signature",
        "sig= ignature=",
        r"[?&](?:sig|[Ss]ignature|X-(?:Amz|Goog)-Signature)=(?P<secret>[A-Za-z0-9%+/=_-]{20,2000})",
    ),
    _shape(
        "cookie",
        "ookie: OOKIE: ookie\": ookie':",
        r"[Cc](?:ookie|OOKIE)[\"']?:\s{0,4}[\"']?[\w.-]{1,80}=(?P<secret>[^\s\"'`][^\r\n\"'`]{15,8000})",
        is_random,
    ),
    _shape(
        "basic-auth",
        '"auth"',
        r"\"auth\"\s{0,4}:\s{0,4}\"(?P<secret>[A-Za-z0-9+/]{8,400}={0,2})\"",
        _has_user_and_password,
    ),
    _shape(
        "private-key",
        "Private-Lines:",
        r"Private-Lines:\s{0,4}[0-9]{1,3}\s{1,4}(?P<secret>(?:[A-Za-z0-9+/]{64}\s{1,4})*[A-Za-z0-9+/]{4,64}={0,2})",
        _any,
    ),
    _shape(
        "password",
        "-p",
        r"\b(?:mysql|mysqldump|mysqladmin|mariadb|sshpass)\b[^\n|;&]{0,200}?\s-p[ ]?"
        r"(?P<secret>[^\s-]\S{3,200})",
        lambda value: not is_placeholder(value.strip("'\"")) and any(c.isdigit() for c in value),
    ),
    _shape(
        "password",
        "curl wget",
        r"\b(?:curl|wget)\b[^\n|;]{0,300}?\s(?:-u|--user|--proxy-user)[ =]?[\"']?[^\s:\"'$]{1,100}:"
        r"(?P<secret>[^\s\"'$]{4,200})",
        lambda value: not is_placeholder(value),
    ),
)

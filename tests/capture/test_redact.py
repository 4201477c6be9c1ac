"""What must not be remembered, and what looks like it and must stay. All secrets are invented."""

from __future__ import annotations

import base64
import random
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scriptorium.capture.redact import redact

KEY = "a8B3kd92LmQpZx71TtYw0Ns5"
PEM = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7\nVJTUt9Us8cKjMzEfYyjiWA4R4/M2bS1GB4t7"

IMAGE = random.Random(7).randbytes(6000)  # noqa: S311 - always the same

SECRETS = {
    "anthropic": (
        "use sk-ant-api03-AbCdEf0123456789xyzXYZ-_q now",
        "use [redacted:anthropic-key] now",
    ),
    "openai": (f"sk-proj-{KEY}", "[redacted:api-key]"),
    "openai-old": (f"key sk-{KEY}{KEY}.", "key [redacted:api-key]."),
    "openrouter": (f"sk-or-v1-{KEY}{KEY}", "[redacted:api-key]"),
    "github": ("ghp_16C7e42F292c6912E7710c838347Ae178B4a", "[redacted:github-token]"),
    "github-oauth": ("gho_16C7e42F292c6912E7710c838347Ae178B4a", "[redacted:github-token]"),
    "github-pat": (f"github_pat_11ABCDEFG0{KEY}_{KEY}", "[redacted:github-token]"),
    "gitlab": ("glpat-xY3k9LmQ2pZ7vT1wRb8N", "[redacted:gitlab-token]"),
    "aws": ("AKIAQ3EGUZ7XKXJ4P2LM", "[redacted:aws-key]"),
    "aws-secret": (
        "aws_secret_access_key = wJalrXUtnF3MI/K7MDENG/bPxRfiCYzq81KE2p",
        "aws_secret_access_key = [redacted:secret]",
    ),
    "slack": ("xoxb-2345678901-AbCdEfGhIjKl", "[redacted:slack-token]"),
    "slack-webhook": (
        "https://hooks.slack.com/services/T01ABCDEF/B02GHIJKL/xY3k9LmQ2pZ7vT1wRb8N",
        "https://hooks.slack.com/services/[redacted:slack-webhook]",
    ),
    "google": ("AIzaSyD9k3L2mQpZx71TtYw0Ns5a8B3kd92LmQp", "[redacted:google-key]"),
    "npm": ("npm_aB3kd92LmQpZx71TtYw0Ns5a8B3kd92LmQpZ", "[redacted:npm-token]"),
    "pypi": (f"pypi-AgEIcHlwaS5vcmc{KEY}{KEY}", "[redacted:pypi-token]"),
    "huggingface": ("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", "[redacted:huggingface-token]"),
    "stripe": (f"sk_live_{KEY}", "[redacted:stripe-key]"),
    "jwt": (
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiI5ODc2In0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P",
        "[redacted:jwt]",
    ),
    "bearer": (
        "Authorization: Bearer ab12cd34ef56ab78cd90",
        "Authorization: Bearer [redacted:bearer-token]",
    ),
    "basic": (
        "Authorization: Basic Ym9iOnMzY3IzdHB3",
        "Authorization: Basic [redacted:basic-auth]",
    ),
    "private-key": (
        f"a\n-----BEGIN RSA PRIVATE KEY-----\n{PEM}\n-----END RSA PRIVATE KEY-----\nb",
        "a\n[redacted:private-key]\nb",
    ),
    "private-key-open": (f"-----BEGIN PRIVATE KEY-----\n{PEM}", "[redacted:private-key]"),
    "private-key-escaped": (
        '"-----BEGIN PRIVATE KEY-----\\n'
        + PEM.replace("\n", "\\n")
        + '\\n-----END PRIVATE KEY-----\\n"',
        '"[redacted:private-key]\\n"',
    ),
    "url": ("postgres://bob:s3cr3tpw@db/x", "postgres://bob:[redacted:url-password]@db/x"),
    "url-at": ("https://u:p@ss1w0rd@host/", "https://u:[redacted:url-password]@host/"),
    "url-token": (f"redis://:{KEY}@cache:6379", "redis://:[redacted:url-password]@cache:6379"),
    "password": ("password=hunter2x", "password=[redacted:password]"),
    "password-upper": ("DB_PASSWORD=hunter2x", "DB_PASSWORD=[redacted:password]"),
    "password-quoted": ("password: 'swordfish'", "password: '[redacted:password]'"),
    "password-json": ('{"password": "correct-horse9"}', '{"password": "[redacted:password]"}'),
    "api-key": (f'api_key: "{KEY}"', 'api_key: "[redacted:secret]"'),
    "api-key-hex": ("apiKey=9f86d081884c7d659a2feaa0c55ad015", "apiKey=[redacted:secret]"),
    "token": (f"token => {KEY}", "token => [redacted:secret]"),
    "azure": (
        f"AccountKey={KEY}{KEY}==;Endpoint",
        "AccountKey=[redacted:account-key];Endpoint",
    ),
    "json-in-json": (
        '{\\"password\\": \\"hunter2hunter2\\"}',
        '{\\"password\\": \\"[redacted:password]\\"}',
    ),
    "bold": ("**Password:** S3cretPw99", "**Password:** [redacted:password]"),
    "table": ("| password | S3cretPw99 |", "| password | [redacted:password] |"),
    "code-spans": (f"`API_KEY`: `{KEY}`", "`API_KEY`: `[redacted:secret]`"),
    "prose": (f"the token is `{KEY}`", "the token is `[redacted:secret]`"),
    "prose-password": ("my password is S3cretPw99!", "my password is [redacted:password]"),
    "yaml-block": (f"secret: |\n  {KEY}\n", "secret: |\n  [redacted:secret]\n"),
    "full-width": ("密码：S3cretPw99", "密码：[redacted:password]"),
    "chinese-is": ("密码是 S3cretPw99", "密码是 [redacted:password]"),
    "netrc": ("login bob password S3cretPw99", "login bob password [redacted:password]"),
    "uuid-api-key": (
        "API_KEY=550e8400-e29b-41d4-a716-446655440000",
        "API_KEY=[redacted:secret]",
    ),
    "private-key-with-headers": (
        f"-----BEGIN PRIVATE KEY-----\nDEK-Info: AES-CBC,01\n\n{PEM}\n-----END PRIVATE KEY-----",
        "[redacted:private-key]",
    ),
    "putty": (
        f"Private-Lines: 1\n{KEY}{KEY}\nPrivate-MAC: 00",
        "Private-Lines: 1\n[redacted:private-key]\nPrivate-MAC: 00",
    ),
    "mysql": ("mysql -u root -pS3cretPw99 shop", "mysql -u root -p[redacted:password] shop"),
    "curl": ("curl -u admin:S3cretPw99 x", "curl -u admin:[redacted:password] x"),
    "cookie": (f"Cookie: session={KEY}", "Cookie: session=[redacted:cookie]"),
    "signed-url": (f"https://x/c?sv=1&sig={KEY}%3D", "https://x/c?sv=1&sig=[redacted:signature]"),
    "docker-auth": ('"auth": "Ym9iOlMzY3JldA=="', '"auth": "[redacted:basic-auth]"'),
    "discord-bot": (
        "MTk4NjIyNDgzNDcxOTI1MjQ4.Cl2FMQ.ZnCjm1XVW7vRze4b7Cq4se7kKWs",
        "[redacted:bot-token]",
    ),
    "grafana": (f"glsa_{KEY}a8B3kd92_9f86d081", "[redacted:api-key]"),
    "chinese-around": (f"密钥是sk-ant-{KEY}，别记", "密钥是[redacted:anthropic-key]，别记"),
}

HARMLESS = {
    "commit": "commit 9fceb02d0ae598e95dc970b74767f19372d61af8",
    "commit-assigned": "revision: 9fceb02d0ae598e95dc970b74767f19372d61af8",
    "uuid": "session 550e8400-e29b-41d4-a716-446655440000",
    "uuid-token": "token: 550e8400-e29b-41d4-a716-446655440000",
    "sha256": "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "risk-based": "a risk-based approach, task-force-2024-with-a-long-name-99",
    "sk-words": "the sk-learn-based-pipeline-for-tabular-data",
    "aws-example": "AKIAIOSFODNN7EXAMPLE",
    "aws-secret-example": "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    "placeholder": "export OPENAI_API_KEY=sk-xxxxxxxxxxxxxxxxxxxxxxxx",
    "placeholder-password": "password=<your-password>",
    "placeholder-url": "postgres://user:password@localhost/db",
    "variable-url": "postgres://app:${DB_PASSWORD}@db/app",
    "code": 'password = os.environ["PASSWORD"]',
    "call": "password = getpass()",
    "type": "password: string",
    "count": "max_tokens=4096, token_threshold: 16000",
    "prose": "The password: it must be long. My secret: patience.",
    "port": "http://localhost:8080/users/@me",
    "mention": "It starts with -----BEGIN RSA PRIVATE KEY----- and then some.",
    "attribute": "settings.password: config.password.value",
    "image": "data:image/png;base64," + base64.b64encode(IMAGE).decode(),
    "package": "pip install hf_transfer npm_config_registry pypi-server",
    "path": "/usr/lib/python3.12/site-packages/AIza/token.py",
    "working-directory": "pwd: /home/dev/project123, PWD=/work/main1",
    "test-report": "PASS: test_login_2\npass: 12abc/14",
    "class": "token: BertTokenizerFast4PretrainedModel2",
    "source-file": "token: src/components/Button2/IndexFile3.tsx",
    "prose-about": "the password is bcrypt12-hashed, the password is PBKDF2WithHmac",
    "docker-auth-type": '"auth": "basicAuth1"',
    "time": "2026-08-03T10:30:00+08:00",
}


@pytest.mark.parametrize(("text", "clean"), SECRETS.values(), ids=SECRETS)
def test_a_secret_is_replaced_by_its_kind_and_the_words_around_it_stay(
    text: str, clean: str
) -> None:
    assert redact(text) == clean


@pytest.mark.parametrize("text", HARMLESS.values(), ids=HARMLESS)
def test_what_only_looks_like_a_secret_stays(text: str) -> None:
    assert redact(text) == text


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("a <private>b</private> c", "a  c"),
        ("a <PRIVATE>b\nc</Private >d", "a d"),
        ("a <private>b<private>c</private>d</private>e", "a e"),
        ("a <private>b and on", "a "),
        ("<private>b</private><private>c</private>", ""),
        ("a </private> b", "a  b"),
        ("a <privateer> b", "a <privateer> b"),
        ("the tag `<private>` hides", "the tag `<private>` hides"),
        ("say `<private>b</private>` c", "say `` c"),
    ],
    ids=[
        *("plain", "case", "nested", "unclosed", "several", "only-closed", "another-tag"),
        *("spoken-of", "used-in-code"),
    ],
)
def test_private_text_is_gone(text: str, kept: str) -> None:
    assert redact(text) == kept


@given(st.text(max_size=200), st.text(max_size=50), st.text(max_size=200))
def test_what_is_private_never_shows(before: str, hidden: str, after: str) -> None:
    marked = f"{before}<private>MARK{hidden}MARK</private>{after}"
    assert "MARK" not in redact(marked.replace("<private", "<private"))


@given(st.text(max_size=300))
def test_what_is_redacted_once_stays_as_it_is(text: str) -> None:
    assert redact(redact(text)) == redact(text)


HARD = {
    "letters": "a",
    "begin": "-----BEGIN PRIVATE KEY-----",
    "url": "a://b:",
    "assignments": "password=",
    "names": "api_key",
    "jwt": "eyJaaaaaaaa.",
    "private": "<private ",
    "blanks": "password:     ",
    "keys": "sk-",
    "clients": "curl mysql ",
    "between": "password |",
    "begin-and-text": "-----BEGIN PRIVATE KEY----- a-",
    "cookies": "Cookie: a=b",
}


@pytest.mark.parametrize("piece", HARD.values(), ids=HARD)
def test_the_time_grows_with_the_text_and_not_faster(piece: str) -> None:
    def seconds(length: int) -> float:
        text = piece * (length // len(piece))
        return min(cpu_of(text) for _ in range(3))

    def cpu_of(text: str) -> float:
        begin = time.process_time()
        redact(text)
        return time.process_time() - begin

    assert seconds(400_000) < 40 * max(seconds(20_000), 0.005)

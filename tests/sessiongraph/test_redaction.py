"""Secrets are replaced, and nothing else is: both errors are tested.

No sample is a real key: the random parts are made here.
"""

from __future__ import annotations

import base64
import hashlib
import json
import random
import string
import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessiongraph.redaction import Redaction

CHOOSE = random.Random(7)
ALNUM = string.ascii_letters + string.digits
HEX = "0123456789abcdef"


def some(count: int, letters: str = ALNUM) -> str:
    return "".join(CHOOSE.choice(letters) for _ in range(count))


def redacted(text: str) -> tuple[str, dict[str, int]]:
    redaction = Redaction()
    return redaction.replace(text.encode()).decode(), dict(redaction.counts)


KEY_LINES = r"\n".join(some(64) for _ in range(4))
SHAPES = {
    "anthropic-key": f"sk-ant-api03-{some(90)}AA",
    "openai-key": f"sk-proj-{some(60)}",
    "api-key": f"sk-{some(32, HEX)}",
    "github-token": f"ghp_{some(36)}",
    "gitlab-token": f"glpat-{some(20)}",
    "aws-key": f"AKIA{some(16, string.ascii_uppercase + '234567')}",
    "google-key": f"AIza{some(35)}",
    "google-secret": f"GOCSPX-{some(28)}",
    "google-token": f"ya29.{some(40)}",
    "slack-token": f"xoxb-{some(12, string.digits)}-{some(24)}",
    "slack-webhook": f"https://hooks.slack.com/services/T{some(8)}/B{some(8)}/{some(24)}",
    "stripe-key": f"sk_live_{some(24)}",
    "npm-token": f"npm_{some(36)}",
    "pypi-token": f"pypi-AgEIcHlwaS5vcmc{some(60)}",
    "huggingface-token": f"hf_{some(34)}",
    "sendgrid-key": f"SG.{some(22)}.{some(43)}",
    "digitalocean-token": f"dop_v1_{some(64, HEX)}",
    "age-key": f"AGE-SECRET-KEY-1{some(58, string.ascii_uppercase + string.digits)}",
    "jwt": f"eyJ{some(20)}.eyJ{some(40)}.{some(43)}",
    "private-key": rf"-----BEGIN RSA PRIVATE KEY-----\n{KEY_LINES}\n-----END RSA PRIVATE KEY-----",
}
AROUND = (
    '{{"type":"user","content":"{}"}}',
    '{{"content":"the key is {}, do not tell"}}',
    '{{"content":"export X={}\\nnext"}}',
)


@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize("kind", SHAPES)
def test_keys_of_well_known_services_are_replaced_wherever_they_stand(
    kind: str, around: str
) -> None:
    text, counts = redacted(around.format(SHAPES[kind]))
    assert text == around.format(f"[redacted:{kind}]")
    assert counts == {kind: 1}
    json.loads(text)


def test_a_key_that_was_cut_off_is_replaced_as_far_as_it_goes() -> None:
    text, _ = redacted(rf'{{"a":"-----BEGIN PRIVATE KEY-----\n{KEY_LINES}"}}')
    assert text == '{"a":"[redacted:private-key]"}'


def test_the_password_in_an_address_goes_and_the_address_stays() -> None:
    text, counts = redacted('"postgres://mei:s3cretword@db.example:5432/harbor"')
    assert text == '"postgres://mei:[redacted:url-password]@db.example:5432/harbor"'
    assert counts == {"url-password": 1}


RANDOM = some(40)
NAMED = (
    "api_key={}",
    "API-KEY: {}",
    '\\"password\\": \\"{}\\"',
    "client_secret='{}'",
    "Authorization: Bearer {}",
    "AWS_SECRET_ACCESS_KEY={}",
    "--token {}",
    "auth_token => {}",
)


@pytest.mark.parametrize("named", NAMED)
def test_random_text_behind_a_telling_name_is_a_secret(named: str) -> None:
    text, counts = redacted('{"c":"' + named.format(RANDOM) + '"}')
    assert text == '{"c":"' + named.format("[redacted:secret]") + '"}'
    assert counts == {"secret": 1}


DIGEST = hashlib.sha512(b"harbor").digest()
HARMLESS = (
    RANDOM,
    f'"integrity": "sha512-{base64.b64encode(DIGEST).decode()}"',
    f'"resolved": "https://registry.example/left-pad/-/left-pad-1.3.0.tgz#{some(40, HEX)}"',
    f'checksum = "{some(64, HEX)}"',
    f'{{file = "a-1.0.whl", hash = "sha256:{some(64, HEX)}"}}',
    f"--hash=sha256:{some(64, HEX)}",
    f"h1:{base64.b64encode(DIGEST[:32]).decode()}",
    f"commit {some(40, HEX)}",
    f"index {some(7, HEX)}..{some(7, HEX)} 100644",
    f'"uuid":"{uuid.UUID(int=7 << 99)}"',
    f'"tool_use_id":"toolu_01{some(22)}"',
    f'"id":"msg_01{some(22)}"',
    f'"call_id":"call_{some(24)}"',
    f'"requestId":"req_011{some(20)}"',
    f'"token": "{uuid.UUID(int=9 << 99)}"',
    f'"access_key": "sha256:{some(64, HEX)}"',
    f'"signature":"{base64.b64encode(DIGEST * 3).decode()}"',
    f"task-{some(32, HEX)}",
    f"disk-{some(32, HEX)}",
    '"input_tokens": 12345678901234567890, "output_tokens": 172',
    "password: please-choose-a-good-one-2",
    "pwd=/home/mei/projects/harbor2/backend",
    "token = process.env.GITHUB_TOKEN2_VALUE",
    "api_key=your_api_key_goes_right_here_1",
    "secret = load_secret_from_the_vault_v2(name)",
    "tokenizer=cl100k_base_something_long1",
    "postgres://mei:${PASSWORD}@db/harbor",
    "https://example.org:8443/path@2",
    "AKIA is how they begin",
    "sk-learn and sk-image",
    "eyJhbGciOi",
)


@pytest.mark.parametrize("text", HARMLESS)
def test_hashes_ids_and_plain_text_stay_as_they_are(text: str) -> None:
    assert redacted(json.dumps({"content": text})) == (json.dumps({"content": text}), {})
    assert redacted(text) == (text, {})


@given(
    st.recursive(
        st.text() | st.integers(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
    )
)
def test_json_stays_json(value: object) -> None:
    text, _ = redacted(json.dumps([value, SHAPES["aws-key"]]))
    assert len(json.loads(text)) == 2


def test_nothing_is_found_twice() -> None:
    once, counts = redacted(f"api_key={SHAPES['github-token']}")
    assert counts == {"github-token": 1}
    assert redacted(once) == (once, {})

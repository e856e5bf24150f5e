"""The canonical URI of a session: exact for every id, and one-to-one."""

from __future__ import annotations

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessiongraph.references.uri import SCHEME, decode_uri, encode_uri
from tests.strategies import any_text

BASE64URL = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"


def uri_of(octets: bytes) -> str:
    return SCHEME + base64.urlsafe_b64encode(octets).rstrip(b"=").decode()


def joined(text: str) -> str:
    """The text as JSON knows it: surrogates that stand together are one character."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


@given(session_id=any_text)
def test_an_id_comes_back_from_its_uri(session_id: str) -> None:
    assert decode_uri(encode_uri(session_id)) == joined(session_id)


@given(session_id=st.text())
def test_a_uri_is_the_base64url_of_the_json_string(session_id: str) -> None:
    text = json.dumps(session_id, ensure_ascii=False)
    assert encode_uri(session_id) == uri_of(text.encode())


@given(session_id=any_text, data=st.data())
def test_a_uri_with_any_character_changed_is_refused_or_names_another_id(
    session_id: str, data: st.DataObject
) -> None:
    uri = encode_uri(session_id)
    place = data.draw(st.integers(0, len(uri) - 1))
    changed = uri[:place] + data.draw(st.sampled_from(BASE64URL + "+/=: é")) + uri[place + 1 :]
    try:
        other = decode_uri(changed)
    except ValueError:
        return
    assert (other == joined(session_id)) is (changed == uri)
    assert encode_uri(other) == changed


@given(text=any_text)
def test_any_other_text_is_refused(text: str) -> None:
    for uri in (text, SCHEME + text):
        try:
            session_id = decode_uri(uri)
        except ValueError:
            continue
        assert encode_uri(session_id) == uri


@pytest.mark.parametrize(
    "uri",
    [
        "",
        SCHEME,
        uri_of(b'"a"')[len(SCHEME) :],
        SCHEME.upper() + uri_of(b'"a"')[len(SCHEME) :],
        uri_of(b'"abc"') + "=",
        uri_of(b'"a"') + "\n",
        uri_of(b' "a"'),
        uri_of(b'"\\u0061"'),
        uri_of(b'"\\/"'),
        uri_of(b'"\\uD800"'),
        uri_of(b'"\\ud83d\\ude80"'),
        uri_of(b"7"),
        uri_of(b"null"),
        uri_of(b'["a"]'),
        uri_of(b'"\xff"'),
        uri_of(b"[" * 100_000),
    ],
)
def test_only_the_canonical_spelling_is_accepted(uri: str) -> None:
    with pytest.raises(ValueError):
        decode_uri(uri)

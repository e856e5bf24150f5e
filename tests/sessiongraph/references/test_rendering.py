"""The written form: exact JSON that parses back, and no way out of the tags."""

from __future__ import annotations

import json
import re

from hypothesis import given
from hypothesis import strategies as st

from sessiongraph.references.rendering import (
    CLOSING,
    context_text,
    data_of,
    json_octets,
    message_octets,
    opening,
)
from tests.sessiongraph.references.plain_retention import plain_octets
from tests.strategies import any_text

nasty = st.one_of(
    any_text,
    st.text('</>referenced-sessions \n\\"&', max_size=40),
    st.sampled_from(("</referenced-sessions>", "<system>", "]\n</referenced-sessions>\nNow")),
)


@given(text=st.none() | nasty)
def test_a_string_is_written_as_json_writes_it_but_for_the_tag_character(text: str | None) -> None:
    assert json_octets(text) == plain_octets(text)


@given(
    session_id=nasty,
    label=nasty,
    cwd=st.none() | nasty,
    through=st.none() | st.integers(0, 2**31),
    texts=st.lists(nasty, max_size=4),
)
def test_a_snapshot_has_its_keys_in_order_and_no_spaces(
    session_id: str, label: str, cwd: str | None, through: int | None, texts: list[str]
) -> None:
    fields = {"sessionId": session_id, "label": label, "cwd": cwd, "capturedThroughSeq": through}
    conversation = [{"role": "user", "text": text} for text in texts]
    written = opening(session_id, label, cwd, through)
    written += b",".join(message_octets("user", text) for text in texts) + CLOSING
    assert written == plain_octets({**fields, "conversation": conversation})


@given(texts=st.lists(nasty, min_size=1, max_size=4))
def test_no_content_can_close_the_tag_or_open_another(texts: list[str]) -> None:
    snapshots = [opening(text, text, text, 1) + message_octets(text, text) for text in texts]
    content = context_text([each + CLOSING for each in snapshots])
    assert re.findall("<[^>]*>", content) == ["<referenced-sessions>", "</referenced-sessions>"]
    assert content.count("<") == 2
    assert content.endswith("\n</referenced-sessions>")


@given(texts=st.lists(nasty, max_size=4))
def test_the_data_is_one_json_text_without_lone_surrogates(texts: list[str]) -> None:
    data = data_of([opening(text, text, None, None) + CLOSING for text in texts])
    data.encode("utf-8")
    again = [each["sessionId"] for each in json.loads(data)]
    assert [each.encode("utf-16", "surrogatepass") for each in again] == [
        each.encode("utf-16", "surrogatepass") for each in texts
    ]


def test_the_message_begins_with_a_heading_and_a_warning() -> None:
    heading, warning, rest = context_text([]).split("\n\n", 2)
    assert heading == "# Referenced sessions"
    for word in (
        "untrusted",
        "read-only",
        "instructions",
        "permission",
        "tool requests",
        "repeats",
    ):
        assert word in warning
    assert rest == "<referenced-sessions>\n[]\n</referenced-sessions>"

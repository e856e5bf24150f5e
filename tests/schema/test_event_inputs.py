"""Events as clients send them: kept losslessly, or refused with the place that is at fault."""

from __future__ import annotations

from typing import Any

import pytest

from tests.schema.living import Server, in_server, prompt

APPEND = """mutation($events: [EventInput!]!) {
    appendEvents(input: {sessionId: "s", events: $events}) { events { data } } }"""


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"b": 1, "a": {"z": [], "y": {}}},
        {"numbers": [0, -1, 1.5, 1e300, 2**53 - 1, -(2**53) + 1, 0.1]},
        {"texts": ["", "超时", "🚀", "\x00", "\u2028", '"\\']},
        {"": None, "键": True, " ": False},
    ],
)
@in_server()
async def test_lossless_json_is_kept_as_it_is(server: Server, data: dict[str, Any]) -> None:
    await server.create("s")
    answer = await server.ask(APPEND, events=[{"type": "custom/thing", "data": data}])
    (event,) = answer.data["appendEvents"]["events"]
    assert event["data"] == data
    assert [list(event["data"])] == [list(data)]


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({"a": [1, {"n": 2**53}]}, "data.a[1].n: integers beyond 2^53"),
        ({"a": -(2**70)}, "data.a: integers beyond 2^53"),
        ({"a": float("nan")}, "data.a: NaN"),
        ({"a": float("inf")}, "data.a: NaN or an infinity"),
        ({"a": -0.0}, "data.a: negative zero"),
        ({"a": "x\ud800y"}, "data.a: lone surrogates"),
        ({"\udfff": 1}, "data: lone surrogates"),
        ([1], "is not an object"),
        ("text", "is not an object"),
        (7, "is not an object"),
    ],
)
@in_server()
async def test_what_is_not_lossless_is_refused_with_its_place(
    server: Server, data: Any, said: str
) -> None:
    await server.create("s")
    answer = await server.ask(APPEND, events=[prompt("x"), {"type": "custom/thing", "data": data}])
    assert answer.codes == ["SESSION_LOG_INVALID_EVENT"]
    assert answer.errors[0]["message"].startswith("input.events[1]: ")
    assert said in answer.errors[0]["message"]
    assert (await server.session("s"))["lastSeq"] == -1


@pytest.mark.parametrize("depth", [100, 400, 700, 850, 950, 1100, 3000])
@in_server()
async def test_depth_beyond_reason_is_the_clients_fault(server: Server, depth: int) -> None:
    await server.create("s")
    value: Any = 1
    for _ in range(depth):
        value = [value]
    answer = await server.ask(APPEND, events=[{"type": "custom/thing", "data": {"a": value}}])
    if "errors" in answer.body:
        assert answer.codes[0] in ("SESSION_LOG_INVALID_EVENT", "BAD_USER_INPUT")
        assert (await server.session("s"))["lastSeq"] == -1
    else:
        assert depth < 1000


@pytest.mark.parametrize(
    ("literal", "value"),
    [
        ("{}", {}),
        ("{b: 1, a: [1.5, -7, true, null]}", {"b": 1, "a": [1.5, -7, True, None]}),
        ('{text: "超时 \\u{1F680} \\uD83D\\uDE80"}', {"text": "超时 🚀 🚀"}),
        ('{text: """block "quoted" text"""}', {"text": 'block "quoted" text'}),
        ("{n: 9007199254740991, e: 1e3}", {"n": 2**53 - 1, "e": 1000.0}),
    ],
)
@in_server()
async def test_a_literal_in_the_document_is_json_too(
    server: Server, literal: str, value: Any
) -> None:
    await server.create("s")
    answer = await server.ask(
        f"""mutation {{ appendEvents(input: {{sessionId: "s", events: [
            {{type: "custom/thing", data: {literal}}}]}}) {{ events {{ data }} }} }}"""
    )
    (event,) = answer.data["appendEvents"]["events"]
    assert event["data"] == value
    assert list(event["data"]) == list(value)


@pytest.mark.parametrize(
    ("literal", "code"),
    [
        ("{n: 9007199254740992}", "SESSION_LOG_INVALID_EVENT"),
        ("{n: -0}", "SESSION_LOG_INVALID_EVENT"),
        ("{n: -0.0}", "SESSION_LOG_INVALID_EVENT"),
        ("{n: 1e999}", "SESSION_LOG_INVALID_EVENT"),
        ("[1]", "SESSION_LOG_INVALID_EVENT"),
        ("{n: " + "9" * 5000 + "}", "BAD_USER_INPUT"),
        ("{n: 1, n: 1}", "BAD_USER_INPUT"),
        ("{n: user}", "BAD_USER_INPUT"),
        ('{n: "\\uD800"}', "BAD_USER_INPUT"),
        ('{n: "\ud800"}', "BAD_USER_INPUT"),
        ("null", "BAD_USER_INPUT"),
        ("{n: $nobody}", "BAD_USER_INPUT"),
        ("{n: " + "[" * 5000 + "]" * 5000 + "}", "BAD_USER_INPUT"),
    ],
)
@in_server()
async def test_a_literal_that_is_not_lossless_is_refused(
    server: Server, literal: str, code: str
) -> None:
    await server.create("s")
    answer = await server.ask(
        f"""mutation {{ appendEvents(input: {{sessionId: "s", events: [
            {{type: "custom/thing", data: {literal}}}]}}) {{ events {{ data }} }} }}"""
    )
    assert set(answer.codes) == {code}
    assert (await server.session("s"))["lastSeq"] == -1


@pytest.mark.parametrize(
    ("value", "code"),
    [
        ({"deep": [1, "x"]}, None),
        ("text", None),
        (None, None),
        (2**53, "SESSION_LOG_INVALID_EVENT"),
        (float("nan"), "SESSION_LOG_INVALID_EVENT"),
        (-0.0, "SESSION_LOG_INVALID_EVENT"),
        ("\ud800", "SESSION_LOG_INVALID_EVENT"),
    ],
)
@in_server()
async def test_a_variable_inside_a_literal_keeps_its_value(
    server: Server, value: Any, code: str | None
) -> None:
    await server.create("s")
    document = """mutation($v: JSON) { appendEvents(input: {sessionId: "s", events: [
        {type: "custom/thing", data: {list: [$v], member: $v}}]}) { events { data } } }"""
    answer = await server.ask(document, v=value)
    if code is None:
        (event,) = answer.data["appendEvents"]["events"]
        assert event["data"] == {"list": [value], "member": value}
    else:
        assert answer.codes == [code]


@in_server()
async def test_a_variable_that_is_left_out_leaves_its_member_out(server: Server) -> None:
    await server.create("s")
    document = """mutation($v: JSON) { appendEvents(input: {sessionId: "s", events: [
        {type: "custom/thing", data: {a: 1, member: $v}}]}) { events { data } } }"""
    (event,) = (await server.ask(document)).data["appendEvents"]["events"]
    assert event["data"] == {"a": 1}


@pytest.mark.parametrize(
    ("members", "code", "said"),
    [
        ({"type": ""}, "SESSION_LOG_INVALID_EVENT", "needs a type"),
        ({"type": "\ud800/x"}, "SESSION_LOG_INVALID_EVENT", "lone surrogates"),
        ({"surfaceOp": {"append": False}}, "BAD_USER_INPUT", "can only be true"),
        ({"surfaceOp": {}}, "BAD_USER_INPUT", "SurfaceOpInput"),
        ({"surfaceOp": {"append": None}}, "BAD_USER_INPUT", "append"),
        (
            {"surfaceOp": {"append": True, "replace": {"start": 0, "end": 0}}},
            "BAD_USER_INPUT",
            "SurfaceOpInput",
        ),
        ({"surfaceOp": {"replace": {"start": 0}}}, "BAD_USER_INPUT", "end"),
        ({"surfaceOp": {"replace": {"start": 0, "end": 0}}}, "SESSION_LOG_INVALID_EVENT", "0"),
        ({"sourceEventSeqs": []}, "SESSION_LOG_INVALID_EVENT", "empty"),
        ({"sourceEventSeqs": [0]}, "SESSION_LOG_INVALID_EVENT", "cites 0"),
        ({"sourceEventSeqs": [-1]}, "SESSION_LOG_INVALID_EVENT", "negative"),
        ({"sourceEventSeqs": [1.5]}, "BAD_USER_INPUT", "1.5"),
        ({"time": 2**53}, "BAD_USER_INPUT", "2^53"),
        ({"time": "now"}, "BAD_USER_INPUT", "now"),
        ({"ignorable": "yes"}, "BAD_USER_INPUT", "yes"),
        ({"data": None}, "BAD_USER_INPUT", "data"),
        ({"seq": 0}, "BAD_USER_INPUT", "seq"),
    ],
)
@in_server()
async def test_an_envelope_that_breaks_a_rule_is_refused(
    server: Server, members: dict[str, Any], code: str, said: str
) -> None:
    await server.create("s")
    answer = await server.append("s", {**prompt("x"), **members})
    assert set(answer.codes) == {code}
    assert any(said in error["message"] for error in answer.errors)
    assert (await server.session("s"))["lastSeq"] == -1


@pytest.mark.parametrize(
    "members", [{"surfaceOp": {"append": True}}, {"sourceEventSeqs": [0]}, {"sourceEventSeqs": []}]
)
@in_server()
async def test_only_messages_stand_on_the_surface(server: Server, members: dict[str, Any]) -> None:
    await server.create("s")
    await server.append("s", "one")
    answer = await server.append("s", {"type": "custom/thing", "data": {}, **members})
    assert answer.codes == ["SESSION_LOG_INVALID_EVENT"]
    assert "must not have" in answer.errors[0]["message"]


@in_server()
async def test_null_and_false_are_the_same_as_leaving_out(server: Server) -> None:
    await server.create("s")
    nulls = {"time": None, "surfaceOp": None, "sourceEventSeqs": None, "ignorable": None}
    plain = await server.append("s", prompt("x"), expectedSeq=0)
    for members in (nulls, {"ignorable": False}):
        again = await server.append("s", {**prompt("x"), **members}, expectedSeq=0)
        assert again.data == plain.data


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"durability": "SOON"}, "SOON"),
        ({"expectedSeq": 1.5}, "1.5"),
        ({"expectedSeq": 2**31}, "2147483648"),
        ({"events": None}, "events"),
        ({"sessionId": None}, "sessionId"),
        ({"colour": "red"}, "colour"),
    ],
)
@in_server()
async def test_an_append_that_does_not_fit_its_type_is_bad_input(
    server: Server, given: dict[str, Any], said: str
) -> None:
    await server.create("s")
    answer = await server.append("s", "x", **given)
    assert set(answer.codes) == {"BAD_USER_INPUT"}
    assert any(said in error["message"] for error in answer.errors)

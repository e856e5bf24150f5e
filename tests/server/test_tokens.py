"""The token file, and where a token may stand."""

from __future__ import annotations

import json
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from server.access import Access
from server.credentials import bearer_in, bearer_of, is_in_address
from server.tokens import SECRET, TokenFile, TokenRefused, UnknownToken
from sessiongraph.access import EVERYTHING, Grant, Scope
from sessiongraph.errors import Forbidden, InvalidConfig, Unauthenticated
from tests.server.processes import run


@pytest.fixture
def file(tmp_path: Path) -> TokenFile:
    return TokenFile(tmp_path / "data" / "token")


def test_the_first_token_is_the_owners_and_stays(file: TokenFile) -> None:
    assert file.read() == ()
    first = file.main()
    assert first.secret is not None
    assert SECRET.fullmatch(first.secret)
    assert first.grant == EVERYTHING
    assert file.main() == first
    assert stat.S_IMODE(file.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.path.parent.stat().st_mode) == 0o700


def test_of_a_token_that_is_made_only_a_hash_is_kept(file: TokenFile) -> None:
    token, secret = file.create(Scope.READ, ("/work",), "editor")
    assert SECRET.fullmatch(secret)
    assert secret not in file.path.read_text()
    assert file.read() == (token,)
    assert token.grant == Grant(Scope.READ, ("/work",))


def test_nobody_gets_in_between_who_change_the_file_at_once(file: TokenFile) -> None:
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda _: file.create(Scope.READ)[0].id, range(40)))
        list(pool.map(file.revoke, made[::2]))
    assert sorted(token.id for token in file.read()) == sorted(made[1::2])
    assert [path.name for path in file.path.parent.iterdir()] == ["token"]


def test_what_is_not_there_cannot_be_revoked(file: TokenFile) -> None:
    with pytest.raises(UnknownToken, match="'nowhere'"):
        file.revoke("nowhere")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        '{"version": 1}',
        '{"version": 2, "tokens": []}',
        '{"version": 1, "tokens": [5]}',
    ],
)
def test_a_file_that_is_no_list_of_tokens_lets_nobody_in(file: TokenFile, text: str) -> None:
    access = Access(file)
    secret = file.main().secret
    assert access.admit(secret).grant == EVERYTHING
    file.path.write_text(text)
    with pytest.raises(InvalidConfig):
        file.read()
    with pytest.raises(Unauthenticated):
        access.admit(secret)


def test_a_file_that_others_can_read_is_refused(file: TokenFile) -> None:
    file.main()
    file.path.chmod(0o640)
    with pytest.raises(InvalidConfig, match="chmod 600"):
        file.read()


def test_who_is_in_is_told_once_when_the_token_is_revoked(file: TokenFile) -> None:
    access = Access(file)
    token, secret = file.create(Scope.WRITE)
    other, other_secret = file.create(Scope.READ)
    told: list[str] = []
    admission, of_other = access.admit(secret), access.admit(other_secret)
    with (
        access.holding(admission, lambda: told.append("revoked")),
        access.holding(of_other, lambda: told.append("the wrong one")),
    ):
        access.check(admission)
        file.revoke(token.id)
        for _ in range(2):
            with pytest.raises(Unauthenticated, match="revoked"):
                access.check(admission)
        access.check(of_other)
    assert told == ["revoked"]
    with access.holding(admission, lambda: told.append("late")):
        assert told == ["revoked", "late"]
    file.revoke(other.id)
    with pytest.raises(Unauthenticated):
        access.check(of_other)
    assert told == ["revoked", "late"]


def test_a_token_that_was_changed_by_hand_holds_as_it_is_now(file: TokenFile) -> None:
    access = Access(file)
    _, secret = file.create(Scope.ADMIN)
    admission = access.admit(secret)
    contents = json.loads(file.path.read_text())
    contents["tokens"][0]["scope"] = "read"
    file.path.write_text(json.dumps(contents))
    with pytest.raises(Unauthenticated):
        access.check(admission)
    assert access.admit(secret).grant == Grant(Scope.READ)


@pytest.mark.parametrize("attack", ["relative", "blank", "misspelt", "twice"])
def test_a_file_that_does_not_say_plainly_who_sees_what_lets_nobody_in(
    file: TokenFile, attack: str
) -> None:
    """Neither who asks next nor who is in already: old grants do not outlive the file."""
    file.main()
    _, secret = file.create(Scope.READ, ("/home/ann",))
    access = Access(file)
    admission = access.admit(secret)
    gone: list[str] = []
    contents = json.loads(file.path.read_text())
    token = contents["tokens"][-1]
    if attack == "misspelt":
        token["CWD"] = token.pop("cwd")
    elif attack == "twice":
        token["id"] = contents["tokens"][0]["id"]
    else:
        token["cwd"] = ["home/ann" if attack == "relative" else ""]
    with access.holding(admission, lambda: gone.append("away")):
        file.path.write_text(json.dumps(contents))
        with pytest.raises(Unauthenticated):
            access.check(admission)
        assert gone == ["away"]
    with pytest.raises(Unauthenticated):
        access.admit(secret)


def test_without_authentication_everybody_may_do_everything() -> None:
    access = Access.open()
    admission = access.admit_request([(b"authorization", b"Bearer whatever")])
    assert admission.grant == EVERYTHING
    with access.holding(admission, lambda: pytest.fail("nobody is sent away")):
        access.check(admission)


def test_what_tells_of_all_sessions_is_not_for_a_token_of_some_directories(
    file: TokenFile,
) -> None:
    access = Access(file)
    some, everything = file.create(Scope.READ, ("/work",))[1], file.create(Scope.READ)[1]

    def headers(secret: str) -> list[tuple[bytes, bytes]]:
        return [(b"authorization", f"Bearer {secret}".encode())]

    assert access.grant_of_everything(headers(everything)) == Grant(Scope.READ)
    with pytest.raises(Forbidden):
        access.grant_of_everything(headers(some))
    with pytest.raises(Unauthenticated):
        access.grant_of_everything([])


@pytest.mark.parametrize(
    ("headers", "secret"),
    [
        ([], None),
        ([(b"authorization", b"Bearer sgt_a-b")], "sgt_a-b"),
        ([(b"Authorization", b"bearer   sgt_a ")], "sgt_a"),
        ([(b"x-authorization", b"Bearer sgt_a")], None),
    ],
)
def test_a_header_may_have_a_token(headers: list[tuple[bytes, bytes]], secret: str | None) -> None:
    assert bearer_of(headers) == secret


@pytest.mark.parametrize(
    ("payload", "secret"),
    [
        (None, None),
        ({}, None),
        ({"Authorization": "Bearer sgt_a"}, "sgt_a"),
        ({"token": "sgt_a"}, "sgt_a"),
        ({"token": None}, None),
    ],
)
def test_the_first_message_may_have_a_token(payload: Any, secret: str | None) -> None:
    assert bearer_in(payload) == secret


@pytest.mark.parametrize(
    ("query", "found"),
    [
        (b"", False),
        (b"q=sgt_+and+tokens", False),
        (b"q=token", False),
        (b"cdn=1", False),
        (b"token=", True),
        (b"Access_Token=x", True),
        (b"a=b&authorization=Bearer%20x", True),
        (b"q=" + b"sgt_" + b"A" * 43, True),
        (b"q=%73gt_" + b"A" * 43, True),
        (b"sgt_" + b"A" * 43, True),
    ],
)
def test_a_token_in_an_address_is_found(query: bytes, found: bool) -> None:
    assert is_in_address(query) is found


def test_the_command_shows_makes_lists_and_revokes(tmp_path: Path) -> None:
    at = ("--data-dir", tmp_path / "data")
    shown = run("token", "show", *at)
    assert (shown.returncode, shown.stderr) == (0, "")
    assert shown.stdout.startswith("Authorization: Bearer sgt_")
    assert run("token", "show", *at).stdout == shown.stdout
    folder = tmp_path / "project" / ".." / "project"
    made = run(
        "token", "create", "--scope", "write", "--cwd", folder, "--name", "[b]an editor", *at
    )
    assert made.stdout.startswith("Authorization: Bearer sgt_")
    assert made.stdout.count("\n") == 1
    _, token = json.loads(run("token", "list", "--json", *at).stdout)
    assert f"token revoke {token['id']}" in made.stderr
    assert (token["scope"], token["cwd"]) == ("write", [str(tmp_path / "project")])
    listed = run("token", "list", *at).stdout
    heading, _, row = map(str.split, listed.splitlines())
    assert heading == ["id", "name", "scope", "directories", "created"]
    shown_of_it = [token["id"], "[b]an", "editor", "write", str(tmp_path / "project")]
    assert row[: len(shown_of_it)] == shown_of_it
    assert "sgt_" not in listed
    assert run("token", "revoke", token["id"], *at).returncode == 0
    (main,) = json.loads(run("token", "list", "--json", *at).stdout)
    assert main["name"] == "main"
    again = run("token", "revoke", token["id"], *at)
    assert (again.returncode, again.stdout) == (1, "")
    assert again.stderr.startswith("sessiongraph: no token has the id")


def test_a_list_shows_no_control_characters_that_somebody_wrote_into_the_file(
    tmp_path: Path,
) -> None:
    file = TokenFile(tmp_path / "token")
    file.create(Scope.READ, ("/work",), "editor")
    contents = json.loads(file.path.read_text())
    contents["tokens"][0]["name"] = "a\x1bb"
    file.path.write_text(json.dumps(contents))
    listed = run("token", "list", "--data-dir", tmp_path).stdout
    assert "a\u241bb" in listed
    assert "\x1b" not in listed


@pytest.mark.parametrize(
    "name", ["", " ", "a\nb", "a\x1bb", "a\x7f", "a\u202eb", "a\u2028b", "\udcff"]
)
def test_a_name_that_would_not_be_seen_as_it_is_is_refused(file: TokenFile, name: str) -> None:
    with pytest.raises(TokenRefused, match="name"):
        file.create(Scope.READ, name=name)
    assert file.read() == ()


@pytest.mark.parametrize(
    "directory", ["relative", "", "/a\nb", "/a\udcff", "/" + "a/" * 100, "/" + "a" * 5000]
)
def test_a_token_whose_directories_cannot_hold_is_not_made(file: TokenFile, directory: str) -> None:
    """In the file it would let nobody in any more, the owner neither."""
    secret = file.main().secret
    with pytest.raises((TokenRefused, InvalidConfig)):
        file.create(Scope.READ, (directory,))
    assert Access(file).admit(secret).grant == EVERYTHING


@pytest.mark.parametrize(
    ("option", "value", "code", "message"),
    [
        ("--cwd", "", 2, "a directory cannot be blank"),
        ("--cwd", "/a\nb", 1, "sessiongraph: a token's directory"),
        ("--cwd", "/" + "a/" * 100, 1, "sessiongraph: a cwd prefix has at most"),
        ("--name", "a\nb", 1, "sessiongraph: a token's name"),
    ],
)
def test_the_command_refuses_what_no_token_can_have(
    tmp_path: Path, option: str, value: str, code: int, message: str
) -> None:
    refused = run("token", "create", "--scope", "read", option, value, "--data-dir", tmp_path)
    assert (refused.returncode, refused.stdout) == (code, "")
    assert message in refused.stderr
    assert "Traceback" not in refused.stderr
    assert TokenFile(tmp_path / "token").read() == ()

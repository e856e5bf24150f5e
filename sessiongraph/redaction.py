"""Secrets in what recorders wrote, replaced before anything of it is stored.

Keys of well-known services have shapes of their own and are found by them wherever they stand. Any
other secret looks like any other random text, so it is taken for one only behind a name that says
so (``api_key=``, ``"password": ``), and only if it is random enough. Hashes in lock files and ids
are neither: they have no such name before them, or are recognised as what they are.

It works on JSON text, whole lines at a time: what it finds and what it puts in its place needs no
escaping. A secret that a recorder cut in two (stream deltas) is not found.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

_EDGE: Final = rb"(?<![A-Za-z0-9])"
_END: Final = rb"(?![A-Za-z0-9_-])"
_WORD: Final = rb"[A-Za-z0-9_-]"


@dataclass(frozen=True, slots=True)
class _Shape:
    """Keys of one kind; hints: texts of which one is in every such key. group: what is secret."""

    kind: str
    hints: tuple[bytes, ...]
    pattern: re.Pattern[bytes]
    group: int = 0


def _shape(kind: str, hints: tuple[str, ...], pattern: bytes, *, edges: bool = True) -> _Shape:
    whole = _EDGE + b"(?:" + pattern + b")" + _END if edges else pattern
    return _Shape(kind, tuple(hint.encode() for hint in hints), re.compile(whole))


_KEY_BODY: Final = rb"(?:[A-Za-z0-9+/=,\r\n]|: |-(?!----)|\\+[nrt])*"

_SHAPES: Final = (
    _shape(
        "private-key",
        ("PRIVATE KEY",),
        rb"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----"
        + _KEY_BODY
        + rb"(?:-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----)?",
        edges=False,
    ),
    _shape("anthropic-key", ("sk-ant-",), rb"sk-ant-[a-z]+[0-9]{2}-" + _WORD + rb"{32,}"),
    _shape(
        "openai-key",
        ("sk-",),
        rb"sk-(?:proj|svcacct|admin)-" + _WORD + rb"{32,}|sk-[A-Za-z0-9]{48}"
        rb"|sk-[A-Za-z0-9]{20}T3BlbkFJ[A-Za-z0-9]{20}",
    ),
    _shape("api-key", ("sk-",), rb"sk-or-v1-[0-9a-f]{64}|sk-[0-9a-f]{32}"),
    _shape(
        "github-token",
        ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
        rb"gh[pousr]_[A-Za-z0-9]{36,251}|github_pat_[A-Za-z0-9_]{50,250}",
    ),
    _shape("gitlab-token", ("glpat-",), rb"glpat-" + _WORD + rb"{20,}"),
    _shape("aws-key", ("AKIA", "ASIA"), rb"(?:AKIA|ASIA)[A-Z0-9]{16}"),
    _shape("google-key", ("AIza",), rb"AIza" + _WORD + rb"{35}"),
    _shape("google-secret", ("GOCSPX-",), rb"GOCSPX-" + _WORD + rb"{28}"),
    _shape("google-token", ("ya29.",), rb"ya29\." + _WORD + rb"{30,}"),
    _shape(
        "slack-token",
        ("xox", "xapp-"),
        rb"xox[abeprs]-[A-Za-z0-9-]{20,}|xapp-[0-9]-[A-Za-z0-9-]{40,}",
    ),
    _shape(
        "slack-webhook",
        ("hooks.slack.com",),
        rb"https://hooks\.slack\.com/services/[A-Za-z0-9/]{30,}",
    ),
    _shape("stripe-key", ("_live_", "_test_"), rb"(?:sk|rk)_(?:live|test)_[A-Za-z0-9]{16,}"),
    _shape("npm-token", ("npm_",), rb"npm_[A-Za-z0-9]{36}"),
    _shape("pypi-token", ("pypi-Ag",), rb"pypi-Ag" + _WORD + rb"{50,}"),
    _shape("huggingface-token", ("hf_",), rb"hf_[A-Za-z0-9]{30,}"),
    _shape("sendgrid-key", ("SG.",), rb"SG\." + _WORD + rb"{22}\." + _WORD + rb"{43}"),
    _shape("digitalocean-token", ("_v1_",), rb"do[op]_v1_[0-9a-f]{64}"),
    _shape("age-key", ("AGE-SECRET-KEY-",), rb"AGE-SECRET-KEY-1[A-Z0-9]{58}"),
    _shape(
        "jwt", ("eyJ",), rb"eyJ" + _WORD + rb"{10,}\.eyJ" + _WORD + rb"{10,}\." + _WORD + rb"{10,}"
    ),
    _Shape(
        "url-password",
        (b"://",),
        re.compile(rb"[a-z][a-z0-9+.-]*://[^\s:/@\"\\]{1,64}:([^\s:/@\"\\${}<>*]{6,128})@"),
        1,
    ),
)

_VALUE: Final = rb"([A-Za-z0-9+/_=.~-]{20,256})(?![A-Za-z0-9+/_=.~(\[-])"
_QUOTE: Final = rb"(?:\\*[\"'])?"
_ASSIGNED: Final = re.compile(_QUOTE + rb"\s*(?:=>|[:=])\s*" + _QUOTE + _VALUE)
_FOLLOWING: Final = re.compile(rb"\s+" + _QUOTE + _VALUE)

_NAMES: Final = (
    b"key",
    b"keys",
    b"secret",
    b"secrets",
    b"token",
    b"password",
    b"passwd",
    b"pwd",
    b"bearer",
)
"""How names end that say that a secret follows; ``key`` says so behind some words only."""

_KEYS_OF: Final = (b"api", b"access", b"secret", b"private")
_FLAG: Final = re.compile(rb"(?:^|[\s\"'\\])--?[a-z_-]*$")
_LONGEST_NAME: Final = 32
_UUID: Final = re.compile(rb"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_HASH: Final = re.compile(rb"(?:sha(?:1|224|256|384|512)|md5|blake[23][bs]?)[-:_]", re.IGNORECASE)
_CODE: Final = re.compile(rb"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+")
_LEAST_BITS: Final = 3.5


@dataclass(frozen=True, slots=True)
class Replaced:
    """How many secrets of one kind were replaced."""

    kind: str
    count: int


class Redaction:
    """Replaces secrets by ``[redacted:kind]``; counts: how many of each kind so far."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()

    def replace(self, text: bytes) -> bytes:
        """The text without its secrets."""
        for shape in _SHAPES:
            if any(hint in text for hint in shape.hints):
                text = self._without(text, shape.kind, shape.pattern.finditer(text), shape.group)
        return self._without(text, "secret", _named(text), 1)

    def _without(
        self, text: bytes, kind: str, found: Iterable[re.Match[bytes]], group: int
    ) -> bytes:
        pieces: list[bytes] = []
        begin = 0
        for match in found:
            start, end = match.span(group)
            pieces += (text[begin:start], f"[redacted:{kind}]".encode())
            begin = end
            self.counts[kind] += 1
        if not pieces:
            return text
        return b"".join((*pieces, text[begin:]))


def _named(text: bytes) -> list[re.Match[bytes]]:
    """Random values behind names that tell, in order."""
    lower = text.lower()
    found: dict[int, re.Match[bytes]] = {}
    for name in _NAMES:
        at = lower.find(name)
        while at >= 0:
            end = at + len(name)
            match = _ASSIGNED.match(text, end)
            if match is None and (name == b"bearer" or _is_flag(lower, at)):
                match = _FOLLOWING.match(text, end)
            if match is not None and _tells(lower, at, name) and _is_random(match[1]):
                found[match.start(1)] = match
            at = lower.find(name, end)
    return [found[start] for start in sorted(found)]


def _is_flag(lower: bytes, at: int) -> bool:
    """Whether the word that ends at a place is an option of a command, whose value follows it."""
    if lower[at - 1 : at] not in (b"-", b"_"):
        return False
    return _FLAG.search(lower[max(0, at - _LONGEST_NAME) : at]) is not None


def _tells(lower: bytes, at: int, name: bytes) -> bool:
    if not name.startswith(b"key"):
        return True
    return lower[max(0, at - _LONGEST_NAME) : at].rstrip(b"_-").endswith(_KEYS_OF)


def _is_random(value: bytes) -> bool:
    """Whether a value behind a telling name is a secret, not a word, a path, a hash or an id."""
    if _UUID.fullmatch(value) or _HASH.match(value) or _CODE.fullmatch(value):
        return False
    if value[:1] in (b"/", b".", b"~"):
        return False
    if not (any(48 <= octet <= 57 for octet in value) and any(octet >= 65 for octet in value)):
        return False
    bare = value.strip(b"=")
    if bare.count(b".") + bare.count(b"/") + bare.count(b"_") + bare.count(b"-") > len(bare) // 6:
        return False
    return _bits(bare) >= _LEAST_BITS


def _bits(value: bytes) -> float:
    """Shannon entropy, bits a character."""
    total = len(value)
    return -sum(n / total * math.log2(n / total) for n in Counter(value).values())

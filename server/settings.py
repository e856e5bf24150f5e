"""The settings of one server: every knob of the product, typed, in one object.

Those that bound what clients may take are in :mod:`server.client_limits`; where values come from is
told in :mod:`server.setting_sources`.

``docs/configuration.md`` is written from the fields of :class:`Settings` by
:mod:`server.configuration_document`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final, Literal

import platformdirs
from pydantic import AfterValidator, BeforeValidator, Field
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)
from typing_extensions import override

from server.client_limits import ClientLimits
from server.setting_values import directory, host_name, origin, switch

ENVIRONMENT_PREFIX: Final = "SESSIONGRAPH_"
CONFIGURATION_FILE: Final = "sessiongraph.toml"

NOT_SETTINGS: Final = frozenset({"SESSIONGRAPH_RECORDINGS", "SESSIONGRAPH_TEST_PROFILE"})
"""Variables with our prefix that are no settings: they steer the project's own tests."""


def default_data_directory() -> Path:
    """The user's data directory for this program, as the platform has it."""
    return Path(platformdirs.user_data_dir("sessiongraph", appauthor=False))


class Settings(ClientLimits):
    """Every setting, its type, range and default.

    Made from what it is given alone; :func:`server.setting_sources.load_settings` looks elsewhere.
    """

    model_config = SettingsConfigDict(
        env_prefix=ENVIRONMENT_PREFIX, extra="forbid", frozen=True, hide_input_in_errors=True
    )

    data_dir: Annotated[Path, BeforeValidator(directory)] = Field(
        default_factory=default_data_directory,
        description="Directory that holds everything the server keeps. Created for its owner alone "
        "(mode 0700); one server at a time may hold it.",
    )
    host: str = Field(
        default="127.0.0.1",
        min_length=1,
        description="Address or name to listen on; any other than loopback needs `auth` to be on.",
    )
    port: int = Field(
        default=8642, ge=0, le=65535, description="TCP port to listen on; 0 picks a free one."
    )
    auth: Literal["on", "off"] = Field(
        default="on",
        description="Whether a token is needed to ask anything. Off is for loopback alone: every "
        "program of every user of this machine may then read and delete everything.",
    )
    allowed_hosts: tuple[Annotated[str, AfterValidator(host_name)], ...] = Field(
        default=(),
        description="Further names of this server, as clients have them in the `Host` header: "
        "`name`, `name:port` or `[v6]:port`. The loopback names and the address that it listens "
        "on, each with its port, are always among them.",
    )
    allowed_origins: tuple[Annotated[str, AfterValidator(origin)], ...] = Field(
        default=(),
        description="Origins whose web pages may ask this server, besides its own: "
        "`scheme://host[:port]`.",
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        default="info", description="The least severe message that is logged, to stderr."
    )
    log_format: Literal["auto", "text", "json"] = Field(
        default="auto",
        description="How messages are written: for people, or as one JSON object a line. `auto` "
        "writes for people on a terminal and JSON anywhere else.",
    )
    slow_operation_ms: int = Field(
        default=1000,
        ge=0,
        le=3_600_000,
        description="From which duration on a query or a mutation is logged at the level `info`; "
        "the others are at the level `debug` (ms).",
    )
    otel_endpoint: str = Field(
        default="",
        pattern=r"^(https?://.+)?$",
        description="Address of a collector of OpenTelemetry that takes OTLP over HTTP; spans go "
        "to `/v1/traces` below it. Needs the extra `otel`. Empty: tracing is off, unless "
        "OpenTelemetry's own `OTEL_EXPORTER_OTLP_ENDPOINT` is set.",
    )
    watch: tuple[Annotated[Path, BeforeValidator(directory)], ...] = Field(
        default=(),
        description="Folders and files of recorders that are followed while the server runs.",
    )
    idle_close_s: float = Field(
        default=300,
        ge=0.1,
        le=86_400,
        description="Time after which a session whose watched file does not grow is no longer live "
        "(seconds).",
    )
    rescan_s: float = Field(
        default=30,
        ge=1,
        le=86_400,
        description="Time between two looks at all watched files, for what the system did not tell "
        "of (seconds).",
    )
    redact: Annotated[bool, BeforeValidator(switch)] = Field(
        default=False,
        description="Whether secrets in recorders' files (keys of well-known services, and random "
        "text behind names such as `password`) are replaced before anything is stored: on or off.",
    )
    import_processes: int = Field(
        default=1,
        ge=0,
        le=64,
        description="Most processes that read large files of recorders for imports, so that the "
        "server itself has less to do meanwhile; each takes about 50 MB and ends when it was not "
        "needed for a minute. With 0 the server reads them itself (processes).",
    )
    page_max: int = Field(
        default=200, ge=1, le=10_000, description="Most items in one page of a list (items)."
    )
    read_window_max: int = Field(
        default=50,
        ge=0,
        le=10_000,
        description="Most neighbours on either side of an event window (events).",
    )
    lineage_page_max: int = Field(
        default=2000,
        ge=1,
        le=100_000,
        description="Most descendants in one page of a lineage (sessions).",
    )
    write_delay_ms: int = Field(
        default=50,
        ge=0,
        le=60_000,
        description="Time within which events that were only accepted are written to disk (ms).",
    )
    write_retry_ms: int = Field(
        default=500,
        ge=10,
        le=600_000,
        description="Time after which a write that the disk refused is tried again (ms).",
    )
    unwritten_max_bytes: int = Field(
        default=64 * 1024 * 1024,
        ge=1024,
        description="How much of one live session may wait for the disk: payloads, 1 KiB for each "
        "event and 32 bytes for each of its sources; appends beyond it fail until the disk takes "
        "some (bytes).",
    )
    live_idle_close_s: int = Field(
        default=86_400,
        ge=0,
        description="Time after which a live session that nobody appends to is closed; 0 keeps it "
        "live until it is closed or the server stops (seconds).",
    )
    follow_ring_events: int = Field(
        default=1024,
        ge=1,
        le=1_000_000,
        description="Recent events kept in memory for the followers of one session; a slower "
        "follower is fed from the store (events).",
    )
    corpus_backlog: int = Field(
        default=10_000,
        ge=1,
        le=10_000_000,
        description="Changes of the session list kept in memory for those who come back to follow "
        "it (changes).",
    )
    checkpoint_events: int = Field(
        default=200,
        ge=1,
        le=1_000_000,
        description="Events of one session after which the states of its projections are written, "
        "where any has changed; at the end of a turn they always are (events).",
    )
    checkpoint_ms: int = Field(
        default=5000,
        ge=10,
        le=3_600_000,
        description="Time after which changed states are written at the latest (ms).",
    )
    projection_sessions: int = Field(
        default=500,
        ge=1,
        le=1_000_000,
        description="Sessions whose projections stay in memory while nobody follows them; the "
        "others are opened from their checkpoints (sessions).",
    )
    max_references: int = Field(
        default=3, ge=1, description="Most sessions that one message may reference (sessions)."
    )
    max_reference_bytes: int = Field(
        default=65_536,
        ge=1,
        description="Most of one referenced session that a message carries: UTF-8 of its JSON "
        "object (bytes).",
    )
    candidate_limit: int = Field(
        default=50,
        ge=1,
        description="Most sessions offered while a mention is typed (sessions).",
    )
    search: Literal["on", "off"] = Field(
        default="on",
        description="Whether the server keeps a full-text index and answers searches. Off: no "
        "index is opened or written, and the two searches fail with SESSION_QUERY_SEARCH_DISABLED.",
    )
    snippet_chars: int = Field(
        default=240,
        ge=20,
        le=10_000,
        description="Most characters of the snippet that a search hit shows (code points).",
    )
    search_query_max: int = Field(
        default=16_384,
        ge=16,
        le=1_000_000,
        description="Longest text of a search; a longer one is SESSION_QUERY_INVALID_QUERY "
        "(characters).",
    )
    search_commit_ms: int = Field(
        default=2000,
        ge=10,
        le=600_000,
        description="Time within which new events are written to the index on disk; searches find "
        "them before (ms).",
    )
    search_wait_ms: int = Field(
        default=5000,
        ge=0,
        le=600_000,
        description="How long a search waits for the index to reach what was acknowledged before "
        "it; then it fails with SESSION_QUERY_INDEX_FAILED (ms).",
    )
    search_writer_bytes: int = Field(
        default=64 * 1024 * 1024,
        ge=16 * 1024 * 1024,
        le=4 * 1024 * 1024 * 1024,
        description="Memory for documents on their way into the index (bytes).",
    )
    search_processes: int = Field(
        default=1,
        ge=0,
        le=1,
        description="Processes that take texts apart for the index while there is much to index, "
        "so that the server can do something else; one is started when it is needed and kept until "
        "it was not needed for a minute. With 0 the server does it itself (processes).",
    )
    cursor_ttl_s: float = Field(
        default=300,
        ge=0.01,
        le=86_400,
        description="How long the cursors of a search hold, counted from the page that was first "
        "asked for one (seconds).",
    )
    search_walks_max: int = Field(
        default=64,
        ge=1,
        le=10_000,
        description="Most searches whose cursors hold at the same time; the oldest gives way "
        "(searches).",
    )
    search_walk_hits_max: int = Field(
        default=500_000,
        ge=1000,
        description="Most hits that all these searches together may remember; the oldest gives way "
        "(hits).",
    )
    shutdown_grace_s: float = Field(
        default=10.0,
        ge=1,
        le=600,
        description="Longest that a clean stop may take; requests that still run when four fifths "
        "of it have passed are cancelled (seconds).",
    )

    @classmethod
    @override
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return (init_settings,)

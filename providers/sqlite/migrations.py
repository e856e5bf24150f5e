"""The shape of the file, and how older files become newer ones.

Numbers do the work of composite keys, so that each question is one walk along one B-tree:

* an event's ``id`` is ``log << 32 | seq``: a log is one contiguous stretch of the events table;
* its ``lane`` is ``log << 22 | type << 2 | surface`` (0 log-only, 1 current, 2 shadowed): the
  events of one type and surface, in seq order, are one stretch of one index;
* its ``place`` is ``log << 32 | position``: the current surface is one stretch of another;
* a row with ``members`` stands for that many stream deltas, the first of which it is;
* ``citers`` answers "who cites this event" exactly for cited *ranges*: a range is cut into the
  dyadic blocks that cover it, at most two of each size, and an event lies in one block of each size
  (a segment tree on disk); ``node`` is ``log << 36 | level << 31 | block``;
* ``spans`` holds the lowest and highest time of every 256 and every 65,536 seqs of a log, so that a
  time range finds its stretches of a log without an index on time;
* ``carried`` has a row for each message of which something can be carried to another session, and
  ``carried_sums`` adds up those on the surface for every 4,096 seqs of a log;
* ``covers`` has id, working directory and title of each visible log as one line in one case;
* ``directories`` has a row for each visible log and each place that it is at or below.

Text that a recorder wrote may hold lone surrogates, which are not UTF-8; such columns are BLOBs of
UTF-8 with surrogates passed, which sort by code point like the contract's order by id.
"""

from __future__ import annotations

import sqlite3
from typing import Final

from sqlite_utils import Database, Migrations

from providers.sqlite import carried, covers, directories
from sessiongraph.errors import InvalidConfig

APPLICATION_ID: Final = 0x53475048
"""``SGPH``, in the header of every file of ours."""

FORMAT_VERSION: Final = 2
"""Raised by what an older program would do harm to; it refuses the file then. 2: the triggers that
keep the sums of what can be carried, which an older one would replace."""

migrations = Migrations("sessiongraph")


@migrations()
def m001_logs(db: Database) -> None:
    """Headers and what lists show of a session, with one index for each order and filter."""
    db.execute("""
        CREATE TABLE logs (
            log INTEGER PRIMARY KEY AUTOINCREMENT,
            state INTEGER NOT NULL,
            id BLOB NOT NULL,
            epoch INTEGER NOT NULL,
            version INTEGER NOT NULL,
            created_at INTEGER NOT NULL,
            cwd BLOB,
            parent BLOB,
            seed_length INTEGER,
            origin BLOB,
            delegation_depth INTEGER NOT NULL,
            agent_preset BLOB,
            source_kind TEXT NOT NULL,
            source_path BLOB,
            imported_at INTEGER,
            notes BLOB NOT NULL,
            extra BLOB NOT NULL,
            last_seq INTEGER NOT NULL,
            staged_by INTEGER,
            title BLOB,
            title_folded BLOB,
            title_seq INTEGER NOT NULL DEFAULT -1,
            prompted_at INTEGER,
            prompted_seq INTEGER NOT NULL DEFAULT -1,
            newest INTEGER NOT NULL GENERATED ALWAYS AS (-created_at) VIRTUAL,
            idle INTEGER NOT NULL GENERATED ALWAYS AS (
                coalesce(-prompted_at, 0x3fffffffffffffff)
            ) VIRTUAL
        ) STRICT
        """)
    db.execute("CREATE UNIQUE INDEX logs_by_id ON logs (id) WHERE state = 1")
    db.execute("CREATE INDEX logs_unsettled ON logs (state) WHERE state <> 1")
    db.execute("CREATE INDEX logs_by_creation ON logs (newest, id) WHERE state = 1")
    db.execute("CREATE INDEX logs_by_activity ON logs (idle, newest, id) WHERE state = 1")
    for column in ("cwd", "parent", "origin", "source_kind"):
        db.execute(f"CREATE INDEX logs_by_{column} ON logs ({column}, newest, id) WHERE state = 1")


@migrations()
def m002_events(db: Database) -> None:
    """Events with their placement, and the two derived tables that trace and narrow by time."""
    db.execute("""
        CREATE TABLE types (
            type INTEGER PRIMARY KEY,
            name BLOB NOT NULL UNIQUE
        ) STRICT
        """)
    db.execute("""
        CREATE TABLE events (
            id INTEGER PRIMARY KEY,
            lane INTEGER NOT NULL,
            time INTEGER NOT NULL,
            flags INTEGER NOT NULL,
            members INTEGER,
            place INTEGER,
            replaced_by INTEGER,
            op_start INTEGER,
            op_end INTEGER,
            sources BLOB,
            payload BLOB NOT NULL,
            stream BLOB
        ) STRICT
        """)
    db.execute("CREATE INDEX events_by_lane ON events (lane)")
    db.execute("""
        CREATE INDEX events_on_surface ON events (place)
        WHERE place IS NOT NULL AND replaced_by IS NULL
        """)
    db.execute("""
        CREATE INDEX events_removed ON events (replaced_by, place)
        WHERE replaced_by IS NOT NULL
        """)
    db.execute("""
        CREATE TABLE citers (
            node INTEGER NOT NULL,
            citer INTEGER NOT NULL,
            PRIMARY KEY (node, citer)
        ) STRICT, WITHOUT ROWID
        """)
    db.execute("""
        CREATE TABLE spans (
            log INTEGER NOT NULL,
            level INTEGER NOT NULL,
            block INTEGER NOT NULL,
            low INTEGER NOT NULL,
            high INTEGER NOT NULL,
            PRIMARY KEY (log, level, block)
        ) STRICT, WITHOUT ROWID
        """)
    db.execute("""
        CREATE TABLE citations (
            log INTEGER NOT NULL,
            seq INTEGER NOT NULL,
            ordinal INTEGER NOT NULL,
            target BLOB NOT NULL,
            label BLOB NOT NULL,
            captured_through_seq INTEGER,
            PRIMARY KEY (log, seq, ordinal)
        ) STRICT, WITHOUT ROWID
        """)
    db.execute("CREATE INDEX citations_of_target ON citations (target, log, seq)")


@migrations()
def m003_commits(db: Database) -> None:
    """The feed of commits, what was deleted, what was read from files, and the totals."""
    db.execute("""
        CREATE TABLE commits (
            position INTEGER PRIMARY KEY AUTOINCREMENT,
            kind TEXT NOT NULL,
            id BLOB NOT NULL,
            epoch INTEGER NOT NULL,
            first_seq INTEGER NOT NULL,
            last_seq INTEGER NOT NULL,
            relisted INTEGER NOT NULL
        ) STRICT
        """)
    db.execute("CREATE TABLE tombstones (id BLOB PRIMARY KEY) STRICT, WITHOUT ROWID")
    db.execute("""
        CREATE TABLE recordings (
            path BLOB PRIMARY KEY,
            id BLOB NOT NULL,
            size INTEGER NOT NULL,
            modified_ns INTEGER NOT NULL,
            offset INTEGER NOT NULL,
            line INTEGER NOT NULL,
            next_seq INTEGER NOT NULL,
            fingerprint TEXT NOT NULL
        ) STRICT, WITHOUT ROWID
        """)
    db.execute("""
        CREATE TABLE totals (
            one INTEGER PRIMARY KEY CHECK (one = 1),
            sessions INTEGER NOT NULL,
            events INTEGER NOT NULL
        ) STRICT
        """)
    db.execute("INSERT INTO totals VALUES (1, 0, 0)")


@migrations()
def m004_checkpoints(db: Database) -> None:
    """States of projections after one event of a log; read by log, so that a list costs a walk."""
    db.execute("""
        CREATE TABLE checkpoints (
            log INTEGER NOT NULL,
            key BLOB NOT NULL,
            epoch INTEGER NOT NULL,
            version INTEGER NOT NULL,
            seq INTEGER NOT NULL,
            changed_seq INTEGER NOT NULL,
            state BLOB NOT NULL,
            PRIMARY KEY (log, key)
        ) STRICT
        """)


@migrations()
def m005_carried(db: Database) -> None:
    """What can be carried from each message; a row is there only as long as its event."""
    db.execute("""
        CREATE TABLE carried (
            id INTEGER PRIMARY KEY,
            octets INTEGER NOT NULL,
            checkpoint INTEGER NOT NULL
        ) STRICT
        """)
    db.execute("CREATE INDEX carried_checkpoints ON carried (id) WHERE checkpoint = 1")
    carried.fill(db.conn)


@migrations()
def m006_covers(db: Database) -> None:
    """A line of text for each visible log, and an index of its trigrams, kept by triggers."""
    for statement in covers.TABLES:
        db.execute(statement)
    covers.fill(db.conn)


@migrations()
def m007_memory_of_readers(db: Database) -> None:
    """What a reader must know to go on where it stopped."""
    db.execute("ALTER TABLE recordings ADD COLUMN memory BLOB NOT NULL DEFAULT x''")


@migrations()
def m008_directories(db: Database) -> None:
    """The places that each visible log is at or below, and where removed logs were."""
    for statement in directories.TABLES:
        db.execute(statement)
    directories.fill(db.conn)
    db.execute("ALTER TABLE commits ADD COLUMN removed_cwd BLOB")


@migrations()
def m010_activity_of_few(db: Database) -> None:
    """Indexes for lists in the order of activity of the sessions that a filter names.

    Few sessions have a parent or an origin; the others are spared the upkeep.
    """
    for column in ("cwd", "source_kind", "parent", "origin"):
        known = f" AND {column} IS NOT NULL" if column in ("parent", "origin") else ""
        db.execute(
            f"CREATE INDEX logs_by_{column}_activity ON logs ({column}, idle, newest, id) "
            f"WHERE state = 1{known}"
        )


@migrations()
def m011_changes_of_headers(db: Database) -> None:
    """The commit that changed a header last, 0 when none has since its log was made."""
    db.execute("ALTER TABLE logs ADD COLUMN header_at INTEGER NOT NULL DEFAULT 0")


@migrations()
def m012_sums_of_checkpoints(db: Database) -> None:
    """The sums of what can be carried from the surface; older ones knew nothing of checkpoints.

    They follow from the rows by triggers, whoever writes, copies, shadows or removes them.
    """
    carried.begin_sums(db.conn)


def recognise(connection: sqlite3.Connection, path: str) -> bool:
    """Whether the file is ours; False for an empty one that may become ours.

    Raises:
        InvalidConfig: the file belongs to another program, or to a newer version of this one.
    """
    (application_id,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if application_id == APPLICATION_ID:
        if version > FORMAT_VERSION:
            raise InvalidConfig(
                f"{path} was written by a newer version (format {version}, this one reads "
                f"{FORMAT_VERSION}): update SessionGraph, or choose another --data-dir"
            )
        return True
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    if application_id or version or tables:
        raise InvalidConfig(
            f"{path} is a database of another program and was left alone: choose another --data-dir"
        )
    return False


def require_newest_shape(connection: sqlite3.Connection, path: str) -> None:
    """Check that nothing is to be migrated, for whoever may not do so.

    Raises:
        InvalidConfig: the file has an older shape.
    """
    done = {name for (name,) in connection.execute("SELECT name FROM _sqlite_migrations")}
    if not done.issuperset(migration.name for migration in migrations._migrations):
        raise InvalidConfig(
            f"{path} was written by an older version and is only read here: start `sessiongraph "
            "serve` or an import over it once, which brings it up to date"
        )


def migrate(connection: sqlite3.Connection) -> None:
    """Bring the file to the newest shape; each step in one transaction with its record.

    The file is marked as ours first, so that a crash between two steps does not make it foreign.
    """
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    migrations.apply(Database(connection, execute_plugins=False))
    connection.execute(f"PRAGMA user_version = {FORMAT_VERSION}")

"""What every log store must do, whatever it is made of.

A provider passes when it answers like :class:`tests.plain_store.PlainLogStore`, which was fed the
same entries. Handles and the values of epochs and positions are its own business; that epochs
change and positions grow is not. ``test_log_store.py`` runs this suite on every provider.
"""

from __future__ import annotations

from tests.contracts.log_appends import AppendsContract
from tests.contracts.log_feed import FeedContract
from tests.contracts.log_reads import LogReadsContract
from tests.contracts.log_recordings import RecordingsContract
from tests.contracts.log_reopening import ReopeningContract
from tests.contracts.log_staging import StagingContract
from tests.contracts.session_lists import SessionListsContract


class LogStoreContract(
    AppendsContract,
    LogReadsContract,
    SessionListsContract,
    StagingContract,
    RecordingsContract,
    FeedContract,
    ReopeningContract,
):
    """The suite; a subclass provides the fixture ``stores``, and ``durable_stores`` of those that
    keep what they are given.
    """

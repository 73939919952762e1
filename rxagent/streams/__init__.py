"""The Rx words that this project adds: the engine room.

A run owns one worker thread, on which its flow is straight blocking code, and a mailbox for what other threads want
done there. Foreign completions go into the inbox of the wait that awaits them; nothing of a run ever runs on the
thread that happened to complete something. See each file for one operator.
"""

from .as_single import as_single, is_deferred, settle
from .blocking import Blocking, pull
from .branch import Branch
from .dropped import drop, guarded, set_on_dropped_error
from .event_stream import EventStream
from .gather import Gather
from .ledger import Ledger
from .mailbox import Mailbox
from .outlet import Outlet
from .parallel import Parallel
from .scope import CancelScope, Stopped
from .single import Single, SingleEmitter
from .work import Emit, Work

__all__ = [
    "Blocking",
    "Branch",
    "CancelScope",
    "Emit",
    "EventStream",
    "Gather",
    "Ledger",
    "Mailbox",
    "Outlet",
    "Parallel",
    "Single",
    "SingleEmitter",
    "Stopped",
    "Work",
    "as_single",
    "drop",
    "guarded",
    "is_deferred",
    "pull",
    "set_on_dropped_error",
    "settle",
]

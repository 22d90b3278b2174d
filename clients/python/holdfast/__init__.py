"""Durable jobs, through a Holdfast server.

Client enqueues jobs, waits for them and changes them. Worker runs them. Both
need nothing but the standard library, and speak the HTTP API of the server
(see docs/server.md and docs/workers.md).
"""

from .client import Client, Job
from .durable import Child, Context
from .errors import (
    Cancelled,
    Conflict,
    Forbidden,
    HoldfastError,
    Invalid,
    JobEnded,
    JournalFull,
    LeaseLost,
    MessageInvalid,
    NotAllEnqueued,
    NotFound,
    Permanent,
    Snooze,
    StepFailed,
    Unauthenticated,
    Unavailable,
    WaitTimeout,
    WorkerGone,
)
from .worker import Run, Worker

__all__ = [
    "Cancelled",
    "Child",
    "Client",
    "Conflict",
    "Context",
    "Forbidden",
    "HoldfastError",
    "Invalid",
    "Job",
    "JobEnded",
    "JournalFull",
    "LeaseLost",
    "MessageInvalid",
    "NotAllEnqueued",
    "NotFound",
    "Permanent",
    "Run",
    "Snooze",
    "StepFailed",
    "Unauthenticated",
    "Unavailable",
    "WaitTimeout",
    "Worker",
    "WorkerGone",
]

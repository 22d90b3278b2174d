"""Durable jobs, through a Holdfast server.

Client enqueues jobs, waits for them and changes them. Worker runs them. Both
need nothing but the standard library, and speak the HTTP API of the server
(see docs/server.md and docs/workers.md).
"""

from .client import Client, Job
from .errors import (
    Cancelled,
    Conflict,
    Forbidden,
    HoldfastError,
    Invalid,
    JobEnded,
    LeaseLost,
    NotAllEnqueued,
    NotFound,
    Permanent,
    Snooze,
    Unavailable,
    WorkerGone,
)
from .worker import Run, Worker

__all__ = [
    "Cancelled",
    "Client",
    "Conflict",
    "Forbidden",
    "HoldfastError",
    "Invalid",
    "Job",
    "JobEnded",
    "LeaseLost",
    "NotAllEnqueued",
    "NotFound",
    "Permanent",
    "Run",
    "Snooze",
    "Unavailable",
    "Worker",
    "WorkerGone",
]

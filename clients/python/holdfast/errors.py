"""What goes wrong, as types."""

from __future__ import annotations

import datetime
import math


class HoldfastError(Exception):
    """A request that was refused, or has failed.

    status is that of HTTP, 0 if no server has answered; code is the stable
    code of the problem, such as "not_found"; detail is for people.
    """

    def __init__(self, detail: str, *, status: int = 0, code: str = "", errors: list | None = None) -> None:
        super().__init__(detail)
        self.detail = detail
        self.status = status
        self.code = code
        self.errors = errors or []


class Invalid(HoldfastError):
    """The request cannot be: an argument is wrong."""


class Forbidden(HoldfastError):
    """The credential is missing, not valid, or may not do this."""


class Unauthenticated(Forbidden):
    """The credential is missing, or not valid, as may be for a moment while it is replaced."""


class NotFound(HoldfastError):
    """There is no such thing, or not for this credential."""


class Conflict(HoldfastError):
    """Something is in a state in which this cannot be done."""


class LeaseLost(Conflict):
    """The run is not the job's any more: it runs elsewhere, or has ended."""


class JournalFull(Conflict):
    """The job remembers all it may: split the work into children."""


class WorkerGone(HoldfastError):
    """The worker was declared dead, or has left."""


class Unavailable(HoldfastError):
    """No server has answered, or none could: try again later."""


class JobEnded(Exception):
    """A job that was waited for has failed, or was cancelled."""

    def __init__(self, job_id: str, state: str, reason: str | None, error: str | None) -> None:
        super().__init__(f"job {job_id} is {state}: {error or reason or 'no reason is known'}")
        self.job_id = job_id
        self.state = state
        self.reason = reason
        self.error = error


class StepFailed(Exception):
    """A step has failed, the same when it happens and when it is replayed.

    message is the text of its error, kind the type; attempts is how often it
    was tried; permanent says that trying again does not help.
    """

    def __init__(self, step: str, message: str, kind: str, attempts: int, permanent: bool) -> None:
        super().__init__(f"step {step}: {message}")
        self.step = step
        self.message = message
        self.kind = kind
        self.attempts = attempts
        self.permanent = permanent


class WaitTimeout(Exception):
    """What a durable function has waited for did not come in time."""


class MessageInvalid(Exception):
    """A signal that was received could not be decoded."""

    def __init__(self, signal: str, message: int, problem: str) -> None:
        super().__init__(f"signal {signal} (message {message}) does not decode: {problem}")
        self.signal = signal
        self.message = message
        self.problem = problem


class NotAllEnqueued(Exception):
    """Some jobs of a batch could not be stored; the others were. jobs are all of them."""

    def __init__(self, jobs: list) -> None:
        refused = [job for job in jobs if job.code]
        super().__init__(f"{len(refused)} of {len(jobs)} jobs were not stored; the first: {refused[0].error}")
        self.jobs = jobs


class Permanent(Exception):
    """Raised by a handler: the job has failed, and no other attempt helps."""


class Cancelled(Exception):
    """Raised by a handler, or by Run.check: the job is to be cancelled."""


class Snooze(Exception):
    """Raised by a handler: the job runs again later, and this attempt does not count.

    after is in seconds (at once, if it is not positive), or until says when.
    """

    def __init__(self, after: float | None = None, *, until: datetime.datetime | None = None, reason: str = "") -> None:
        super().__init__(reason)
        if (after is None) == (until is None):
            raise ValueError("a snooze has either after or until")
        if after is not None and not math.isfinite(after):
            raise ValueError("after is no number of seconds")
        if until is not None and until.tzinfo is None:
            raise ValueError("until has no zone; use datetime.datetime.now(datetime.UTC)")
        self.after = None if after is None else max(after, 0.0)
        self.until = until
        self.reason = reason


def of_problem(status: int, problem: dict) -> HoldfastError:
    """Return the error of a problem document."""
    code = str(problem.get("code", ""))
    detail = str(problem.get("detail") or problem.get("title") or f"the server answered {status}")
    if code == "worker_gone":
        kind: type[HoldfastError] = WorkerGone
    elif code == "lease_lost":
        kind = LeaseLost
    elif code == "journal_full":
        kind = JournalFull
    elif status == 401:
        kind = Unauthenticated
    elif status == 403:
        kind = Forbidden
    elif status == 404:
        kind = NotFound
    elif status in (409, 412):
        kind = Conflict
    elif status == 429 or status >= 500:
        kind = Unavailable
    else:
        kind = Invalid
    return kind(detail, status=status, code=code, errors=problem.get("errors"))

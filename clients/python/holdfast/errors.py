"""What goes wrong, as types."""

from __future__ import annotations

import datetime
import math
import re
from typing import Any

from . import durations
from .durations import Duration

_MOST_TOLD = 5  # of what is wrong with a request; errors has all


class HoldfastError(Exception):
    """A request that was refused, or has failed.

    status is that of HTTP, 0 if no server has answered; code is the stable
    code of the problem, such as "not_found"; detail is for people; errors says
    what is wrong where, and the text of the error has the first of them.
    """

    def __init__(self, detail: str, *, status: int = 0, code: str = "", errors: list | None = None) -> None:
        super().__init__(_told(detail, errors))
        self.detail = detail
        self.status = status
        self.code = code
        self.errors = errors or []


def _told(detail: str, errors: Any) -> str:
    """Return a detail with what is wrong where, as far as it does not say that itself."""
    known = [one for one in errors if isinstance(one, dict)] if isinstance(errors, list) else []
    parts = [
        f"{one['pointer']}: {one['detail']}" if one.get("pointer") else str(one["detail"])
        for one in known
        if one.get("detail") and str(one["detail"]) not in detail
    ]
    if not parts:
        return detail
    more = [f"and {len(parts) - _MOST_TOLD} more"] if len(parts) > _MOST_TOLD else []
    return f"{detail}: {'; '.join(parts[:_MOST_TOLD] + more)}"


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
    """No server has answered, or none could: try again later.

    is_foreign says that something has answered that is not Holdfast: it stands
    before the server, or the URL is wrong.
    """

    is_foreign = False


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

    It does after a duration (at once, if that is not positive), or until says when.
    """

    def __init__(
        self, after: Duration | None = None, *, until: datetime.datetime | None = None, reason: str = ""
    ) -> None:
        super().__init__(reason)
        if (after is None) == (until is None):
            raise ValueError("a snooze has either after or until")
        if after is not None and not math.isfinite(after := durations.seconds(after, "after")):
            raise ValueError("after is no number of seconds")
        if until is not None and until.tzinfo is None:
            raise ValueError("until has no zone; use datetime.datetime.now(datetime.UTC)")
        if after is not None:
            durations.text(max(after, 0.0), "after")  # it may be longer than servers count
        self.after = None if after is None else max(after, 0.0)
        self.until = until
        self.reason = reason


# The code of a problem. What other programs call a code is a number, or is written otherwise.
_CODE = re.compile(r"[a-z]+(_[a-z]+)*")


def of_problem(
    status: int, problem: dict, *, has_token: bool = True, at: str = "there", to: str | None = None
) -> HoldfastError:
    """Return the error of a problem document, which answers a request with a token, or without.

    Holdfast says a code with each. Without one the answer is that of what stands
    before the server, and says nothing about the request: as if there were no
    answer. A 401 is about the credential in any case: who is refused by a gateway
    is to be told, and the worker that has another token soon goes on. What a
    proxy takes for too large would be so each time, and would keep all outcomes
    that are sent behind it. at is where it was answered, and to where that has
    sent the request.
    """
    said = problem.get("code")
    code = said if isinstance(said, str) and _CODE.fullmatch(said) else ""
    if not code and status not in (401, 413, 414, 429, 431) and status < 500:
        return foreign(status, at, f"it answers {status}, and sends to {to}" if to else f"it answers {status}")
    detail = str(problem.get("detail") or problem.get("title") or f"the server answered {status}")
    if code == "worker_gone":
        kind: type[HoldfastError] = WorkerGone
    elif code == "lease_lost":
        kind = LeaseLost
    elif code == "journal_full":
        kind = JournalFull
    elif status == 401:
        kind = Unauthenticated
        if not has_token:
            detail = f"no token was given: HOLDFAST_TOKEN is not set, or the token that was passed is empty ({detail})"
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


def foreign(status: int, at: str, why: str) -> Unavailable:
    """Return the error of an answer that is not one of Holdfast."""
    error = Unavailable(f"what answers {at} is not Holdfast: {why}", status=status)
    error.is_foreign = True
    return error

"""Durable functions: what they do is remembered in the journal of their job.

A function runs from its beginning each time, on whichever worker. Operations
that the journal knows return what they returned then; the first one that it
does not know acts. While it waits for long the function is parked: it ends
here, without a slot, and is called again when what it waits for is there.
"""

from __future__ import annotations

import datetime
import json
import random
import re
import threading
import time
import unicodedata
import uuid
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from . import durations
from .client import job_body
from .durations import Duration
from .errors import (
    Cancelled,
    Conflict,
    HoldfastError,
    JobEnded,
    JournalFull,
    LeaseLost,
    MessageInvalid,
    NotFound,
    Permanent,
    Snooze,
    StepFailed,
    Unavailable,
    WaitTimeout,
    WorkerGone,
)
from .firewall import Watch
from .memory import STEP, Contradiction, Memory

if TYPE_CHECKING:
    from .worker import Run

_LINGER = 0.05  # seconds: parking and coming back take about as long
_MOST_ENTRIES = 100  # of one request
_MOST_BYTES = 2 << 20
_LARGEST = 1 << 20  # of one value, in bytes
_LONGEST_MESSAGE = 1 << 10
_LONGEST_NAME = 200  # in bytes
_SENDS = "signal "  # what the name of a step begins with that sends a signal
_DEEPEST = 200  # how deep arrays and objects may be nested, as the server has it
_NUL = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")
_TEXT = re.compile(r'"(?:[^"\\]|\\.)*"')
_JOINERS = "\u200c\u200d"  # they are invisible, and part of some scripts
_SHOWN = 100  # characters of a name that is wrong

Ready = Callable[[], dict[str, Any] | None]


class Leave(BaseException):
    """Ends the call of a function that is parked, or over here. Let it go through."""

    def __init__(self, outcome: dict[str, Any] | None) -> None:
        super().__init__("the function leaves this worker: let this go through")
        self.outcome = outcome  # None: there is nothing to say


class Child:
    """A job that a function has started."""

    def __init__(self, context: Context, job: str, kind: str, path: str) -> None:
        self._context = context
        self.id = job
        self.kind = kind
        self._path = path

    def wait(self) -> Any:
        """Wait for its end, and return its result; JobEnded if it has failed or was cancelled."""
        return self._context._wait_child(self, self._path)


class Context:
    """The run of a durable function: its operations are remembered.

    It is used by the thread of the function alone, and not in the function of
    a step.
    """

    def __init__(self, run: Run) -> None:
        self._run = run
        self._memory = Memory(run.id)
        self._place = 0
        self._thread = threading.get_ident()
        self._doing = ""
        self._left: Leave | None = None
        self._broken: Exception | None = None
        self._offset = 0.0  # of the server's clock to the one here, in seconds
        self._fresh = not run.job["durable"] and run.job["lease_number"] == "1"
        self._unread = True
        if run.job["claimed_at"]:
            self._set_clock(run.job["claimed_at"])
        if run.job["cancel_requested"]:
            run.stop(Cancelled(run.job["cancel_reason"] or ""))
        self.job = run.job
        self.id = run.id
        self.kind = run.kind
        self.queue = run.queue
        self.args = run.args
        self.attempt = run.attempt
        self.max_attempts = run.max_attempts

    # The operations.

    def step(
        self,
        name: str,
        function: Callable[..., Any],
        *args: Any,
        attempts: int = 1,
        backoff: Duration = 1.0,
        longest_backoff: Duration = 3600.0,
        retry_if: Callable[[Exception], bool] | None = None,
    ) -> Any:
        """Call a function, and remember what it returns, which is JSON.

        Once that is stored it is not called again; until then it may be called
        more than once. A failure is a StepFailed. attempts is how often it is
        tried; backoff is the first pause, and doubles with each. After Permanent
        it is not tried again. A failure that the function catches is remembered;
        one that it lets through fails the attempt of the job, and the step is
        tried again with it.
        """
        first, longest = durations.seconds(backoff, "backoff"), durations.seconds(longest_backoff, "longest_backoff")
        with self._operation(f"step {name!r}"):
            check_name(name, "a step")
            path, entries = self._enter(name, STEP)
            attempt, until = 1, None
            for entry in entries:
                if entry["kind"] == "step":
                    return entry["data"]
                if entry["kind"] == "step failed":
                    raise _step_failed(entry["data"])
                attempt, until = entry["data"]["failure"]["attempts"] + 1, _time(entry["data"]["until"])
            self._may_begin()
            while True:
                if until is not None:
                    self._until(until, f"step {name}, attempt {attempt}")
                self._flush()
                began = time.monotonic()
                try:
                    result = _checked(function(*args), f"the result of step {name}")
                except Exception as error:
                    self._interrupted(error)
                    permanent = isinstance(error, Permanent)
                    again = attempt < attempts and not permanent and (retry_if is None or retry_if(error))
                    failure = _failure(name, error, attempt, permanent and not again)
                    took = _took(began)
                    if not again:
                        self._memory.record("step failed", path, name, data=failure, took=took)
                        raise _step_failed(failure) from error
                    pause = min(first * 2 ** min(attempt - 1, 60), longest) * random.uniform(0.8, 1.2)
                    until = self._now() + datetime.timedelta(seconds=max(pause, 0.0))
                    retry = {"failure": failure, "until": _text(until)}
                    self._memory.record("step retry", path, name, data=retry, took=took)
                    self._flush()
                    attempt += 1
                    continue
                self._memory.record("step", path, name, data=result, took=_took(began))
                self._flush()
                # As on every replay: what JSON makes of it.
                return json.loads(json.dumps(result))

    def sleep(self, seconds: Duration) -> None:
        """Sleep, without a slot if it is long."""
        left = max(durations.seconds(seconds, "seconds"), 0.0)
        self._sleep(lambda: self._now() + datetime.timedelta(seconds=left))

    def sleep_until(self, at: datetime.datetime) -> None:
        """Sleep until a time, which has a zone."""
        if at.tzinfo is None:
            raise ValueError("at has no zone; use datetime.datetime.now(datetime.UTC)")
        self._sleep(lambda: at)

    def _sleep(self, end: Callable[[], datetime.datetime]) -> None:
        with self._operation("sleep"):
            path, entries = self._enter("", ("timer",))
            if entries:
                until = _time(entries[0]["data"]["until"])
                if self._memory.is_past(self._place):
                    return  # the function has gone on from it, whatever the clock says
            else:
                self._may_begin()
                until = end()
                self._memory.record("timer", path, data={"until": _text(until)})
            self._until(until, f"timer until {_text(until)}")

    def wait_signal(self, name: str, *, timeout: Duration | None = None, decode: Callable[[Any], Any] | None = None) -> Any:
        """Wait for the next signal of a name, and return its payload.

        After timeout it is a WaitTimeout. decode makes something else of the
        payload; if it raises, the signal is received all the same, and the error
        is MessageInvalid.
        """
        limit = None if timeout is None else durations.seconds(timeout, "timeout")
        with self._operation(f"the wait for signal {name!r}"):
            check_name(name, "a signal")
            path, entries = self._enter(name, ("received", "timer", "timeout"))
            until = None
            for entry in entries:
                if entry["kind"] == "received":
                    message = self._memory.message(entry["message"])
                    if message is None:
                        raise HoldfastError(f"message {entry['message']} is missing, which entry {entry['seq']} has received")
                    if entry["data"]:
                        raise MessageInvalid(name, entry["message"], entry["data"]["problem"])
                    return self._decoded(name, message, decode)[0]
                if entry["kind"] == "timeout":
                    raise WaitTimeout(f"no signal {name!r} has come in time")
                until = _time(entry["data"]["until"])
            self._look()
            if self._memory.signal(name) is None:
                self._may_begin()
                if limit is not None and until is None:
                    until = self._now() + datetime.timedelta(seconds=max(limit, 0.0))
                    self._memory.record("timer", path, name, data={"until": _text(until)})
            message = self._await(
                lambda: self._memory.signal(name), until, {"messages": ["signal"]}, f"signal {name}"
            )
            if message is None:
                self._memory.record("timeout", path, name)
                raise WaitTimeout(f"no signal {name!r} has come in time")
            value, problem = self._decoded(name, message, decode, first=True)
            if problem:
                self._memory.record("received", path, name, message=message["seq"], data={"problem": problem})
                raise MessageInvalid(name, message["seq"], problem)
            self._memory.record("received", path, name, message=message["seq"])
            return value

    def _decoded(
        self, name: str, message: dict[str, Any], decode: Callable[[Any], Any] | None, *, first: bool = False
    ) -> tuple[Any, str]:
        if decode is None:
            return message["data"], ""
        try:
            return decode(message["data"]), ""
        except Exception as error:
            problem = plain(words(error), _LONGEST_MESSAGE) or "?"
            if first:
                return None, problem
            raise MessageInvalid(name, message["seq"], problem) from error

    def child(self, kind: str, args: Any = None, *, on_close: str = "", **options: Any) -> Child:
        """Start a job as a child, once, and return it; its wait returns its result.

        on_close is what becomes of it if this job ends first: cancel, abandon or
        terminate. options are those of Client.enqueue, but key, id and unique.
        """
        if wrong := {"id", "key", "unique", "after", "follow_ups"} & set(options):
            raise TypeError(f"a child has no option {wrong.pop()}")
        with self._operation(f"child {kind!r}"):
            check_name(kind, "a child")
            path, entries = self._enter(kind, ("child", "received"))
            for entry in entries:
                if entry["kind"] == "child":
                    return Child(self, entry["data"]["id"], kind, path)
            self._may_begin()
            self._flush()
            job = job_body(kind, _checked(args, f"the args of child {kind}"), options)
            del job["id"]  # the journal gives it one
            entry = self._memory.record("child", path, kind, job=job)
            if on_close:
                entry["on_close"] = on_close
            made = self._flush()
            return Child(self, made[-1]["data"]["id"], kind, path)

    def call(self, kind: str, args: Any = None, **options: Any) -> Any:
        """Start a child, and wait for its result."""
        return self.child(kind, args, **options).wait()

    def _wait_child(self, child: Child, path: str) -> Any:
        with self._operation(f"the wait for child {child.id}"):
            message = self._memory.settled(path)
            if message is None:
                self._look()
                what = f"child {child.id} ({child.kind})"
                message = self._await(lambda: self._memory.answer(child.id), None, {"messages": ["child"]}, what)
                assert message is not None  # there is no time limit
                if message["state"] != "completed":
                    self._memory.record("received", path, message=message["seq"])
            if message["state"] != "completed":
                raise JobEnded(child.id, message["state"], message["reason"], message["error"])
            return message["data"]

    def signal(self, job: str, name: str, payload: Any = None) -> None:
        """Send a signal to another job, once. If that cannot be, the error is a StepFailed."""
        with self._operation(f"signal {name!r}"):
            check_name(name, "a signal that is sent", _LONGEST_NAME - len(_SENDS))
            key = f"run {self.id} {self._memory.uuid()}"
            step = _SENDS + name
            path, entries = self._enter(step, STEP)
            for entry in entries:
                if entry["kind"] == "step":
                    return
                if entry["kind"] == "step failed":
                    raise _step_failed(entry["data"])
            self._may_begin()
            self._flush()
            signal = {"job": job, "name": name, "dedup_key": key}
            if payload is not None:
                signal["payload"] = _checked(payload, f"the payload of signal {name}")
            self._memory.record("step", path, step, signal=signal)
            try:
                self._flush(refusable=True)
            except (NotFound, Conflict) as error:
                if isinstance(error, JournalFull):
                    raise  # it is not about the signal, and no entry can be kept of it
                failure = _failure(step, error, 1, False)
                self._memory.record("step failed", path, step, data=failure)
                raise _step_failed(failure) from error

    def publish(self, key: str, value: Any) -> None:
        """Set the value of a key that clients can read."""
        self._publish("published", "a key", key, value)

    def append(self, stream: str, value: Any) -> None:
        """Add an item to a stream that clients can read."""
        self._publish("streamed", "a stream", stream, value)

    def _publish(self, kind: str, what: str, name: str, value: Any) -> None:
        with self._operation(f"{kind} {name!r}"):
            check_name(name, what)
            path, entries = self._enter(name, (kind,))
            if entries:
                return
            self._may_begin()
            self._memory.record(kind, path, name, data=_checked(value, f"the value of {name}"))
            self._flush()

    def now(self) -> datetime.datetime:
        """Return the time, the same on every replay."""
        with self._operation("now"):
            path, entries = self._enter("", ("value",))
            if entries:
                return _time(entries[0]["data"])
            at = self._now()
            self._memory.record("value", path, data=_text(at))
            return at

    def uuid(self) -> uuid.UUID:
        """Return a UUID, the same on every replay."""
        with self._operation("uuid"):
            return self._memory.uuid()

    def patched(self, change: str) -> bool:
        """Whether the run takes part in a change of its code: it had not gone past this place before."""
        with self._operation(f"patched {change!r}"):
            check_name(change, "a change")
            known = self._memory.patches.get(change)
            if known is not None:
                return known
            takes_part = self._memory.may_take_part(self._place)
            self._memory.patches[change] = takes_part
            if takes_part:
                self._memory.record("patched", "", change)
            return takes_part

    def idempotency_key(self, step: str) -> str:
        """Name a step of this run for outside systems: the same on every attempt."""
        times = f".{self._memory.times}" if self._memory.times else ""
        return f"{self.id}{times}/{step}"

    # What is no operation, and may be used in the function of a step.

    @property
    def is_stopped(self) -> bool:
        """Whether the function is to end: see Run.check."""
        return self._run.is_stopped

    def check(self) -> None:
        """Raise what stops the run, if something does."""
        self._run.check()

    def progress(self, percent: float = 0.0, message: str = "") -> None:
        """Say how far the run is, for people."""
        self._run.progress(percent, message)

    # How operations begin, wait and are stored.

    def _operation(self, what: str) -> _Operation:
        return _Operation(self, what)

    def _begin(self, what: str) -> None:
        if threading.get_ident() != self._thread:
            raise RuntimeError(f"{what} was called in another thread than that of the function")
        if self._left is not None:
            raise self._left
        if self._broken is not None:
            raise self._broken
        if self._doing:
            self._broken = RuntimeError(f"{what} was called in {self._doing}; operations do not nest")
            raise self._broken
        if self._run.lost:
            raise self._leave(None)
        if not self._run.is_stopped and self._run.is_to_pause:
            raise self._leave({"do": "release"})
        if not self._fresh:
            self._read()
        self._doing = what

    def _enter(self, name: str, kinds: tuple[str, ...]) -> tuple[str, list[dict[str, Any]]]:
        """Take the next place, and return what the journal has there."""
        self._place += 1
        path = str(self._place)
        return path, self._memory.at(path, name, kinds)

    def _may_begin(self) -> None:
        """Raise what ends the run: nothing that is new begins any more."""
        self._run.check()

    def _interrupted(self, error: Exception) -> None:
        """Look whether the error of a step is its own."""
        if self._broken is not None:
            raise self._broken
        if self._run.lost:
            raise self._leave(None)
        if self._run.is_stopped:
            self._run.check()
        if isinstance(error, (Snooze, Cancelled)):
            self._broken = RuntimeError(f"the function of a step has raised {type(error).__name__}, which only the function of the job may")
            raise self._broken from error

    def _leave(self, outcome: dict[str, Any] | None) -> Leave:
        self._left = Leave(outcome)
        return self._left

    def _until(self, at: datetime.datetime, what: str) -> None:
        self._await(lambda: None, at, {}, what)

    def _await(self, ready: Ready, until: datetime.datetime | None, wakes: dict[str, Any], what: str) -> dict[str, Any] | None:
        """Wait until something is ready, or a time, and return it; None: the time has come."""
        while True:
            found = ready()
            if found is not None:
                return found
            left = None if until is None else (until - self._now()).total_seconds()
            if left is not None and left <= 0:
                return None
            self._may_begin()
            if left is None or left > _LINGER:
                park: dict[str, Any] = {"do": "park", "seen": self._memory.seen, "waits_for": [what], **wakes}
                if until is not None:
                    park["until"] = _text(until)
                raise self._leave(park)
            time.sleep(left)
            if wakes:
                self._unread = True
                self._look()

    def _set_clock(self, now: str) -> None:
        self._offset = (_time(now) - datetime.datetime.now(datetime.UTC)).total_seconds()

    def _now(self) -> datetime.datetime:
        return datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=self._offset)

    def _read(self) -> None:
        """Read the journal and the inbox, once."""
        self._fresh, self._unread = True, False
        self._pages()

    def _look(self) -> None:
        """Read the inbox, if it was not."""
        if self._unread:
            self._unread = False
            self._pages()

    def _pages(self) -> None:
        more = True
        while more:
            query = {"after": str(self._memory.last), "seen": str(self._memory.seen)}
            page = self._request(lambda _: self._run.request("GET", "journal", query=query))
            self._memory.read(page)
            self._set_clock(page["now"])
            more = page["more"]

    def _flush(self, *, refusable: bool = False) -> list[dict[str, Any]]:
        """Store what is pending, and return what the server has made of it."""
        made: list[dict[str, Any]] = []
        while self._memory.pending:
            try:
                made = self._store(_portion(self._memory.pending))
            except HoldfastError as error:
                self._memory.pending.clear()
                if refusable and isinstance(error, (NotFound, Conflict)) and not isinstance(error, JournalFull):
                    raise
                self._broken = _refusal(error)
                if self._broken is error:
                    raise
                raise self._broken from error
        return made

    def _store(self, entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Store the first entries that are pending, and return what the server has made of them."""
        watch = Watch(lambda: self._run.answered_beats)

        def append(again: bool) -> Any:
            try:
                return self._run.request("POST", "journal", {"after": self._memory.last, "entries": entries, "repeat": again})
            except Unavailable as error:
                if error.is_foreign and watch.is_about():
                    raise _TurnedAway(str(error), status=error.status) from error
                raise

        answer = self._request(append)
        self._memory.pending = self._memory.pending[len(entries) :]
        self._memory.last = answer["last"]
        self._set_clock(answer["now"])
        made: list[dict[str, Any]] = answer["entries"]
        return made

    def _request(self, make: Callable[[bool], Any]) -> Any:
        try:
            return self._run.repeat(make)
        except Unavailable as error:  # the worker ends
            self._run.lost = True
            raise self._leave(None) from error
        except (LeaseLost, WorkerGone) as error:
            self._run.stop(Cancelled("the run was lost"), lost=True)
            raise self._leave(None) from error
        except NotFound as error:
            if error.errors:  # it is about something in the request
                raise
            self._run.stop(Cancelled("the run was lost"), lost=True)
            raise self._leave(None) from error

    # How the function ends.

    def outcome(self, function: Callable[[Context, Any], Any]) -> dict[str, Any] | None:
        """Call the function, and return its outcome; None: the run is lost."""
        try:
            result = function(self, self.args)
        except Leave as left:
            return self._outcome_left(left)
        except BaseException as error:
            if self._left is not None:
                return self._outcome_left(self._left)
            if self._broken is not None and error is not self._broken:
                raise self._broken from error
            if self._broken is None and self._keeps(error):
                error.journal = self._rest()  # type: ignore[attr-defined]
            raise
        if self._left is not None:
            return self._outcome_left(self._left)
        if self._broken is not None:
            raise self._broken
        if not self._fresh:  # it has come to no operation: perhaps it had some before
            try:
                self._read()
            except Leave as left:
                return self._outcome_left(left)
        if left := self._memory.unvisited():
            return {"do": "hold", "reason": left}
        try:
            checked_size(result, "the result")
        except Permanent as error:  # the job ends with it
            error.journal = self._rest()  # type: ignore[attr-defined]
            raise
        return self._with_rest({"do": "complete", "result": result})

    def _outcome_left(self, left: Leave) -> dict[str, Any] | None:
        if left.outcome is None or left.outcome["do"] == "hold":
            return left.outcome
        return self._with_rest(left.outcome)

    def _with_rest(self, outcome: dict[str, Any]) -> dict[str, Any]:
        if rest := self._rest():
            return {**outcome, "journal": rest}
        return outcome

    def _keeps(self, error: BaseException) -> bool:
        """Whether the job ends with an error: what was decided is stored with that."""
        return isinstance(error, (Permanent, Cancelled)) or (isinstance(error, StepFailed) and error.permanent)

    def _rest(self) -> dict[str, Any] | None:
        """Return what is stored together with the end; what does not fit into that is stored now."""
        if not self._memory.pending:
            return None
        try:
            while len(portion := _portion(self._memory.pending)) < len(self._memory.pending):
                self._store(portion)
        except Leave:
            return None
        except HoldfastError as error:
            if (refusal := _refusal(error)) is error:
                raise
            raise refusal from error
        return {"after": self._memory.last, "entries": self._memory.pending}


class _TurnedAway(HoldfastError):
    """Something else than Holdfast refuses an append because of what is in it."""


class _Operation:
    """An operation that is under way."""

    def __init__(self, context: Context, what: str) -> None:
        self._context, self._what = context, what

    def __enter__(self) -> None:
        self._context._begin(self._what)

    def __exit__(self, _kind: Any, error: BaseException | None, _trace: Any) -> None:
        self._context._doing = ""
        if isinstance(error, Contradiction):
            raise self._context._leave({"do": "hold", "reason": str(error)[:1000]}) from None


def _portion(pending: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the entries that one request stores: as many as may be, and at least one."""
    size = 0
    for i, entry in enumerate(pending[:_MOST_ENTRIES]):
        size += len(json.dumps(entry))
        if i > 0 and size > _MOST_BYTES:
            return pending[:i]
    return pending[:_MOST_ENTRIES]


def _refusal(error: HoldfastError) -> Exception:
    """Return what an append ends with that was refused.

    What the server says about an entry, or a proxy about its size, it would say
    again, and so would a firewall that refuses a text of it: that is Permanent,
    so that no other attempt does again what the entry is about. What it says about the run, the credential or itself is as it is,
    and so is that something else was appended, which the next attempt reads.
    """
    is_elsewhere = isinstance(error, (NotFound, Conflict)) and bool(error.errors)  # what an entry names
    is_about = is_elsewhere or isinstance(error, _TurnedAway) or error.status in (400, 413, 422)
    if isinstance(error, JournalFull) or not is_about:
        return error
    return Permanent(f"the server refuses to store what the function has done, and would refuse it again: {error}")


def check_name(name: Any, what: str, most: int = _LONGEST_NAME) -> None:
    """Raise Permanent if no server stores a name.

    If the server were to say that, the next attempt would do again what was done
    under it.
    """
    if wrong := _wrong_name(name, what, most):
        raise Permanent(f"{what} cannot be named {_shown(name)}: no server stores a name that {wrong}")


def _wrong_name(name: Any, what: str, most: int) -> str:
    """Say what is wrong with a name, as the server has it; "": nothing."""
    if not isinstance(name, str):
        return "is no text"
    if not name:
        return "is empty"
    try:
        size = len(name.encode())
    except UnicodeEncodeError:
        return "has half of a surrogate pair"
    if size > most:
        return f"has {size} bytes, of at most {most}"
    if what == "a child" and "@" in name:
        return "has an @, which is for versions"
    return "" if name.isprintable() else _unseen(name, may_hide=what == "a key")


def _unseen(name: str, *, may_hide: bool) -> str:
    for c in name:
        category = unicodedata.category(c)
        if category == "Cc":
            return f"has the control character U+{ord(c):04X}"
        if category in ("Cf", "Zl", "Zp") and c not in _JOINERS and not may_hide:
            return f"has the invisible character U+{ord(c):04X}"
    return ""


def _shown(name: Any) -> str:
    if not isinstance(name, str):
        return f"by what is of type {type(name).__name__}"
    return repr(name if len(name) <= _SHOWN else name[:_SHOWN] + "…")


def checked_size(value: Any, what: str) -> int:
    """Return how many bytes a value has as JSON.

    One that is none, or that no server stores, is not so for a moment only: that
    is Permanent. If the server were to say it, the next attempt would do again
    what has led to the value.
    """
    try:
        text = json.dumps(value, allow_nan=False, separators=(",", ":"), ensure_ascii=False)
        size = len(text.encode())
    except UnicodeEncodeError as error:
        raise Permanent(f"{what} has a text with half of a surrogate pair, which no server stores") from error
    except (TypeError, ValueError, RecursionError) as error:
        raise Permanent(f"{what} is not JSON: {error}") from error
    if size > _LARGEST:
        raise Permanent(f"{what} has {size} bytes, of at most {_LARGEST}")
    if _NUL.search(text):
        raise Permanent(f"{what} has a text with the NUL character, which no server stores")
    if _is_deep(text):
        raise Permanent(f"{what} is nested more than {_DEEPEST} deep, which no server stores")
    return size


def _is_deep(text: str) -> bool:
    if text.count("[") + text.count("{") <= _DEEPEST:
        return False
    depth = 0
    for c in _TEXT.sub("", text):
        depth += (c in "[{") - (c in "]}")
        if depth > _DEEPEST:
            return True
    return False


def _checked(value: Any, what: str) -> Any:
    """Return a value that a server stores."""
    checked_size(value, what)
    return value


def words(error: BaseException) -> str:
    """Return the text of an error, whose str may itself raise."""
    try:
        return str(error) or type(error).__name__
    except Exception:
        return f"a {type(error).__name__} without words"


def plain(text: str, most: int) -> str:
    """Return a text that every store takes: without NUL and halves of surrogate pairs, and not longer than it may be."""
    return text[:most].encode("utf-8", "replace").decode().replace("\0", "")


def _failure(step: str, error: Exception, attempts: int, permanent: bool) -> dict[str, Any]:
    said = plain(words(error), 32 << 10)
    failure: dict[str, Any] = {"step": step, "message": said or "?", "type": type(error).__name__, "attempts": attempts}
    if permanent:
        failure["permanent"] = True
    return failure


def _step_failed(data: dict[str, Any]) -> StepFailed:
    return StepFailed(data["step"], data["message"], data.get("type", ""), data["attempts"], data.get("permanent", False))


def _took(began: float) -> str:
    return f"{max(int((time.monotonic() - began) * 1e6), 1)}us"


def _time(text: str) -> datetime.datetime:
    """Read a time as Go writes it, with up to nine digits of the second."""
    head, dot, rest = text.partition(".")
    if dot:
        digits = len(rest) - len(rest.lstrip("0123456789"))
        text = head + "." + rest[:digits][:6].ljust(6, "0") + rest[digits:]
    return datetime.datetime.fromisoformat(text)


def _text(at: datetime.datetime) -> str:
    return at.astimezone(datetime.UTC).isoformat().replace("+00:00", "Z")

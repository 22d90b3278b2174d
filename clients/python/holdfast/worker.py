"""Workers: they run jobs.

One thread polls, one beats, one sends outcomes, and each job has a thread of
its own while it runs. Threads cannot be ended from outside: a run that is
cancelled, lost or late is told so (Run.check), and its handler is to return.
"""

from __future__ import annotations

import datetime
import json
import logging
import os
import signal
import socket
import threading
import time
import traceback
import uuid
from collections.abc import Callable
from types import FrameType
from typing import Any

from . import durations
from .client import Client
from .durations import Duration
from .durable import Context, checked_size, plain, words
from .errors import (
    Cancelled,
    HoldfastError,
    JournalFull,
    NotFound,
    Permanent,
    Snooze,
    StepFailed,
    Unauthenticated,
    Unavailable,
    WorkerGone,
)
from .sender import Sender
from .transport import Cut, Has, Reminder

_LONGEST_POLL = 3.0  # it counts as a beat: a worker that stands still is not found out before it ends
_LONGEST_REASON = 1000
_LONGEST_TEXT = 64 << 10  # of errors and stacks
_MOST_JOBS = 240
_log = logging.getLogger("holdfast")
_TRUST = 60.0  # seconds for which a credential may not be accepted
_JOURNAL = 1  # the version of the format in which journals are kept
_FAREWELL = 5.0  # seconds
_EARLY = 5.0  # seconds: a server that knows a worker does not give it up before
_FIRST_PAUSE = 0.05
_LONGEST_PAUSE = 5.0
# What answers about a run have.
_RUN_HAS: dict[tuple[str, str], Has] = {
    ("GET", "journal"): {"entries": list, "messages": list, "more": bool, "now": str},
    ("POST", "journal"): {"entries": list, "last": int, "now": str},
    ("POST", "progress"): {"job": str},
}

Handler = Callable[["Run", Any], Any]
Function = Callable[[Context, Any], Any]


class Run:
    """One attempt of a job, for its handler."""

    def __init__(self, worker: Worker, job: dict[str, Any]) -> None:
        self._worker = worker
        self._stop = threading.Event()
        self._why: Exception | None = None
        self._paused = False
        self.job = job
        """The job as the API describes it."""
        self.lease: str = job["lease"]
        self.id: str = job["id"]
        self.kind: str = job["kind"]
        self.queue: str = job["queue"]
        self.args: Any = job["args"]
        self.attempt: int = job["attempt"]
        self.max_attempts: int = job["max_attempts"]
        self.checkpoint: Any = (job["checkpoint"] or {}).get("value")
        """What the attempt before has left with progress."""
        self.size = 0  # of its outcome, in bytes
        self.lost = False
        """The job is not this run's any more: what it does may be done twice."""

    @property
    def is_stopped(self) -> bool:
        """Whether the handler is to return: see check."""
        return self._stop.is_set()

    def check(self) -> None:
        """Raise what stops the run, if something does.

        Cancelled: people have cancelled the job. TimeoutError: the attempt has
        taken longer than it may. Let them go through.
        """
        if self._why is not None:
            raise self._why

    def sleep(self, seconds: Duration) -> None:
        """Sleep, and raise what stops the run meanwhile. The slot stays taken; see Snooze."""
        self._stop.wait(durations.seconds(seconds, "seconds"))
        self.check()

    def progress(self, percent: float = 0.0, message: str = "", value: Any = None) -> None:
        """Say how far the run is; value is what the next attempt finds as its checkpoint."""
        self.check()
        body = {"percent": percent, "message": message, "value": value}
        self._worker.repeat(lambda _: self.request("POST", "progress", body), until=lambda: self.is_stopped)

    @property
    def is_to_pause(self) -> bool:
        """Whether a durable function is to leave at its next operation: for a pause, or as the worker stops."""
        return self._paused or self._worker.is_stopping

    def pause(self) -> None:
        """Let a durable function leave at its next operation."""
        self._paused = True

    @property
    def answered_beats(self) -> int:
        """How many beats of its worker Holdfast has answered."""
        return self._worker.answered_beats

    def request(self, method: str, what: str, body: Any = None, *, query: dict[str, str] | None = None) -> Any:
        """Make a request about the run."""
        has = _RUN_HAS.get((method, what))
        return self._worker.call(f"/runs/{self.lease}/{what}", body, method=method, query=query or {}, has=has)

    def repeat(self, make: Callable[[bool], Any]) -> Any:
        """Make a request until a server answers, or the run is over here."""
        return self._worker.repeat(make, until=lambda: self.lost or self._worker.is_over)

    def stop(self, why: Exception, *, lost: bool = False) -> None:
        """Stop the run."""
        if self._why is None:
            self._why = why
        self.lost = self.lost or lost
        self._stop.set()


class Worker:
    """Runs the jobs of its kinds.

    slots is how many it runs at once. Without queues it serves all of the
    client's namespace. dead_after is for how long it may be silent before its
    jobs run elsewhere, as others are told. stop_timeout is for how long runs may
    go on once the worker is to stop; then they are given back.
    """

    def __init__(
        self,
        client: Client,
        *,
        slots: int = 10,
        queues: list[str] | None = None,
        name: str | None = None,
        version: str = "",
        dead_after: Duration | None = None,
        stop_timeout: Duration = 30.0,
    ) -> None:
        if not 1 <= slots <= 1000:
            raise ValueError("slots is not between 1 and 1000")
        self.client = client
        self.slots, self.queues, self.version = slots, queues, version
        self.name = name or f"{socket.gethostname()}:{os.getpid()}"
        self.dead_after = None if dead_after is None else durations.seconds(dead_after, "dead_after")
        self.stop_timeout = durations.seconds(stop_timeout, "stop_timeout")
        self._handlers: dict[str, Handler] = {}
        self._functions: dict[str, Function] = {}
        self._lock = threading.Lock()  # guards the fields below
        self._runs: dict[str, Run] = {}  # by their leases, until their outcome is answered
        self._polling = 0
        self._token = ""
        self._free = threading.Semaphore(slots)
        self._sender = Sender(self, self._answered)
        self.answered_beats = 0
        """How many beats Holdfast has answered."""
        self._beat_every = 5.0
        self._stopping = threading.Event()
        self._over = threading.Event()
        self._cut_poll, self._cut_beat = Cut(), Cut()  # as the worker is to stop, and once it is over
        self._failure: BaseException | None = None
        self._before: dict[int, Any] = {}  # what the signals have done
        self._registered = 0.0
        self._early = 0  # how many registrations, one after the other, were over as soon as they were made
        self._reminder = Reminder()
        self._distrusted: float | None = None  # since when beats are answered that the credential is not accepted

    def handler(self, kind: str) -> Callable[[Handler], Handler]:
        """Make a function the handler of a kind: it gets the run and the args, and returns the result."""

        def register(function: Handler) -> Handler:
            self._check_new(kind)
            self._handlers[kind] = function
            return function

        return register

    def function(self, kind: str) -> Callable[[Function], Function]:
        """Make a function the durable function of a kind: it gets its context and the args.

        What it does with its context is remembered: see Context.
        """

        def register(function: Function) -> Function:
            self._check_new(kind)
            self._functions[kind] = function
            return function

        return register

    def _check_new(self, kind: str) -> None:
        if kind in self._handlers or kind in self._functions:
            raise ValueError(f"the kind {kind} has a handler")

    def call(self, path: str, body: Any = None, *, method: str = "POST", **how: Any) -> Any:
        """Make a request about the worker, or one of its runs."""
        query = self.client.scoped(how.pop("query", {}))
        return self.client.transport.call(method, path, body, query=query, **how)

    def repeat(self, make: Callable[[bool], Any], until: Callable[[], bool]) -> Any:
        """Make a request until a server answers it; a credential that is not accepted may be for a while."""
        return self.client.transport.repeat(make, until=until, refused=_TRUST, say=_log.warning)

    @property
    def is_stopping(self) -> bool:
        """Whether the worker is to stop."""
        return self._stopping.is_set()

    @property
    def is_over(self) -> bool:
        """Whether the worker sends nothing more."""
        return self._over.is_set()

    def stop(self) -> None:
        """Let the worker stop, as SIGTERM does. run returns once it has."""
        self._stopping.set()
        self._cut_poll.make()

    def _end(self) -> None:
        """Let nothing more be sent."""
        self.stop()
        self._over.set()
        self._cut_beat.make()

    def run(self, *, signals: bool = True) -> None:
        """Run jobs until stop is called, or SIGTERM or SIGINT comes.

        signals: listen to these, which only the main thread can. A second one,
        whichever it is, does what it does without a worker.
        """
        if not self._handlers and not self._functions:
            raise ValueError("a worker needs a handler; make one with @worker.handler(kind) or @worker.function(kind)")
        if signals:
            for number in (signal.SIGTERM, signal.SIGINT):
                self._before[number] = signal.signal(number, self._on_signal)
        threads = []
        try:
            try:
                self._register()
            except Unavailable:
                if self._stopping.is_set():
                    return
                raise
            threads = [threading.Thread(target=self._guarded, args=(f,)) for f in (self._beats, self._sender.send)]
            for thread in threads:
                thread.start()
            self._polls()
            self._end_runs()
        finally:
            self._end()
            self._sender.end()
            for thread in threads:
                thread.join()
            for number, old in self._before.items():
                signal.signal(number, old)
        if self._failure is not None:
            raise self._failure
        self._leave()

    def _on_signal(self, _number: int, _frame: FrameType | None) -> None:
        for number, old in self._before.items():
            # That of Python would wait for threads that wait for a server.
            signal.signal(number, signal.SIG_DFL if old in (None, signal.default_int_handler) else old)
        self.stop()

    def _guarded(self, loop: Callable[[], None]) -> None:
        try:
            loop()
        except BaseException as error:  # the worker ends with it
            self._failure = error
            self._end()

    # Register, and again once the worker was declared dead.

    def _register(self) -> None:
        body: dict[str, Any] = {"name": self.name, "kinds": sorted([*self._handlers, *self._functions]), "slots": self.slots}
        if self._functions:
            body["journal"] = _JOURNAL
        if self.client.namespace:
            body["namespace"] = self.client.namespace
        if self.queues is not None:
            body["queues"] = self.queues
        if self.version:
            body["version"] = self.version
        if self.dead_after is not None:
            body["dead_after"] = durations.text(self.dead_after)
        key = str(uuid.uuid4())
        has: Has = {"worker": str, "beat_every": str}

        def register(_: bool) -> Any:
            nonlocal key
            try:
                return self.call("/workers", body, key=key, has=has)
            except WorkerGone:  # it has registered, and the answer has come too late
                key = str(uuid.uuid4())
                return self.call("/workers", body, key=key, has=has)

        answer = self.repeat(register, until=self._stopping.is_set)
        with self._lock:
            self._token = answer["worker"]
            self._registered = time.monotonic()
            self._beat_every = durations.seconds(answer["beat_every"])

    def _gone(self, token: str) -> None:
        """Stop the runs of a registration that is over."""
        with self._lock:
            if self._token != token:
                return
            self._token = ""
            self._early = self._early + 1 if time.monotonic() - self._registered < _EARLY else 0
            runs = list(self._runs.values())
            self._runs.clear()
        if self._early > 1:
            self._reminder.say("the server does not know the worker that has just registered: have all servers there one database?")
        for run in runs:
            run.stop(Cancelled("the worker was declared dead"), lost=True)

    def _current(self) -> str:
        with self._lock:
            return self._token

    def _pause(self) -> float:
        """Return for how long the worker waits before it registers again."""
        with self._lock:
            early = self._early
        return min(_FIRST_PAUSE * 2 ** min(early - 1, 10), _LONGEST_PAUSE) if early else 0.0

    # Poll.

    def _polls(self) -> None:
        number, token = 0, self._current()
        while not self._stopping.is_set():
            if self._current() == "":
                if self._stopping.wait(self._pause()):
                    return
                try:
                    self._register()
                except Unavailable:
                    return  # it is to stop
            if token != self._current():
                number, token = 0, self._current()
            if not self._free.acquire(timeout=0.1):
                continue
            want = 1
            while want < min(self.slots, _MOST_JOBS) and self._free.acquire(blocking=False):
                want += 1
            number += 1
            jobs: list[dict[str, Any]] = []
            try:
                jobs = self._poll(token, number, want)
            finally:
                for _ in range(want - len(jobs)):
                    self._free.release()
            for job in jobs:
                self._begin(job, token)

    def _poll(self, token: str, number: int, want: int) -> list[dict[str, Any]]:
        with self._lock:
            self._polling = number

        def make(again: bool) -> Any:
            return self._asked(token, {"want": want, "seq": number, "repeat": again})

        try:
            answer = self.repeat(make, until=lambda: self._stopping.is_set() or self._current() != token)
        except (WorkerGone, NotFound):
            self._gone(token)
            return []
        except Unavailable:
            with self._lock:
                self._polling = 0
            return []  # the worker stops, or is gone: what was claimed is given up, since no beat lists it
        jobs: list[dict[str, Any]] = answer["jobs"]
        with self._lock:
            self._polling = 0
            if self._token != token:
                return []  # it was declared dead meanwhile, and these are others' now
            for job in jobs:
                self._runs[job["lease"]] = Run(self, job)
        if answer["mode"] == "draining":
            self.stop()
        return jobs

    def _asked(self, token: str, body: dict[str, Any]) -> Any:
        """Ask for jobs once.

        Where the worker is to stop meanwhile the request is cut off, and asked
        again for what it may have claimed.
        """
        how: dict[str, Any] = {"has": {"jobs": list, "mode": str}}
        patience = max(self._beat_every * 2, 5.0)  # another server may answer where this one does not
        try:
            query = {"wait": durations.text(_LONGEST_POLL)}
            return self.call(f"/workers/{token}/poll", body, query=query, wait=_LONGEST_POLL, timeout=patience, cut=self._cut_poll, **how)
        except Unavailable:
            if not self._stopping.is_set() or self._current() != token:
                raise
        again = {**body, "repeat": True}
        return self.call(f"/workers/{token}/poll", again, query={"wait": durations.text(0.0)}, timeout=_FAREWELL, **how)

    # Run.

    def _begin(self, job: dict[str, Any], token: str) -> None:
        with self._lock:
            run = self._runs.get(job["lease"])
        if run is None or self._token != token:
            self._free.release()
            return
        threading.Thread(target=self._execute, args=(run,), daemon=True).start()

    def _execute(self, run: Run) -> None:
        timer = None
        if run.job["timeout"]:
            limit = durations.seconds(run.job["timeout"])
            timer = threading.Timer(limit, run.stop, (TimeoutError(f"the attempt took longer than {limit} s"),))
            timer.daemon = True
            timer.start()
        try:
            outcome = self._outcome(run)
        except BaseException as error:  # what was raised cannot be told as it is
            said = plain(f"what the handler has raised cannot be told: {words(error)}", _LONGEST_TEXT)
            outcome = {"do": "fail", "error": said, "kind": plain(type(error).__name__, 200)}
        if timer is not None:
            timer.cancel()
        if run.lost:
            self._answered(run)
        else:  # the slot is free once the outcome is answered: the server counts the run until then
            self._sender.add(run, outcome)

    def _outcome(self, run: Run) -> dict[str, Any]:
        version = run.job["version"]
        name = f"{run.kind}@{version}" if version else run.kind
        try:
            if name in self._functions:
                return self._remembering(run, self._functions[name])
            if run.job["durable"]:
                return {"do": "hold", "reason": f"the handler of {name} keeps no journal, and the job has one"}
            result = self._handlers[name](run, run.args)
            if isinstance(run._why, TimeoutError):
                raise run._why
            run.size = checked_size(result, "the result")
            return {"do": "complete", "result": result}
        except Snooze as snooze:
            outcome: dict[str, Any] = {"do": "snooze"}
            if snooze.reason:
                outcome["reason"] = plain(snooze.reason, _LONGEST_REASON)
            if snooze.until is not None:
                outcome["until"] = snooze.until.astimezone(datetime.UTC).isoformat()
            else:
                outcome["for"] = durations.text(snooze.after or 0.0)
            return outcome
        except Cancelled as cancelled:
            reason = plain(str(cancelled), _LONGEST_REASON)
            outcome = {"do": "cancel", "reason": reason} if reason else {"do": "cancel"}
            return _with_journal(outcome, cancelled)
        except (Permanent, JournalFull) as failed:
            return _with_journal({**_failure(failed), "permanent": True}, failed)
        except StepFailed as failed:
            return _with_journal({**_failure(failed), "permanent": failed.permanent}, failed)
        except BaseException as failed:  # whatever a handler raises is about its job
            return _failure(failed)

    def _remembering(self, run: Run, function: Function) -> dict[str, Any]:
        """Run a durable function, and return its outcome."""
        outcome = Context(run).outcome(function)
        if outcome is None:
            run.lost = True
            return {"do": "release"}  # which is not sent
        run.size = len(json.dumps(outcome))
        return outcome

    def _forget(self, run: Run) -> None:
        with self._lock:
            self._runs.pop(run.lease, None)

    def _answered(self, run: Run) -> None:
        """Forget a run, and free its slot."""
        self._forget(run)
        self._free.release()

    # Beat.

    def _beats(self) -> None:
        while not self._over.wait(self._beat_every):
            token = self._current()
            if token:
                self._beat(token)

    def _beat(self, token: str) -> None:
        with self._lock:
            body: dict[str, Any] = {"running": list(self._runs)}
            if self._polling:
                body["polling"] = self._polling
        has: Has = {"cancel": list, "pause": list, "lost": list, "mode": str}
        refusal = None
        try:
            answer = self.call(f"/workers/{token}/beat", body, timeout=max(self._beat_every, 1.0), has=has, cut=self._cut_beat)
        except Unauthenticated as error:
            refusal = error
        except (WorkerGone, NotFound):
            self._gone(token)
            return
        except Unavailable:
            self._trust(None)
            return  # the next one may come through
        self._trust(refusal)
        if refusal is not None:
            return
        self.answered_beats += 1
        with self._lock:
            known = dict(self._runs)
        for cancel in answer["cancel"]:
            if run := known.get(cancel["lease"]):
                run.stop(Cancelled(cancel["reason"] or ""))
        for lease in answer["pause"]:
            if run := known.get(lease):
                run.pause()
        for lease in answer["lost"]:
            if run := known.get(lease):
                run.stop(Cancelled("the run was lost"), lost=True)
                self._forget(run)
        if answer["mode"] == "draining":
            self.stop()

    def _trust(self, refusal: Unauthenticated | None) -> None:
        """Count for how long beats are not accepted: while all slots are busy nothing else asks."""
        if refusal is None:
            self._distrusted = None
            return
        now = time.monotonic()
        if self._distrusted is None:
            self._distrusted = now
        if now - self._distrusted >= _TRUST:
            raise refusal
        self._reminder.say(f"the server does not accept that the worker lives, and is told again: {refusal}")

    # Stop.

    def _end_runs(self) -> None:
        """Wait for the runs, and give back those that take too long."""
        end = time.monotonic() + self.stop_timeout
        while self._running() and time.monotonic() < end and self._failure is None:
            time.sleep(0.02)
        with self._lock:
            left = list(self._runs.values())
        for run in left:
            run.stop(Cancelled("the worker stops"), lost=True)
            self._sender.add(run, {"do": "release"})
        end = time.monotonic() + _FAREWELL
        while self._running() and time.monotonic() < end and self._failure is None:
            time.sleep(0.02)

    def _running(self) -> bool:
        with self._lock:
            return bool(self._runs)

    def _leave(self) -> None:
        """Say that the worker is gone, for as long as _FAREWELL in all: without that it is declared dead later."""
        token = self._current()
        if not token:
            return
        end = time.monotonic() + _FAREWELL

        def make(_: bool) -> Any:
            return self.call(f"/workers/{token}/leave", timeout=max(end - time.monotonic(), 0.1))

        try:
            self.client.transport.repeat(make, until=lambda: time.monotonic() >= end)
        except HoldfastError:
            pass  # it is declared dead, and holds nothing


def _with_journal(outcome: dict[str, Any], error: BaseException) -> dict[str, Any]:
    """Add what a durable function has decided before it ended with an error."""
    journal = getattr(error, "journal", None)
    return {**outcome, "journal": journal} if journal else outcome


def _failure(error: BaseException) -> dict[str, Any]:
    kind = type(error).__name__
    stack = "".join(traceback.format_exception(error))
    return {
        "do": "fail",
        "error": plain(words(error), _LONGEST_TEXT),
        "kind": plain(kind, 200),
        "stack": plain(stack[-_LONGEST_TEXT:], _LONGEST_TEXT),
    }

"""Sends outcomes of runs, together where several wait."""

from __future__ import annotations

import dataclasses
import logging
import queue
import random
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .durable import plain
from .errors import Forbidden, HoldfastError, Unavailable
from .firewall import Watch
from .transport import Reminder

if TYPE_CHECKING:
    from .worker import Run, Worker

_MOST_OUTCOMES = 100
_LARGEST_BATCH = 8 << 20
_LONGEST_TEXT = 64 << 10
_FAREWELL = 5.0  # seconds
_FIRST_PAUSE = 0.05
_LONGEST_PAUSE = 5.0
_BETWEEN = 0.1  # seconds, of those that were set apart: they are sent one by one
_OVER = ("lease_lost", "worker_gone", "not_found")  # what a run is refused with that is not its job's any more
_log = logging.getLogger("holdfast")


@dataclasses.dataclass(eq=False)
class _Waiting:
    """An outcome that was not answered."""

    run: Run
    outcome: dict[str, Any]
    watch: Watch  # of the times that something else than Holdfast has answered it, where it was sent by itself
    was_sent: bool = False
    is_replaced: bool = False
    pause: float = _FIRST_PAUSE
    due: float = 0.0  # when it is sent again


class _TurnedAway(Exception):
    """Something else than Holdfast has answered: it may be about what is in an outcome."""


class Sender:
    """Sends outcomes until each was answered, or the worker ends.

    A firewall before the server may refuse an outcome because of a text in it,
    and would each time. What something else than Holdfast has answered is set
    apart, and sent by itself, so that it keeps no others.
    """

    def __init__(self, worker: Worker, answered: Callable[[Run], None]) -> None:
        self._worker, self._answered = worker, answered
        self._come: queue.Queue[_Waiting | None] = queue.Queue()
        self._apart: list[_Waiting] = []
        self._reminder = Reminder()

    def add(self, run: Run, outcome: dict[str, Any]) -> None:
        """Let the outcome of a run be sent."""
        self._come.put(_Waiting(run, {"lease": run.lease, **outcome}, self._watch()))

    def end(self) -> None:
        """Let send return once it has sent what was added before."""
        self._come.put(None)

    def send(self) -> None:
        """Send what is added."""
        while (batch := self._batch()) is not None:
            if batch:
                self._deliver(batch)
            if one := self._due():
                self._deliver([one])

    def _batch(self) -> list[_Waiting] | None:
        """Return what has come in; nothing, once one that was set apart is due; None: this is the end."""
        due = min((one.due for one in self._apart), default=None)
        try:
            first = self._come.get(timeout=None if due is None else max(due - time.monotonic(), 0.0))
        except queue.Empty:
            return []
        if first is None:
            return None
        batch, size = [first], first.run.size
        while len(batch) < _MOST_OUTCOMES and size < _LARGEST_BATCH:
            try:
                more = self._come.get_nowait()
            except queue.Empty:
                break
            if more is None:
                self._come.put(None)  # for the next round
                break
            batch.append(more)
            size += more.run.size
        return batch

    def _due(self) -> _Waiting | None:
        """Take one that is to be sent again, of those that were set apart."""
        one = min(self._apart, key=lambda one: one.due, default=None)
        if one is None or one.due > time.monotonic():
            return None
        self._apart.remove(one)
        if one.run.lost and one.outcome["do"] != "release":  # the job is another run's
            self._answered(one.run)
            return None
        return one

    def _deliver(self, batch: list[_Waiting]) -> None:
        """Send outcomes until each has been answered, or is set apart."""
        pause = _FIRST_PAUSE
        while batch:
            answers = self._sent(batch)
            batch = [one for one, refused in zip(batch, answers, strict=True) if self._is_left(one, refused)]
            if batch:
                time.sleep(pause)
                pause = min(pause * 2, _LONGEST_PAUSE)

    def _is_left(self, one: _Waiting, refused: dict[str, Any] | None) -> bool:
        """Do what an answer says, and return whether the outcome, or what is said instead of it, is sent again."""
        if refused is not None and refused.get("retryable") and not self._worker.is_over:
            return True
        if refused is not None and refused.get("foreign") and not one.watch.is_about():
            self._set_apart(one, refused)
            return False
        if refused is not None and refused["code"] not in _OVER:
            if not one.is_replaced:
                one.outcome, one.is_replaced = _instead(one.outcome, refused), True
                one.watch, one.pause = self._watch(), _FIRST_PAUSE
                return True
            _log.warning("the outcome of job %s was refused: %s", one.run.id, refused["detail"])
        self._answered(one.run)
        return False

    def _watch(self) -> Watch:
        return Watch(lambda: self._worker.answered_beats)

    def _set_apart(self, one: _Waiting, refused: dict[str, Any]) -> None:
        self._reminder.say(f"an outcome is sent again: {refused['detail']}")
        one.due = time.monotonic() + max(refused["after"], one.pause * random.uniform(0.5, 1.0))
        self._apart.append(one)
        one.pause = min(one.pause * 2, max(_LONGEST_PAUSE, len(self._apart) * _BETWEEN))

    def _sent(self, batch: list[_Waiting]) -> list[dict[str, Any] | None]:
        """Send outcomes once, and return why each was refused; None: it was stored.

        Only a problem of Holdfast's own, what something else answers, and what
        cannot be sent at all, is about an outcome. That the credential may not
        send any is the end of the worker, as it is where it polls, and says
        nothing about a job.
        """

        def make(repeated: bool) -> Any:
            outcomes = [{**one.outcome, "repeat": one.was_sent or repeated} for one in batch]
            timeout = _FAREWELL if self._worker.is_stopping else None  # the end waits for it
            try:
                answer = self._worker.call("/runs", {"outcomes": outcomes}, timeout=timeout, has={"runs": list})
            except Unavailable as error:
                if error.is_foreign:
                    raise _TurnedAway(str(error)) from error
                raise
            if len(answer["runs"]) != len(batch):
                raise Unavailable(f"{len(answer['runs'])} of {len(batch)} outcomes were answered")
            return answer

        try:
            answer = self._worker.repeat(make, until=lambda: self._worker.is_over)
        except Exception as error:
            for one in batch:
                one.was_sent = True
            return self._refusals(batch, error)
        for one in batch:
            one.was_sent = True
        return [one["error"] for one in answer["runs"]]

    def _refusals(self, batch: list[_Waiting], error: Exception) -> list[dict[str, Any] | None]:
        """Return why each of a batch was refused that was not taken."""
        if isinstance(error, Unavailable) or self._worker.is_over:  # the worker ends: the jobs run again
            return [{"code": "not_found", "detail": str(error)}] * len(batch)
        if isinstance(error, Forbidden):
            raise error
        if len(batch) > 1:  # one of them cannot be sent
            return [answer for one in batch for answer in self._sent([one])]
        if isinstance(error, _TurnedAway):
            after = getattr(error.__cause__, "retry_after", 0.0)
            return [{"code": "", "detail": str(error), "foreign": True, "after": after}]
        return [{"code": error.code if isinstance(error, HoldfastError) else "invalid", "detail": str(error)}]


def _instead(outcome: dict[str, Any], refused: dict[str, Any]) -> dict[str, Any]:
    """Return what is said instead of an outcome that was refused: a failure with nothing but words.

    A failure stays what it was. Where a firewall has refused it, that may be
    because of any text of it, and it is said without.
    """
    said = f"the outcome ({outcome['do']}) was refused: {refused['detail']}"
    plainly: dict[str, Any] = {"lease": outcome["lease"], "do": "fail"}
    kept = ["permanent"]
    if outcome["do"] == "fail" and refused.get("foreign"):
        said += "; what the error said is left out here, since that may be why"
    elif outcome["do"] == "fail":
        said = f"{outcome['error'][: max(_LONGEST_TEXT - len(said) - 2, 0)]}; {said}"
        kept.append("kind")
    return {**plainly, **{name: outcome[name] for name in kept if name in outcome}, "error": plain(said, _LONGEST_TEXT)}

"""Jobs, for those who enqueue them and look after them."""

from __future__ import annotations

import datetime
import os
import ssl
import time
import urllib.parse
import uuid
from dataclasses import dataclass
from typing import Any, Iterable, Iterator

from . import durations
from .durations import Duration
from .errors import Conflict, JobEnded, NotAllEnqueued
from .transport import Has, Token, Transport

_ID: Has = {"id": str}  # what most answers have
_LONGEST_WAIT = 30.0
_FINISHED = {"completed", "failed", "cancelled"}

# The options of an enqueue, by what they are written from.
_OPTIONS = {
    "queue", "priority", "max_attempts", "key", "tags", "metadata", "attributes", "ordering_key", "fair_key",
    "limit", "limit_key", "after", "batch", "unique", "follow_ups", "keep_key", "keep_turn", "backoff",
}  # fmt: skip
_DURATIONS = {"delay", "timeout", "heartbeat_timeout"}
_TIMES = {"run_at", "deadline"}


@dataclass(frozen=True)
class Job:
    """A job as an enqueue has made it, or found it."""

    id: str
    existing: bool = False
    """It was there before: its id, or its unique key, is that of an earlier one."""
    code: str | None = None
    """Why enqueue_many could not store it, as a stable code; None: it could."""
    error: str | None = None
    """The same for people."""


class Client:
    """A client of a server.

    Without url it is that of $HOLDFAST_SERVER, or http://127.0.0.1:8233, and
    without token that of $HOLDFAST_TOKEN. A token may be a function, which is
    called before each request, and so should return at once: for those that do
    not last. While it raises, that is as if no server answered. namespace is
    whose jobs it sees; without it, that of the credential if it has only one,
    and else "default".
    timeout is that of one request. It is safe for use by several
    threads.
    """

    def __init__(
        self,
        url: str | None = None,
        token: Token | None = None,
        *,
        namespace: str = "",
        timeout: Duration = 30.0,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        url = url or os.environ.get("HOLDFAST_SERVER") or "http://127.0.0.1:8233"
        token = os.environ.get("HOLDFAST_TOKEN", "") if token is None else token
        self.namespace = namespace
        self.patience = durations.seconds(timeout, "timeout")
        """For how many seconds a call repeats itself while no server answers."""
        self.transport = Transport(url, token, timeout=self.patience, tls=tls)

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self.transport.close()

    # Enqueues.

    def enqueue(self, kind: str, args: Any = None, **options: Any) -> Job:
        """Enqueue a job.

        options are those of the API (queue, priority, delay, run_at, key,
        unique, tags, max_attempts, timeout, deadline, ordering_key, …), with
        numbers of seconds, timedeltas, or texts such as "1m30s" for durations,
        and datetimes for times. If an answer is lost the request is repeated,
        and makes no second job.
        """
        body = job_body(kind, args, options)
        answer = self._do("POST", "/jobs", body, has=_ID)
        return Job(answer["id"], bool(answer["existing"]))

    def enqueue_many(self, jobs: Iterable[tuple[str, Any] | dict[str, Any]]) -> list[Job]:
        """Enqueue up to 1000 jobs at once, and return them in their order.

        Each is a kind with its args, or a dict of kind, args and options. Those
        that can be stored are, together; if others cannot NotAllEnqueued is
        raised, which has all of them. If the request itself is wrong, none is.
        """
        bodies = []
        for job in jobs:
            if isinstance(job, dict):
                options = dict(job)
                bodies.append(job_body(options.pop("kind"), options.pop("args", None), options))
            else:
                bodies.append(job_body(job[0], job[1], {}))
        answer = self._do("POST", "/jobs/batch", {"jobs": bodies}, has={"jobs": list})
        made = [Job(i["id"], bool(i["existing"]), i["code"], i["error"]) for i in answer["jobs"]]
        if any(job.code for job in made):
            raise NotAllEnqueued(made)
        return made

    # Looks.

    def get(self, job: Job | str) -> dict[str, Any]:
        """Return a job as it is now. NotFound is raised if there is none."""
        return self._do("GET", f"/jobs/{_quoted(_id(job))}", has=_ID)

    def list(self, query: str = "", *, limit: int = 0, **filters: str) -> Iterator[dict[str, Any]]:
        """Yield jobs, newest first, page by page; all of them unless limit says how many.

        query is in the grammar of the API, such as "state:failed kind:mail".
        """
        left, cursor = limit or None, ""
        while True:
            page = dict(filters, limit=str(min(left or 200, 200)))
            if query:
                page["q"] = query
            if cursor:
                page["cursor"] = cursor
            answer = self._do("GET", "/jobs", query=page, has={"items": list})
            for job in answer["items"]:
                yield job
                if left is not None:
                    left -= 1
                    if left == 0:
                        return
            cursor = answer["next_cursor"] or ""
            if not cursor:
                return

    def wait(self, job: Job | str, timeout: Duration | None = None) -> Any:
        """Wait until a job has finished, and return its result.

        JobEnded is raised if it has failed or was cancelled, and TimeoutError
        if it has not finished within timeout; None: it may take any time.
        """
        job_id = _id(job)
        limit = None if timeout is None else durations.seconds(timeout, "timeout")
        end = None if limit is None else time.monotonic() + limit
        while True:
            left = _LONGEST_WAIT if end is None else min(_LONGEST_WAIT, max(end - time.monotonic(), 0.0))
            query, path = {"wait": durations.text(left)}, f"/jobs/{_quoted(job_id)}/result"
            found = self._do("GET", path, query=query, wait=left, has={"state": str})
            if found["state"] == "completed":
                return found["result"]
            if found["state"] in _FINISHED:
                raise JobEnded(job_id, found["state"], found["reason"], found["error"])
            if end is not None and time.monotonic() >= end:
                raise TimeoutError(f"job {job_id} is {found['state']} after {limit} s")

    # Changes.

    def cancel(self, job: Job | str, reason: str = "") -> dict[str, Any]:
        """Cancel a job: one that runs is asked to stop."""
        return self._do("POST", f"/jobs/{_quoted(_id(job))}/cancel", {"reason": reason} if reason else {}, has=_ID)

    def retry(self, job: Job | str) -> dict[str, Any]:
        """Let a finished job, or one that waits for its next attempt, run now."""
        path, key = f"/jobs/{_quoted(_id(job))}/retry", uuid.uuid4().hex

        def make(again: bool) -> Any:
            try:
                return self.transport.call("POST", path, query=self.scoped({}), key=key, has=_ID)
            except Conflict:
                if not again:
                    raise
                return self.get(job)  # the lost answer was that it runs, or ran

        return self.transport.repeat(make, within=self.patience)

    def signal(self, job: Job | str, name: str, payload: Any = None, *, key: str = "") -> Any:
        """Send a signal to a durable job.

        Of signals with the same key one counts; without one it is made here, so
        that a lost answer does no harm.
        """
        body = {"name": name, "dedup_key": key or uuid.uuid4().hex, "payload": payload}
        return self._do("POST", f"/jobs/{_quoted(_id(job))}/signals", body, has={"duplicate": bool})

    def _do(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        has: Has,
        query: dict[str, str] | None = None,
        wait: float = 0.0,
    ) -> Any:
        scoped = self.scoped(query or {})
        return self.transport.repeat(
            lambda _: self.transport.call(method, path, body, query=scoped, wait=wait, has=has), within=self.patience
        )

    def scoped(self, query: dict[str, str]) -> dict[str, str]:
        """Return the parameters of a request about the client's namespace."""
        return {**query, "namespace": self.namespace} if self.namespace else dict(query)


def job_body(kind: str, args: Any, options: dict[str, Any]) -> dict[str, Any]:
    """Return what the API takes as a job, with an id, by which a repeated request is known."""
    body: dict[str, Any] = {"id": options.pop("id", None) or new_id(), "kind": kind}
    if args is not None:
        body["args"] = args
    for name, value in options.items():
        if value is None:
            continue
        if name in _DURATIONS:
            body[name] = durations.text(value, name)
        elif name in _TIMES:
            if not isinstance(value, datetime.datetime):
                raise TypeError(f"{name} is {value!r}; it takes a datetime with a zone")
            if value.tzinfo is None:
                raise ValueError(f"{name} has no zone; use datetime.datetime.now(datetime.UTC)")
            body[name] = value.astimezone(datetime.UTC).isoformat()
        elif name in _OPTIONS:
            body[name] = value
        else:
            raise TypeError(f"an enqueue has no option {name}")
    return body


def new_id() -> str:
    """Return a new id of a job: a UUID of version 7 (RFC 9562)."""
    value = (time.time_ns() // 1_000_000) << 80 | int.from_bytes(os.urandom(10), "big")
    value &= ~(0xF << 76) & ~(0x3 << 62)
    return str(uuid.UUID(int=value | 0x7 << 76 | 0x2 << 62))


def _id(job: Job | str) -> str:
    return job.id if isinstance(job, Job) else job


def _quoted(text: str) -> str:
    return urllib.parse.quote(text, safe="")

"""What stands before servers, servers that do not answer, and ends of workers that do not wait for these."""

from __future__ import annotations

import collections
import http.server
import json
import os
import re
import signal
import threading
import time
import unittest
from collections.abc import Callable
from typing import Any
from unittest import mock

import holdfast
from holdfast.sender import Sender
from holdfast.worker import Run

from .server import TOKEN, ServerTest, program, serving
from .test_transport import Clock

# Answers of load balancers and other things before servers, which say nothing about a request.
FOREIGN = [
    *((status, b"<html>") for status in (302, 307, 400, 403, 404, 405, 409, 412, 421, 422, 499, 401)),
    (403, b'{"kind":"Status","code":403,"message":"forbidden"}'),
    (200, b""),
    (200, b"<html>maintenance"),
    (200, b'{"status":"ok"}'),
    (200, b'{"runs":[],"jobs":null,"entries":{}}'),
]

Answer = Callable[[str, str], tuple[int, bytes] | None]


def intercepted(client: holdfast.Client, answer: Answer) -> holdfast.Client:
    """Let something else answer some of a client's requests."""
    transport = client.transport
    call = transport.call

    def checked(method: str, path: str, body: Any = None, **how: Any) -> Any:
        if (answered := answer(method, path)) is not None:
            return transport._read(answered[0], None, answered[1], how.get("has"))
        return call(method, path, body, **how)

    transport.call = checked  # type: ignore[method-assign]
    return client


class TestForeign(ServerTest):
    def works(self, worker: holdfast.Worker) -> None:
        """Let a worker work until the end of the test."""
        thread = threading.Thread(target=worker.run, kwargs={"signals": False})
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(worker.stop)

    def test_foreign_answers(self) -> None:
        """They end no worker, and undo nothing."""
        for n, (status, text) in enumerate(FOREIGN):
            with self.subTest(status=status, text=text), self.assertLogs("holdfast", "WARNING"):
                self.answered(f"foreign{n}", status, text)

    def answered(self, kind: str, status: int, text: bytes) -> None:
        answered: collections.Counter[str] = collections.Counter()
        lock = threading.Lock()

        def answer(method: str, path: str) -> tuple[int, bytes] | None:
            found = re.search("(workers|poll|beat|journal|progress|runs)$", path)
            what = found[1] if found else ""
            with lock:
                if method != "POST" or not what or answered[what] == 2:
                    return None
                answered[what] += 1
            return status, text

        client = holdfast.Client(self.server.url, TOKEN, timeout=60)
        self.addCleanup(client.close)
        worker = holdfast.Worker(intercepted(client, answer), dead_after=60)
        effects: list[int] = []

        @worker.function(kind)
        def acts(ctx: holdfast.Context, args: None) -> str:
            def act() -> None:
                effects.append(ctx.attempt)
                ctx.progress(1)
                for _ in range(2):  # they are due in a while
                    worker._beat(worker._current())

            ctx.step("acts", act)
            return "done"

        self.works(worker)
        job = self.client.enqueue(kind, max_attempts=1)
        self.assertEqual(self.client.wait(job, timeout=60), "done")
        self.assertEqual((effects, self.client.get(job)["attempt"]), ([1], 1))
        self.assertEqual(answered, {"workers": 2, "poll": 2, "beat": 2, "journal": 2, "progress": 2, "runs": 2})
        self.assertIsNone(worker._failure)
        worker.stop()

    def test_an_outcome_that_is_too_large(self) -> None:
        """What stands before the server refuses it, and it keeps no others."""
        worker = holdfast.Worker(self.client)
        call = worker.call

        def refuses(path: str, body: Any = None, **how: Any) -> Any:
            if path == "/runs" and len(json.dumps(body)) > 20_000:
                return self.client.transport._read(413, None, b"<html>")
            return call(path, body, **how)

        worker.call = refuses  # type: ignore[method-assign]

        @worker.handler("large")
        def large(run: holdfast.Run, args: None) -> str:
            return "a" * 30_000

        @worker.handler("small")
        def small(run: holdfast.Run, args: None) -> str:
            return "done"

        self.works(worker)
        job = self.client.enqueue("large", max_attempts=1)
        self.assertEqual(self.client.wait(self.client.enqueue("small"), timeout=60), "done")
        with self.assertRaisesRegex(holdfast.JobEnded, r"the outcome \(complete\) was refused: the server answered 413"):
            self.client.wait(job, timeout=60)

    def test_an_outcome_that_a_firewall_refuses(self) -> None:
        """It is taken as refused once beats were answered meanwhile, and said without what may be why."""
        worker = holdfast.Worker(self.client, slots=3, dead_after=2)
        call = worker.call

        def refuses(path: str, body: Any = None, **how: Any) -> Any:
            if path == "/runs" and "<script>" in json.dumps(body):
                return self.client.transport._read(403, None, b"<html>blocked")
            return call(path, body, **how)

        worker.call = refuses  # type: ignore[method-assign]

        @worker.handler("returns")
        def returns(run: holdfast.Run, args: str) -> str:
            return args

        @worker.handler("raises")
        def raises(run: holdfast.Run, args: str) -> None:
            raise holdfast.Permanent(args)

        with self.assertLogs("holdfast", "WARNING") as logs:
            self.works(worker)
            returned = self.client.enqueue("returns", "<script>", max_attempts=1)
            raised = self.client.enqueue("raises", "<script>")
            for n in range(5):
                self.assertEqual(self.client.wait(self.client.enqueue("returns", n), timeout=60), n)
            with self.assertRaisesRegex(holdfast.JobEnded, r"the outcome \(complete\) was refused: what answers at .* 403$"):
                self.client.wait(returned, timeout=60)
            with self.assertRaisesRegex(holdfast.JobEnded, r"the outcome \(fail\) was refused: .* 403; what the error said is left out"):
                self.client.wait(raised, timeout=60)
        self.assertIn("an outcome is sent again: what answers at", logs.output[0])

    def test_a_refused_failure(self) -> None:
        """It is said with nothing but words, and logged if that is refused, too."""
        sent: list[dict[str, Any]] = []
        worker = holdfast.Worker(self.client)
        call = worker.call

        def refuses(path: str, body: Any = None, **how: Any) -> Any:
            if path != "/runs":
                return call(path, body, **how)
            sent.extend(body["outcomes"])
            if len(sent) in (1, 3, 4):
                error = {"code": "invalid", "detail": "no such field", "retryable": False}
                return {"runs": [{"ended": None, "error": error} for _ in body["outcomes"]]}
            return call(path, body, **how)

        worker.call = refuses  # type: ignore[method-assign]

        @worker.handler("fails")
        def fails(run: holdfast.Run, args: None) -> None:
            raise holdfast.Permanent("no luck")

        self.works(worker)
        with self.assertRaisesRegex(holdfast.JobEnded, r"no luck; the outcome \(fail\) was refused: no such field"):
            self.client.wait(self.client.enqueue("fails"), timeout=60)
        self.assertNotIn("stack", sent[1])
        self.assertIs(sent[1]["permanent"], True)
        with self.assertLogs("holdfast", "WARNING") as logs:
            job = self.client.enqueue("fails")
            self.eventually("both were refused", lambda: len(sent) >= 4 and bool(logs.output))
        self.assertIn(f"the outcome of job {job.id} was refused: no such field", logs.output[0])

    def test_a_second_signal(self) -> None:
        """It ends the process at once, whichever it is."""
        for first, second in ((signal.SIGTERM, signal.SIGINT), (signal.SIGINT, signal.SIGTERM), (signal.SIGINT, signal.SIGINT)):
            with self.subTest(first=first, second=second):
                began = os.path.join(self.directory, f"{first}-{second}-")
                job = self.client.enqueue("signalled", max_attempts=1)
                worker = program(SIGNALLED, self.server.url, began)
                self.addCleanup(worker.wait)
                self.addCleanup(worker.kill)
                self.eventually("it runs", lambda began=began: os.path.exists(began))
                worker.send_signal(first)
                self.eventually("it was told", lambda began=began: os.path.exists(began + "told"))
                worker.send_signal(second)
                self.assertEqual(worker.wait(60), -second)
                self.client.cancel(job)


SIGNALLED = """
import sys, time, holdfast
worker = holdfast.Worker(holdfast.Client(), stop_timeout="1h")
@worker.handler("signalled")
def signalled(run, args):
    open(sys.argv[1], "w").close()
    while not worker.is_stopping:
        time.sleep(0.01)
    open(sys.argv[1] + "told", "w").close()
    time.sleep(3600)
worker.run()
"""


class TestFrozen(ServerTest):
    def test_a_stop(self) -> None:
        """It waits for five seconds for what a poll has claimed that is not answered, and as long to leave."""
        began = os.path.join(self.directory, "began")
        worker = program(FROZEN, self.server.url, began)
        self.addCleanup(worker.wait)
        self.addCleanup(worker.kill)
        self.eventually("it polls", lambda: os.path.exists(began))
        assert self.server.process is not None
        self.server.process.send_signal(signal.SIGSTOP)
        told = time.monotonic()
        worker.send_signal(signal.SIGTERM)
        self.assertEqual(worker.wait(60), 0)
        self.assertLess(time.monotonic() - told, 12)


FROZEN = """
import sys, holdfast
worker = holdfast.Worker(holdfast.Client())
worker.handler("idle")(lambda run, args: None)
call = worker.call
def told(path, body=None, **how):
    if path.endswith("/poll") and body["seq"] == 2:
        open(sys.argv[1], "w").close()
    return call(path, body, **how)
worker.call = told
worker.run()
"""


class TestSender(unittest.TestCase):
    """Outcomes behind something that refuses some of them."""

    def setUp(self) -> None:
        client = holdfast.Client("http://127.0.0.1:1", "token")
        self.worker = holdfast.Worker(client)
        self.sent: list[list[dict[str, Any]]] = []
        self.answered: list[str] = []
        self.refused: dict[str, int] = {"evil": 403}  # the statuses with which texts are refused

        def call(_path: str, body: Any, **how: Any) -> Any:
            self.sent.append(body["outcomes"])
            text = json.dumps(body)
            for refused, status in self.refused.items():
                if refused in text:
                    return client.transport._read(status, None, b"<html>")
            return {"runs": [{"ended": {}, "error": None} for _ in body["outcomes"]]}

        self.worker.call = call  # type: ignore[method-assign]
        self.sender = Sender(self.worker, lambda run: self.answered.append(run.lease))

    def add(self, lease: str, text: str) -> Run:
        job = {"lease": lease, "checkpoint": None, **dict.fromkeys(("id", "kind", "queue", "args", "attempt", "max_attempts"), lease)}
        run = Run(self.worker, job)
        self.sender.add(run, {"do": "fail", "error": text, "kind": text, "permanent": True})
        return run

    def begin(self) -> None:
        thread = threading.Thread(target=self.sender.send)
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(self.sender.end)
        self.addCleanup(self.worker._over.set)

    def eventually(self, what: str, condition: Callable[[], bool]) -> None:
        end = time.monotonic() + 30
        while not condition():
            self.assertLess(time.monotonic(), end, what)
            time.sleep(0.01)

    def of(self, lease: str) -> list[dict[str, Any]]:
        """Return what was sent of a run by itself."""
        return [outcomes[0] for outcomes in list(self.sent) if [one["lease"] for one in outcomes] == [lease]]

    def test_one_by_one(self) -> None:
        """What a firewall lets through is stored; while it is not known that the server is there nothing is given up."""
        for lease, text in (("a", "good"), ("b", "evil"), ("c", "good")):
            self.add(lease, text)
        with self.assertLogs("holdfast", "WARNING") as logs:
            self.begin()
            self.eventually("others were sent", lambda: self.answered == ["a", "c"])
            self.assertEqual([len(outcomes) for outcomes in self.sent[:4]], [3, 1, 1, 1])
            self.assertTrue(all(one["repeat"] for outcomes in self.sent[1:] for one in outcomes))
            self.add("d", "good")
            self.eventually("one that comes later was sent", lambda: "d" in self.answered)
            self.eventually("it was sent again", lambda: len(self.of("b")) >= 5)
            self.worker.answered_beats += 1
            times = len(self.of("b"))
            self.eventually("one beat was answered", lambda: len(self.of("b")) >= times + 2)
            self.assertNotIn("b", self.answered)
            self.assertTrue(all(one["error"] == "evil" for one in self.of("b")))
            self.worker.answered_beats += 1
            self.eventually("it was replaced", lambda: "b" in self.answered)
        said = self.of("b")[-1]
        self.assertNotIn("evil", json.dumps(said))
        self.assertIn("the outcome (fail) was refused: what answers at 127.0.0.1:1 is not Holdfast: it answers 403; what", said["error"])
        self.assertEqual((said["do"], said["permanent"]), ("fail", True))
        self.assertEqual(len(logs.output), 1)

    def test_a_refused_replacement(self) -> None:
        """It is given up, as it was replaced: not before beats were answered."""
        self.refused = {"lease": 200}
        self.add("b", "evil")
        with self.assertLogs("holdfast", "WARNING") as logs:
            self.begin()
            self.eventually("it was sent again", lambda: len(self.of("b")) >= 2)
            self.worker.answered_beats += 2
            self.eventually("it was replaced", lambda: self.of("b")[-1]["error"] != "evil")
            self.assertGreaterEqual([one["error"] for one in self.of("b")].count("evil"), 3)
            self.eventually("that was sent again", lambda: len(self.of("b")) >= 7)
            self.assertEqual(self.answered, [])
            self.worker.answered_beats += 2
            self.eventually("it was given up", lambda: self.answered == ["b"])
        self.assertIn("the outcome of job b was refused: what answers at", logs.output[-1])

    def test_a_server_that_is_away(self) -> None:
        """That says nothing about an outcome, however often and whatever beats say."""
        self.refused = {"evil": 502}
        self.add("b", "evil")
        with self.assertLogs("holdfast", "WARNING"):
            self.begin()
            for n in range(2, 7):
                self.eventually("it was sent again", lambda n=n: len(self.of("b")) >= n)
                self.worker.answered_beats += 1
            self.refused = {}
            self.eventually("it was stored", lambda: self.answered == ["b"])
        self.assertTrue(all(one["error"] == "evil" for one in self.of("b")))

    def test_a_run_that_is_lost(self) -> None:
        """Its outcome is not sent again: the job is another run's."""
        run = self.add("b", "evil")
        with self.assertLogs("holdfast", "WARNING"):
            self.begin()
            self.eventually("it was sent again", lambda: len(self.of("b")) >= 2)
            run.stop(holdfast.Cancelled("lost"), lost=True)
            self.eventually("it was given up", lambda: self.answered == ["b"])


class TestEnds(unittest.TestCase):
    def setUp(self) -> None:
        self.client = holdfast.Client("http://127.0.0.1:1", "token")
        self.worker = holdfast.Worker(self.client)
        self.worker.handler("mail")(lambda run, args: None)

    def test_a_token_that_is_revoked(self) -> None:
        """It is noticed while all slots are busy, when only beats are sent."""
        clock, beats = Clock(), 0

        def answer(_method: str, _path: str) -> tuple[int, bytes]:
            nonlocal beats
            beats += 1
            clock.now += 25
            if beats == 2:  # the minute begins again
                return 200, b'{"cancel":[],"pause":[],"lost":[],"mode":"run"}'
            return 401, b'{"code":"unauthenticated","detail":"the key was revoked"}'

        intercepted(self.client, answer)
        with (
            mock.patch("holdfast.worker.time", clock),
            mock.patch("holdfast.transport.time", clock),
            self.assertLogs("holdfast", "WARNING") as logs,
            self.assertRaisesRegex(holdfast.Unauthenticated, "the key was revoked"),
        ):
            for _ in range(20):
                self.worker._beat("w")
        self.assertEqual(beats, 6)  # one, one that was accepted, and those of more than a minute
        self.assertIn("the key was revoked", logs.output[0])

    def test_a_server_that_does_not_know_the_worker(self) -> None:
        """It registers again after pauses that grow, and says so."""
        made: list[float] = []

        def answer(_method: str, path: str) -> tuple[int, bytes]:
            if path.endswith("/leave"):
                return 200, b'{"node":"n"}'
            if not path.endswith("/workers"):
                return 404, b'{"code":"not_found","detail":"there is no such worker"}'
            made.append(time.monotonic())
            if len(made) == 6:
                self.worker.stop()
            return 201, b'{"worker":"w%d","beat_every":"1h"}' % len(made)

        intercepted(self.client, answer)
        with self.assertLogs("holdfast", "WARNING") as logs:
            self.worker.run(signals=False)
        self.assertEqual(len(made), 6)
        for i, least in enumerate((0.05, 0.1, 0.2, 0.4, 0.8)):
            self.assertGreaterEqual(made[i + 1] - made[i], least - 0.002)
        self.assertEqual(len(logs.output), 1)
        self.assertIn("does not know the worker that has just registered", logs.output[0])

    def test_a_poll_that_is_cut_off(self) -> None:
        """What it has claimed is asked for again, and runs."""
        job: dict[str, Any] = dict.fromkeys(("checkpoint", "timeout", "version", "args"))
        job |= {"lease": "l", "id": "j", "kind": "mail", "queue": "q", "attempt": 1, "max_attempts": 1, "durable": False}
        polls: list[tuple[str, dict[str, Any]]] = []
        ended: list[str] = []
        asked = threading.Event()

        class Answers(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                what = re.search("(workers|poll|beat|leave|runs)($|[?])", self.path)
                assert what is not None
                if what[1] == "poll":
                    polls.append((self.path.partition("?")[2], body))
                    if len(polls) == 1:  # it is not answered
                        asked.set()
                        self.rfile.read(1)
                        self.close_connection = True
                        return
                if what[1] == "runs":
                    ended.append(body["outcomes"][0]["do"])
                answers = {
                    "workers": {"worker": "w", "beat_every": "5s"}, "poll": {"jobs": [job], "mode": "running"}, "leave": {},
                    "runs": {"runs": [{"ended": {}, "error": None}]}, "beat": {"cancel": [], "pause": [], "lost": [], "mode": "running"},
                }  # fmt: skip
                text = json.dumps(answers[what[1]]).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *_: Any) -> None:
                pass

        client = holdfast.Client(serving(self, Answers), TOKEN)
        self.addCleanup(client.close)
        worker = holdfast.Worker(client, slots=2)
        worker.handler("mail")(lambda run, args: None)
        thread = threading.Thread(target=worker.run, kwargs={"signals": False})
        thread.start()
        self.addCleanup(thread.join)
        asked.wait(30)
        began = time.monotonic()
        worker.stop()
        thread.join()
        self.assertLess(time.monotonic() - began, 4)
        first, second = polls
        self.assertEqual((first[1]["repeat"], second[1]), (False, {**first[1], "repeat": True}))
        self.assertRegex(second[0], "wait=0(us|s)")
        self.assertEqual(ended, ["complete"])

    def test_a_server_that_does_not_answer(self) -> None:
        """A worker that leaves does not wait for it."""
        clock = Clock()

        def silent(_method: str, _path: str, _body: Any = None, *, timeout: float | None = None, **_: Any) -> Any:
            clock.now += 30.0 if timeout is None else timeout
            raise holdfast.Unavailable("no answer")

        self.client.transport.call = silent  # type: ignore[method-assign]
        self.worker._token = "w"
        with mock.patch("holdfast.worker.time", clock), mock.patch("holdfast.transport.time", clock):
            self.worker._leave()
        self.assertLess(clock.now, 6.0)

from __future__ import annotations

import datetime
import threading
import time
import unittest
import uuid

import holdfast
from holdfast import durations
from holdfast.client import job_body, new_id

from .server import ServerTest


class TestClient(ServerTest):
    def test_enqueue_and_look(self) -> None:
        soon = datetime.datetime.now(datetime.UTC) + datetime.timedelta(hours=1)
        job = self.client.enqueue("mail", {"to": "ann"}, queue="bulk", priority=1, tags=["a"], run_at=soon, timeout=1.5)
        self.assertFalse(job.existing)
        found = self.client.get(job.id)
        self.assertEqual(
            (found["kind"], found["queue"], found["state"], found["args"], found["tags"]),
            ("mail", "bulk", "scheduled", {"to": "ann"}, ["a"]),
        )
        self.assertEqual(durations.seconds(found["timeout"]), 1.5)
        again = self.client.enqueue("mail", {"to": "ann"}, queue="bulk", priority=1, tags=["a"], run_at=soon, timeout=1.5, id=job.id)
        self.assertEqual((again.id, again.existing), (job.id, True))

    def test_many_and_pages(self) -> None:
        jobs = self.client.enqueue_many([("mail", n) for n in range(240)] + [{"kind": "push", "delay": 3600}])
        self.assertEqual(len({job.id for job in jobs}), 241)
        self.assertEqual(len(list(self.client.list())), 241)
        self.assertEqual(len(list(self.client.list(limit=205))), 205)
        self.assertEqual([j["kind"] for j in self.client.list("kind:push")], ["push"])
        self.assertEqual([j["kind"] for j in self.client.list(state="scheduled")], ["push"])
        with self.assertRaises(holdfast.Invalid):
            self.client.enqueue_many([("mail", 1), {"kind": "mail", "priority": 9}])
        self.assertEqual(len(list(self.client.list())), 241)
        with self.assertRaises(holdfast.NotAllEnqueued) as some:
            self.client.enqueue_many([("mail", 1), {"kind": "mail", "after": [{"job": new_id()}]}])
        self.assertEqual([bool(job.code) for job in some.exception.jobs], [False, True])
        self.assertEqual(len(list(self.client.list())), 242)

    def test_wait(self) -> None:
        job = self.client.enqueue("mail", delay=3600)
        with self.assertRaises(TimeoutError):
            self.client.wait(job, timeout=0.2)
        threading.Timer(0.3, lambda: self.client.cancel(job.id, "not wanted")).start()
        with self.assertRaises(holdfast.JobEnded) as ended:
            self.client.wait(job)
        self.assertEqual((ended.exception.state, ended.exception.job_id), ("cancelled", job.id))
        self.assertEqual(self.client.retry(job.id)["state"], "available")

    def test_signal(self) -> None:
        job = self.client.enqueue("order", delay=3600)
        first = self.client.signal(job.id, "approved", {"by": "ann"}, key="approval-1")
        again = self.client.signal(job.id, "approved", {"by": "ann"}, key="approval-1")
        other = self.client.signal(job.id, "approved")
        self.assertEqual([s["duplicate"] for s in (first, again, other)], [False, True, False])

    def test_mistakes(self) -> None:
        stranger = holdfast.Client(self.server.url, "another token", timeout=1)
        self.addCleanup(stranger.close)
        with self.assertRaises(holdfast.Forbidden):
            stranger.enqueue("mail")
        with self.assertRaises(holdfast.NotFound):
            self.client.get(new_id())
        with self.assertRaises(holdfast.Invalid) as wrong:
            self.client.enqueue("mail", priority=9)
        self.assertTrue(wrong.exception.errors)
        with self.assertRaises(TypeError):
            self.client.enqueue("mail", colour="red")
        with self.assertRaises(ValueError):
            self.client.enqueue("mail", run_at=datetime.datetime(2030, 1, 1))
        with self.assertRaises(ValueError):
            self.client.enqueue("mail", float("nan"))
        with self.assertRaises(ValueError):
            holdfast.Client("http://user:secret@127.0.0.1:1", "t")
        nowhere = holdfast.Client("http://127.0.0.1:1", "t", timeout=0.2)
        with self.assertRaises(holdfast.Unavailable):
            nowhere.get(new_id())

    def test_a_server_that_is_away(self) -> None:
        self.server.kill()
        starts = threading.Timer(0.5, self.server.start)
        starts.start()
        self.addCleanup(starts.join)
        job = self.client.enqueue("mail")
        self.assertEqual(self.state(job), "available")
        self.assertEqual(len(list(self.client.list())), 1)


class TestParts(unittest.TestCase):
    def test_durations(self) -> None:
        for text, seconds in {"0": 0, "1h2m3.5s": 3723.5, "250ms": 0.25, "7us": 7e-6, "0s": 0}.items():
            self.assertAlmostEqual(durations.seconds(text), seconds)
        self.assertAlmostEqual(durations.seconds(durations.text(12.345678)), 12.345678)
        for text in ("", "5", "-1s", "1 s", "1d"):
            with self.assertRaises(ValueError):
                durations.seconds(text)

    def test_what_takes_durations(self) -> None:
        """Each takes numbers, texts and timedeltas alike, and an error names what it is about."""
        for thirty in (30, 30.0, "30s", datetime.timedelta(seconds=30)):
            self.assertEqual(job_body("mail", None, {"delay": thirty})["delay"], "30000000us")
            client = holdfast.Client("http://127.0.0.1:1", "t", timeout=thirty)
            worker = holdfast.Worker(client, dead_after=thirty, stop_timeout=thirty)
            self.assertEqual((client.patience, worker.dead_after, worker.stop_timeout), (30, 30, 30))
            self.assertEqual(holdfast.Snooze(thirty).after, 30)
        takes = {
            "delay": lambda value: client.enqueue("mail", delay=value),
            "heartbeat_timeout": lambda value: client.enqueue_many([{"kind": "mail", "heartbeat_timeout": value}]),
            "timeout": lambda value: client.wait("j", timeout=value),
            "dead_after": lambda value: holdfast.Worker(client, dead_after=value),
            "stop_timeout": lambda value: holdfast.Worker(client, stop_timeout=value),
            "after": holdfast.Snooze,
        }
        for name, take in takes.items():
            for wrong, error in (("soon", ValueError), ([30], TypeError), (True, TypeError)):
                with self.assertRaisesRegex(error, f"^{name} is .*; it takes a number of seconds, a timedelta, or a text"):
                    take(wrong)
        for endless in (-1, float("nan"), float("inf")):
            with self.assertRaisesRegex(ValueError, "^delay is "):
                client.enqueue("mail", delay=endless)
        with self.assertRaisesRegex(TypeError, "^run_at is 'soon'; it takes a datetime with a zone"):
            client.enqueue("mail", run_at="soon")

    def test_ids(self) -> None:
        before = new_id()
        time.sleep(0.002)
        after = uuid.UUID(new_id())
        self.assertLess(before, str(after))
        self.assertEqual((after.version, after.variant), (7, uuid.RFC_4122))

    def test_snoozes(self) -> None:
        for wrong in ({}, {"after": 1, "until": datetime.datetime.now(datetime.UTC)}, {"until": datetime.datetime(2030, 1, 1)}):
            with self.assertRaises(ValueError):
                holdfast.Snooze(**wrong)

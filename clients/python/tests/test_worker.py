from __future__ import annotations

import collections
import os
import pathlib
import signal
import threading
import time

import holdfast

from .server import TOKEN, ServerTest, program


# A client whose requests to a path are refused, as without the scope.
REFUSING = """
import holdfast

def refusing(refused):
    client = holdfast.Client()
    call = client.transport.call
    def checked(method, path, *args, **how):
        if path == refused:
            raise holdfast.Forbidden("the key does not have the scope")
        return call(method, path, *args, **how)
    client.transport.call = checked
    return client
"""


def first_program() -> str:
    """Return the first program of the README."""
    readme = pathlib.Path(__file__).parents[1] / "README.md"
    return readme.read_text(encoding="utf-8").split("```python\n")[1].split("```")[0]


class TestWorker(ServerTest):
    def works(self, worker: holdfast.Worker) -> None:
        """Let a worker work until the end of the test."""
        thread = threading.Thread(target=worker.run, kwargs={"signals": False})
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(worker.stop)

    def test_what_handlers_say(self) -> None:
        worker = holdfast.Worker(self.client, slots=5)
        seen: dict[str, list[int]] = collections.defaultdict(list)

        @worker.handler("adds")
        def adds(run: holdfast.Run, args: list[int]) -> int:
            return sum(args)

        @worker.handler("fails")
        def fails(run: holdfast.Run, args: str) -> None:
            seen[run.id].append(run.attempt)
            raise holdfast.Permanent("never") if args == "permanent" else RuntimeError("no luck")

        @worker.handler("snoozes")
        def snoozes(run: holdfast.Run, args: None) -> int:
            seen[run.id].append(run.attempt)
            if len(seen[run.id]) == 1:
                raise holdfast.Snooze(0.1, reason="later")
            return len(seen[run.id])

        @worker.handler("remembers")
        def remembers(run: holdfast.Run, args: None) -> int:
            if run.checkpoint is None:
                run.progress(50, "halfway", {"done": 7})
                raise RuntimeError("again")
            return run.checkpoint["done"]

        @worker.handler("strange")
        def strange(run: holdfast.Run, args: None) -> object:
            return object()

        @worker.handler("slow")
        def slow(run: holdfast.Run, args: None) -> None:
            run.sleep(60)

        self.works(worker)
        fast = {"base": "10ms", "cap": "10ms"}
        self.assertEqual(self.client.wait(self.client.enqueue("adds", [1, 2, 3]), timeout=60), 6)
        self.assertEqual(self.client.wait(self.client.enqueue("snoozes"), timeout=60), 2)
        self.assertEqual(self.client.wait(self.client.enqueue("remembers", backoff=fast), timeout=60), 7)
        for job, says, attempts in (
            (self.client.enqueue("fails", "often", max_attempts=3, backoff=fast), "RuntimeError: no luck", 3),
            (self.client.enqueue("fails", "permanent", max_attempts=3), "Permanent: never", 1),
            (self.client.enqueue("strange", max_attempts=1), "is not JSON serializable", 0),
            (self.client.enqueue("slow", max_attempts=1, timeout=0.2), "longer than 0.2 s", 0),
        ):
            with self.assertRaises(holdfast.JobEnded) as ended:
                self.client.wait(job, timeout=60)
            self.assertEqual(ended.exception.state, "failed")
            self.assertIn(says, ended.exception.error or "")
            if attempts:
                self.assertEqual(seen[job.id], list(range(1, attempts + 1)))

    def test_what_handlers_must_not_say(self) -> None:
        """It costs the job an attempt, and nothing else."""
        worker = holdfast.Worker(self.client, slots=2)

        class Untold(Exception):
            def __str__(self) -> str:
                raise RuntimeError("no words")

        deep: list = []
        for _ in range(100_000):
            deep = [deep]

        @worker.handler("does")
        def does(run: holdfast.Run, args: str) -> object:
            match args:
                case "negative" if run.checkpoint is None:
                    run.progress(value=1)
                    raise holdfast.Snooze(-1)
                case "untold":
                    raise Untold
                case "deep":
                    return deep
                case "large":
                    return "x" * (2 << 20)
                case "wordy":
                    raise holdfast.Cancelled("x" * 5000)
                case "words":
                    raise RuntimeError("\ud800\0" * 100_000)
                case "odd":
                    raise holdfast.Cancelled("x\0\ud800")
                case "later" if run.checkpoint is None:
                    run.progress(value=1)
                    raise holdfast.Snooze(0, reason="x\0\ud800")
                case "long":
                    raise holdfast.Snooze(1e300)
                case "changed":
                    snooze = holdfast.Snooze(1)
                    snooze.after = "soon"  # type: ignore[assignment]
                    raise snooze
                case "nul":
                    return "\0"
                case "half":
                    return ["\ud800"]
            return args

        self.works(worker)
        ends = {}
        for args in (
            "negative", "untold", "deep", "large", "wordy", "words", "odd", "later", "long", "changed", "nul", "half", "well",
        ):  # fmt: skip
            job = self.client.enqueue("does", args, max_attempts=1)
            try:
                ends[args] = self.client.wait(job, timeout=60)
            except holdfast.JobEnded as ended:
                ends[args] = ended.state
        self.assertEqual(ends, {
            "negative": "negative", "untold": "failed", "deep": "failed", "large": "failed", "wordy": "cancelled", "words": "failed",
            "odd": "cancelled", "later": "later", "long": "failed", "changed": "failed", "nul": "failed", "half": "failed",
            "well": "well",
        })  # fmt: skip
        self.eventually("no run is left", lambda: not worker._runs)

    def test_connections_are_used_again(self) -> None:
        worker = holdfast.Worker(self.client, slots=4)

        @worker.handler("says")
        def says(run: holdfast.Run, args: int) -> int:
            run.progress(args)
            return len(os.listdir("/proc/self/fd")) if os.path.exists("/proc/self/fd") else 0

        jobs = self.client.enqueue_many([("says", n % 100) for n in range(200)])
        self.works(worker)
        files = [self.client.wait(job, timeout=60) for job in jobs]
        self.assertLess(max(files) - min(files), 20)

    def test_a_namespace(self) -> None:
        shop = holdfast.Client(self.server.url, TOKEN, namespace="shop", timeout=60)
        self.addCleanup(shop.close)
        worker = holdfast.Worker(shop)

        @worker.handler("mail")
        def mail(run: holdfast.Run, args: None) -> str:
            run.progress(1)
            return run.job["namespace"]

        self.works(worker)
        self.assertEqual(shop.wait(shop.enqueue("mail"), timeout=60), "shop")

    def test_a_lost_batch_is_sent_again(self) -> None:
        """Of the runs of a batch some may have an error that passes."""
        worker = holdfast.Worker(self.client, slots=3)
        sent: list[dict] = []
        call = worker.call

        def refuses(path: str, body: dict | None = None, **how: object) -> object:
            if path == "/runs":
                sent.append(body or {})
                if len(sent) < 3:
                    away = {"status": 503, "code": "unavailable", "detail": "away", "retryable": True}
                    return {"runs": [{"ended": None, "error": away} for _ in (body or {})["outcomes"]]}
            return call(path, body, **how)

        worker.call = refuses  # type: ignore[method-assign]

        @worker.handler("once")
        def once(run: holdfast.Run, args: None) -> int:
            return run.attempt

        self.works(worker)
        self.assertEqual(self.client.wait(self.client.enqueue("once"), timeout=60), 1)
        self.assertTrue(all(o["repeat"] for body in sent[1:3] for o in body["outcomes"]))

    def test_a_lost_registration_is_one_worker(self) -> None:
        """What registers again, as the answer was lost, is the same; if that is gone meanwhile, another one."""
        worker = holdfast.Worker(self.client)
        keys: list[object] = []
        nodes: list[str] = []
        call = worker.call

        def loses(path: str, body: dict | None = None, **how: object) -> object:
            if path != "/workers":
                return call(path, body, **how)
            keys.append(how["key"])
            answer = call(path, body, **how)
            nodes.append(answer["node"])
            if len(nodes) == 2:
                call(f"/workers/{answer['worker']}/leave")
            if len(nodes) <= 2:
                raise holdfast.Unavailable("the answer is lost")
            return answer

        worker.call = loses  # type: ignore[method-assign]

        @worker.handler("registered")
        def registered(run: holdfast.Run, args: None) -> int:
            return run.attempt

        self.works(worker)
        self.assertEqual(self.client.wait(self.client.enqueue("registered"), timeout=60), 1)
        self.assertEqual(len(nodes), 3)
        self.assertEqual(nodes[0], nodes[1])
        self.assertNotEqual(nodes[1], nodes[2])
        self.assertEqual(len(keys), 4)
        self.assertEqual(keys[:3], keys[:1] * 3)
        self.assertNotIn(keys[3], [*keys[:3], ""])

    def test_the_first_program(self) -> None:
        """It is in the README."""
        first = program(first_program(), self.server.url)
        self.addCleanup(first.kill)
        self.assertEqual(first.wait(60), 0)
        (job,) = [self.client.get(job["id"]) for job in self.client.list()]
        self.assertEqual((job["state"], job["queue"], job["result"]), ("completed", "mails", {"sent": True}))

    def test_the_first_program_ends_when_it_fails(self) -> None:
        """Whoever is refused, who asks or who works."""
        for refused in ("/jobs", "/workers"):
            source = REFUSING + first_program().replace("holdfast.Client()", f"refusing({refused!r})")
            first = program(source, self.server.url)
            self.addCleanup(first.kill)
            self.assertEqual(first.wait(60) == 0, refused == "/jobs")  # the thread's error is printed alone

    def test_a_cancel_arrives(self) -> None:
        worker = holdfast.Worker(self.client, dead_after=2)
        running = threading.Event()

        @worker.handler("long")
        def long(run: holdfast.Run, args: None) -> None:
            running.set()
            run.sleep(60)

        self.works(worker)
        job = self.client.enqueue("long")
        self.assertTrue(running.wait(60))
        self.client.cancel(job.id, "not wanted")
        with self.assertRaises(holdfast.JobEnded) as ended:
            self.client.wait(job, timeout=60)
        self.assertEqual((ended.exception.state, ended.exception.error), ("cancelled", "not wanted"))

    def test_many_while_the_server_is_killed(self) -> None:
        worker = holdfast.Worker(self.client, slots=20, dead_after=60)
        ran: collections.Counter[int] = collections.Counter()
        lock = threading.Lock()

        @worker.handler("count")
        def count(run: holdfast.Run, args: int) -> int:
            time.sleep(0.005)
            with lock:
                ran[args] += 1
            return args

        jobs = self.client.enqueue_many([("count", n) for n in range(600)])
        self.works(worker)
        for bound in (100, 300):
            self.eventually(f"{bound} jobs have run", lambda bound=bound: len(ran) >= bound)
            self.server.kill()
            time.sleep(0.2)
            self.server.start()
        for n, job in enumerate(jobs):
            self.assertEqual(self.client.wait(job, timeout=60), n)
        self.assertEqual([n for n, times in ran.items() if times != 1], [], "a server that dies takes no runs with it")
        self.assertEqual({self.client.get(job.id)["attempt"] for job in jobs[::50]}, {1})

    def test_a_worker_that_is_killed(self) -> None:
        job = self.client.enqueue("dies", backoff={"base": "10ms", "cap": "10ms"})
        first = program(KILLED, self.server.url, os.path.join(self.directory, "began"))
        self.addCleanup(first.wait)
        self.addCleanup(first.kill)
        self.eventually("it runs", lambda: os.path.exists(os.path.join(self.directory, "began")))
        first.send_signal(signal.SIGKILL)
        worker = holdfast.Worker(self.client, name="second")

        @worker.handler("dies")
        def lives(run: holdfast.Run, args: None) -> int:
            return run.attempt

        self.works(worker)
        self.assertEqual(self.client.wait(job, timeout=60), 2)

    def test_a_worker_that_stood_still(self) -> None:
        """Its runs go on elsewhere, and it registers again."""
        began = os.path.join(self.directory, "began")
        frozen = program(KILLED, self.server.url, began)
        self.addCleanup(frozen.wait)
        self.addCleanup(frozen.kill)
        job = self.client.enqueue("dies", backoff={"base": "10ms", "cap": "10ms"})
        self.eventually("it runs", lambda: os.path.exists(began))
        frozen.send_signal(signal.SIGSTOP)
        self.eventually("its job was taken from it", lambda: self.state(job) != "running")
        os.remove(began)
        frozen.send_signal(signal.SIGCONT)
        self.eventually("it runs again", lambda: os.path.exists(began))
        self.eventually("the second attempt", lambda: self.client.get(job.id)["attempt"] == 2)

    def test_a_stop_waits_for_runs_and_gives_others_back(self) -> None:
        began = os.path.join(self.directory, "began")
        worker = program(STOPPED, self.server.url, began)
        self.addCleanup(worker.kill)
        jobs = {name: self.client.enqueue(name) for name in ("short", "endless")}
        self.eventually("both run", lambda: os.path.exists(began + "short") and os.path.exists(began + "endless"))
        worker.send_signal(signal.SIGTERM)
        self.assertEqual(worker.wait(60), 0)
        self.assertEqual(self.state(jobs["short"]), "completed")
        self.assertEqual(self.state(jobs["endless"]), "available")
        self.assertEqual(self.client.get(jobs["endless"].id)["attempt"], 0, "the attempt does not count")


KILLED = """
import sys, time, holdfast
worker = holdfast.Worker(holdfast.Client(), name="first", dead_after=2)
@worker.handler("dies")
def dies(run, args):
    open(sys.argv[1], "w").close()
    time.sleep(3600)
worker.run()
"""

STOPPED = """
import sys, time, holdfast
worker = holdfast.Worker(holdfast.Client(), stop_timeout=2)
@worker.handler("short")
def short(run, args):
    open(sys.argv[1] + "short", "w").close()
    time.sleep(1)
@worker.handler("endless")
def endless(run, args):
    open(sys.argv[1] + "endless", "w").close()
    while True:
        run.sleep(3600)
worker.run()
"""

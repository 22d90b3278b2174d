from __future__ import annotations

import collections
import contextlib
import json
import os
import pathlib
import signal
import threading
import time
import unittest
from collections.abc import Callable
from typing import Any
from unittest import mock

import holdfast
from holdfast.durable import Context, Leave
from holdfast.errors import foreign, of_problem

from .server import ServerTest, program

FORMAT = pathlib.Path(__file__).parents[3] / "internal" / "journal" / "testdata" / "format"


class Function:
    """A function that a golden file tells as a list of operations."""

    def __init__(self, file: pathlib.Path) -> None:
        self.told = json.loads(file.read_text())

    def __call__(self, ctx: Context, args: Any) -> None:
        children: dict[str, holdfast.Child] = {}
        for op in self.told["does"]:
            got = self.does(ctx, op, children)
            if "gets" in op and got != op["gets"]:
                raise holdfast.Permanent(f"{op} got {got!r}")

    def does(self, ctx: Context, op: dict[str, Any], children: dict[str, holdfast.Child]) -> Any:
        match op["op"]:
            case "step":
                return self.step(ctx, op)
            case "sleep":
                return ctx.sleep(holdfast.durations.seconds(op["for"]))
            case "signal":
                within = holdfast.durations.seconds(op["within"]) if "within" in op else None
                try:
                    return ctx.wait_signal(op["name"], timeout=within)
                except holdfast.WaitTimeout:
                    if not op.get("times_out"):
                        raise holdfast.Permanent("it timed out") from None
                    return None
            case "child":
                return self.wait(ctx.child(op["kind"], op["args"]), op)
            case "start":
                children[op["as"]] = ctx.child(op["kind"], op.get("args"))
            case "wait":
                return self.wait(children[op["of"]], op)
            case "send":
                return ctx.signal(children[op["to"]].id, op["name"], op["payload"])
            case "publish":
                return ctx.publish(op["key"], op["value"])
            case "append":
                return ctx.append(op["stream"], op["value"])
            case "now":
                ctx.now()
            case "patched":
                if ctx.patched(op["name"]) != op["is"]:
                    raise holdfast.Permanent("patched is not so")
            case other:
                raise holdfast.Permanent(f"there is no operation {other}")
        return None

    def step(self, ctx: Context, op: dict[str, Any]) -> None:
        fails = list(op.get("fails", []))

        def attempt() -> Any:
            at = self.tries[ctx.id, op["name"]]
            self.tries[ctx.id, op["name"]] += 1
            if at < len(fails):
                raise holdfast.Permanent(fails[at]) if op.get("permanent") else RuntimeError(fails[at])
            return op["returns"]

        how = {"attempts": op.get("attempts", 1)}
        if "backoff" in op:
            how["backoff"] = holdfast.durations.seconds(op["backoff"])
        try:
            got = ctx.step(op["name"], attempt, **how)
        except holdfast.StepFailed as failed:
            if "returns" in op or failed.message != fails[-1] or failed.attempts != len(fails):
                raise holdfast.Permanent(f"{failed!r}, after {failed.attempts}") from None
            return
        if "returns" not in op or got != op["returns"]:
            raise holdfast.Permanent(f"the step returns {got!r}")

    tries: collections.Counter[tuple[str, str]] = collections.Counter()

    def wait(self, child: holdfast.Child, op: dict[str, Any]) -> Any:
        try:
            return child.wait()
        except holdfast.JobEnded:
            if not op.get("fails"):
                raise holdfast.Permanent("the child failed") from None
            return None


def plain(entries: list[dict[str, Any]]) -> list[Any]:
    """Entries without what differs between runs, and between languages."""

    def masked(kind: str, data: Any) -> Any:
        if kind == "value":
            return "…"
        if not isinstance(data, dict):
            return data
        return {
            key: "…" if key in ("id", "until", "type") else masked("", value) if key == "failure" else value
            for key, value in data.items()
        }

    return [
        (int(e["seq"]), e["kind"], e["path"], e.get("name") or "", int(e.get("message") or 0), masked(e["kind"], e.get("data")))
        for e in entries
    ]


class Replayed:
    """A run whose journal is that of a golden file, and whose server takes nothing more."""

    def __init__(self, journal: dict[str, Any]) -> None:
        self.job = {
            "durable": True, "lease_number": "2", "claimed_at": "2000-01-01T02:00:00Z", "cancel_requested": False, "cancel_reason": None,
        }  # fmt: skip
        self.id, self.kind, self.queue, self.args = journal["job"], journal["kind"], "default", journal["args"]
        self.attempt, self.max_attempts = 1, 25
        self.lost = self.is_stopped = self.is_to_pause = False
        self.journal = journal

    def request(self, method: str, what: str, body: Any = None, *, query: dict[str, str] | None = None) -> Any:
        if method != "GET" or query is None:
            raise AssertionError(f"a replay appends {body}")
        after, seen = int(query["after"]), int(query["seen"])
        entries = [e for e in self.journal["entries"] if e["seq"] > after][:2]
        messages = [m for m in self.journal["messages"] if m["seq"] > seen][:1]
        return {
            "entries": [{"name": "", "message": 0, "data": None, **e} for e in entries],
            "messages": [{"name": "", "from": None, "reason": None, "error": None, "data": None, **m} for m in messages],
            "more": len(entries) == 2 or len(messages) == 1, "now": "2000-01-01T02:00:00Z",
        }  # fmt: skip

    def repeat(self, make: Any) -> Any:
        return make(False)

    def check(self) -> None:
        pass

    def stop(self, why: Exception, *, lost: bool = False) -> None:
        raise AssertionError(f"a replay stops: {why}")


class TestFormat(unittest.TestCase):
    def test_reads_what_go_writes(self) -> None:
        """A function comes past all that a Go function has left, and does nothing."""
        files = sorted(FORMAT.glob("*.json"))
        self.assertGreaterEqual(len(files), 7)
        for file in files:
            with self.subTest(file.name):
                function = Function(file)
                replayed: Any = Replayed(function.told["journal"])
                self.assertEqual(Context(replayed).outcome(function), {"do": "complete", "result": None})

    def test_other_code_is_held(self) -> None:
        """Code that asks for something else than the journal has is told as a Go node tells it."""
        told = Function(FORMAT / "steps.json").told["journal"]
        for code, says in (
            (lambda ctx, _: ctx.step("pay", lambda: 1), 'the code asks for step "pay" at place 1, where the journal (entry 1) has step "charge"'),
            (lambda ctx, _: ctx.sleep(1), 'the code asks for a timer at place 1, where the journal (entry 1) has step "charge"'),
            (lambda ctx, _: ctx.step("charge", lambda: 1), 'without asking for step "nothing" at place 2, which the journal has (entry 2)'),
            (lambda ctx, _: None, 'without asking for step "charge" at place 1'),
        ):
            replayed: Any = Replayed(told)
            outcome = Context(replayed).outcome(code)
            assert outcome is not None
            self.assertEqual(outcome["do"], "hold")
            self.assertIn(says, outcome["reason"])

    def test_misuse(self) -> None:
        """Operations do not nest, and belong to one thread."""

        def nests(ctx: Context, _: Any) -> None:
            ctx.step("charge", lambda: 1)
            ctx.step("nothing", lambda: 1)
            ctx.step("text", lambda: 1)
            ctx.step("new", lambda: ctx.now())

        def crosses(ctx: Context, _: Any) -> None:
            raised: list[Exception] = []

            def other() -> None:
                try:
                    ctx.now()
                except RuntimeError as error:
                    raised.append(error)

            thread = threading.Thread(target=other)
            thread.start()
            thread.join()
            raise raised[0]

        for code, says in ((nests, "do not nest"), (crosses, "another thread")):
            replayed: Any = Replayed(Function(FORMAT / "steps.json").told["journal"])
            with self.assertRaisesRegex(RuntimeError, says):
                Context(replayed).outcome(code)

    def test_swallowed(self) -> None:
        """A function that lets nothing through is parked all the same."""

        def swallows(ctx: Context, _: Any) -> str:
            for name in ("charge", "nothing", "text"):
                ctx.step(name, lambda: 1)
            try:
                ctx.wait_signal("approved")
            except BaseException as left:
                if not isinstance(left, Leave):
                    raise
            return "done"

        replayed: Any = Replayed(Function(FORMAT / "steps.json").told["journal"])
        outcome = Context(replayed).outcome(swallows)
        assert outcome is not None
        self.assertEqual((outcome["do"], outcome["waits_for"]), ("park", ["signal approved"]))


    def test_full_journal(self) -> None:
        """A journal that is full is not the fault of a signal: the run fails for good."""

        class Full(Replayed):
            def request(self, method: str, what: str, body: Any = None, *, query: dict[str, str] | None = None) -> Any:
                if method == "GET":
                    return super().request(method, what, body, query=query)
                raise holdfast.JournalFull("the job remembers all it may", status=409, code="journal_full")

        def signals(ctx: Context, _: Any) -> None:
            for name in ("charge", "nothing", "text"):
                ctx.step(name, lambda: 1)
            ctx.signal("0198c0de-7b1c-7d3a-9f00-0123456789ab", "approved")

        full: Any = Full(Function(FORMAT / "steps.json").told["journal"])
        with self.assertRaises(holdfast.JournalFull):
            Context(full).outcome(signals)

    def test_refused_appends(self) -> None:
        """What the server would refuse again ends the job, whatever the function catches; else the attempt ends."""
        about = [{"pointer": "/entries/0/name", "detail": "it is odd"}]
        for status, code, errors, is_permanent in (
            (422, "invalid", about, True),
            (400, "malformed", [], True),
            (413, "too_large", [], True),
            (413, "", [], True),
            (404, "not_found", about, True),
            (409, "conflict", about, True),
            (409, "conflict", [], False),
            (409, "journal_full", [], False),
            (401, "unauthenticated", [], False),
            (403, "forbidden", [], False),
            (421, "wrong_host", [], False),
        ):
            refusal = of_problem(status, {"code": code, "detail": "no such thing", "errors": errors})
            effects: list[int] = []

            class Refuses(Replayed):
                def request(self, method: str, what: str, body: Any = None, *, query: dict[str, str] | None = None) -> Any:
                    if method == "GET":
                        return super().request(method, what, body, query=query)
                    raise refusal

            def charges(ctx: Context, _: Any) -> None:
                for name in ("charge", "nothing", "text"):
                    ctx.step(name, lambda: 1)
                try:
                    ctx.step("new", lambda: effects.append(1))
                except Exception:
                    pass

            refuses: Any = Refuses(Function(FORMAT / "steps.json").told["journal"])
            with self.subTest(status=status, code=code), self.assertRaises(Exception) as raised:
                Context(refuses).outcome(charges)
            self.assertEqual(effects, [1])
            self.assertIn("no such thing", str(raised.exception))
            if is_permanent:
                self.assertIsInstance(raised.exception, holdfast.Permanent)
                self.assertIs(raised.exception.__cause__, refusal)
            else:
                self.assertIs(raised.exception, refusal)


    def test_appends_that_a_firewall_refuses(self) -> None:
        """They end the job, once beats were answered meanwhile; until then they are repeated."""

        class Firewall(Replayed):
            answered_beats = 0
            refused = 0

            def request(self, method: str, what: str, body: Any = None, *, query: dict[str, str] | None = None) -> Any:
                if method == "GET":
                    return super().request(method, what, body, query=query)
                self.refused += 1
                if self.refused > 10:
                    self.answered_beats += 1
                raise foreign(403, "at 127.0.0.1:1", "it answers 403")

            def repeat(self, make: Any) -> Any:
                while True:
                    try:
                        return make(True)
                    except holdfast.Unavailable:
                        pass

        def charges(ctx: Context, _: Any) -> None:
            for name in ("charge", "nothing", "text", "new"):
                ctx.step(name, lambda: 1)

        run: Any = Firewall(Function(FORMAT / "steps.json").told["journal"])
        with self.assertRaisesRegex(holdfast.Permanent, "would refuse it again: what answers at 127.0.0.1:1 is not Holdfast"):
            Context(run).outcome(charges)
        self.assertEqual(run.refused, 12)


class TestDurable(ServerTest):
    def works(self, worker: holdfast.Worker) -> None:
        """Let a worker work until the end of the test."""
        thread = threading.Thread(target=worker.run, kwargs={"signals": False})
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(worker.stop)

    def entries(self, job: str) -> list[dict[str, Any]]:
        answer = self.client.transport.call("GET", f"/jobs/{job}/journal", query={"limit": "200"})
        return answer["items"]

    def send(self, job: str, name: str, payload: Any = None) -> None:
        self.client.signal(job, name, payload)

    def test_writes_what_go_writes(self) -> None:
        """The functions of the golden files leave the same journals as those of Go."""
        worker = holdfast.Worker(self.client, slots=5)
        kinds = {}
        for number, file in enumerate(sorted(FORMAT.glob("*.json"))):
            function = Function(file)
            kinds[f"order{number}"] = function
            worker.function(f"order{number}")(function)

        @worker.handler("mail")
        def mail(run: holdfast.Run, args: Any) -> Any:
            if args == "fail":
                raise holdfast.Permanent("no such address")
            return args

        @worker.function("listener")
        def listener(ctx: Context, args: Any) -> Any:
            return ctx.wait_signal("approved")

        jobs = {}
        for kind, function in kinds.items():
            jobs[kind] = self.client.enqueue(kind, function.told["args"])
            for one in function.told["signals"]:
                self.send(jobs[kind].id, one["name"], one.get("payload"))
        self.works(worker)
        for kind, function in kinds.items():
            with self.subTest(function.told["about"]):
                self.client.wait(jobs[kind], timeout=60)
                self.assertEqual(plain(self.entries(jobs[kind].id)), plain(function.told["journal"]["entries"]))

    def test_cancel(self) -> None:
        """A cancel reaches a function that waits, and one in a step; what it decided before stays."""
        worker = holdfast.Worker(self.client, slots=5)
        seen: list[str] = []

        @worker.function("waits")
        def waits(ctx: Context, args: Any) -> None:
            try:
                ctx.step("before", lambda: 1)
                ctx.wait_signal("never")
            except holdfast.Cancelled as cancelled:
                seen.append(str(cancelled))
                raise

        @worker.function("works")
        def working(ctx: Context, args: Any) -> None:
            def long() -> None:
                while True:
                    ctx.check()
                    time.sleep(0.01)

            ctx.step("long", long)

        self.works(worker)
        for kind, state in (("waits", "waiting"), ("works", "running")):
            job = self.client.enqueue(kind)
            self.eventually(f"{kind} is {state}", lambda: self.state(job) == state)
            self.client.cancel(job.id, reason="no stock")
            with self.assertRaises(holdfast.JobEnded) as ended:
                self.client.wait(job, timeout=60)
            self.assertEqual((ended.exception.state, ended.exception.error), ("cancelled", "no stock"))
        self.assertEqual(seen, ["no stock"])

    def test_held_and_resumed(self) -> None:
        """A job whose function has changed is held; with the old code it goes on."""
        job = self.client.enqueue("changes")
        first = holdfast.Worker(self.client, slots=1)

        @first.function("changes")
        def before(ctx: Context, args: Any) -> int:
            one = ctx.step("one", lambda: 1)
            ctx.wait_signal("go")
            return one + ctx.step("two", lambda: 2)

        thread = threading.Thread(target=first.run, kwargs={"signals": False})
        thread.start()
        self.eventually("it waits", lambda: self.state(job) == "waiting")
        first.stop()
        thread.join()
        second = holdfast.Worker(self.client, slots=1)

        @second.function("changes")
        def changed(ctx: Context, args: Any) -> int:
            return ctx.step("other", lambda: 1)

        thread = threading.Thread(target=second.run, kwargs={"signals": False})
        thread.start()
        self.send(job.id, "go")
        self.eventually("it is held", lambda: "asks for step" in str(self.client.get(job.id)["wait"]))
        second.stop()
        thread.join()
        self.client.transport.call("POST", f"/jobs/{job.id}/resume", {})
        third = holdfast.Worker(self.client, slots=1)
        third.function("changes")(before)
        self.works(third)
        self.assertEqual(self.client.wait(job, timeout=60), 3)

    def test_attempts(self) -> None:
        """A step that fails its attempt is tried again with it; what came before is not."""
        worker = holdfast.Worker(self.client, slots=1)
        calls: collections.Counter[str] = collections.Counter()

        def counted(name: str, fails: int = 0) -> int:
            calls[name] += 1
            if calls[name] <= fails:
                raise RuntimeError("not yet")
            return calls[name]

        @worker.function("tries")
        def tries(ctx: Context, args: Any) -> int:
            ctx.step("first", counted, "first")
            return ctx.step("second", counted, "second", 2)

        @worker.function("full")
        def large(ctx: Context, args: Any) -> None:
            ctx.step("large", lambda: "x" * (2 << 20))

        self.works(worker)
        job = self.client.enqueue("tries", backoff={"base": "10ms", "cap": "10ms"})
        self.assertEqual(self.client.wait(job, timeout=60), 3)
        self.assertEqual(calls, {"first": 1, "second": 3})
        with self.assertRaises(holdfast.JobEnded) as ended:
            self.client.wait(self.client.enqueue("full"), timeout=60)
        self.assertIn("of at most", ended.exception.error or "")

    def test_results_that_no_server_stores(self) -> None:
        """The step has failed for good, and is not done again."""
        worker = holdfast.Worker(self.client)
        deep: Any = 0
        for _ in range(200):
            deep = [deep]
        values = {"nul": "a\0b", "half": {"\ud800": 1}, "deep": {"a": deep}, "deeper": json.loads("[" * 900 + "]" * 900)}
        effects: collections.Counter[str] = collections.Counter()

        @worker.function("charges")
        def charges(ctx: Context, args: str) -> Any:
            def charge() -> Any:
                effects[args] += 1
                return values.get(args, deep)

            return ctx.step("charge", charge)

        @worker.function("returns")
        def returns(ctx: Context, args: str) -> Any:
            ctx.now()
            effects["returns"] += 1
            return "\0"

        self.works(worker)
        fast = {"base": "10ms", "cap": "10ms"}
        for kind, args, what in [*(("charges", args, "of step charge ") for args in values), ("returns", None, "")]:
            with self.assertRaisesRegex(holdfast.JobEnded, f"the result {what}.*which no server stores"):
                self.client.wait(self.client.enqueue(kind, args, backoff=fast), timeout=60)
        self.assertEqual(set(effects.values()), {1})
        self.assertEqual(self.client.wait(self.client.enqueue("charges", "right"), timeout=60), deep)
        wide = ["é" * (500 << 10), "[" * 300, "\\u0000", [[]] * 300]
        values["wide"] = wide
        self.assertEqual(self.client.wait(self.client.enqueue("charges", "wide"), timeout=60), wide)

    def test_names_that_no_server_stores(self) -> None:
        """They are refused before anything is done under them; and what the server alone refuses is done once."""
        worker = holdfast.Worker(self.client, slots=1)
        effects: list[str] = []
        operations: dict[str, Callable[[Context, Any], Any]] = {
            "step": lambda ctx, name: ctx.step(name, effects.append, "step"),
            "wait_signal": lambda ctx, name: ctx.wait_signal(name, timeout=0),
            "child": lambda ctx, name: ctx.child(name),
            "signal": lambda ctx, name: ctx.signal(ctx.id, name),
            "publish": lambda ctx, name: ctx.publish(name, 1),
            "append": lambda ctx, name: ctx.append(name, 1),
            "patched": lambda ctx, name: ctx.patched(name),
        }
        common = ["a\0b", "\ud800", "", "é" * 101, "a\x7f", 5]
        wrong = {what: [*common, "a\u200bb"] for what in operations}
        wrong["publish"] = common
        wrong["child"].append("mail@2")
        wrong["signal"].append("a" * 194)
        most = "é" * 95 + "a\u200c"  # 194 bytes

        @worker.function("names")
        def names(ctx: Context, args: list) -> str:
            what, number = args
            effects.append("attempt")
            name = most[1:] if number is None and what == "signal" else most + "a" * 6 if number is None else wrong[what][number]
            with contextlib.suppress(holdfast.WaitTimeout):
                operations[what](ctx, name)
            ctx.step("after", effects.append, "after")
            return "done"

        self.works(worker)
        fast = {"base": "10ms", "cap": "10ms"}
        for what in operations:
            job = self.client.enqueue("names", [what, None], backoff=fast)
            self.assertEqual(self.client.wait(job, timeout=60), "done", what)
            for number, name in enumerate(wrong[what]):
                for is_checked in (True, False):
                    if not is_checked and (what, name) in (("wait_signal", ""), ("signal", 5)):
                        continue  # it waits for no signal of a name, and is no request
                    effects.clear()
                    checks = contextlib.nullcontext() if is_checked else mock.patch("holdfast.durable.check_name")
                    with self.subTest(what=what, name=name, is_checked=is_checked), checks:
                        job = self.client.enqueue("names", [what, number], backoff=fast, max_attempts=3)
                        says = "no server stores a name that" if is_checked else "the server refuses to store what the function"
                        with self.assertRaisesRegex(holdfast.JobEnded, says):
                            self.client.wait(job, timeout=60)
                        done = ["step"] if what == "step" and not is_checked else []
                        self.assertEqual(effects, ["attempt", *done])

    def test_kills(self) -> None:
        """Server and worker are killed again and again: the function is done once, as its journal says."""
        source = """
import os, sys, time, holdfast
worker = holdfast.Worker(holdfast.Client(), slots=4, dead_after=2.0)

def noted(ctx, what):
    with open(sys.argv[1], "a") as file:
        file.write(f"{ctx.id} {what}\\n")
    time.sleep(0.05)
    return what

@worker.function("order")
def order(ctx, n):
    total = 0
    for i in range(4):
        ctx.step(f"part {i}", noted, ctx, i)
        ctx.sleep(0.15)
        total += ctx.child("add", [n, i]).wait()
        ctx.append("log", i)
    by = ctx.wait_signal("approved")
    ctx.publish("by", by)
    ctx.step("last", noted, ctx, "last")
    return [total, by]

@worker.handler("add")
def add(run, args):
    return sum(args)

worker.run()
"""
        log = pathlib.Path(self.directory) / "steps"
        log.touch()
        workers = [program(source, self.server.url, str(log)) for _ in range(2)]

        def end() -> None:
            for one in workers:
                one.kill()
                one.wait()

        self.addCleanup(end)
        jobs = [self.client.enqueue("order", n) for n in range(6)]
        for job in jobs:
            self.send(job.id, "approved", "ann")
        for round_ in range(5):
            time.sleep(0.7)
            victim = round_ % len(workers)
            os.kill(workers[victim].pid, signal.SIGKILL)
            workers[victim].wait()
            if round_ % 2:
                self.server.kill()
                self.server.start()
            workers[victim] = program(source, self.server.url, str(log))
        for n, job in enumerate(jobs):
            self.assertEqual(self.client.wait(job, timeout=120), [4 * n + 6, "ann"])
            kinds = [(e["kind"], e["path"], e["name"] or "") for e in self.entries(job.id)]
            want = []
            for i in range(4):
                want += [("step", str(4 * i + 1), f"part {i}"), ("timer", str(4 * i + 2), ""), ("child", str(4 * i + 3), "add"), ("streamed", str(4 * i + 4), "log")]
            want += [("received", "17", "approved"), ("published", "18", "by"), ("step", "19", "last")]
            self.assertEqual(kinds, want)
        done = collections.Counter(log.read_text().split("\n"))
        for job in jobs:
            for what in ("0", "1", "2", "3", "last"):
                self.assertGreaterEqual(done[f"{job.id} {what}"], 1)
        children = list(self.client.list("kind:add"))
        self.assertEqual(len(children), 4 * len(jobs))

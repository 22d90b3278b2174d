from __future__ import annotations

import http.server
import json
import os
import socket
import threading
import time
import unittest
from typing import Any
from unittest import mock

import holdfast
from holdfast.errors import of_problem
from holdfast.transport import Cut, Transport, _encoded

from .server import serving


class TestRepeat(unittest.TestCase):
    def test_credential_that_is_replaced(self) -> None:
        """A credential that is not accepted for a moment is no end for who waits for it, and one for who does not."""
        transport = Transport("http://127.0.0.1:1", "token")
        made: list[bool] = []

        def make(again: bool) -> str:
            made.append(again)
            if len(made) < 3:
                raise holdfast.Unauthenticated("no such key", status=401)
            return "done"

        said: list[str] = []
        self.assertEqual(transport.repeat(make, refused=60.0, say=said.append), "done")
        self.assertEqual([text.endswith("no such key") for text in said], [True])  # once, and not each time
        self.assertEqual(made, [False, True, True])
        for refused in (0.0, 0.1):

            def never(_: bool) -> None:
                raise holdfast.Unauthenticated("no such key", status=401)

            with self.assertRaises(holdfast.Unauthenticated):
                transport.repeat(never, refused=refused)

    def test_stop_during_a_pause(self) -> None:
        """A pause that the server asks for ends when the caller is to stop."""
        clock = Clock()

        def busy(_: bool) -> None:
            error = holdfast.Unavailable("too many requests", status=429)
            error.retry_after = 60.0  # type: ignore[attr-defined]
            raise error

        transport = Transport("http://127.0.0.1:1", "token")
        with mock.patch("holdfast.transport.time", clock), self.assertRaises(holdfast.Unavailable):
            transport.repeat(busy, until=lambda: clock.now >= 1.0)
        self.assertLess(clock.now, 2.0)


class Clock:
    """A time that goes on while something sleeps."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


class TestProblems(unittest.TestCase):
    def test_others(self) -> None:
        """What stands before servers that are being replaced is no answer of theirs."""
        for status, problem, kind in (
            (404, {}, holdfast.Unavailable),
            (405, {}, holdfast.Unavailable),
            (404, {"code": "not_found", "detail": "no such job"}, holdfast.NotFound),
            (401, {}, holdfast.Unauthenticated),
            (401, {"code": "unauthenticated"}, holdfast.Unauthenticated),
            (307, {}, holdfast.Unavailable),
            (400, {}, holdfast.Unavailable),
            (400, {"code": "invalid"}, holdfast.Invalid),
            (403, {}, holdfast.Unavailable),
            (403, {"code": 403, "message": "forbidden"}, holdfast.Unavailable),
            (403, {"code": "AccessDenied"}, holdfast.Unavailable),
            (403, {"code": "forbidden"}, holdfast.Forbidden),
            (409, {}, holdfast.Unavailable),
            (409, {"code": "lease_lost"}, holdfast.LeaseLost),
            (413, {}, holdfast.Invalid),
            (413, {"code": "too_large"}, holdfast.Invalid),
            (421, {}, holdfast.Unavailable),
            (499, {}, holdfast.Unavailable),
            (502, {}, holdfast.Unavailable),
        ):
            self.assertIs(type(of_problem(status, problem)), kind, (status, problem))

    def test_parts(self) -> None:
        """What is wrong where is in the text, as far as the detail does not say it."""

        def told(detail: str, *parts: tuple[str, str]) -> str:
            errors = [{"pointer": pointer, "detail": why} for pointer, why in parts]
            return str(of_problem(422, {"code": "invalid", "detail": detail, "errors": errors}))

        self.assertEqual(
            told("validation failed", ("/kind", "expected length >= 1"), ("", "it is odd")),
            "validation failed: /kind: expected length >= 1; it is odd",
        )
        self.assertEqual(told("/kind: expected length >= 1", ("/kind", "expected length >= 1")), "/kind: expected length >= 1")
        many = told("validation failed", *((f"/{n}", "no") for n in range(7)))
        self.assertEqual(many, "validation failed: /0: no; /1: no; /2: no; /3: no; /4: no; and 2 more")
        wrong = of_problem(422, {"code": "invalid", "detail": "validation failed", "errors": [{"pointer": "/kind", "detail": "no"}]})
        self.assertEqual((wrong.detail, len(wrong.errors)), ("validation failed", 1))
        for strange in ("text", 1, [1, None], [{}], {"a": 1}):  # of what stands before servers
            self.assertEqual(str(of_problem(422, {"code": "invalid", "detail": "no", "errors": strange})), "no")

    def test_other_shapes(self) -> None:
        """An answer that is not as Holdfast's own is none."""
        transport = Transport("http://127.0.0.1:1", "token")
        has = {"jobs": list, "mode": str}
        says = "what answers at 127.0.0.1:1 is not Holdfast: it answers 200 without"
        objects = (b'{"status":"ok"}', b'{"jobs":{},"mode":"run"}')
        for text in (b"", b"<html>", b"null", b"1", b"[]", b"\xff", b"[" * 100_000, *objects):
            with self.assertRaisesRegex(holdfast.Unavailable, says) as caught:
                transport._read(200, None, text, has)
            self.assertTrue(caught.exception.is_foreign)
        self.assertEqual(transport._read(200, None, b'{"jobs":[],"mode":"run"}', has), {"jobs": [], "mode": "run"})
        with self.assertRaisesRegex(holdfast.Unavailable, "it answers 302, and sends to http://else.example"):
            transport._read(302, None, b"", has, "http://else.example")

    def test_wrong_url(self) -> None:
        """Who asks something else from the beginning is told that, and who has asked a server before is not."""
        transport = Transport("http://127.0.0.1:1", "token")

        def repeated() -> Any:
            answers = [(403, b"<html>"), (400, b""), (200, b"{}")]
            return transport.repeat(lambda _: transport._read(*(answer := answers.pop(0))[:1], None, answer[1]))

        with self.assertLogs("holdfast", "WARNING") as logs:
            self.assertEqual(repeated(), {})
        self.assertEqual(len(logs.output), 1)
        self.assertIn("what answers at 127.0.0.1:1 is not Holdfast: it answers 403", logs.output[0])
        with self.assertNoLogs("holdfast"):
            self.assertEqual(repeated(), {})

    def test_bytes(self) -> None:
        """Servers count those of values, so that they are not escaped."""
        self.assertEqual(_encoded({"a": "é😀"}), '{"a":"é😀"}'.encode())
        self.assertEqual(_encoded("\ud800"), b'"\\ud800"')

    def test_token_function(self) -> None:
        """A function is asked before each request; while it gives no token, that is a server that is away."""
        seen: list[str | None] = []

        class Answers(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                seen.append(self.headers["Authorization"])
                self.send_response(200)
                self.send_header("Content-Length", "2")
                self.end_headers()
                self.wfile.write(b"{}")

            def log_message(self, *_: Any) -> None:
                pass

        tokens: list[Any] = ["first", "second", None]
        transport = Transport(serving(self, Answers), lambda: tokens.pop(0))
        self.addCleanup(transport.close)
        for _ in range(2):
            transport.call("GET", "/jobs")
        self.assertEqual(seen, ["Bearer first", "Bearer second"])
        for says in ("NoneType and no text", "pop from empty list"):
            with self.assertRaisesRegex(holdfast.Unavailable, says):
                transport.call("GET", "/jobs")
        self.assertEqual(len(seen), 2)

    def test_no_token(self) -> None:
        """Who has given no token is told that, and who has given a wrong one is not."""
        problem = b'{"code": "unauthenticated", "detail": "no valid credential"}'
        for token, says in (("", "HOLDFAST_TOKEN is not set"), ("wrong", "^no valid credential$")):
            with mock.patch.dict("os.environ"):
                os.environ.pop("HOLDFAST_TOKEN", None)
                client = holdfast.Client("http://127.0.0.1:1", token or None)
            with self.assertRaisesRegex(holdfast.Unauthenticated, says):
                client.transport._read(401, None, problem)

    def test_no_server(self) -> None:
        """The error names the port, with which most of that is wrong."""
        with self.assertRaisesRegex(holdfast.Unavailable, "the server at 127.0.0.1:1 cannot be reached"):
            Transport("http://127.0.0.1:1", "token").call("GET", "/jobs")


class TestEarlyAnswer(unittest.TestCase):
    def test_too_large(self) -> None:
        """A server refuses a request that is too large before all of it has arrived, and that is no server that is away.

        The connection is broken, whether or not the answer says so, and the next request has another one.
        """
        for said in (b"Connection: close\r\n", b""):
            with self.subTest(said=said), socket.create_server(("127.0.0.1", 0)) as listener:

                def answer(status: bytes, body: bytes, said: bytes, listener: socket.socket) -> None:
                    connection, _ = listener.accept()
                    with connection:
                        connection.recv(1000)
                        head = b"HTTP/1.1 %s\r\n%sContent-Length: %d\r\n\r\n" % (status, said, len(body))
                        connection.sendall(head + body)

                def serve(said: bytes, listener: socket.socket) -> None:
                    problem = b'{"code":"too_large","detail":"the body has too many bytes"}'
                    answer(b"413 Too Large", problem, said, listener)
                    answer(b"200 OK", b'{"jobs":[]}', b"", listener)

                thread = threading.Thread(target=serve, args=(said, listener), daemon=True)
                thread.start()
                transport = Transport(f"http://127.0.0.1:{listener.getsockname()[1]}", "token")
                with self.assertRaises(holdfast.Invalid) as caught:
                    transport.call("POST", "/jobs", {"a": "b" * 20_000_000})
                self.assertEqual(caught.exception.code, "too_large")
                self.assertEqual(transport.call("GET", "/jobs"), {"jobs": []})
                thread.join()


class TestCut(unittest.TestCase):
    def test_silence(self) -> None:
        """A request ends at once that is cut off, also while it shakes hands, and so do those that come."""
        for scheme in ("http", "https"):
            with self.subTest(scheme=scheme), socket.create_server(("127.0.0.1", 0)) as listener:
                transport = Transport(f"{scheme}://127.0.0.1:{listener.getsockname()[1]}", "token")
                cut, raised = Cut(), []

                def asks(transport: Transport, cut: Cut, raised: list[Exception]) -> None:
                    try:
                        transport.call("POST", "/jobs", cut=cut)
                    except holdfast.Unavailable as error:
                        raised.append(error)

                thread = threading.Thread(target=asks, args=(transport, cut, raised))
                thread.start()
                connection, _ = listener.accept()
                with connection:
                    connection.recv(1)
                    began = time.monotonic()
                    cut.make()
                    thread.join()
                asks(transport, cut, raised)
                self.assertLess(time.monotonic() - began, 5)
                self.assertEqual(len(raised), 2)
                self.assertIn("the request was cut off", str(raised[1]))

    def test_a_connection_that_is_kept(self) -> None:
        """It is not cut off any more once its request was answered: others use it."""
        made: list[int] = []

        class Answers(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def setup(self) -> None:
                made.append(1)
                super().setup()

            def do_GET(self) -> None:
                self.send_response(200)
                self.send_header("Content-Length", "2")
                self.end_headers()
                self.wfile.write(b"{}")

            def log_message(self, *_: Any) -> None:
                pass

        transport = Transport(serving(self, Answers), "token")
        self.addCleanup(transport.close)
        cut = Cut()
        transport.call("GET", "/jobs", cut=cut)
        cut.make()
        transport.call("GET", "/jobs", cut=Cut())
        self.assertEqual(len(made), 1)


class TestRetry(unittest.TestCase):
    def test_lost_answer(self) -> None:
        """A retry whose answer was lost is repeated as the same request."""
        keys: list[str | None] = []

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                keys.append(self.headers["Idempotency-Key"])
                if len(keys) > 1:
                    self.answer(409, {"code": "answer_not_kept", "detail": "it was done"})
                self.close_connection = True

            def do_GET(self) -> None:
                self.answer(200, {"id": "j", "state": "failed"})

            def answer(self, status: int, document: dict) -> None:
                data = json.dumps(document).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_: object) -> None:
                pass

        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            with holdfast.Client(f"http://127.0.0.1:{server.server_address[1]}", token="t") as client:
                self.assertEqual(client.retry("j")["state"], "failed")
            server.shutdown()
        self.assertEqual(len(keys), 2)
        self.assertTrue(keys[0])
        self.assertEqual(keys[0], keys[1])

"""A real server for tests, which can be killed."""

from __future__ import annotations

import http.server
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import uuid

import holdfast

TOKEN = "the token of the tests, which is long"


def serving(test: unittest.TestCase, answers: type[http.server.BaseHTTPRequestHandler]) -> str:
    """Serve what is not Holdfast until the end of the test, and return its URL."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), answers)
    test.addCleanup(server.server_close)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    test.addCleanup(server.shutdown)
    return f"http://127.0.0.1:{server.server_address[1]}"


class Server:
    """A server process on a database of its own: a file, or a schema of HOLDFAST_POSTGRES."""

    def __init__(self, directory: str) -> None:
        self.directory = directory
        self.database = os.path.join(directory, "jobs.db")
        if server := os.environ.get("HOLDFAST_POSTGRES"):
            self.database = f"{server}{'&' if '?' in server else '?'}schema=t{uuid.uuid4().hex}"
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.address = f"127.0.0.1:{probe.getsockname()[1]}"
        self.url = "http://" + self.address
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, and return when it answers."""
        environment = {**os.environ, "HOLDFAST_TOKEN": TOKEN}
        command = [
            os.environ["HOLDFAST_BINARY"], "server", "--database", self.database,
            "--listen", self.address, "--dead-after", "2s", "--beat", "500ms",
        ]  # fmt: skip
        with open(os.path.join(self.directory, "server.log"), "ab") as log:
            self.process = subprocess.Popen(command, env=environment, stderr=log)
        with holdfast.Client(self.url, TOKEN, timeout=60) as client:
            next(client.list(limit=1), None)

    def kill(self) -> None:
        """Kill it as a crash would."""
        if self.process is not None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()
            self.process = None


class ServerTest(unittest.TestCase):
    """A test with a server."""

    def setUp(self) -> None:
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = directory.name
        self.server = Server(self.directory)
        self.addCleanup(self.server.kill)
        self.server.start()
        self.client = holdfast.Client(self.server.url, TOKEN, timeout=60)
        self.addCleanup(self.client.close)

    def eventually(self, what: str, condition) -> None:
        """Wait until something is so."""
        end = time.monotonic() + 60
        while not condition():
            if time.monotonic() > end:
                self.fail(f"not within a minute: {what}")
            time.sleep(0.02)

    def state(self, job: holdfast.Job) -> str:
        return self.client.get(job.id)["state"]


def program(source: str, url: str, *args: str) -> subprocess.Popen[bytes]:
    """Start a Python program that uses the client."""
    environment = {**os.environ, "HOLDFAST_SERVER": url, "HOLDFAST_TOKEN": TOKEN}
    return subprocess.Popen([sys.executable, "-c", source, *args], env=environment)

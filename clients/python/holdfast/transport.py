"""Requests to the server, on connections that are kept."""

from __future__ import annotations

import http.client
import json
import random
import socket
import ssl
import threading
import time
import urllib.parse
from typing import Any, Callable

from .errors import HoldfastError, Unauthenticated, Unavailable, of_problem

_FIRST_PAUSE = 0.05
_LONGEST_PAUSE = 5.0
_SAID_AGAIN = 60.0  # seconds between two lines about what is repeated
_MOST_KEPT = 16  # connections that nothing uses


class Transport:
    """Makes requests under /api/v1 of a server.

    It is safe for use by several threads.
    """

    def __init__(self, url: str, token: str, *, timeout: float = 30.0, tls: ssl.SSLContext | None = None) -> None:
        parts = urllib.parse.urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"{url!r} is no http or https URL of a server")
        if parts.username or parts.password:
            raise ValueError("the URL has a password in it, which logs would show; give the token by itself")
        self._secure = parts.scheme == "https"
        self._host, self._port = parts.hostname, parts.port
        self._prefix = parts.path.rstrip("/") + "/api/v1"
        self._token, self._timeout = token, timeout
        self._tls = tls or (ssl.create_default_context() if self._secure else None)
        self._lock = threading.Lock()
        self._free: list[http.client.HTTPConnection] = []
        self._closed = False

    def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        query: dict[str, str] | None = None,
        wait: float = 0.0,
        timeout: float | None = None,
        key: str = "",
    ) -> Any:
        """Make one request, and return its JSON; None if there is none.

        wait is for how long the server may wait before it answers; timeout is
        another one than that of the client. key is a name for the request, by
        which the server knows it when it comes again.
        """
        target = self._prefix + path
        if query:
            target += "?" + urllib.parse.urlencode(query)
        headers = {"Accept": "application/json", "Authorization": "Bearer " + self._token}
        if key:
            headers["Idempotency-Key"] = key
        data = None
        if method != "GET":
            headers["Content-Type"] = "application/json"
            data = json.dumps({} if body is None else body, separators=(",", ":"), allow_nan=False).encode()
        connection = self._take((self._timeout if timeout is None else timeout) + wait)
        try:
            connection.request(method, target, body=data, headers=headers)
            answer = connection.getresponse()
            text = answer.read()
        except (OSError, http.client.HTTPException) as error:
            self._drop(connection)
            raise Unavailable(f"the server at {self._host} does not answer: {error or type(error).__name__}") from error
        except BaseException:
            self._drop(connection)  # an answer may come that another request would take for its own
            raise
        if answer.will_close:
            self._drop(connection)
        else:
            self._give(connection)
        return self._read(answer.status, answer.getheader("Retry-After"), text)

    def repeat(
        self,
        make: Callable[[bool], Any],
        *,
        until: Callable[[], bool] | None = None,
        within: float | None = None,
        refused: float = 0.0,
        say: Callable[[str], None] | None = None,
    ) -> Any:
        """Make a request again and again while no server answers.

        make is told whether it was made before; until ends it, and so does the
        time within, in seconds from the first failure on; then the last error
        is raised. refused is for how many seconds it is repeated while the
        credential is not accepted, as while it is replaced. say is told what is
        wrong when it begins, and each minute.
        """
        pause, again, end, trust = _FIRST_PAUSE, False, None, None
        said = -_SAID_AGAIN
        while True:
            try:
                return make(again)
            except (Unavailable, Unauthenticated) as error:
                if isinstance(error, Unavailable):
                    trust = None
                elif trust is None:
                    trust = time.monotonic() + refused
                if trust is not None and time.monotonic() >= trust:
                    raise
                if not again and within is not None:
                    end = time.monotonic() + within
                again = True
                if say and time.monotonic() - said >= _SAID_AGAIN:
                    said = time.monotonic()
                    say(f"a request to the server has failed, and is repeated: {error}")
                asked = getattr(error, "retry_after", None)
                if (until and until()) or (end is not None and time.monotonic() >= end):
                    raise
                time.sleep(max(asked or 0.0, pause * random.uniform(0.5, 1.0)))
                pause = min(pause * 2, _LONGEST_PAUSE)

    def close(self) -> None:
        """Close the connections."""
        with self._lock:
            self._closed = True
            free, self._free = self._free, []
        for connection in free:
            connection.close()

    def _read(self, status: int, retry_after: str | None, text: bytes) -> Any:
        try:
            document = json.loads(text) if text else None
        except ValueError:
            document = None
        if status < 300:
            return document
        error: HoldfastError = of_problem(status, document if isinstance(document, dict) else {})
        if isinstance(error, Unavailable) and retry_after and retry_after.isdigit():
            error.retry_after = min(float(retry_after), 60.0)  # type: ignore[attr-defined]
        raise error

    def _take(self, timeout: float) -> http.client.HTTPConnection:
        """Return a connection that no other thread uses."""
        with self._lock:
            connection = self._free.pop() if self._free else None
        if connection is None:
            if self._secure:
                connection = http.client.HTTPSConnection(self._host, self._port, context=self._tls)
            else:
                connection = http.client.HTTPConnection(self._host, self._port)
        connection.timeout = timeout
        if connection.sock is None:
            try:
                connection.connect()
                connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            except OSError as error:
                connection.close()
                raise Unavailable(f"the server at {self._host} cannot be reached: {error}") from error
        connection.sock.settimeout(timeout)
        return connection

    def _give(self, connection: http.client.HTTPConnection) -> None:
        with self._lock:
            if not self._closed and len(self._free) < _MOST_KEPT:
                self._free.append(connection)
                return
        connection.close()

    def _drop(self, connection: http.client.HTTPConnection) -> None:
        connection.close()
        with self._lock:  # those of the same server are as old
            free, self._free = self._free, []
        for other in free:
            other.close()

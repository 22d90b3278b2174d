"""Requests to the server, on connections that are kept."""

from __future__ import annotations

import http.client
import json
import logging
import random
import socket
import ssl
import threading
import time
import urllib.parse
from typing import Any, Callable

from .errors import HoldfastError, Unauthenticated, Unavailable, foreign, of_problem

_FIRST_PAUSE = 0.05
_LONGEST_PAUSE = 5.0
_LOOK_AGAIN = 0.25  # whether a pause is to end
_SAID_AGAIN = 60.0  # seconds between two lines about what is repeated
_MOST_KEPT = 16  # connections that nothing uses
_log = logging.getLogger("holdfast")

Token = str | Callable[[], str]
"""A credential, or a function that returns the one of this moment."""

Has = dict[str, type]
"""What an answer of Holdfast has: its fields, by their types."""


class Cut:
    """Cuts requests off: the one that is under way, and those that come.

    Whatever calls it may be a signal handler, which interrupts the thread that
    makes the request: it takes no lock that this may hold but its own, which is
    one that a thread may take twice.
    """

    def __init__(self) -> None:
        self.is_made = False
        self._lock = threading.RLock()
        self._connection: http.client.HTTPConnection | None = None

    def make(self) -> None:
        """Cut off."""
        self.is_made = True  # before the connection is looked at: who begins looks the other way round
        with self._lock:
            sock = None if self._connection is None else self._connection.sock
            if sock is None:
                return
            try:
                # Not what a TLS socket makes of it, which forgets what another thread reads with.
                socket.socket.shutdown(sock, socket.SHUT_RDWR)
            except OSError:
                pass  # it is closed, or was not open yet

    def begin(self, connection: http.client.HTTPConnection) -> None:
        """Cut requests of a connection off from now on."""
        with self._lock:
            self._connection = connection

    def check(self) -> None:
        """Raise if it was made: whoever shuts a socket down may have come too early for one that is new."""
        if self.is_made:
            raise OSError("the request was cut off")

    def end(self) -> None:
        """Leave the connection alone: other requests may have it."""
        with self._lock:
            self._connection = None


class Transport:
    """Makes requests under /api/v1 of a server.

    It is safe for use by several threads.
    """

    def __init__(self, url: str, token: Token, *, timeout: float = 30.0, tls: ssl.SSLContext | None = None) -> None:
        parts = urllib.parse.urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"{url!r} is no http or https URL of a server")
        if parts.username or parts.password:
            raise ValueError("the URL has a password in it, which logs would show; give the token by itself")
        self._secure = parts.scheme == "https"
        self._host, self._port = parts.hostname, parts.port
        self._at = parts.netloc.rpartition("@")[2]  # as people know it, with its port
        self._prefix = parts.path.rstrip("/") + "/api/v1"
        self._token, self._timeout = token, timeout
        self._tls = tls or (ssl.create_default_context() if self._secure else None)
        self._lock = threading.Lock()
        self._free: list[http.client.HTTPConnection] = []
        self._closed = False
        self._has_met = False  # whether Holdfast has ever answered: until then the URL may be wrong

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
        has: Has | None = None,
        cut: Cut | None = None,
    ) -> Any:
        """Make one request, and return the JSON of its answer.

        wait is for how long the server may wait before it answers; timeout is
        another one than that of the client. key is a name for the request, by
        which the server knows it when it comes again. has is what an answer of
        Holdfast has. cut cuts it off, which is as if no server had answered.
        """
        target = self._prefix + path
        if query:
            target += "?" + urllib.parse.urlencode(query)
        headers = {"Accept": "application/json", "Authorization": "Bearer " + self._credential()}
        if key:
            headers["Idempotency-Key"] = key
        data = None
        if method != "GET":
            headers["Content-Type"] = "application/json"
            data = _encoded({} if body is None else body)
        cut = cut or Cut()
        connection = self._take((self._timeout if timeout is None else timeout) + wait, cut)
        broken = False
        try:
            cut.check()
            try:
                connection.request(method, target, body=data, headers=headers)
            except (BrokenPipeError, ConnectionResetError):
                broken = True  # who refuses a request answers before all of it has arrived
            answer = connection.getresponse()
            text = answer.read()
            cut.end()
        except (OSError, http.client.HTTPException) as error:
            self._drop(connection)
            raise Unavailable(f"the server at {self._at} does not answer: {error or type(error).__name__}") from error
        except BaseException:
            self._drop(connection)  # an answer may come that another request would take for its own
            raise
        if broken or answer.will_close or cut.is_made:
            self._drop(connection)
        else:
            self._give(connection)
        return self._read(answer.status, answer.getheader("Retry-After"), text, has, answer.getheader("Location"))

    def _credential(self) -> str:
        if isinstance(self._token, str):
            return self._token
        try:
            token = self._token()
        except Exception as error:
            raise Unavailable(f"the function that returns the token has failed: {error or type(error).__name__}") from error
        if not isinstance(token, str):
            raise Unavailable(f"the function that returns the token has returned {type(token).__name__} and no text")
        return token

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
        wrong when it begins, and each minute; without it only that the URL may
        be wrong is logged, since something else has answered from the beginning.
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
                tell = say or (_log.warning if self._is_at_wrong_url(error) else None)
                if tell and time.monotonic() - said >= _SAID_AGAIN:
                    said = time.monotonic()
                    tell(f"a request to the server has failed, and is repeated: {error}")
                asked = getattr(error, "retry_after", None)
                if (until and until()) or (end is not None and time.monotonic() >= end):
                    raise
                rest = time.monotonic() + max(asked or 0.0, pause * random.uniform(0.5, 1.0))
                while (left := rest - time.monotonic()) > 0:
                    time.sleep(min(left, _LOOK_AGAIN))
                    if until and until():
                        raise
                pause = min(pause * 2, _LONGEST_PAUSE)

    def _is_at_wrong_url(self, error: HoldfastError) -> bool:
        return not self._has_met and isinstance(error, Unavailable) and error.is_foreign

    def close(self) -> None:
        """Close the connections."""
        with self._lock:
            self._closed = True
            free, self._free = self._free, []
        for connection in free:
            connection.close()

    def _read(
        self, status: int, retry_after: str | None, text: bytes, has: Has | None = None, location: str | None = None
    ) -> Any:
        try:
            document = json.loads(text) if text else None
        except (ValueError, RecursionError):
            document = None
        at = f"at {self._at}"
        if status < 300:
            if lacks := _lacking(document, has or {}):
                raise foreign(status, at, f"it answers {status} {lacks}")
            self._has_met = True
            return document
        problem = document if isinstance(document, dict) else {}
        error: HoldfastError = of_problem(status, problem, has_token=bool(self._token), at=at, to=location)
        if error.code:
            self._has_met = True
        if isinstance(error, Unavailable) and retry_after and retry_after.isdigit():
            error.retry_after = min(float(retry_after), 60.0)  # type: ignore[attr-defined]
        raise error

    def _take(self, timeout: float, cut: Cut) -> http.client.HTTPConnection:
        """Return a connection that no other thread uses, and that can be cut off."""
        with self._lock:
            connection = self._free.pop() if self._free else None
        if connection is None:
            if self._secure:
                connection = http.client.HTTPSConnection(self._host, self._port, context=self._tls)
            else:
                connection = http.client.HTTPConnection(self._host, self._port)
        connection.timeout = timeout
        cut.begin(connection)
        if connection.sock is None:
            try:
                self._connect(connection, cut)
                connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            except OSError as error:
                connection.close()
                raise Unavailable(f"the server at {self._at} cannot be reached: {error}") from error
        connection.sock.settimeout(timeout)
        return connection

    def _connect(self, connection: http.client.HTTPConnection, cut: Cut) -> None:
        """Connect as http.client does, but with the socket at hand meanwhile, so that it can be cut off."""
        places = socket.getaddrinfo(connection.host, connection.port, type=socket.SOCK_STREAM)
        for i, (family, kind, protocol, _, address) in enumerate(places):
            connection.sock = socket.socket(family, kind, protocol)
            connection.sock.settimeout(connection.timeout)
            try:
                cut.check()
                connection.sock.connect(address)
                break
            except OSError:
                connection.sock.close()
                if i == len(places) - 1:
                    raise
        if self._secure:
            assert self._tls is not None
            connection.sock = self._tls.wrap_socket(connection.sock, server_hostname=connection.host, do_handshake_on_connect=False)
            cut.check()
            connection.sock.do_handshake()

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


class Reminder:
    """Logs what is wrong at once, and again each minute for as long as it is told so."""

    def __init__(self) -> None:
        self._said = -_SAID_AGAIN

    def say(self, text: str) -> None:
        now = time.monotonic()
        if now - self._said >= _SAID_AGAIN:
            self._said = now
            _log.warning(text)


def _encoded(document: Any) -> bytes:
    """Return JSON as UTF-8: servers count the bytes of values as they are sent."""
    how: dict[str, Any] = {"separators": (",", ":"), "allow_nan": False}
    try:
        return json.dumps(document, ensure_ascii=False, **how).encode()
    except UnicodeEncodeError:  # half of a surrogate pair: the server says so
        return json.dumps(document, **how).encode()


def _lacking(document: Any, has: Has) -> str:
    """Say what an answer lacks that Holdfast's own has; "": nothing."""
    if not isinstance(document, dict):
        return "without an object of JSON"
    return next((f"without its {name}" for name, kind in has.items() if not isinstance(document.get(name), kind)), "")

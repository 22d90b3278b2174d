"""What one run of a durable function remembers: the journal and the inbox as
they were read, and what is to be stored. It makes no requests."""

from __future__ import annotations

import hashlib
import json
import uuid
from typing import Any

STEP = ("step", "step failed", "step retry")
_NAMED = (*STEP, "child", "published", "streamed", "updated", "awaited")
_WORDS = {
    "step": "step",
    "step failed": "step",
    "step retry": "step",
    "timer": "a timer",
    "timeout": "a time limit",
    "received": "a wait for a message",
    "child": "child",
    "callback": "a callback",
    "selected": "a choice",
    "value": "a value",
    "published": "published key",
    "streamed": "item of stream",
    "updated": "update",
    "awaited": "a condition",
}


def describe(kind: str, name: str) -> str:
    """Say in words what an entry is of, as the Go runtime does."""
    text = _WORDS.get(kind, f"entry of kind {kind}")
    if kind in _NAMED or (name and kind != "callback"):
        text += " " + json.dumps(name, ensure_ascii=False)
    return text


class Contradiction(Exception):
    """The code asks for something else than the journal has."""


class Memory:
    """The journal by its places, and the inbox."""

    def __init__(self, job: str) -> None:
        self.job = job
        self.last = 0  # the number of the last entry that is stored
        self.seen = 0  # the number of the last message that is known
        self.pending: list[dict[str, Any]] = []
        self.times = 0  # how often the job has continued as new
        self.patches: dict[str, bool] = {}
        self._at: dict[str, list[dict[str, Any]]] = {}
        self._visited: set[str] = set()
        self._end = 0  # the last place of the function's own that the journal had when it was read
        self._any = False  # it had a place at all
        self._messages: list[dict[str, Any]] = []
        self._received: set[int] = set()
        self._seeds: dict[str, int] = {}

    def read(self, page: dict[str, Any]) -> None:
        """Take in a page of the journal."""
        for entry in page["entries"]:
            self.last = entry["seq"]
            self._note(entry)
            place = entry["path"].rpartition(".")[2]
            if place.isdigit():
                self._any = True
                if "." not in entry["path"]:
                    self._end = max(self._end, int(place))
        self.receive(page["messages"])

    def receive(self, messages: list[dict[str, Any]]) -> None:
        """Take in messages behind those that are known."""
        for message in messages:
            if message["seq"] > self.seen:
                self._messages.append(message)
                self.seen = message["seq"]

    def _note(self, entry: dict[str, Any]) -> None:
        self._at.setdefault(entry["path"], []).append(entry)
        if entry["kind"] == "received":
            self._received.add(entry["message"])
        elif entry["kind"] == "patched":
            self.patches[entry["name"]] = True
        elif entry["kind"] == "continued":
            self.times = int((entry["data"] or {}).get("times", 0))

    def at(self, path: str, name: str, kinds: tuple[str, ...]) -> list[dict[str, Any]]:
        """Return what the journal has at a place to which the code has come."""
        entries = self._at.get(path, [])
        if not entries:
            if self._any and int(path) <= self._end:
                raise Contradiction(
                    f"the code asks for {describe(kinds[0], name)} at place {path}, "
                    "where the journal has no entry but continues after it"
                )
            return []
        self._visited.add(path)
        for entry in entries:
            has = entry["name"]
            other = has != name and (entry["kind"] in _NAMED or (has != "" and name != ""))
            if entry["kind"] not in kinds or other:
                raise Contradiction(
                    f"the code asks for {describe(kinds[0], name)} at place {path}, "
                    f"where the journal (entry {entry['seq']}) has {describe(entry['kind'], has)}"
                )
        return entries

    def is_past(self, place: int) -> bool:
        """Whether the journal went on behind a place."""
        return place < self._end

    def may_take_part(self, place: int) -> bool:
        """Whether a run at this place has not gone past a change of the code that comes next."""
        return place >= self._end

    def unvisited(self) -> str:
        """Tell of the first entry that the code has not asked for, or return ""."""
        left = [e[0] for path, e in self._at.items() if path and not path.startswith("~") and path not in self._visited]
        if not left:
            return ""
        first = min(left, key=lambda entry: entry["seq"])
        what = describe(first["kind"], first["name"])
        return (
            f"the code completed without asking for {what} at place {first['path']}, "
            f"which the journal has (entry {first['seq']})"
        )

    def record(self, kind: str, path: str, name: str = "", **fields: Any) -> dict[str, Any]:
        """Note an entry that is to be stored with the next request, and return it."""
        entry: dict[str, Any] = {"kind": kind}
        if path:
            entry["path"] = path
        if name:
            entry["name"] = name
        entry.update(fields)
        self.pending.append(entry)
        self._visited.add(path)
        self._at.setdefault(path, []).append(
            {"seq": self.last + len(self.pending), "kind": kind, "path": path, "name": name,
             "message": fields.get("message", 0), "data": fields.get("data")}
        )
        if kind == "received":
            self._received.add(fields["message"])
        return entry

    def signal(self, name: str) -> dict[str, Any] | None:
        """Return the first signal of a name that was not received."""
        for message in self._messages:
            if message["kind"] == "signal" and message["name"] == name and message["seq"] not in self._received:
                return message
        return None

    def message(self, seq: int) -> dict[str, Any] | None:
        """Return the message of a number."""
        return next((m for m in self._messages if m["seq"] == seq), None)

    def answer(self, child: str) -> dict[str, Any] | None:
        """Return how a child has ended: its last message."""
        return next((m for m in reversed(self._messages) if m["kind"] == "child" and m["from"] == child), None)

    def settled(self, path: str) -> dict[str, Any] | None:
        """Return the failure of the child at a place that the journal remembers."""
        for entry in self._at.get(path, []):
            if entry["kind"] == "received":
                return self.message(entry["message"])
        return None

    def uuid(self, of: str = "uuid") -> uuid.UUID:
        """Make the next UUID: the same one on every replay, and as the Go runtime makes it."""
        self._seeds[of] = self._seeds.get(of, 0) + 1
        text = uuid.UUID(self.job).bytes
        if self.times:
            text += self.times.to_bytes(8, "big")
        seed = bytearray(hashlib.sha256(text + of.encode() + self._seeds[of].to_bytes(8, "big")).digest()[:16])
        seed[6] = seed[6] & 0x0F | 0x80
        seed[8] = seed[8] & 0x3F | 0x80
        return uuid.UUID(bytes=bytes(seed))

"""Durations as the API writes them: 1m30s, 250ms."""

from __future__ import annotations

import re

_UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|us|µs|ns|h|m|s)")
_WHOLE = re.compile(rf"(?:{_PART.pattern})+")


def seconds(text: str) -> float:
    """Return how many seconds a duration has."""
    if text == "0":
        return 0.0
    if not _WHOLE.fullmatch(text):
        raise ValueError(f"{text!r} is no duration")
    return sum(float(number) * _UNITS[unit] for number, unit in _PART.findall(text))


def text(duration: float) -> str:
    """Return the text of a number of seconds, to the microsecond."""
    if duration < 0:
        raise ValueError("a duration is negative")
    return f"{round(duration * 1e6)}us"

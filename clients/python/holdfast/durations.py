"""Durations: numbers of seconds here, and texts in the API, such as 1m30s and 250ms."""

from __future__ import annotations

import datetime
import math
import numbers
import re

_LONGEST = 2**63 / 1e9  # seconds: servers count nanoseconds in 64 bits
_UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|us|µs|ns|h|m|s)")
_WHOLE = re.compile(rf"(?:{_PART.pattern})+")

Duration = float | str | datetime.timedelta
"""A number of seconds, a timedelta, or a text such as "1m30s"."""


def seconds(duration: Duration, what: str = "the duration") -> float:
    """Return how many seconds a duration has; what names it in an error."""
    takes = f'{what} is {duration!r}; it takes a number of seconds, a timedelta, or a text such as "1m30s"'
    if isinstance(duration, datetime.timedelta):
        return duration.total_seconds()
    if isinstance(duration, str):
        if duration == "0":
            return 0.0
        if not _WHOLE.fullmatch(duration):
            raise ValueError(takes)
        return sum(float(number) * _UNITS[unit] for number, unit in _PART.findall(duration))
    if isinstance(duration, bool) or not isinstance(duration, numbers.Real):
        raise TypeError(takes)
    return float(duration)


def text(duration: Duration, what: str = "the duration") -> str:
    """Return the text of a duration, to the microsecond."""
    number = seconds(duration, what)
    if number < 0 or not math.isfinite(number):
        raise ValueError(f"{what} is {duration!r}, which is negative or has no end")
    if number > _LONGEST:
        raise ValueError(f"{what} is {duration!r}; a duration has {_LONGEST:.0f} seconds at the most")
    return f"{round(number * 1e6)}us"

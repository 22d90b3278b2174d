"""Tells when something before the server refuses what is sent, and would each time."""

from __future__ import annotations

from collections.abc import Callable

_TIMES = 3  # how often something else answers before that is taken to be about what is sent
_BEATS = 2  # and how many beats are answered meanwhile


class Watch:
    """Counts the answers of something else than Holdfast to one request that is repeated."""

    def __init__(self, beats: Callable[[], int]) -> None:
        """Take how many beats Holdfast has answered."""
        self._beats = beats
        self._times = 0
        self._began = 0  # how many beats were answered by the first time

    def is_about(self) -> bool:
        """Count an answer of something else, and say whether that is because of what is in the request.

        Beats that were answered since say that the server can be reached, and
        that the token is good. Without them nothing of the server may be there,
        or that only at times.
        """
        beats = self._beats()
        if self._times == 0:
            self._began = beats
        self._times += 1
        return self._times >= _TIMES and beats >= self._began + _BEATS

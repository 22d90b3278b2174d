from __future__ import annotations

import unittest

import holdfast
from holdfast.transport import Transport


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

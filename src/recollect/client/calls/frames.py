"""The calls of ``memory.frames`` as requests; ``make async`` writes it.

Responsible for one request for each call there. Leaves sending to ``client.asking``. Invariant:
signatures and documentation are the same.
"""

from __future__ import annotations

from recollect.client.asking import Calls
from recollect.client.kinds import Expect
from recollect.model.frames import Frame


class Frames(Calls):
    """List, get, set and drop."""

    def list(self) -> list[Frame]:
        """The built-in frames, then those that were set, by name."""
        answer: list[Frame] = self._do("list_frames", list[Frame], {})
        return answer

    def get(self, name: str) -> Frame:
        """One frame.

        Raises:
            NotFound: The frame does not exist.
        """
        answer: Frame = self._do("get_frame", Frame, {"name": name})
        return answer

    def since(self, name: str) -> str:
        """The instant at which a frame was last set.

        Raises:
            NotFound: No frame with that name was set; built-in frames are not set.
        """
        answer: str = self._do("frame_since", str, {"name": name}, inside="since")
        return answer

    def drop(
        self,
        name: str,
        *,
        erase: bool = False,
        idempotency_key: str | None = None,
        expect: Expect | None = None,
    ) -> None:
        """Remove a frame.

        Args:
            name: The frame.
            erase: Also remove every byte of its definitions, for good; needs a person.
            idempotency_key: The same key with the same call again does nothing more.
            expect: A position, or the id of a record with its ``seq``; ``Conflict`` if it changed
                since. A frame has no ``seq``.

        Raises:
            NotFound: No frame with that name was set.
            Forbidden: The frame was set with more trust than this handle has.
        """
        self._do(
            "drop_frame",
            None,
            {"name": name, "erase": erase},
            idempotency_key=idempotency_key,
            expect=expect,
            flags=("erase",),
        )

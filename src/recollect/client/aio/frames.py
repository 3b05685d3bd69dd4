"""The calls of ``memory.frames``, async; ``make async`` writes this module.

Responsible for one call in a worker thread for each call there. Leaves everything else to the plain
memory. Invariant: signatures and documentation are the same.
"""

from __future__ import annotations

from collections.abc import Mapping

from recollect.client.aio.workers import AsyncCalls
from recollect.client.kinds import Expect
from recollect.client.parts import Frames
from recollect.model.frames import Frame


class AsyncFrames(AsyncCalls[Frames]):
    """List, get, set and drop."""

    async def list(self) -> list[Frame]:
        """The built-in frames, then those that were set, by name."""
        return await self._run(self._calls.list)

    async def get(self, name: str) -> Frame:
        """One frame.

        Raises:
            NotFound: The frame does not exist.
        """
        return await self._run(self._calls.get, name)

    async def since(self, name: str) -> str:
        """The instant at which a frame was last set.

        Raises:
            NotFound: No frame with that name was set; built-in frames are not set.
        """
        return await self._run(self._calls.since, name)

    async def set(
        self,
        frame: Frame | Mapping[str, object],
        *,
        idempotency_key: str | None = None,
        expect: Expect | None = None,
    ) -> Frame:
        """Set a frame, whole.

        Args:
            frame: The frame, or a mapping that is read as its JSON would be.
            idempotency_key: The same key with the same frame again does nothing more.
            expect: A position, or the id of a record with its ``seq``; ``Conflict`` if it changed
                since. A frame has no ``seq``.

        Raises:
            InvalidInput: The definition could not be parsed.
            Forbidden: The frame was set with more trust than this handle has.
        """
        return await self._run(
            self._calls.set, frame, idempotency_key=idempotency_key, expect=expect
        )

    async def drop(
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
        await self._run(
            self._calls.drop, name, erase=erase, idempotency_key=idempotency_key, expect=expect
        )

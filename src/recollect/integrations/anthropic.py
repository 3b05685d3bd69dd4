"""Claude's memory tool, stored in Recollect (extra ``anthropic``).

Responsible for the SDK's two abstract memory tools. Leaves what a path means to
``integrations.files``. Invariant: what the model writes has at most the trust of an agent, and
every change of a file is in its history.

    tool = MemoryTool(Memory.open("my-memory"))
    client.beta.messages.tool_runner(model=..., messages=[...], max_tokens=1024, tools=[tool])

Commands of one instance run one at a time, so no edit is lost. If two processes edit one file at
the same moment, the later edit wins, and the earlier one is in the history.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from recollect.aio import AsyncMemory
from recollect.errors import Conflict, Forbidden, InvalidInput, NotFound
from recollect.integrations.extras import needs
from recollect.integrations.files import Files
from recollect.memory import Memory
from recollect.model.values import Version

with needs("anthropic"):
    from anthropic.lib.tools import (
        BetaAbstractMemoryTool,
        BetaAsyncAbstractMemoryTool,
        ToolError,
    )
    from anthropic.types.beta import (
        BetaCacheControlEphemeralParam,
        BetaMemoryTool20250818CreateCommand,
        BetaMemoryTool20250818DeleteCommand,
        BetaMemoryTool20250818InsertCommand,
        BetaMemoryTool20250818RenameCommand,
        BetaMemoryTool20250818StrReplaceCommand,
        BetaMemoryTool20250818ViewCommand,
    )

# Errors that the model can act on. All others go to the program that runs it.
_FOR_THE_MODEL = (Conflict, Forbidden, InvalidInput, NotFound)


class MemoryTool(BetaAbstractMemoryTool):
    """Files under ``/memories`` as records: each edit a revision, each deletion restorable."""

    def __init__(
        self, memory: Memory, *, cache_control: BetaCacheControlEphemeralParam | None = None
    ) -> None:
        super().__init__(cache_control=cache_control)
        self._files = Files(memory.scoped(trust="agent"))

    def view(self, command: BetaMemoryTool20250818ViewCommand) -> str:
        """Shows a file with line numbers, or lists a directory."""
        return self._answer(lambda files: files.view(command.path, command.view_range))

    def create(self, command: BetaMemoryTool20250818CreateCommand) -> str:
        """Creates a file."""
        return self._answer(lambda files: files.create(command.path, command.file_text))

    def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> str:
        """Replaces one passage with another."""
        return self._answer(
            lambda files: files.str_replace(command.path, command.old_str, command.new_str)
        )

    def insert(self, command: BetaMemoryTool20250818InsertCommand) -> str:
        """Inserts lines after a line."""
        return self._answer(
            lambda files: files.insert(command.path, command.insert_line, command.insert_text)
        )

    def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> str:
        """Deletes a file or a directory; it can be restored."""
        return self._answer(lambda files: files.delete(command.path))

    def rename(self, command: BetaMemoryTool20250818RenameCommand) -> str:
        """Renames a file or a directory."""
        return self._answer(lambda files: files.rename(command.old_path, command.new_path))

    def history(self, path: str) -> list[Version]:
        """Every version of a file, oldest first, including earlier names; not for the model."""
        with self._files.turn:
            return self._files.history(path)

    def _answer(self, work: Callable[[Files], str]) -> str:
        return _answer(self._files, work)


class AsyncMemoryTool(BetaAsyncAbstractMemoryTool):
    """Files under ``/memories`` as records, async: each command is one thread hop."""

    def __init__(
        self, memory: AsyncMemory, *, cache_control: BetaCacheControlEphemeralParam | None = None
    ) -> None:
        super().__init__(cache_control=cache_control)
        self._memory = memory.scoped(trust="agent")
        self._turn = threading.Lock()

    async def view(self, command: BetaMemoryTool20250818ViewCommand) -> str:
        """Shows a file with line numbers, or lists a directory."""
        return await self._answer(lambda files: files.view(command.path, command.view_range))

    async def create(self, command: BetaMemoryTool20250818CreateCommand) -> str:
        """Creates a file."""
        return await self._answer(lambda files: files.create(command.path, command.file_text))

    async def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> str:
        """Replaces one passage with another."""
        return await self._answer(
            lambda files: files.str_replace(command.path, command.old_str, command.new_str)
        )

    async def insert(self, command: BetaMemoryTool20250818InsertCommand) -> str:
        """Inserts lines after a line."""
        return await self._answer(
            lambda files: files.insert(command.path, command.insert_line, command.insert_text)
        )

    async def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> str:
        """Deletes a file or a directory; it can be restored."""
        return await self._answer(lambda files: files.delete(command.path))

    async def rename(self, command: BetaMemoryTool20250818RenameCommand) -> str:
        """Renames a file or a directory."""
        return await self._answer(lambda files: files.rename(command.old_path, command.new_path))

    async def history(self, path: str) -> list[Version]:
        """Every version of a file, oldest first, including earlier names; not for the model."""
        return await self._memory.run(lambda memory: Files(memory).history(path))

    async def _answer(self, work: Callable[[Files], str]) -> str:
        return await self._memory.run(lambda memory: _answer(Files(memory, self._turn), work))


def _answer(files: Files, work: Callable[[Files], str]) -> str:
    """The tool result for the model; an error is marked as one."""
    with files.turn:
        try:
            return work(files)
        except _FOR_THE_MODEL as error:
            raise ToolError(str(error)) from error

"""The programs with our plugin or extension, installed from a local folder.

Responsible for installing and removing one with the lines of the page, and for how each program
names our tools and takes a command. Leaves the rest to ``driving``. Invariant: `recollect` is where
a person's PATH finds it, and only there.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Final

from tests.programs.driving import FOLDER, TOOLS, ClaudeCode, Codex, GeminiCli, Program

# What a person is asked at a terminal: whether our tools may be called.
APPROVED: Final = (
    '\n[plugins."recollect@recollect".mcp_servers.recollect]\n'
    'default_tools_approval_mode = "approve"\n'
)
ROOT: Final = Path(__file__).resolve().parents[2]
PAGE: Final = ROOT / "docs" / "start" / "assistant.md"
REMOVING: Final = {"remove", "uninstall"}


class Plugged(Program):
    """A program whose home has our plugins in a folder, and a folder of its own on PATH."""

    @property
    def environment(self) -> dict[str, str]:
        told = super().environment
        return told | {"PATH": f"{self.home / 'bin'}:{told['PATH']}"}

    @property
    def copy(self) -> Path:
        """A copy of this repository."""
        return self.home / "our copy"

    def bring(self) -> None:
        self.prepare()
        shutil.copytree(ROOT / "plugins", self.copy / "plugins")

    def put_on_path(self) -> None:
        link = self.home / "bin" / "recollect"
        link.parent.mkdir(exist_ok=True)
        link.symlink_to(Path(sys.executable).with_name("recollect"))

    def take_from_path(self) -> None:
        (self.home / "bin" / "recollect").unlink()

    def plug(self) -> None:
        """Installs it as the page says."""
        self._page(removing=False)

    def unplug(self) -> None:
        """Removes it as the page says."""
        self._page(removing=True)

    def _page(self, *, removing: bool) -> None:
        lines = [line.split() for line in PAGE.read_text().splitlines()]
        chosen = [
            words[1:]
            for words in lines
            if words[:1] == [self.binary] and bool(REMOVING & set(words)) is removing
        ]
        assert chosen
        for words in chosen:
            self.run(self.copy, str(FOLDER / self.binary), *words, *self.confirming(words))

    # What differs.

    def confirming(self, words: list[str]) -> list[str]:
        """Says yes where a person is asked at a terminal."""
        return []

    def command(self, name: str, typed: str) -> str:
        """The prompt that gives our command; what is typed after it follows."""
        return f"/recollect:{name} {typed}"


class PluggedClaudeCode(Plugged, ClaudeCode):
    """Claude Code."""

    def first(self, prompt: str) -> list[str]:
        allowed = ",".join(f"mcp__plugin_recollect_recollect__{tool}" for tool in TOOLS)
        return ["-p", prompt, "--allowedTools", allowed]


class PluggedCodex(Plugged, Codex):
    """Codex. It has no commands, so a person names a skill."""

    def plug(self) -> None:
        super().plug()
        with (self.home / ".codex" / "config.toml").open("a") as settings:
            settings.write(APPROVED)

    def command(self, name: str, typed: str) -> str:
        return f"$recollect:{name} {typed}"

    def _trusting(self) -> list[str]:
        return ["--dangerously-bypass-hook-trust"]


class PluggedGeminiCli(Plugged, GeminiCli):
    """Gemini CLI."""

    def confirming(self, words: list[str]) -> list[str]:
        return ["--consent"] if "install" in words else []


PLUGGED: Final[dict[str, type[Plugged]]] = {
    "claude-code": PluggedClaudeCode,
    "codex": PluggedCodex,
    "gemini-cli": PluggedGeminiCli,
}

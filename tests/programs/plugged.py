"""The programs with our plugin or extension, installed from a local folder.

Responsible for how each of them installs and removes one, names its tools and takes a command.
Leaves the rest to ``driving``. Invariant: `recollect` is where a person's PATH finds it, and only
there.
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
PLUGINS: Final = Path(__file__).resolve().parents[2] / "plugins"


class Plugged(Program):
    """A program whose home has our plugins in a folder, and a folder of its own on PATH."""

    @property
    def environment(self) -> dict[str, str]:
        told = super().environment
        return told | {"PATH": f"{self.home / 'bin'}:{told['PATH']}"}

    @property
    def source(self) -> Path:
        return self.home / "our plugins"

    def bring(self) -> None:
        """The plugins as a person has them who downloaded this repository."""
        self.prepare()
        shutil.copytree(PLUGINS, self.source)

    def put_on_path(self) -> None:
        link = self.home / "bin" / "recollect"
        link.parent.mkdir(exist_ok=True)
        link.symlink_to(Path(sys.executable).with_name("recollect"))

    def take_from_path(self) -> None:
        (self.home / "bin" / "recollect").unlink()

    def run(self, folder: Path, *words: str) -> str:
        return self._run(folder, str(FOLDER / self.binary), *words)

    # What differs.

    def plug(self, folder: Path) -> None:
        raise NotImplementedError

    def unplug(self, folder: Path) -> None:
        raise NotImplementedError

    def command(self, name: str, typed: str) -> str:
        """The prompt that gives our command; what is typed after it follows."""
        return f"/recollect:{name} {typed}"


class PluggedClaudeCode(Plugged, ClaudeCode):
    """Claude Code."""

    def plug(self, folder: Path) -> None:
        self.run(folder, "plugin", "marketplace", "add", str(self.source))
        self.run(folder, "plugin", "install", "recollect@recollect")

    def unplug(self, folder: Path) -> None:
        self.run(folder, "plugin", "uninstall", "recollect@recollect")
        self.run(folder, "plugin", "marketplace", "remove", "recollect")

    def first(self, prompt: str) -> list[str]:
        allowed = ",".join(f"mcp__plugin_recollect_recollect__{tool}" for tool in TOOLS)
        return ["-p", prompt, "--allowedTools", allowed]


class PluggedCodex(Plugged, Codex):
    """Codex. It has no commands, so a person names a skill."""

    def plug(self, folder: Path) -> None:
        self.run(folder, "plugin", "marketplace", "add", str(self.source))
        self.run(folder, "plugin", "add", "recollect@recollect")
        with (self.home / ".codex" / "config.toml").open("a") as settings:
            settings.write(APPROVED)

    def unplug(self, folder: Path) -> None:
        self.run(folder, "plugin", "remove", "recollect@recollect")
        self.run(folder, "plugin", "marketplace", "remove", "recollect")

    def command(self, name: str, typed: str) -> str:
        return f"$recollect:{name} {typed}"

    def _trusting(self) -> list[str]:
        return ["--dangerously-bypass-hook-trust"]


class PluggedGeminiCli(Plugged, GeminiCli):
    """Gemini CLI."""

    def plug(self, folder: Path) -> None:
        self.run(folder, "extensions", "install", "--consent", str(self.source / "gemini-cli"))

    def unplug(self, folder: Path) -> None:
        self.run(folder, "extensions", "uninstall", "recollect")


PLUGGED: Final[dict[str, type[Plugged]]] = {
    "claude-code": PluggedClaudeCode,
    "codex": PluggedCodex,
    "gemini-cli": PluggedGeminiCli,
}

"""The programs, each with a home of its own: how it is set up, asked, asked again, and ended.

Responsible for what differs between them. Leaves what a talk must leave behind to the tests.
Invariants: nothing leaves this machine, because every other address leads to a closed port; a
program that does not end is ended by the id of its process group.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

FOLDER: Final = Path(__file__).resolve().parents[2] / ".programs" / "node_modules" / ".bin"
TIME_LIMIT_S: Final = 170
TOOLS: Final = ("recall", "remember", "revise", "forget", "history")
CLOSED: Final = "http://127.0.0.1:9"  # the port of a service that nobody runs


@dataclass(frozen=True)
class Program:
    """One program in one home, asked in any folder."""

    name: str  # as `recollect mcp install` calls it
    home: Path
    model: str  # the address of the scripted model

    @property
    def environment(self) -> dict[str, str]:
        node = os.path.dirname(shutil.which("node") or "")
        return {
            "HOME": str(self.home),
            "LANG": "C.UTF-8",
            "PATH": f"{node}:/usr/local/bin:/usr/bin:/bin",
            "HTTP_PROXY": CLOSED,
            "HTTPS_PROXY": CLOSED,
            "NO_PROXY": "127.0.0.1,localhost",
        }

    def recollect(self, folder: Path, *words: str) -> str:
        """Runs a command as the person; it must succeed."""
        return self.run(folder, sys.executable, "-P", "-m", "recollect", *words)

    def install(self, folder: Path) -> None:
        self.prepare()
        self.recollect(folder, "mcp", "install", self.name, "--yes")
        if self.has_hooks:
            self.recollect(folder, "hooks", "install", self.name, "--yes")

    def uninstall(self, folder: Path) -> None:
        if self.has_hooks:
            self.recollect(folder, "hooks", "install", self.name, "--undo", "--yes")
        self.recollect(folder, "mcp", "install", self.name, "--undo", "--yes")

    def ask(self, folder: Path, prompt: str, *, resumed: bool = False) -> str:
        """One talk of one prompt; ``resumed`` goes on with the last one of the folder."""
        program = str(FOLDER / self.binary)
        return self.run(folder, program, *(self.again(prompt) if resumed else self.first(prompt)))

    def run(self, folder: Path, *words: str) -> str:
        with subprocess.Popen(
            words,
            cwd=folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        ) as process:
            try:
                out, err = process.communicate(timeout=TIME_LIMIT_S)
            finally:
                with suppress(ProcessLookupError):  # also what it left behind
                    os.killpg(process.pid, signal.SIGKILL)
        assert process.returncode == 0, (words, out[-2_000:], err[-2_000:])
        return out

    # What differs.

    has_hooks = True
    keeps_answers = False  # whether our hooks store what the model says
    drops_prompts = False  # whether a resumed talk lacks the prompts that a hook added to
    binary = ""

    def prepare(self) -> None:
        """Writes the settings that lead the program to the scripted model."""

    def first(self, prompt: str) -> list[str]:
        raise NotImplementedError

    def again(self, prompt: str) -> list[str]:
        raise NotImplementedError


class ClaudeCode(Program):
    """Anthropic's."""

    binary = "claude"
    keeps_answers = True

    @property
    def environment(self) -> dict[str, str]:
        return super().environment | {
            "ANTHROPIC_BASE_URL": self.model,
            "ANTHROPIC_API_KEY": "test",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        }

    def first(self, prompt: str) -> list[str]:
        allowed = ",".join(f"mcp__recollect__{tool}" for tool in TOOLS)
        return ["-p", prompt, "--allowedTools", allowed]

    def again(self, prompt: str) -> list[str]:
        return ["--continue", *self.first(prompt)]


class Codex(Program):
    """OpenAI's."""

    binary = "codex"

    def prepare(self) -> None:
        settings = self.home / ".codex" / "config.toml"
        settings.parent.mkdir()
        settings.write_text(
            'model = "scripted"\n'
            'model_provider = "scripted"\n'
            "[model_providers.scripted]\n"
            'name = "scripted"\n'
            f'base_url = "{self.model}/v1"\n'
            'wire_api = "responses"\n'
            "request_max_retries = 0\n"
            "stream_max_retries = 0\n"
        )

    def first(self, prompt: str) -> list[str]:
        return ["exec", *self._trusting(), prompt]

    def again(self, prompt: str) -> list[str]:
        return ["exec", "resume", "--last", *self._trusting(), prompt]

    def _trusting(self) -> list[str]:
        """Says yes to what a person is asked at a terminal: our hooks, and our tools."""
        if "[mcp_servers.recollect]" not in (self.home / ".codex" / "config.toml").read_text():
            return []
        approved = 'mcp_servers.recollect.default_tools_approval_mode="approve"'
        return ["--dangerously-bypass-hook-trust", "--config", approved]


class GeminiCli(Program):
    """Google's."""

    binary = "gemini"
    drops_prompts = True

    @property
    def environment(self) -> dict[str, str]:
        return super().environment | {
            "GEMINI_API_KEY": "test",
            "GOOGLE_GEMINI_BASE_URL": self.model,
            "GEMINI_CLI_TRUST_WORKSPACE": "true",
        }

    def prepare(self) -> None:
        settings = self.home / ".gemini" / "settings.json"
        settings.parent.mkdir()
        told = {
            "security": {"auth": {"selectedType": "gemini-api-key"}},
            "privacy": {"usageStatisticsEnabled": False},
            "general": {"disableAutoUpdate": True},
        }
        settings.write_text(json.dumps(told, indent=2))

    def first(self, prompt: str) -> list[str]:
        allowed = (f"--allowed-tools=mcp_recollect_{tool}" for tool in TOOLS)
        return ["--model", "gemini-2.5-flash", *allowed, "-p", prompt]

    def again(self, prompt: str) -> list[str]:
        return ["--resume", "latest", *self.first(prompt)]


class OpenCode(Program):
    """That of opencode.ai, with a model of one's own."""

    binary = "opencode"
    has_hooks = False

    @property
    def environment(self) -> dict[str, str]:
        return super().environment | {
            "OPENCODE_DISABLE_AUTOUPDATE": "1",
            "OPENCODE_DISABLE_MODELS_FETCH": "1",
        }

    def prepare(self) -> None:
        settings = self.home / ".config" / "opencode" / "opencode.json"
        settings.parent.mkdir(parents=True)
        model = {
            "name": "scripted",
            "tool_call": True,
            "limit": {"context": 100_000, "output": 1_000},
        }
        provider = {
            "npm": "@ai-sdk/openai-compatible",
            "name": "scripted",
            "options": {"baseURL": f"{self.model}/v1", "apiKey": "test"},
            "models": {"scripted": model},
        }
        told = {
            "model": "scripted/scripted",
            "provider": {"scripted": provider},
            "autoupdate": False,
        }
        settings.write_text(json.dumps(told, indent=2))

    def first(self, prompt: str) -> list[str]:
        return ["run", prompt]

    def again(self, prompt: str) -> list[str]:
        return ["run", "--continue", prompt]


PROGRAMS: Final[dict[str, type[Program]]] = {
    "claude-code": ClaudeCode,
    "codex": Codex,
    "gemini-cli": GeminiCli,
    "opencode": OpenCode,
}

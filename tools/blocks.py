"""Find the code blocks of a Markdown page and run them as a reader would.

Knows fences, the two kinds of block that run (`python`, `console`) and the kinds that only show
something. Leaves it to tests/docs to say which pages are run. Invariant: a block either runs or is
of a kind that cannot run; there is no way to switch one off.

From a shell, `python tools/blocks.py README.md` prints the page's first Python block. Standard
library only, so that it works next to a freshly installed wheel.
"""

from __future__ import annotations

import doctest
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

RUN = frozenset({"python", "console"})
SHOWN = frozenset({"text", "json", "toml", "yaml", "sql", "markdown", "mermaid", "js"})
FENCE = re.compile(r"( *)(`{3,}|~{3,})\s*(.*)")
TIMEOUT_S = 600  # only a hang reaches it
END = "\x1e"  # the record separator: printed by the runner after each command, with its exit code


class BlockError(Exception):
    """A block is malformed, failed, or printed something else; the text says where."""


@dataclass(frozen=True)
class Block:
    """A fenced block: its info string, its text, and the line its text starts on."""

    info: str
    text: str
    line: int


@dataclass(frozen=True)
class Command:
    """One `$ ` command of a console block, and what the page says it prints."""

    text: str
    wanted: str
    line: int
    code: int


def blocks(page: str) -> Iterator[Block]:
    """Yield the fenced blocks of a page, also those indented under a list item."""
    lines = page.split("\n")
    at = 0
    while at < len(lines):
        fence = FENCE.fullmatch(lines[at])
        at += 1
        if fence is None:
            continue
        start, mark = at, fence[2]
        while at < len(lines) and not closes(lines[at], mark):
            at += 1
        if at == len(lines):
            raise BlockError(f"line {start}: the block is never closed")
        text = textwrap.dedent("\n".join(lines[start:at]))
        yield Block(fence[3].strip(), text, start + 1)
        at += 1


def closes(line: str, mark: str) -> bool:
    stripped = line.strip()
    return len(stripped) >= len(mark) and set(stripped) == {mark[0]}


def check_kinds(page: str) -> None:
    """Refuse a block without a known kind, or with an option to skip it."""
    for block in blocks(page):
        if block.info not in RUN | SHOWN:
            known = ", ".join(sorted(RUN | SHOWN))
            raise BlockError(f"line {block.line}: `{block.info}` is not one of {known}")


def python_of(page: str) -> str:
    """Join the Python blocks, each on its own line numbers, so that a traceback fits the page."""
    out: list[str] = []
    for block in blocks(page):
        if block.info == "python":
            out += [""] * (block.line - 1 - len(out))
            out += block.text.split("\n")
    return "\n".join(out)


def first_python(page: str) -> str:
    for block in blocks(page):
        if block.info == "python":
            return block.text + "\n"
    raise BlockError("the page has no python block")


def commands(block: Block) -> Iterator[Command]:
    """Yield the commands of a console block.

    `$ ` starts a command, `> ` directly below continues it, everything up to the next `$ ` is what
    it prints. A last line `[exit 2]` says the code it ends with; otherwise it must end with 0.
    """
    lines = block.text.split("\n")
    if not lines[0].startswith("$ "):
        raise BlockError(f"line {block.line}: a console block starts with `$ `")
    starts = [at for at, line in enumerate(lines) if line.startswith("$ ")]
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        at = start + 1
        text = [lines[start][2:]]
        while at < end and lines[at].startswith("> "):
            text.append(lines[at][2:])
            at += 1
        wanted = lines[at:end]
        code = 0
        if wanted and (said := re.fullmatch(r"\[exit (\d+)\]", wanted[-1])):
            code = int(said[1])
            wanted = wanted[:-1]
        yield Command("\n".join(text), "\n".join(wanted), block.line + start, code)


def environment(home: Path) -> dict[str, str]:
    """A small environment: this Python's commands first, no colour, no personal settings."""
    return {
        "PATH": f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin",
        "HOME": str(home),
        "TMPDIR": str(home),
        "LANG": "C.UTF-8",
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
        "COLUMNS": "100",
        "NO_COLOR": "1",
        "TERM": "dumb",
        "PYTHONIOENCODING": "utf-8",
    }


def run(
    arguments: Sequence[str], folder: Path, env: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        arguments,
        cwd=folder,
        env=dict(env),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        timeout=TIMEOUT_S,
        check=False,
    )


def run_python(page: str, folder: Path) -> None:
    """Run the Python blocks of a page, in order, as one program in a fresh process."""
    source = python_of(page)
    if not source.strip():
        return
    script = folder / "page.py"
    script.write_text(source, "utf-8")
    home = folder / "home"
    home.mkdir()
    done = run([sys.executable, str(script)], home, environment(home))
    if done.returncode != 0:
        raise BlockError(f"the python blocks ended with {done.returncode}:\n{done.stdout}")


def run_console(page: str, folder: Path) -> None:
    """Run the console blocks of a page, in order, in one shell, and compare what they print."""
    found = [c for block in blocks(page) if block.info == "console" for c in commands(block)]
    script = "".join(f"{{ {c.text}\n}} 2>&1; printf '{END}%s{END}' $?\n" for c in found)
    done = run(["bash", "-c", script], folder, environment(folder))
    pieces = done.stdout.split(END)
    for command, printed, code in zip(found, pieces[0::2], pieces[1::2], strict=False):
        compare(command, printed, int(code))
    if len(pieces) // 2 != len(found):
        raise BlockError(f"the shell ended early:\n{pieces[-1]}")


def compare(command: Command, printed: str, code: int) -> None:
    """Compare a command's output with the page; `...` matches any text."""
    got = "\n".join(line.rstrip() for line in printed.rstrip().split("\n"))
    wanted = command.wanted.rstrip()
    if code != command.code:
        raise BlockError(
            f"line {command.line}: `{command.text}` ended with {code}, not {command.code}:\n{got}"
        )
    agrees = doctest.OutputChecker().check_output(wanted + "\n", got + "\n", doctest.ELLIPSIS)
    if wanted and not agrees:
        raise BlockError(
            f"line {command.line}: `{command.text}` printed\n{got}\nand the page says\n{wanted}"
        )


if __name__ == "__main__":
    sys.stdout.write(first_python(Path(sys.argv[1]).read_text("utf-8")))

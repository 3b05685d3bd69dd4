"""The verbs around an assistant's session: capture a transcript, install the hooks.

Responsible for what people are told about both, and for which commands an assistant's settings
name. Leaves keeping to ``memory.capture``, what the hooks do to ``hook``, and changing files to
``changes``. Invariants: no settings are changed unseen, or without a yes; what they say beside our
commands stays.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from typer import Argument, Option

from recollect.config import config_home, load, places, project_root
from recollect.errors import ConfigError, InvalidInput
from recollect.interfaces.cli import answer, changes, plain
from recollect.interfaces.cli import options as o
from recollect.interfaces.cli.call import Call, verb
from recollect.interfaces.cli.changes import Change
from recollect.interfaces.cli.program import command

Source = Annotated[Literal["claude-code"], Argument(metavar="ASSISTANT", help="claude-code.")]
TranscriptPath = Annotated[
    str | None, Option("--transcript", metavar="PATH", help="The session's JSON lines.")
]
Session = Annotated[
    str | None, Option(metavar="ID", help="The session; the transcript's own if left out.")
]
ToolResults = Annotated[
    bool, Option("--tool-results", help="Keep what tools answered, not their names alone.")
]
Project = Annotated[bool, Option("--project", help="In the project's settings, for everybody.")]
User = Annotated[bool, Option("--user", help="In your settings, for all projects.")]
DryRun = Annotated[bool, Option("--dry-run", help="Show the change; write nothing.")]
Undo = Annotated[bool, Option("--undo", help="Take it back.")]

Settings = dict[str, Any]

_CONTEXT: Final = "context --hook"
_CAPTURE: Final = "capture claude-code --hook"
# Which moment runs what, and after how many seconds the assistant stops waiting.
_MOMENTS: Final = {
    "SessionStart": (_CONTEXT, 10),
    "UserPromptSubmit": (_CONTEXT, 10),
    "PreCompact": (_CAPTURE, 60),
    "SessionEnd": (_CAPTURE, 60),
}
_OURS: Final = re.compile(rf"recollect\b.* (?:{_CONTEXT}|{_CAPTURE})\b")


@verb
def capture(
    call: Call,
    assistant: Source,
    transcript: TranscriptPath = None,
    session: Session = None,
    tool_results: ToolResults = False,
    hook: o.AsHook = False,
) -> None:
    """Observe an assistant's session from its transcript, each message once."""
    if transcript is None or hook:  # a hook's call was answered before it came here
        raise InvalidInput("capture takes a --transcript", hint="give the path of a .jsonl file")
    from recollect.memory.capture import Captured, claude_code

    def show(done: Captured) -> None:
        plain.say(f"{plain.bold(plain.one_line(done.summary()))}")
        if done.where:
            plain.say(plain.dim(f"  in {plain.safe(done.where)}"))

    done = claude_code(
        places(call.store),
        Path(transcript).expanduser(),
        session=session,
        space=call.space,
        tool_results=tool_results,
    )
    call.answer(done, show)


@verb
def install(
    call: Call,
    assistant: Source,
    project: Project = False,
    user: User = False,
    dry_run: DryRun = False,
    undo: Undo = False,
    yes: o.Yes = False,
) -> None:
    """Let an assistant ask this memory and tell it; shows the change first."""
    file = _file(project=project, user=user)
    keep = changes.Kept(config_home() / "recollect" / "undo")
    if undo:
        change = keep.undoing(file) or _edited(file, _taken_out)
    else:
        words = _words(call, is_shared=project)
        change = _edited(file, lambda settings: _put_in(settings, words))
    if not call.json:
        told = plain.safe(change.diff()).rstrip("\n")
        plain.say(told or f"{plain.safe(str(file))} is already so.")
    write = not change.is_nothing and not dry_run
    if write:
        call.confirm(f"Write {file}?", yes=yes, what="changing an assistant's settings")
        (keep.undo if undo else keep.apply)(change)
        call.note("Taken back." if undo else "Written. The next session will use it.")
        if not undo and not _keeps(call):
            call.note("What is said here is kept once there is a memory: recollect init")
        if not undo:
            call.note_strange()
    if call.json:
        answer.write_json({"file": str(file), "diff": change.diff(), "written": write})


def _keeps(call: Call) -> bool:
    """True if there is a memory here that the hooks tell."""
    where = places(call.store).project.where
    return "://" in where or Path(where).is_dir()


def _file(*, project: bool, user: bool) -> Path:
    """A person's own settings for this project unless said otherwise.

    They bind nobody who shares the project, and no other project.
    """
    if project and user:
        raise InvalidInput("it is --project or --user", hint="give one of the two, or none")
    if user:
        return Path.home() / ".claude" / "settings.json"
    root = project_root(Path.cwd(), Path.home())
    return root / ".claude" / ("settings.json" if project else "settings.local.json")


def _words(call: Call, *, is_shared: bool) -> str:
    """What runs this program, with the memory that was named."""
    program = ["recollect"] if is_shared else command()
    store = [] if call.store is None else ["--store", load(call.store).where]
    space = [] if call.named is None else ["--space", call.named]
    return shlex.join([*program, *store, *space])


# --- the settings


def _put_in(settings: Settings, words: str) -> None:
    """Our commands at their moments, in the place of any that were there before."""
    _taken_out(settings)
    hooks = settings.setdefault("hooks", {})
    for moment, (what, timeout_s) in _MOMENTS.items():
        told = {"type": "command", "command": f"{words} {what}", "timeout": timeout_s}
        hooks.setdefault(moment, []).append({"hooks": [told]})


def _taken_out(settings: Settings) -> None:
    """Without our commands, and without what is empty because of that."""
    hooks = settings.get("hooks", {})
    for moment in _MOMENTS:
        groups = hooks.get(moment, [])
        kept = [group for group in map(_without_ours, groups) if group["hooks"]]
        if kept != groups:
            hooks[moment] = kept
        if moment in hooks and not hooks[moment]:
            del hooks[moment]
    if not hooks:
        settings.pop("hooks", None)


def _without_ours(group: Settings) -> Settings:
    kept = [hook for hook in group["hooks"] if not _OURS.search(str(hook.get("command")))]
    return {**group, "hooks": kept}


def _edited(file: Path, edit: Callable[[Settings], None]) -> Change:
    """The change that an edit makes; without one, the very bytes."""
    before = changes.content(file)
    settings = _parsed(file, before) if before and before.strip() else {}
    wanted = deepcopy(settings)
    try:
        edit(wanted)
    except (AttributeError, KeyError, TypeError) as error:
        raise ConfigError(
            f"the hooks in {file} have a form that is not known here", hint="look at them first"
        ) from error
    if wanted == settings or (before is None and not wanted):
        return Change(file, before, before)
    indent = re.search(rb'^([ \t]+)"', before or b"", re.MULTILINE)
    text = json.dumps(wanted, indent=indent[1].decode() if indent else 2, ensure_ascii=False)
    end = "\n" if before is None or before.endswith(b"\n") else ""
    return Change(file, before, f"{text}{end}".encode())


def _parsed(file: Path, data: bytes) -> Settings:
    try:
        found = json.loads(data.decode(), object_pairs_hook=_once)
    except (ValueError, RecursionError) as error:
        raise ConfigError(
            f"{file} is no plain JSON, so it is left as it is", hint=f"mend it first: {error}"
        ) from error
    if not isinstance(found, dict):
        raise ConfigError(f"{file} holds no JSON object", hint="mend it first")
    return found


def _once(pairs: list[tuple[str, Any]]) -> Settings:
    """An object; of one that names a key twice, a value would be lost."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key comes twice")
    return found

"""The verbs around an assistant's session: capture a transcript, install the hooks.

Responsible for what both print, and for the commands in an assistant's settings. Leaves capturing
to ``assistants.capture``, what the hooks do to ``hook``, the settings' text to ``hook_settings``
and writing them to ``entries``. Invariant: settings are changed only after the change was shown
and confirmed.
"""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated, Final

from recollect.config import config_home, load, places
from recollect.errors import InvalidInput
from recollect.interfaces.cli import options as o
from recollect.interfaces.cli import plain, questions
from recollect.interfaces.cli.assistants import changes, entries, hook_settings
from recollect.interfaces.cli.assistants.program import command
from recollect.interfaces.cli.call import Call, verb
from recollect.interfaces.cli.declare import Argument, Option
from recollect.places import consent, known
from recollect.places.consent import PROMPTS, Prompts

Hooked = Annotated[
    hook_settings.Assistant,
    Argument(metavar="ASSISTANT", help="claude-code, codex or gemini-cli."),
]
TalkPath = Annotated[
    str | None,
    Argument(
        metavar="FILE", help="The file in which the assistant's program keeps the conversation."
    ),
]
Session = Annotated[
    str | None, Option(metavar="ID", help="The session's name.  [default: the file's own]")
]
ToolResults = Annotated[
    bool, Option("--tool-results", help="Also store the output of tools, not only their names.")
]
Project = Annotated[
    bool, Option("--project", help="Use the project's settings, shared with everyone.")
]
User = Annotated[bool, Option("--user", help="Use your settings for all projects.")]
KeepPrompts = Annotated[
    Prompts | None,
    Option(
        "--prompts",
        help="Store prompts for quoting, where one that only asks is not recalled, as memory, where"
        " every one is, or not at all.  [default: as it is installed, or quoting]",
    ),
]
CapturePrompts = Annotated[
    Prompts,
    Option(
        "--prompts",
        help="Store what you typed for quoting, where what only asks is not recalled, as memory, "
        "where all of it is, or not at all.",
    ),
]
DryRun = Annotated[bool, Option("--dry-run", help="Show the change without writing it.")]
Undo = Annotated[bool, Option("--undo", help="Undo the change.")]


_CHOICES: Final = (
    "What you type to the assistant can be stored:",
    "  quoting  the assistant can quote it; questions and one-off orders are not recalled",
    "  memory   the same, and questions and orders are recalled too",
    "  none     it is not stored",
)


@verb
def capture(
    call: Call,
    file: TalkPath = None,
    session: Session = None,
    tool_results: ToolResults = False,
    prompts: CapturePrompts = "quoting",
    hook: o.AsHook = False,
) -> None:
    """Store a conversation with an assistant from its program's file, each message once.

    Claude Code, Codex, Gemini CLI or opencode: the file says which.
    """
    from recollect.assistants.capture import Captured, captured
    from recollect.assistants.programs import where_they_are

    if file is None or hook:  # a hook's call is answered before it gets here
        raise InvalidInput("capture needs a conversation file", hint=where_they_are())

    def show(done: Captured) -> None:
        plain.say(f"{plain.bold(plain.one_line(done.summary()))}")
        if done.where:
            plain.say(plain.dim(f"  in {plain.safe(done.where)}"))

    done = captured(
        places(call.store),
        Path(file).expanduser(),
        session=session,
        space=call.space,
        tool_results=tool_results,
        prompts=prompts,
    )
    call.answer(done, show)


@verb
def install(
    call: Call,
    assistant: Hooked,
    project: Project = False,
    user: User = False,
    prompts: KeepPrompts = None,
    dry_run: DryRun = False,
    undo: Undo = False,
    yes: o.Yes = False,
) -> None:
    """Add hooks to an assistant's settings; shows the change first."""
    file = hook_settings.place(
        project=project, user=user, here=Path.cwd(), home=Path.home(), assistant=assistant
    )
    keep = changes.Kept(config_home() / "recollect" / "undo")
    if undo:
        change = keep.undoing(file) or hook_settings.removal(file)
    else:
        chosen = prompts or hook_settings.prompts_of(file) or _asked(call, yes=yes or dry_run)
        words = _words(call, is_shared=project)
        change = hook_settings.addition(file, words, assistant, chosen)
    if entries.install(call, keep, change, dry_run=dry_run, undo=undo, yes=yes):
        call.note("Undone." if undo else "Written. The next session will use it.")
        if not undo:
            _note(call, assistant)


def _asked(call: Call, *, yes: bool) -> Prompts:
    """What becomes of prompts, asked of a person at a terminal."""
    if yes or call.json or not sys.stdin.isatty():
        return "quoting"
    plain.say(*_CHOICES)
    while True:
        said = questions.prompt("Store prompts", "quoting")
        for each in PROMPTS:
            if each == said:
                return each


def _note(call: Call, assistant: hook_settings.Assistant) -> None:
    """Says what else a person has to do or to know."""
    if not _keeps(call):
        call.note("Sessions are stored only where you ask for it; run: recollect init")
    if assistant == "codex":
        call.note(
            "Codex asks you to trust new hooks; older releases also need `codex_hooks = true`"
        )
        call.note("under [features] in ~/.codex/config.toml.")
    call.note_if_unknown()


def _keeps(call: Call) -> bool:
    """True if sessions are stored here: a person named the memory, or ran ``recollect init``."""
    found = places(call.store)
    known.follow(found.project, call.space)
    return found.named or consent.is_given(found.project, call.space)


def _words(call: Call, *, is_shared: bool) -> str:
    """The command that runs this program, with the memory that was named."""
    program = ["recollect"] if is_shared else command()
    store = [] if call.store is None else ["--store", load(call.store).where]
    space = [] if call.named is None else ["--space", call.named]
    return shlex.join([*program, *store, *space])

"""The hook verbs: commands that an assistant runs at certain events of a session.

Responsible for reading the assistant's JSON from stdin, answering in its format, and writing a
line to the log. Leaves what to say to ``assistants.prompts`` and what to store to
``assistants.capture``. Invariants: the exit code is always 0, or 1 if the process hangs where no
signal reaches it; stdout holds one JSON document for the assistant or nothing; the time limit
starts before anything is opened; the log holds no text of a memory or a conversation; modules are
loaded only when they are needed.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, NoReturn

from recollect.interfaces.cli import lean

if TYPE_CHECKING:
    from recollect.config import Places
    from recollect.places.consent import Prompts

VERBS: Final = ("context", "capture")
_STDIN_MAX_BYTES: Final = 16_777_216
_MAX_S: Final = {"context": 8.0, "capture": 50.0}  # the assistant itself waits 10 and 60
_LOG_MAX_S: Final = 1.0
_LIMIT_MAX_S: Final = 86_400.0
_HANGING_S: Final = 1.5  # how long after the time limit a hook that still runs is killed
_WITH_VALUE: Final = ("store", "space", "tokens", "time-limit", "session", "prompts")
_PASSED_OVER: Final = "ignored a memory that is not known"
_NOT_ASKED: Final = "stored nothing, because `recollect init` was not run here"
_IGNORED: Final = "ignored settings that only a person can choose, or that could not be read"
_NO_MEMORY: Final = "no memory"
_PROMPTS: Final = ("UserPromptSubmit", "BeforeAgent")  # the second is Gemini CLI's
_KEEPING: Final = 0.25  # how much of a prompt's time limit storing it may take, after the answer
_TOKENS: Final = 1_000  # fits into the 10,000 characters that an assistant accepts

Given = Mapping[str, object]


class TimeUp(Exception):
    """The time limit was reached. Not an ``OSError``, because code may ignore those."""


def verb_of(given: Sequence[str]) -> str | None:
    """The verb of a hook's command line; None for any other command line."""
    words, options = _read(given)
    named = words[1:2] if words[:1] == ["hooks"] else words[:1]  # earlier releases left `hooks` out
    return named[0] if "hook" in options and named and named[0] in VERBS else None


def run(verb: str, given: Sequence[str]) -> int:
    """Answers one hook; always 0, because a memory must not stop an assistant."""
    if os.name == "nt":
        return 0  # not supported yet
    if verb == "context":
        gc.disable()  # imports leave no garbage, and collecting takes 5 % of the time
    _, options = _read(given)
    _limit_time(_seconds(verb, options))
    try:
        lean.load_msgspec()
        _run(verb, options)
    finally:
        _lift_limit()
        gc.enable()
    return 0


def end(verb: str, code: int) -> int:
    """Exits at once after a hook that only reads, because nothing is left to do.

    Python's normal shutdown would take a fifth of the hook's time.
    """
    if verb == "context":
        lean.leave(code)
    return code


def _run(verb: str, options: Mapping[str, str]) -> None:
    said: Given = {}
    try:
        said = _stdin()
        if "plugin" in options and _gives_way(options["plugin"], said):
            return
        answer = _context if verb == "context" else _capture
        note = answer(_places(options, said), options, said)
    except Exception as error:  # noqa: BLE001 - the assistant must go on after any error
        note = f"failed {_cause(error)}"
    if note:
        with suppress(Exception):
            _limit_time(_LOG_MAX_S)
            line = f"{verb} {_word(said.get('hook_event_name'))} {note}"
            _log(_places(options, said), options, line)


def _gives_way(assistant: str, said: Given) -> bool:
    """True for a plugin's hook where the settings have one: that one has what a person chose."""
    from recollect.interfaces.cli.assistants import hook_settings

    here, event = (_start(said) or Path.cwd()).absolute(), str(said.get("hook_event_name"))
    # The assistant may work below the folder whose settings it read when it was started.
    return any(
        hook_settings.answers(assistant, event, folder, Path.home())
        for folder in (here, *here.parents)
    )


def _context(places: Places, options: Mapping[str, str], said: Given) -> str | None:
    """Memory for a prompt or for the start of a session."""
    from recollect.assistants import prompts
    from recollect.places import known

    event = said.get("hook_event_name")
    tokens, space = int(options.get("tokens", _TOKENS)), options.get("space", "main")
    is_unknown = False
    if event in _PROMPTS:
        prompt, session = _prompt(said), _session(said)
        text = prompts.for_prompt(places, prompt, tokens=tokens, space=space, session=session)
    elif event == "SessionStart":
        text = prompts.for_session(places, tokens=tokens, space=space)
        is_unknown = _is_unknown(places, options)
    else:
        return "failed: this event does not take a context"
    told: dict[str, object] = {}
    if text:
        told["hookSpecificOutput"] = {"hookEventName": event, "additionalContext": text}
    if is_unknown:  # shown to the person only: a model that read it might adopt the memory itself
        told["systemMessage"] = f"recollect: {known.ELSEWHERE}; {known.HINT}."
    if told:
        _answer(told)
    if event in _PROMPTS:  # after the answer: an assistant that reads it at once need not wait
        _keep_prompt(places, options, said)
    if is_unknown:
        return _PASSED_OVER
    if event == "SessionStart" and places.project.ignored:
        return _IGNORED
    if event == "SessionStart" and text:  # once a session, so that `hooks status` can tell
        count = sum(line.startswith("- ") for line in text.splitlines())
        return f"handed over {count} line{'' if count == 1 else 's'}"
    return None


def _keep_prompt(places: Places, options: Mapping[str, str], said: Given) -> None:
    """Stores what a person typed, with a person's trust, where sessions may be stored."""
    from recollect.assistants import prompts

    prompt, session = _prompt(said), _session(said)
    if session is None or not prompts.says_something(prompt) or _why_not(places, options):
        return
    if options.get("prompts") == "none":
        return
    _limit_time(_KEEPING * _seconds("context", options))
    from contextlib import closing

    from recollect.assistants import typed
    from recollect.assistants.mounts import Mounts
    from recollect.assistants.place import Scoping

    scope = Scoping(session=session, trust="person")
    with closing(Mounts(places, space=options.get("space", "main"), scope=scope)) as mounts:
        typed.keep(mounts.writer()[1], prompt, session, _prompts(options))


def _prompt(said: Given) -> str:
    """What a person typed, without what a program put before it, such as memory of ours."""
    prompt = str(said.get("prompt"))
    if "<" not in prompt:
        return prompt
    from recollect.exchange.injected import spoken

    return spoken(prompt)


def _prompts(options: Mapping[str, str]) -> Prompts:
    """What becomes of prompts; a value of a later release counts as none given."""
    from recollect.places.consent import PROMPTS

    return next((each for each in PROMPTS if each == options.get("prompts")), "quoting")


def _session(said: Given) -> str | None:
    session = said.get("session_id")
    return session if isinstance(session, str) and session else None


def _why_not(places: Places, options: Mapping[str, str]) -> str | None:
    """Why nothing is stored here; None if it may be."""
    folder = places.project.folder
    if folder is not None and not folder.is_dir():
        return _NO_MEMORY
    if _is_unknown(places, options):
        return _PASSED_OVER
    return None if places.named or _may_capture(places, options) else _NOT_ASKED


def _is_unknown(places: Places, options: Mapping[str, str]) -> bool:
    """True if the project's memory came from elsewhere and was not adopted."""
    from recollect.places import known

    return not places.is_one and not known.is_known(places.project, options.get("space", "main"))


def _capture(places: Places, options: Mapping[str, str], said: Given) -> str | None:
    """Stores what is new in the transcript, if a person said yes to that for this project."""
    why = _why_not(places, options)
    if why is not None:
        return None if why == _NO_MEMORY else why
    from recollect.assistants import capture

    path = said.get("transcript_path")
    if not isinstance(path, str) or not path:
        return "failed: no transcript_path"
    done = capture.captured(
        places,
        Path(path).expanduser(),
        session=_session(said),
        space=options.get("space", "main"),
        tool_results="tool-results" in options,
        prompts=_prompts(options),
        time_limit_s=0.8 * _seconds("capture", options),  # stops cleanly before the limit does
    )
    return done.summary()


def _may_capture(places: Places, options: Mapping[str, str]) -> bool:
    """True if a person ran ``recollect init`` for this memory."""
    from recollect.places import consent, known

    space = options.get("space", "main")
    known.follow(places.project, space)
    return consent.is_given(places.project, space)


def _seconds(verb: str, options: Mapping[str, str]) -> float:
    """How long a hook may take; an invalid ``--time-limit`` is ignored."""
    with suppress(ValueError):
        seconds = float(options.get("time-limit", _MAX_S[verb]))
        if 0 < seconds < _LIMIT_MAX_S:
            return seconds
    return _MAX_S[verb]


def _answer(document: object) -> None:
    import msgspec

    sys.stdout.buffer.write(msgspec.json.encode(document) + b"\n")
    sys.stdout.buffer.flush()


def _read(given: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """The words and the options of a command line; unknown options are ignored."""
    words: list[str] = []
    options: dict[str, str] = {}
    rest = list(given)
    while rest:
        word = rest.pop(0)
        if not word.startswith("--"):
            words.append(word)
            continue
        name, is_joined, value = word[2:].partition("=")
        if not is_joined and name in _WITH_VALUE and rest:
            value = rest.pop(0)
        options[name] = value
    return words, options


def _stdin() -> Given:
    import msgspec

    data = sys.stdin.buffer.read(_STDIN_MAX_BYTES)
    return msgspec.json.decode(data, type=dict[str, object])


def _places(options: Mapping[str, str], said: Given) -> Places:
    from recollect.config import places

    return places(options.get("store"), start=_start(said))


def _start(said: Given) -> Path | None:
    """The folder that the assistant works in, if it names one."""
    cwd = said.get("cwd")
    return Path(cwd) if isinstance(cwd, str) and Path(cwd).is_dir() else None


def _limit_time(seconds: float) -> None:
    """Stops the hook after ``seconds``: first with an exception, then by ending the process.

    The exception cannot interrupt C code that holds the interpreter. In that case a C thread ends
    the process, without output on stdout or stderr.
    """
    import faulthandler
    import signal

    def stop(*_: object) -> NoReturn:
        raise TimeUp

    signal.signal(signal.SIGALRM, stop)
    signal.setitimer(
        signal.ITIMER_REAL, seconds, _LOG_MAX_S
    )  # repeated, in case the first is caught
    quiet = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)  # swallows the traceback
    faulthandler.dump_traceback_later(seconds + _HANGING_S, exit=True, file=quiet)


def _lift_limit() -> None:
    import faulthandler
    import signal

    signal.setitimer(signal.ITIMER_REAL, 0)
    faulthandler.cancel_dump_traceback_later()


# --- the log


def _log(places: Places, options: Mapping[str, str], note: str) -> None:
    """Writes a line to the log of the hook's store, if that is a known folder."""
    from recollect.interfaces.cli.assistants.hook_log import write

    mine = (places.personal,) if _is_unknown(places, options) else (places.project, places.personal)
    for settings in mine:
        if settings.folder is not None and settings.folder.is_dir():
            write(settings.folder, note)
            return


def _cause(error: Exception) -> str:
    """An error's class and code; its message is left out, because it might quote a person."""
    code = getattr(error, "code", None) or (error.errno if isinstance(error, OSError) else None)
    name = type(error).__name__
    return f"{name} {_word(code)}" if code is not None else name


def _word(value: object) -> str:
    """A short word from outside, without characters that could break the line."""
    text = str(value if value is not None else "-")[:40]
    return "".join(each if each.isalnum() or each in "_-." else "?" for each in text)

"""The hook verbs: what an assistant runs by itself at moments of a session.

Responsible for reading what the assistant says on stdin, answering in its form, and a line in the
log. Leaves what to say to ``assistants.prompting`` and what to keep to ``assistants.capture``.
Invariants: it ends with 0 whatever happens, or with 1 if the process hangs where no signal reaches
it; stdout holds one JSON document for the assistant or nothing; the time limit begins before
anything is opened; no word of a memory or a conversation is in the log; little is loaded before it
is needed.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, NoReturn

if TYPE_CHECKING:
    from recollect.config import Places

VERBS: Final = ("context", "capture")
_STDIN_MAX_BYTES: Final = 16_777_216
_MAX_S: Final = {"context": 8.0, "capture": 50.0}  # the assistant itself waits 10 and 60
_LOG_MAX_S: Final = 1.0
_LIMIT_MAX_S: Final = 86_400.0
_HANGING_S: Final = 1.5  # after its time is up and a line is in the log, a hook is ended by force
_WITH_VALUE: Final = ("store", "space", "tokens", "time-limit", "transcript", "session")
_PASSED_OVER: Final = "passed over a memory that is not known"
_IGNORED: Final = "ignored settings that only a person can choose, or that cannot be read"
_TOKENS: Final = 1_000  # below the 10,000 characters that an assistant takes whole

Given = Mapping[str, object]


class TimeUp(Exception):
    """The assistant waited long enough. No error of the system: those may be read past."""


def verb_of(given: Sequence[str]) -> str | None:
    """The verb of a hook's command line; None for every other."""
    words, options = _read(given)
    return words[0] if "hook" in options and words and words[0] in VERBS else None


def run(verb: str, given: Sequence[str]) -> int:
    """Answers one hook; always 0, because a memory must not stop an assistant."""
    if verb == "context":
        gc.disable()  # loading makes no garbage, and looking for some takes a twentieth of the time
    _, options = _read(given)
    _limit_time(_seconds(verb, options))
    try:
        _load_msgspec()
        _run(verb, options)
    finally:
        _lift_limit()
        gc.enable()
    return 0


def end(verb: str, code: int) -> int:
    """Ends the process of a hook that only reads: at once, because nothing is left to be done.

    Python would take apart all that was loaded first, which takes a fifth of a hook's time.
    """
    if verb == "context":
        for stream in (sys.stdout, sys.stderr):
            with suppress(Exception):  # whoever listened is gone, or nobody ever did
                stream.flush()
        os._exit(code)
    return code


def _load_msgspec() -> None:
    """Loads msgspec as if typing_extensions were not installed, which takes a seventh less time.

    msgspec uses it where it is there and ``typing`` where it is not; on every Python that Recollect
    supports the two serve it alike. None is Python's own mark for a module that cannot be imported.
    """
    name = "typing_extensions"
    if name in sys.modules:
        return
    sys.modules[name] = None  # type: ignore[assignment]
    try:
        with suppress(ImportError):  # whatever needs it next says what is wrong
            import msgspec  # noqa: F401 - it is loaded here and used later
    finally:
        del sys.modules[name]


def _run(verb: str, options: Mapping[str, str]) -> None:
    said: Given = {}
    try:
        said = _stdin()
        answer = _context if verb == "context" else _capture
        note = answer(_places(options, said), options, said)
    except Exception as error:  # noqa: BLE001 - whatever it is, the assistant goes on
        note = f"failed {_cause(error)}"
    if note:
        with suppress(Exception):
            _limit_time(_LOG_MAX_S)
            line = f"{verb} {_word(said.get('hook_event_name'))} {note}"
            _log(_places(options, said), options, line)


def _context(places: Places, options: Mapping[str, str], said: Given) -> str | None:
    """Memory for a prompt or for the start of a session."""
    from recollect.assistants import prompting
    from recollect.places import known

    event = said.get("hook_event_name")
    tokens, space = int(options.get("tokens", _TOKENS)), options.get("space", "main")
    is_strange = False
    if event == "UserPromptSubmit":
        prompt = str(said.get("prompt"))
        text = prompting.for_prompt(places, prompt, tokens=tokens, space=space)
    elif event == "SessionStart":
        text = prompting.for_session(places, tokens=tokens, space=space)
        is_strange = _is_strange(places, options)
    else:
        return "failed: no event that takes a context"
    told: dict[str, object] = {}
    if text:
        told["hookSpecificOutput"] = {"hookEventName": event, "additionalContext": text}
    if is_strange:  # for the person: a model that reads this might adopt it by itself
        told["systemMessage"] = f"recollect: {known.ELSEWHERE}; {known.HINT}."
    if told:
        _answer(told)
    if is_strange:
        return _PASSED_OVER
    return _IGNORED if event == "SessionStart" and places.project.ignored else None


def _is_strange(places: Places, options: Mapping[str, str]) -> bool:
    """True if the project's memory came from elsewhere and nobody adopted it."""
    from recollect.places import known

    return not places.is_one and not known.is_known(places.project, options.get("space", "main"))


def _capture(places: Places, options: Mapping[str, str], said: Given) -> str | None:
    """Observes what is new in the transcript, if somebody made a memory for the project."""
    folder = places.project.folder
    if folder is not None and not folder.is_dir():
        return None
    if _is_strange(places, options):
        return _PASSED_OVER
    from recollect.assistants import capture

    path = said.get("transcript_path")
    if not isinstance(path, str) or not path:
        return "failed: no transcript_path"
    session = said.get("session_id")
    done = capture.claude_code(
        places,
        Path(path).expanduser(),
        session=session if isinstance(session, str) else None,
        space=options.get("space", "main"),
        tool_results="tool-results" in options,
        time_limit_s=0.8 * _seconds("capture", options),  # it ends in order before it is stopped
    )
    return done.summary()


def _seconds(verb: str, options: Mapping[str, str]) -> float:
    """How long a hook may take; a limit that is not a positive number is not followed."""
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
    """The words and the options of a command line; options of other releases are passed over."""
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

    cwd = said.get("cwd")
    start = Path(cwd) if isinstance(cwd, str) and Path(cwd).is_dir() else None
    return places(options.get("store"), start=start)


def _limit_time(seconds: float) -> None:
    """Ends whatever waits or computes: first in order, with an exception, then by force.

    The exception cannot reach code in C that holds the interpreter. A thread of C's own ends the
    process then, without a word on stdout or stderr.
    """
    import faulthandler
    import signal

    def stop(*_: object) -> NoReturn:
        raise TimeUp

    signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds, _LOG_MAX_S)  # again, if somebody caught the first
    quiet = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)  # where a trace of the hang would go
    faulthandler.dump_traceback_later(seconds + _HANGING_S, exit=True, file=quiet)


def _lift_limit() -> None:
    import faulthandler
    import signal

    signal.setitimer(signal.ITIMER_REAL, 0)
    faulthandler.cancel_dump_traceback_later()


# --- the log


def _log(places: Places, options: Mapping[str, str], note: str) -> None:
    """A line in the store that the hook was about, if that is a known folder; else nowhere."""
    from recollect.interfaces.cli.hook_log import write

    mine = (places.me,) if _is_strange(places, options) else (places.project, places.me)
    for settings in mine:
        if settings.folder is not None and settings.folder.is_dir():
            write(settings.folder, note)
            return


def _cause(error: Exception) -> str:
    """An error's class and code; its message might quote what somebody said."""
    code = getattr(error, "code", None) or (error.errno if isinstance(error, OSError) else None)
    name = type(error).__name__
    return f"{name} {_word(code)}" if code is not None else name


def _word(value: object) -> str:
    """A short word that comes from outside, without what could break a line."""
    text = str(value if value is not None else "-")[:40]
    return "".join(each if each.isalnum() or each in "_-." else "?" for each in text)

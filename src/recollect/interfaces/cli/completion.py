"""Completion in a shell: what may stand next, and the lines that ask for it.

Responsible for the candidates, and for the script of each shell. Leaves the commands to
``commands``. Invariants: nothing of a memory is read; a script that is there already is replaced,
and the line that loads it is added once.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, Literal, NamedTuple, get_args, get_origin

from recollect.config import config_home
from recollect.errors import ConfigError
from recollect.interfaces.cli import plain
from recollect.interfaces.cli.assistants.changes import Change, Kept, content
from recollect.interfaces.cli.call import shared_parameters
from recollect.interfaces.cli.commands import BEFORE, TOP, Group, find, summary, verb_at
from recollect.interfaces.cli.declare import Parameter, UsageError
from recollect.interfaces.cli.words import after_options, flags_of, kind_of
from recollect.store import posix

SHELLS: Final = ("bash", "zsh", "fish")
_BASH: Final = """\
_recollect() {
    local IFS=$'\\n'
    COMPREPLY=($("$1" --complete bash "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _recollect recollect
"""
_ZSH: Final = """\
#compdef recollect
(( $+functions[compdef] )) || { autoload -Uz compinit && compinit }
_recollect() {
    local line
    local -a found
    for line in "${(@f)$(recollect --complete zsh "${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
        [[ -n $line ]] && found+=("${${line%%$'\\t'*}//:/\\\\:}:${line#*$'\\t'}")
    done
    if (( $#found )); then _describe recollect found; else _files; fi
}
compdef _recollect recollect
"""
_FISH: Final = """\
complete -c recollect -a \\
    '(recollect --complete fish (commandline -opc)[2..] (commandline -ct) 2>/dev/null)'
"""
_SCRIPTS: Final = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}


class Candidate(NamedTuple):
    """A word that may stand next, and what it means."""

    word: str
    about: str = ""


def candidates(words: Sequence[str], *, about: bool) -> Iterator[Candidate]:
    """What may stand in the place of the last word; what it means only if it is asked for."""
    *before, last = words or [""]
    place = after_options([*shared_parameters(), *BEFORE], before)
    found = find(before[place:])
    if isinstance(found.entry, Group) and not found.rest and not last.startswith("-"):
        for name, entry in found.entry.commands.items():
            if name.startswith(last):
                yield Candidate(name, summary(entry, name) if about else "")
        return
    parameters = [*shared_parameters(), *BEFORE] if found.entry is TOP else []
    if isinstance(found.entry, str):
        parameters = verb_at(found.entry, found.path[-1]).parameters()
    elif found.entry.alone:
        parameters = verb_at(found.entry.alone, found.path[-1]).parameters()
    yield from _of_options(parameters, found.rest, last)


def _of_options(
    parameters: Sequence[Parameter], before: Sequence[str], last: str
) -> Iterator[Candidate]:
    flags = flags_of(parameters)
    open_one = flags.get(before[-1]) if before else None
    if open_one is not None and open_one.typed is not bool:
        yield from _values(open_one, last)
    elif last.startswith("-"):
        for flag, one in flags.items():
            if flag.startswith(last) and flag.startswith("--"):
                text = one.declared.help
                yield Candidate(flag, text if isinstance(text, str) else text())
        if "--help".startswith(last):
            yield Candidate("--help", "Show the help and exit.")
    else:
        for one in parameters:
            if not one.declared.is_option:
                yield from _values(one, last)


def _values(one: Parameter, last: str) -> Iterator[Candidate]:
    """The words that a parameter takes, if there is a list of them."""
    kind = kind_of(one.typed)
    if get_origin(kind) is Literal:
        yield from (Candidate(word) for word in get_args(kind) if word.startswith(last))
    elif one.declared.autocompletion is not None:
        yield from map(Candidate, one.declared.autocompletion(last))


def answer(words: Sequence[str]) -> None:
    """Prints the candidates for a shell: ``SHELL WORD...``, the last word being typed."""
    name, *typed = words or ["bash"]
    for one in dict.fromkeys(candidates(typed, about=name != "bash")):
        plain.say(one.word if name == "bash" else f"{one.word}\t{one.about}")


def script(named: str | None) -> str:
    """The script of a shell that was named, or of the login shell."""
    return _SCRIPTS[_shell(named)]


def install(named: str | None) -> None:
    """Writes the script, and the line that loads it into the shell's own file."""
    name = _shell(named)
    config = config_home()
    keep = Kept(config / "recollect" / "undo")
    if name == "fish":  # loads what lies in this folder
        file = config / "fish" / "completions" / "recollect.fish"
        _write(keep, file, _FISH)
    else:
        file = config / "recollect" / f"completion.{name}"
        _write(keep, file, _SCRIPTS[name])
        start = Path.home() / f".{name}rc"
        line = f". {shlex.quote(str(file))}"
        text = (content(start) or b"").decode("utf-8", "surrogateescape")
        if line not in text.splitlines():
            end = "" if not text or text.endswith("\n") else "\n"
            try:
                _write(keep, start, f"{text}{end}{line}\n")
            except ConfigError as error:
                hint = f"add this line to it yourself: {line}"
                raise ConfigError(error.message, hint=hint) from error
    plain.say(f"Wrote {plain.safe(str(file))}. New shells of {name} complete recollect.")


def _write(keep: Kept, file: Path, text: str) -> None:
    change = Change(file, content(file), text.encode("utf-8", "surrogateescape"))
    if not change.is_nothing:
        keep.apply(change)


def _shell(named: str | None) -> str:
    """The shell that was named, or the one that this person logs in with."""
    name = named or Path(posix.login_shell()).name
    if name not in SHELLS:
        raise UsageError(
            f"there is no completion for the shell {name!r}",
            f"name one of {', '.join(SHELLS)}: recollect --install-completion bash",
        )
    return name

"""How an encoder was trained to be run, read from the files that came with it.

Responsible for pooling, prompts, length and case, from the files that sentence-transformers writes.
Leaves running the model to ``embed.onnx``. Invariants: no file is read beyond its limit, and none
outside the folder is named by one inside it; what this package cannot run is refused, because an
encoder that is run in another way gives vectors that look right and find less.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final, Literal, TypeVar

import msgspec

from recollect.errors import ConfigError, Unsupported

Pooling = Literal["mean", "cls", "last"]

TOKENS_USUAL_COUNT: Final = 256  # of a piece, if no file says more; a sentence has about 80
TOKENS_MAX_COUNT: Final = 512  # the time for a piece grows with the square of its tokens
_TOKENS_MIN_COUNT: Final = 16
_FILE_MAX_BYTES: Final = 4 << 20  # a tokenizer's settings list thousands of tokens
_PROMPT_MAX_CHARS: Final = 2_000
_MODULES_MAX_COUNT: Final = 16
_OURS: Final = "sentence_transformers."  # a module of another package is code of its own
_FOLDER: Final = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}")
_PASSAGES: Final = ("document", "passage", "corpus")  # what the prompt of a text is called
_MODES: Final[dict[str, Pooling]] = {"mean": "mean", "cls": "cls", "lasttoken": "last"}
_COMPARED: Final = ("cosine", "cos_sim", None)
_SEARCH: Final = "Represent this sentence for searching relevant passages: "

T = TypeVar("T")


class Recipe(msgspec.Struct, frozen=True):
    """How a text becomes one row. ``query`` and ``passage`` stand before the text."""

    pooling: Pooling = "mean"
    query: str = ""
    passage: str = ""
    tokens: int = TOKENS_USUAL_COUNT
    lowers: bool = False

    def __str__(self) -> str:
        """In a word or two, for the name of the embedder."""
        return f"{self.pooling} prompted" if self.query or self.passage else self.pooling


class _Module(msgspec.Struct):
    type: str
    path: str = ""


class _Pooling(msgspec.Struct):
    pooling_mode: str | None = None
    pooling_mode_cls_token: bool = False
    pooling_mode_mean_tokens: bool = False
    pooling_mode_lasttoken: bool = False
    pooling_mode_max_tokens: bool = False
    pooling_mode_mean_sqrt_len_tokens: bool = False
    pooling_mode_weightedmean_tokens: bool = False
    include_prompt: bool = True


class _Length(msgspec.Struct):
    max_seq_length: int | None = None
    do_lower_case: bool = False


class _Prompts(msgspec.Struct):
    prompts: dict[str, str] = {}
    default_prompt_name: str | None = None
    similarity_fn_name: str | None = None


class _Tokenizer(msgspec.Struct):
    model_max_length: float | None = None  # "no limit" is written as 1e30


# What the files of these models leave out, and their authors say in words.
_FAMILIES: Final = (
    (re.compile(r"e5-(small|base|large)(?!.*instruct)"), Recipe("mean", "query: ", "passage: ")),
    (re.compile(r"bge-(small|base|large)-en"), Recipe("cls", _SEARCH)),
    (re.compile(r"arctic-embed(?!.*v2)"), Recipe("cls", _SEARCH)),
)


def read(folder: Path) -> Recipe:
    """The recipe of the encoder in a folder; the mean without prompts if no file says anything."""
    known = _family(folder)
    modules = _modules(folder)
    length = _parsed(folder / "sentence_bert_config.json", _Length) or _Length()
    said = _parsed(folder / "config_sentence_transformers.json", _Prompts) or _Prompts()
    is_scaled = any(_kind(module) == "Normalize" for module in modules)
    if said.similarity_fn_name not in _COMPARED and not is_scaled:
        raise _unable(folder, f"its vectors are compared by {said.similarity_fn_name!r}")
    query, passage = _prompts(folder, said, known)
    pooling, is_whole = _pooling(folder, modules, known)
    if not is_whole and (query or passage):
        raise _unable(folder, "its prompts are left out when tokens are pooled")
    return Recipe(pooling, query, passage, _tokens(folder, length), length.do_lower_case)


def _family(folder: Path) -> Recipe:
    found = (recipe for name, recipe in _FAMILIES if name.search(folder.name.lower()))
    return next(found, Recipe())


def _modules(folder: Path) -> list[_Module]:
    """The steps of the encoder; none if no file lists them. Refuses what is not run here."""
    path = folder / "modules.json"
    found = _parsed(path, list[_Module]) or []
    if len(found) > _MODULES_MAX_COUNT:
        raise _strange(path)
    for module in found:
        is_ours = module.type.startswith(_OURS)
        if not is_ours or _kind(module) not in ("Transformer", "Pooling", "Normalize"):
            raise _unable(folder, f"it has a step of the type {module.type[:100]!r}")
    return found


def _kind(module: _Module) -> str:
    return module.type.rpartition(".")[2]


def _pooling(folder: Path, modules: list[_Module], known: Recipe) -> tuple[Pooling, bool]:
    """How tokens become one row, and whether those of a prompt count."""
    name = next((module.path for module in modules if _kind(module) == "Pooling"), "1_Pooling")
    if not _FOLDER.fullmatch(name):
        raise _strange(folder / "modules.json")
    found = _parsed(folder / name / "config.json", _Pooling)
    if found is None:
        return known.pooling, True
    flags = msgspec.structs.asdict(found)
    start = "pooling_mode_"
    modes = {key.removeprefix(start) for key, on in flags.items() if key.startswith(start) and on}
    modes = {found.pooling_mode} if found.pooling_mode else modes
    modes = {mode.removesuffix("_token").removesuffix("_tokens") for mode in modes}
    if len(modes) != 1 or not modes & set(_MODES):
        raise _unable(
            folder, f"it pools tokens by {' and '.join(sorted(modes))[:100] or 'nothing'}"
        )
    return _MODES[modes.pop()], found.include_prompt


def _prompts(folder: Path, said: _Prompts, known: Recipe) -> tuple[str, str]:
    """What stands before a question, and before a text."""
    usual = said.prompts.get(said.default_prompt_name or "")
    query = said.prompts.get("query", usual)
    passage = next((said.prompts[name] for name in _PASSAGES if name in said.prompts), usual)
    if query is None and passage is None:
        return known.query, known.passage
    if max(len(query or ""), len(passage or "")) > _PROMPT_MAX_CHARS:
        raise _strange(folder / "config_sentence_transformers.json")
    return query or "", passage or ""


def _tokens(folder: Path, length: _Length) -> int:
    """The most tokens of a piece: what the files say, within our own limits."""
    most = length.max_seq_length
    if most is None:
        path = folder / "tokenizer_config.json"
        told = (_parsed(path, _Tokenizer) or _Tokenizer()).model_max_length
        most = TOKENS_USUAL_COUNT if told is None else int(min(told, TOKENS_MAX_COUNT))
    if most < _TOKENS_MIN_COUNT:
        raise _unable(folder, f"it takes {most} tokens at most")
    return min(most, TOKENS_MAX_COUNT)


def _parsed(path: Path, type: type[T]) -> T | None:
    """What a file says; None if there is no such file."""
    try:
        if not path.exists():
            return None
        if not path.is_file() or path.stat().st_size > _FILE_MAX_BYTES:
            raise _strange(path)
        with open(path, "rb") as file:
            return msgspec.json.decode(file.read(_FILE_MAX_BYTES), type=type)
    except (OSError, ValueError, RecursionError) as error:  # also a number that is none
        raise _strange(path) from error


def _strange(path: Path) -> ConfigError:
    return ConfigError(f"{path} could not be read", hint="download the folder again")


def _unable(folder: Path, why: str) -> Unsupported:
    return Unsupported(
        f"the encoder in {folder} cannot be run as it was trained: {why}",
        hint="use an encoder with mean, first-token or last-token pooling, compared by cosine",
    )

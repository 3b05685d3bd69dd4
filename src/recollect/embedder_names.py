"""What embedders are called in a setting: ``static``, ``model:NAME``, ``onnx:FOLDER``, an address.

Responsible for reading such a setting, and for which of them a found folder may choose. Leaves
recording a choice and loading an embedder to ``compose``. Invariant: a name of a model leads to no
folder but the one in which models are kept.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from recollect.errors import ConfigError

AUTO: Final = "auto"
NONE: Final = "none"
STATIC: Final = "static"
MODEL: Final = "model:"  # one that is installed, or was fetched, under this name
ONNX: Final = "onnx:"
ENDPOINTS: Final = ("https://", "http://")
_FREE: Final = (AUTO, NONE, STATIC)
# A plus joins embedders; a plus inside a folder's name or an address does not.
_JOINT: Final = re.compile(r"\+(?=static(?:\+|$)|model:|onnx:|https?://)")
_MODEL_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


def embedders(words: str) -> list[str]:
    """The embedders that a setting names, with absolute paths."""
    found = [_embedder(word.strip(), words) for word in _JOINT.split(words)]
    if len(found) > 1 and {AUTO, NONE} & set(found):
        raise _strange(words)
    return list(dict.fromkeys(found))


def is_free(words: str) -> bool:
    """True if a folder that was found may choose this: it is part of what was installed here."""
    try:
        return all(word in _FREE or word.startswith(MODEL) for word in embedders(words))
    except ConfigError:
        return False


def is_model_name(name: str) -> bool:
    """True for the name of a model: letters, digits, dots and dashes, so it leads nowhere else."""
    return _MODEL_NAME.fullmatch(name) is not None


def before(words: str, chosen: str, named: str | None) -> str:
    """The embedder that is used until the vectors of the chosen one are there, if it is another.

    A server counts only if the environment names it: no file may send a question away.
    """
    if named is None and any(word in words for word in ENDPOINTS):
        return ""
    found = named or words
    return "" if found in ("", AUTO, NONE, chosen) else "+".join(embedders(found))


def _embedder(word: str, words: str) -> str:
    if word.startswith(ONNX) and len(word) > len(ONNX):
        return ONNX + str(Path(word.removeprefix(ONNX)).expanduser().absolute())
    if word in _FREE or word.startswith(ENDPOINTS):
        return word
    if word.startswith(MODEL) and is_model_name(word.removeprefix(MODEL)):
        return word
    raise _strange(words)


def _strange(words: str) -> ConfigError:
    return ConfigError(
        f"unknown embedder {words!r}",
        hint="use auto, none, static, model:NAME, onnx:FOLDER or https://HOST/v1#MODEL; "
        "join several with +",
    )

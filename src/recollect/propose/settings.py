"""Which language model may be asked for suggestions, and what one pass may cost.

Responsible for reading that from words and variables. Leaves which variables there are to
``config``. Invariant: a key is never shown.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from recollect.errors import ConfigError

KEY_VARIABLE: Final = "RECOLLECT_PROPOSER_KEY"
CALLS_VARIABLE: Final = "RECOLLECT_PROPOSER_MAX_CALLS"
TOKENS_VARIABLE: Final = "RECOLLECT_PROPOSER_MAX_TOKENS"
_SCHEMES: Final = ("https://", "http://")


class ProposerSettings(msgspec.Struct, frozen=True, kw_only=True):
    """A language model that may be asked for suggestions, and what one pass may cost."""

    url: str
    model: str
    key: str | None = None
    max_calls: int | None = None  # None: the default
    max_tokens: int | None = None

    def __repr__(self) -> str:  # the address may contain a user and a password
        return f"ProposerSettings(model={self.model!r})"


def read(words: str, variables: Mapping[str, str]) -> ProposerSettings:
    """The settings for an address and a model, with the key and the limits of the variables."""
    url, _, model = words.partition("#")
    if not url.startswith(_SCHEMES) or not model:
        raise ConfigError(
            "the proposer must be an address and a model",
            hint=f"write it as https://HOST/v1#MODEL, with its key in {KEY_VARIABLE}",
        )
    return ProposerSettings(
        url=url,
        model=model,
        key=variables.get(KEY_VARIABLE) or None,
        max_calls=_number(variables, CALLS_VARIABLE),
        max_tokens=_number(variables, TOKENS_VARIABLE),
    )


def _number(variables: Mapping[str, str], name: str) -> int | None:
    """A positive number from the environment."""
    word = variables.get(name) or ""
    if word and not (word.isascii() and word.isdigit() and 0 < len(word) < 16 and int(word)):
        raise ConfigError(f"{name} must be a positive whole number", hint="such as 50")
    return int(word) if word else None

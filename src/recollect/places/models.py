"""Which models are on this machine: the one that a package brings, and those fetched by name.

Responsible for the list of models that can be fetched, and for finding one that is here. Leaves
fetching to ``places.download`` and running to ``embed``. Invariants: a name leads to no other
folder; nothing is listed whose size, licence and SHA-256 are not known; nothing here loads a model
or the package that brings one.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Final

import msgspec

from recollect.config import FOLDER
from recollect.embedder_names import is_model_name
from recollect.errors import NotFound, Unsupported
from recollect.store.disk.layout import MODELS

DEFAULT: Final = "all-MiniLM-L6-v2"
_PACKAGE: Final = "recollect_minilm"
_RUNTIME: Final = ("numpy", "onnxruntime", "tokenizers")
_HUB: Final = "https://huggingface.co/Xenova"
# Where the hub sends who asks for a large file; it names no other host.
_HUB_HOSTS: Final = ("huggingface.co", ".hf.co")


class File(msgspec.Struct, frozen=True):
    """One file of a model, and what its bytes must be."""

    name: str
    url: str
    size: int
    sha256: str


class Model(msgspec.Struct, frozen=True):
    """A model that can be fetched."""

    name: str
    about: str
    languages: str
    license: str
    dimensions: int
    files: tuple[File, ...]
    hosts: tuple[str, ...] = ()  # those a redirect may lead to; with a dot, those below it

    @property
    def size(self) -> int:
        """The bytes of all its files."""
        return sum(file.size for file in self.files)


def _hub(model: str, revision: str, *files: tuple[str, int, str]) -> tuple[File, ...]:
    """Files of one revision, which cannot change under its name."""
    start = f"{_HUB}/{model}/resolve/{revision}"
    return tuple(
        File(path.rpartition("/")[2], f"{start}/{path}", size, sha256)
        for path, size, sha256 in files
    )


LISTED: Final = (
    Model(
        name=DEFAULT,
        about="small and fast; pip install 'recollect[encoder]' brings it too",
        languages="English",
        license="Apache-2.0",
        dimensions=384,
        files=_hub(
            DEFAULT,
            "751bff37182d3f1213fa05d7196b954e230abad9",
            (
                "onnx/model_quantized.onnx",
                22_972_370,
                "afdb6f1a0e45b715d0bb9b11772f032c399babd23bfc31fed1c170afc848bdb1",
            ),
            (
                "tokenizer.json",
                711_661,
                "da0e79933b9ed51798a3ae27893d3c5fa4a201126cef75586296df9b4d2c62a0",
            ),
        ),
        hosts=_HUB_HOSTS,
    ),
    Model(
        name="multilingual-e5-small",
        about="finds a text in one language by a question in another",
        languages="about 100 languages",
        license="MIT",
        dimensions=384,
        files=_hub(
            "multilingual-e5-small",
            "761b726dd34fb83930e26aab4e9ac3899aa1fa78",
            (
                "onnx/model_quantized.onnx",
                118_308_185,
                "f80102d3f2a1229f387d3c81909990d8945513e347b0eab049f7de3c6f98c193",
            ),
            (
                "tokenizer.json",
                17_082_730,
                "0b44a9d7b51c3c62626640cda0e2c2f70fdacdc25bbbd68038369d14ebdf4c39",
            ),
        ),
        hosts=_HUB_HOSTS,
    ),
)


def listed(name: str) -> Model:
    """The model of this name that can be fetched."""
    for model in LISTED:
        if model.name == name:
            return model
    raise NotFound(
        f"there is no model {name!r} in the list",
        hint="`recollect admin model` shows the list; use another encoder by its folder, as "
        "onnx:FOLDER",
    )


def models_folder() -> Path:
    """Where models are that this person fetched by name."""
    return Path.home() / FOLDER / MODELS


def fetched() -> list[str]:
    """The names of the models that were fetched; what is half there does not count."""
    folder = models_folder()
    try:
        found = [each.name for each in folder.iterdir() if each.is_dir()]
    except OSError:
        return []
    return sorted(name for name in found if is_model_name(name) and folder_of(name))


def folder_of(name: str) -> Path | None:
    """The folder of a model that is here: a fetched one, else the one that a package brings."""
    folder = models_folder() / name
    if is_model_name(name) and (folder / "tokenizer.json").is_file():
        return folder
    return packaged() if name == DEFAULT else None


def packaged() -> Path | None:
    """The folder in the package with the weights; the package is not imported."""
    spec = find_spec(_PACKAGE)
    for place in (spec.submodule_search_locations or ()) if spec else ():
        folder = Path(place, DEFAULT)
        if (folder / "tokenizer.json").is_file():
            return folder
    return None


def required(name: str) -> Path:
    """The folder of a model; refused with the next step if it is not here."""
    folder = folder_of(name)
    if folder is None:
        raise Unsupported(f"the model {name} is not on this machine", hint=f"{_getting(name)}")
    return folder


def step(name: str) -> str | None:
    """What to do before a model can be used; None if it can, as far as one sees."""
    if not has_runtime():
        return "run `pip install 'recollect[encoder]'`"
    return None if folder_of(name) is not None else _getting(name)


def has_runtime() -> bool:
    """True if what runs a model is installed."""
    return all(find_spec(name) is not None for name in _RUNTIME)


def _getting(name: str) -> str:
    if name == DEFAULT:
        return "run `pip install 'recollect[encoder]'`"
    return f"run `recollect admin model get {name}`"

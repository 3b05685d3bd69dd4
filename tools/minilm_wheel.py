"""Writes the wheel ``recollect-minilm``: the weights that ``recollect[encoder]`` searches with.

Responsible for checking the model's files, for rounding float weights to 8 bits, and for a wheel
with the same bytes each time. Leaves the texts of the package to
``packages/recollect-minilm``. Invariant: nothing is packed whose SHA-256 is not in this file; what
was rounded here is packed only if it is as near to its source as the published one.

    python -m tools.minilm_wheel FOLDER [--into dist]

Rounding needs ``onnx``, which nothing else here does: install it if the weights are float.
"""

from __future__ import annotations

import argparse
import base64
import sys
import tempfile
import zipfile
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Final

import numpy as np

VERSION: Final = "1.0"
NAME: Final = "all-MiniLM-L6-v2"
PACKAGE: Final = "recollect_minilm"
ROOT: Final = Path(__file__).parent.parent
TEXTS: Final = ROOT / "packages" / "recollect-minilm"
TOKENIZER: Final = "da0e79933b9ed51798a3ae27893d3c5fa4a201126cef75586296df9b4d2c62a0"
# The model's names in a folder, and what its bytes must be; the first one that is there counts.
EIGHT_BITS: Final = {
    "model_quantized.onnx": "afdb6f1a0e45b715d0bb9b11772f032c399babd23bfc31fed1c170afc848bdb1",
}
FLOAT: Final = {
    "model.onnx": "759c3cd2b7fe7e93933ad23c4c9181b7396442a2ed746ec7c1d46192c469c46e",
}
_LEAST_ALIKE: Final = 0.97  # the cosine of a sentence's two vectors
_SENTENCES: Final = (
    "She moved to a desk by the window.",
    "The invoice was paid in March.",
    "We run the tests with make check before a release.",
)
_EPOCH: Final = (2020, 1, 1, 0, 0, 0)  # the same bytes whenever it is built
_INIT: Final = '"""The weights of all-MiniLM-L6-v2; Recollect reads them from this folder."""\n'
_WHEEL: Final = (
    "Wheel-Version: 1.0\nGenerator: recollect tools.minilm_wheel\nRoot-Is-Purelib: true\n"
    "Tag: py3-none-any\n"
)


class Refused(Exception):
    """The folder does not have the files of the public model."""


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, help="with the model's files")
    parser.add_argument("--into", type=Path, default=ROOT / "dist", help="where the wheel goes")
    told = parser.parse_args()
    try:
        print(build(told.folder, told.into))
    except Refused as refused:
        sys.exit(f"minilm_wheel: {refused}")


def build(
    folder: Path,
    into: Path,
    *,
    eight_bits: Mapping[str, str] = EIGHT_BITS,
    floats: Mapping[str, str] = FLOAT,
    tokenizer: str = TOKENIZER,
) -> Path:
    """The wheel of the model in a folder."""
    tokens = checked(folder, {"tokenizer.json": tokenizer})
    if tokens is None:
        raise Refused(f"there is no tokenizer.json in {folder}")
    model = checked(folder, eight_bits)
    if model is not None:
        return write(into, model.read_bytes(), tokens.read_bytes())
    source = checked(folder, floats)
    if source is None:
        raise Refused(f"there is none of {', '.join([*eight_bits, *floats])} in {folder}")
    return write(into, rounded(source, tokens), tokens.read_bytes())


def checked(folder: Path, hashes: Mapping[str, str]) -> Path | None:
    """The first of these files that is there; refused if its bytes are other ones."""
    for name, expected in hashes.items():
        for path in (folder / name, folder / "onnx" / name):
            if path.is_file():
                found = sha256(path.read_bytes()).hexdigest()
                if found != expected:
                    raise Refused(f"{path} is not the public file: its SHA-256 is {found}")
                return path
    return None


def rounded(source: Path, tokens: Path) -> bytes:
    """The model with 8-bit weights, if its vectors are near to those of its source."""
    try:
        from onnxruntime.quantization import QuantType, quantize_dynamic
    except ImportError as error:
        raise Refused("rounding float weights to 8 bits needs `pip install onnx`") from error
    with tempfile.TemporaryDirectory() as made:
        target = Path(made, "model_quantized.onnx")
        quantize_dynamic(source, target, weight_type=QuantType.QUInt8)
        alike = _alike(source, target, tokens)
        if alike < _LEAST_ALIKE:
            raise Refused(f"the rounded model is too far from its source: a cosine of {alike:.3f}")
        return target.read_bytes()


def _alike(source: Path, target: Path, tokens: Path) -> float:
    """The least cosine between the two models' vectors of some sentences."""
    from recollect.embed.onnx import OnnxEmbedder

    rows = []
    for model in (source, target):
        with tempfile.TemporaryDirectory() as made:
            for path, name in ((model, "model.onnx"), (tokens, "tokenizer.json")):
                Path(made, name).write_bytes(path.read_bytes())
            rows.append(OnnxEmbedder(Path(made)).embed(_SENTENCES))
    return float(np.min(np.sum(rows[0] * rows[1], axis=1)))


def write(into: Path, model: bytes, tokens: bytes) -> Path:
    """The wheel: the package, its metadata, and a hash for each file."""
    about = f"{PACKAGE}-{VERSION}.dist-info"
    files = {
        f"{PACKAGE}/__init__.py": _INIT.encode(),
        f"{PACKAGE}/{NAME}/model_quantized.onnx": model,
        f"{PACKAGE}/{NAME}/tokenizer.json": tokens,
        f"{about}/METADATA": _metadata().encode(),
        f"{about}/WHEEL": _WHEEL.encode(),
        f"{about}/licenses/LICENSE": (ROOT / "LICENSE").read_bytes(),
        f"{about}/licenses/NOTICE": (TEXTS / "NOTICE").read_bytes(),
    }
    record = [f"{name},sha256={_digest(data)},{len(data)}" for name, data in files.items()]
    record.append(f"{about}/RECORD,,")
    files[f"{about}/RECORD"] = "\n".join([*record, ""]).encode()
    into.mkdir(parents=True, exist_ok=True)
    wheel = into / f"{PACKAGE}-{VERSION}-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as packed:
        for name, data in files.items():
            info = zipfile.ZipInfo(name, _EPOCH)
            info.compress_type, info.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            packed.writestr(info, data)
    return wheel


def _metadata() -> str:
    lines = (
        "Metadata-Version: 2.4",
        "Name: recollect-minilm",
        f"Version: {VERSION}",
        "Summary: The weights of the sentence encoder that recollect[encoder] searches with.",
        "License-Expression: Apache-2.0",
        "License-File: LICENSE",
        "License-File: NOTICE",
        "Requires-Python: >=3.11",
        "Description-Content-Type: text/markdown",
    )
    return "\n".join([*lines, "", (TEXTS / "README.md").read_text()])


def _digest(data: bytes) -> str:
    return base64.urlsafe_b64encode(sha256(data).digest()).rstrip(b"=").decode()


if __name__ == "__main__":
    main()

"""The wheel of weights: from the public files and nothing else, and search by meaning with it."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from recollect.embed.onnx import OnnxEmbedder
from tests.embed.graphs import encoder
from tools.minilm_wheel import NAME, PACKAGE, Refused, build, rounded

pytestmark = pytest.mark.ci

ROOT = Path(__file__).parents[2]
PUBLIC = ROOT.parent / "shared" / "models" / NAME
has_public = pytest.mark.skipif(
    not (PUBLIC / "tokenizer.json").is_file(), reason=f"the public files of {NAME} are not here"
)


def hashes(folder: Path) -> dict[str, str]:
    return {each.name: sha256(each.read_bytes()).hexdigest() for each in folder.iterdir()}


def small(tmp_path: Path) -> Path:
    folder = encoder(tmp_path / "small")
    (folder / "model.onnx").rename(folder / "model_quantized.onnx")
    return folder


def made(folder: Path, into: Path) -> Path:
    known = hashes(folder)
    tokenizer = known.pop("tokenizer.json")
    return build(folder, into, eight_bits=known, floats={}, tokenizer=tokenizer)


def installed(wheel: Path, into: Path) -> Path:
    """The wheel in a folder, by pip, which checks every hash that the wheel names."""
    # An environment that uv made has no pip.
    pip = [sys.executable, "-m", "pip"] if find_spec("pip") else ["uv", "pip"]
    here = [] if find_spec("pip") else ["--python", sys.executable]
    command = [*pip, "install", *here, "--quiet", "--no-index", "--no-deps"]
    subprocess.run([*command, "--target", str(into), str(wheel)], check=True, timeout=120)
    return into


def run(site: Path, home: Path, *words: str, static: bool = False) -> str:
    """The program, where this package is installed, and word vectors are if it says so."""
    without = "" if static else "sys.modules['wordllama'] = None"
    program = f"import sys; {without}\nfrom recollect.__main__ import main; sys.exit(main())"
    kept = {k: v for k, v in os.environ.items() if not k.startswith("RECOLLECT")}
    done = subprocess.run(
        [sys.executable, "-c", program, *words],
        cwd=home,
        env=kept | {"HOME": str(home), "PYTHONPATH": str(site)},
        capture_output=True,
        timeout=120,
        check=True,
    )
    return done.stdout.decode()


def test_a_wheel_is_the_same_each_time_and_pip_accepts_it(tmp_path: Path) -> None:
    folder = small(tmp_path)
    one, other = (made(folder, tmp_path / where) for where in "ab")
    assert one.read_bytes() == other.read_bytes()
    site = installed(one, tmp_path / "site")
    files = {each.name for each in (site / PACKAGE / NAME).iterdir()}
    assert files == {"model_quantized.onnx", "tokenizer.json"}
    with zipfile.ZipFile(one) as packed:
        names = packed.namelist()
        (notice,) = (name for name in names if name.endswith("licenses/NOTICE"))
        assert b"Apache" in packed.read(notice)
        assert any(name.endswith("licenses/LICENSE") for name in names)


def test_auto_is_the_packaged_encoder_where_it_is_installed(tmp_path: Path) -> None:
    site, home = installed(made(small(tmp_path), tmp_path), tmp_path / "site"), tmp_path / "home"
    home.mkdir()
    assert f"by words and by meaning (model:{NAME})" in run(site, home, "init")
    run(site, home, "remember", "alice sits by the window")
    assert "Embedded 1 texts" in run(site, home, "admin", "embed")
    assert f"{NAME}  with a package" in run(site, home, "admin", "model")
    assert "alice sits" in run(site, home, "recall", "window")
    (tmp_path / "other").mkdir()
    both = run(site, tmp_path / "other", "init", "both", static=True)
    assert f"by words and by meaning (static+model:{NAME})" in both
    without = run(tmp_path, tmp_path / "other", "init")  # the control
    assert "pip install 'recollect[encoder]'" in without


def test_a_memory_without_an_embedder_gets_it_by_embed(tmp_path: Path) -> None:
    site, home = installed(made(small(tmp_path), tmp_path), tmp_path / "site"), tmp_path / "home"
    home.mkdir()
    run(tmp_path, home, "init")
    run(tmp_path, home, "remember", "alice sits by the window")
    assert "run `recollect admin embed`" in run(site, home, "status")
    assert f"by words and by meaning (model:{NAME})" in run(site, home, "admin", "embed")


@pytest.mark.parametrize("name", ["model_quantized.onnx", "tokenizer.json"])
def test_another_file_is_refused(tmp_path: Path, name: str) -> None:
    folder = small(tmp_path)
    known = hashes(folder)
    with (folder / name).open("ab") as file:
        file.write(b"\0")
    tokenizer = known.pop("tokenizer.json")
    with pytest.raises(Refused, match=f"{name} is not the public file"):
        build(folder, tmp_path, eight_bits=known, floats={}, tokenizer=tokenizer)
    assert list(tmp_path.glob("*.whl")) == []


def test_a_folder_without_files_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="no tokenizer"):
        build(tmp_path, tmp_path)


@pytest.mark.skipif(
    find_spec("onnx") is None, reason="onnx, which rounds weights, is not installed"
)
def test_float_weights_are_rounded_to_eight_bits(tmp_path: Path) -> None:
    folder = encoder(tmp_path / "float", width=64)
    data = rounded(folder / "model.onnx", folder / "tokenizer.json")
    assert data != (folder / "model.onnx").read_bytes()
    texts = ["alice sits by the window"]
    before = OnnxEmbedder(folder).embed(texts)
    (folder / "model.onnx").write_bytes(data)
    assert np.sum(before * OnnxEmbedder(folder).embed(texts)) > 0.97


@has_public
def test_the_public_files_make_a_wheel_that_finds_by_meaning(tmp_path: Path) -> None:
    """The folder is outside of the repository: without it this test is skipped."""
    wheel = build(PUBLIC, tmp_path)
    assert 10e6 < wheel.stat().st_size < 20e6
    site, home = installed(wheel, tmp_path / "site"), tmp_path / "home"
    home.mkdir()
    run(site, home, "init")
    for text in ("She moved to a desk by the window.", "The invoice was paid in March."):
        run(site, home, "remember", text)
    run(site, home, "admin", "embed")
    assert run(site, home, "recall", "when did we settle the bill?").count("invoice") == 1
    embedder = OnnxEmbedder(site / PACKAGE / NAME)
    assert embedder.name == OnnxEmbedder(PUBLIC).name
    near, far = embedder.embed(
        ["The invoice was paid in March.", "She moved to a desk by the window."]
    ) @ embedder.embed_query("when did we settle the bill?")
    assert near > far + 0.2

"""A person chooses another encoder on the command line."""

from __future__ import annotations

import json

from tests.cli.running import Shell
from tests.embed.graphs import encoder


def test_the_command_line_records_the_change_first_and_closes_it(shell: Shell) -> None:
    folder = shell.folder / ".recollect"
    shell.run("init", ".recollect", "--embedder", "static")
    shell.run("remember", "alice sits by the window")
    shell.run("admin", "embed")
    model = encoder(shell.folder / "model")
    shell.run("init", ".recollect", "--embedder", f"onnx:{model}")
    recorded = json.loads((folder / "settings.json").read_text())
    assert recorded == {"embedder": f"onnx:{model}", "before": "static"}
    assert "by words and by meaning" in shell.run("status").out
    assert shell.run("admin", "embed").code == 0
    assert json.loads((folder / "settings.json").read_text()) == {"embedder": f"onnx:{model}"}


def test_an_encoder_that_cannot_be_used_is_not_recorded(shell: Shell) -> None:
    shell.run("init", "--embedder", "static")
    shell.run("remember", "alice sits by the window")
    refused = shell.run("admin", "embed", "--embedder", "onnx:/nowhere")
    assert refused.code == 6
    assert "static" in shell.run("status").out

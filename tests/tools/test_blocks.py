"""The block runner runs what it should, and sees what is wrong (a control for each rule)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools import blocks
from tools.blocks import Block, BlockError

PAGE = """\
# A page

```python
kept = 1
```

1. In a list:

   ```python
   if kept:
       kept += 1
   ```

```text
not run, even with ``` in it
```

````text
```python
raise SystemExit("a block in a block is text")
```
````
"""


def console(*lines: str) -> str:
    return "\n".join(["```console", *lines, "```", ""])


def python(*lines: str) -> str:
    return "\n".join(["```python", *lines, "```", ""])


def test_blocks_are_found_with_their_lines() -> None:
    found = list(blocks.blocks(PAGE))
    assert [(block.info, block.line) for block in found] == [
        ("python", 4),
        ("python", 10),
        ("text", 15),
        ("text", 19),
    ]
    assert found[1] == Block("python", "if kept:\n    kept += 1", 10)


def test_an_open_fence_is_an_error() -> None:
    with pytest.raises(BlockError, match="never closed"):
        list(blocks.blocks("```python\nx = 1\n"))


def test_the_first_python_block() -> None:
    assert blocks.first_python(PAGE) == "kept = 1\n"
    with pytest.raises(BlockError, match="no python block"):
        blocks.first_python("# Nothing")


@pytest.mark.parametrize("info", ["", "python no-run", "py", "bash", "console no-run", "pycon"])
def test_there_is_no_way_to_switch_a_block_off(info: str) -> None:
    with pytest.raises(BlockError, match="is not one of"):
        blocks.check_kinds(f"```{info}\nx\n```\n")


def test_python_blocks_of_a_page_share_their_names(tmp_path: Path) -> None:
    blocks.run_python(PAGE + python("assert kept == 2"), tmp_path)


def test_python_runs_in_a_folder_and_home_of_its_own(tmp_path: Path) -> None:
    page = python(
        "from pathlib import Path",
        "assert Path.home() == Path.cwd()",
        "assert not list(Path.cwd().iterdir())",
    )
    blocks.run_python(page, tmp_path)


def test_a_failing_python_block_is_seen_on_its_line(tmp_path: Path) -> None:
    with pytest.raises(BlockError, match=r"line 26[\s\S]*ZeroDivisionError"):
        blocks.run_python(PAGE + "\n\n" + python("1 / 0"), tmp_path)


def test_a_page_without_blocks_runs(tmp_path: Path) -> None:
    blocks.check_kinds("# Nothing\n")
    blocks.run_python("# Nothing\n", tmp_path)
    blocks.run_console("# Nothing\n", tmp_path)


def test_console_blocks_share_one_shell(tmp_path: Path) -> None:
    page = console("$ mkdir here && cd here", "$ x=7") + console(
        "$ echo $x $(basename $PWD)", "7 here"
    )
    blocks.run_console(page, tmp_path)


@pytest.mark.parametrize(
    "lines",
    [
        ("$ echo one two three", "one ... three"),
        ("$ printf 'a\\n\\nb\\n'", "a", "", "b"),
        ("$ echo to stderr >&2", "to stderr"),
        ("$ for i in 1 2; do", "> echo $i", "> done", "1", "2"),
        ("$ cat <<E", "> text", "> E", "text"),
        ("$ (exit 3)", "[exit 3]"),
        ("$ echo nobody said what this prints",),
        ("$ cat", "$ echo after a command that reads its input", "after ..."),
    ],
)
def test_console_output_that_agrees(lines: tuple[str, ...], tmp_path: Path) -> None:
    blocks.run_console(console(*lines), tmp_path)


@pytest.mark.parametrize(
    ("lines", "complaint"),
    [
        (("$ echo one", "two"), "the page says"),
        (("$ true", "something"), "the page says"),
        (("$ echo one two", "one ... three"), "the page says"),
        (("$ false",), "ended with 1, not 0"),
        (("$ true", "[exit 1]"), "ended with 0, not 1"),
        (("$ exit 0", "$ echo never"), "the shell ended early"),
        (("$ no-such-command-here",), "ended with 127"),
        (("echo no dollar",), "starts with"),
    ],
)
def test_console_output_that_does_not_agree(
    lines: tuple[str, ...], complaint: str, tmp_path: Path
) -> None:
    with pytest.raises(BlockError, match=complaint):
        blocks.run_console(console(*lines), tmp_path)


def test_the_readers_settings_do_not_leak_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RECOLLECT_STORE", "somewhere")
    blocks.run_console(console('$ echo "[$RECOLLECT_STORE]"', "[]"), tmp_path)

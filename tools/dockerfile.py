"""Runs the lines of deploy/Dockerfile on this machine, without a container.

    python -m tools.dockerfile [--wheel FILE]

Responsible for trying what the image does: its RUN lines in an empty folder, then its CMD and its
HEALTHCHECK. Leaves building an image to Docker. Invariant: a line that fails, a file that changes
in the image's own folder, or a stop that is not clean ends it with an error.
"""

from __future__ import annotations

import argparse
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from tools import deployment

ROOT: Final = Path(__file__).resolve().parent.parent
_PREFIX: Final = "/app"
_START_MAX_S: Final = 60.0


def main() -> None:
    """Tries the image; says what was tried."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--wheel", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="recollect-image-") as folder:
        image = Path(folder)
        build(image, given.wheel or _built(image / "dist"))
        files = _files(image / "opt")
        run(image)
        if _files(image / "opt") != files:
            sys.exit("the service changed files of the image, whose root is read-only")
    print("the lines of the Dockerfile ran: built, served, healthy, stopped")


def build(image: Path, wheel: Path) -> None:
    """Runs the RUN lines, after copying what COPY copies."""
    place = image / "build"
    place.mkdir()
    shutil.copy(ROOT / "deploy/requirements.txt", place)
    shutil.copy(wheel, place)
    for kind, rest in deployment.instructions():
        if kind == "RUN":
            line = rest.replace(_PREFIX, str(image / "opt"))
            first = f"PIP_QUIET=2 PATH={Path(sys.executable).parent}:$PATH; export PIP_QUIET PATH"
            subprocess.run(["/bin/sh", "-ec", f"{first}\n{line}"], check=True, cwd=place)


def run(image: Path) -> None:
    """Starts CMD with the image's variables, asks HEALTHCHECK, and ends it with STOPSIGNAL."""
    data = image / "data"
    data.mkdir()
    own = {
        name: value.replace(_PREFIX, str(image / "opt")).replace("/data", str(data))
        for name, value in deployment.variables().items()
    }
    env = {**own, "LANG": "C.UTF-8", "RECOLLECT_EMBEDDER": "none"}
    port = ["--port", str(_free_port())]
    entry = deployment.words("ENTRYPOINT")
    check = [*deployment.words("HEALTHCHECK"), *port]
    _said([*entry, "remember", "The first one."], env, data)
    if _is_healthy(check, env, data):
        sys.exit("HEALTHCHECK passes although nothing runs")
    service = subprocess.Popen(
        _found([*entry, *deployment.words("CMD"), *port], env), env=env, cwd=data
    )
    try:
        _until_healthy(check, env, data, service)
        service.send_signal(signal.Signals[dict(deployment.instructions())["STOPSIGNAL"]])
        if (code := service.wait(timeout=30)) != 0:
            sys.exit(f"the service ended with {code}")
    finally:
        service.kill()
        service.wait()
    if _is_healthy(check, env, data):
        sys.exit("HEALTHCHECK passes although the service ended")


def _until_healthy(
    check: Sequence[str], env: Mapping[str, str], cwd: Path, service: subprocess.Popen[bytes]
) -> None:
    end = time.monotonic() + _START_MAX_S
    while not _is_healthy(check, env, cwd):
        if service.poll() is not None or time.monotonic() > end:
            sys.exit(f"the service is not healthy; exit code {service.poll()}")
        time.sleep(0.2)


def _is_healthy(check: Sequence[str], env: Mapping[str, str], cwd: Path) -> bool:
    done = subprocess.run(
        _found(check, env), env=dict(env), cwd=cwd, check=False, capture_output=True, timeout=30
    )
    return done.returncode == 0


def _said(line: Sequence[str], env: Mapping[str, str], cwd: Path) -> None:
    done = subprocess.run(
        _found(line, env), env=dict(env), cwd=cwd, check=False, capture_output=True
    )
    if done.returncode != 0:
        sys.exit(f"{shlex.join(line)}: {done.stderr.decode()}")


def _found(line: Sequence[str], env: Mapping[str, str]) -> list[str]:
    """The line with the program that the image's PATH has, and no other."""
    program = shutil.which(line[0], path=env["PATH"].partition(":")[0])
    if program is None:
        sys.exit(f"the image has no program {line[0]}")
    return [program, *line[1:]]


def _built(folder: Path) -> Path:
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)],
        cwd=ROOT, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    return next(folder.glob("recollect-*.whl"))


def _files(folder: Path) -> dict[str, tuple[int, int]]:
    """Every file with its size and time."""
    return {
        str(path): (path.stat().st_size, path.stat().st_mtime_ns)
        for path in folder.rglob("*")
        if path.is_file()
    }


def _free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port


if __name__ == "__main__":
    main()

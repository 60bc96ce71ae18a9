"""What the tests share: the demo trace, the data of some tests, and the command to compare with."""

import json
import os
import pathlib
import subprocess
import sys

import lumos
import pytest

SOURCE = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def demo(tmp_path_factory):
    """The trace that the program itself writes."""
    path = tmp_path_factory.mktemp("demo") / "demo.json"
    lumos.run("demo", "--out", str(path))
    return path


@pytest.fixture(scope="session")
def data():
    """Folder of public traces, see README."""
    folder = pathlib.Path(os.environ.get("LUMOS_DATA", SOURCE.parent / "shared"))
    if not (folder / "traces").is_dir():
        pytest.skip(f"no traces in {folder}: set LUMOS_DATA")
    return folder


@pytest.fixture(scope="session")
def command():
    """command(words) is what the program prints with --json: the one of $LUMOS_PROGRAM, else the package's own."""
    program = os.environ.get("LUMOS_PROGRAM")
    words = [program] if program else [sys.executable, "-m", "lumos"]

    def run(*more):
        done = subprocess.run([*words, *map(str, more), "--json"], capture_output=True, text=True, check=True)
        return json.loads(done.stdout)

    return run

"""What the documents show runs: README's Python example and the example notebook."""

import json
import re

import pytest
from conftest import SOURCE


def test_the_example_of_the_readme_runs(tmp_path, monkeypatch, capsys):
    pytest.importorskip("pandas")
    text = (SOURCE / "README.md").read_text()
    example = re.search(r"## From Python.*?```python\n(.*?)```", text, re.DOTALL).group(1)
    monkeypatch.chdir(tmp_path)
    exec(compile(example, "README.md", "exec"), {})
    assert (tmp_path / "report.html").stat().st_size > 10_000
    assert "exposed_compute_ms" in capsys.readouterr().out


def test_the_notebook_runs(tmp_path):
    nbformat = pytest.importorskip("nbformat")
    client = pytest.importorskip("nbclient").NotebookClient
    notebook = nbformat.read(SOURCE / "docs" / "example.ipynb", as_version=4)
    client(notebook, timeout=120, resources={"metadata": {"path": str(tmp_path)}}).execute()
    shown = json.dumps(notebook)
    assert "measured ms" in shown and (tmp_path / "report.html").exists()

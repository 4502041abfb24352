"""Every example runs as it is, in an empty folder."""

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).resolve().parents[1] / "examples").glob("*.py"))
SAYS = {
    "own_encoder": "loaded model agrees: True",
    "own_graph": "most similar to p001",
    "own_objective": "accuracy",
    "quickstart": "trained: accuracy",
}


def test_every_example_is_expected_to_say_something():
    assert [example.stem for example in EXAMPLES] == sorted(SAYS)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.stem)
def test_example_runs(example, tmp_path, monkeypatch):
    if "torch_geometric" in example.read_text():
        pytest.importorskip("torch_geometric")
    monkeypatch.setenv("TMPDIR", str(tmp_path))  # where an example may leave files
    done = subprocess.run(
        [sys.executable, str(example)], cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    assert SAYS[example.stem] in done.stdout

"""What the package and its command line load before they have to: not torch, and next to no time."""

import os
import re
import subprocess
import sys
import time

import pytest

HEAVY = {"torch", "numpy", "scipy", "sklearn", "pyarrow", "torch_geometric", "networkx"}


def run(*arguments):
    """Exit code, all top-level modules loaded, stdout and stderr of a fresh interpreter."""
    plain = {name: value for name, value in os.environ.items() if name not in ("FORCE_COLOR", "GITHUB_ACTIONS")}
    done = subprocess.run(
        [sys.executable, "-X", "importtime", *arguments],
        env=plain | {"NO_COLOR": "1", "COLUMNS": "120"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    timed = [line for line in done.stderr.splitlines() if line.startswith("import time:")]
    said = "\n".join(line for line in done.stderr.splitlines() if not line.startswith("import time:"))
    loaded = {re.split(r"\|\s*", line)[-1].strip().split(".")[0] for line in timed}
    return done.returncode, loaded, done.stdout, said


def test_importing_the_package_loads_nothing_heavy():
    code, loaded, _, said = run("-c", "import signnap; signnap.__all__; dir(signnap)")
    assert code == 0, said
    assert "signnap" in loaded and not loaded & (HEAVY | {"typer", "rich"})


def test_settings_need_no_torch_either():
    code, loaded, _, said = run("-c", "from signnap import Settings, SignnapError; Settings()")
    assert code == 0, said
    assert not loaded & HEAVY


def test_a_public_name_loads_what_it_needs():
    code, loaded, _, said = run("-c", "from signnap import Graph")
    assert code == 0, said
    assert "torch" in loaded and not loaded & {"sklearn", "pyarrow", "torch_geometric", "networkx"}


@pytest.mark.parametrize(
    ("arguments", "expected", "words"),
    [
        (["--help"], 0, "Usage"),
        (["--version"], 0, "signnap "),
        (["train", "--help"], 0, "--backbone"),
        (["evaluate", "-h"], 0, "--probe"),
        (["datasets", "--json"], 0, "pubmed"),
        (["train"], 2, "GRAPH"),
        (["train", "synthetic"], 2, "--out"),
        (["train", "synthetic", "--out", "x", "--no-such-option"], 2, "--no-such-option"),
        (["fly"], 2, "fly"),
        (["train", "synthetic", "--out", "x", "--layers", "many"], 2, "--layers"),
        (["train", "synthetic", "--out", "x", "--backbone", "jknt"], 1, "did you mean 'jknet'"),
    ],
)
def test_help_and_bad_usage_do_not_load_torch(arguments, expected, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, loaded, stdout, said = run("-m", "signnap", *arguments)
    assert code == expected, said
    assert words in (stdout if expected == 0 else said)
    assert expected == 0 or stdout == ""
    assert "signnap" in loaded and not loaded & HEAVY
    assert list(tmp_path.iterdir()) == []


def seconds(statement):
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", statement], check=True, timeout=120)
    return time.perf_counter() - start


def test_the_package_adds_next_to_nothing_to_the_import_of_torch():
    ours, alone = [], []
    for _ in range(6):  # side by side, best of several: another process may take the machine for a while
        ours.append(seconds("import signnap, torch"))
        alone.append(seconds("import torch"))
        if min(ours) <= 1.2 * min(alone) + 0.1:
            return
    pytest.fail(f"import signnap, torch takes {min(ours):.2f} s, import torch alone {min(alone):.2f} s")

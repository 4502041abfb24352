"""How much of the package a command executes: nothing is read or resolved twice, and few modules take part."""

import json
import os
import subprocess
import sys

import pytest

EDGES = "source,target\na,b\nb,c\nc,d\nd,e\ne,f\nf,a\n"
NODES = "id,x,y,label\na,1,2,r\nb,2,1,g\nc,1,1,r\nd,2,2,g\ne,1,3,r\nf,3,1,g\n"
GRAPH = ("edges.csv", "--nodes", "nodes.csv")
SMALL = ("--dim", 8, "--negatives", 4, "--iterations", 3, "--keep-going")

#: Counts the calls of every function of the package, by "module:function"; module bodies and classes do not count.
PROGRAM = """
import inspect, json, sys, threading
from collections import Counter
from pathlib import Path
import signnap
from signnap.cli import main

root, calls = str(Path(signnap.__file__).parent) + "/", Counter()

def count(frame, event, argument):
    code = frame.f_code
    if event == "call" and code.co_filename.startswith(root) and code.co_flags & inspect.CO_NEWLOCALS:
        if code.co_flags & inspect.CO_OPTIMIZED:
            calls[code.co_filename.removeprefix(root) + ":" + code.co_name] += 1

threading.setprofile(count)
sys.setprofile(count)
try:
    main()
except SystemExit as end:
    sys.setprofile(None)
    assert not end.code, end.code
Path("calls.json").write_text(json.dumps(calls))
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("six")
    (folder / "edges.csv").write_text(EDGES)
    (folder / "nodes.csv").write_text(NODES)
    return folder


def calls_of(folder, *arguments):
    """The calls that one command makes in a fresh process."""
    command = [sys.executable, "-c", PROGRAM, *map(str, arguments)]
    done = subprocess.run(command, cwd=folder, env=os.environ | {"NO_COLOR": "1"}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads((folder / "calls.json").read_text())


def count(calls, name):
    """How often a function was called, in whichever module it is; at least once."""
    found = sum(number for place, number in calls.items() if place.endswith(f":{name}"))
    assert found, f"there was no call of {name}"
    return found


def modules(calls):
    return {place.partition(":")[0] for place in calls}


@pytest.fixture(scope="module")
def trained(folder):
    return calls_of(folder, "train", *GRAPH, "--out", "run", *SMALL)


def test_training_resolves_the_settings_once_and_loads_the_graph_once(trained):
    assert count(trained, "resolve") == 1
    assert count(trained, "load_graph") == 1


def test_training_executes_few_modules(trained):
    assert len(modules(trained)) <= 58, sorted(modules(trained))


def test_several_seeds_are_resolved_once(folder):
    calls = calls_of(folder, "train", *GRAPH, "--out", "runs", "--seeds", "0,1,2", *SMALL)
    assert count(calls, "resolve") == 1
    assert count(calls, "load_graph") == 1


@pytest.mark.parametrize("command", ["embed", "evaluate", "analyze"])
def test_the_config_of_a_run_is_read_once(command, trained, folder):
    options = {
        "embed": ("--out", "z.csv"),
        "evaluate": ("--split", "random:0.4:0.2", "--probe", "linear-quick", "--seeds", 1),
        "analyze": ("--copies", 2),
    }[command]
    calls = calls_of(folder, command, "run", *GRAPH, *options)
    assert count(calls, "read_config") == 1
    assert count(calls, "graph_from_files") == 1


def test_a_command_does_not_load_the_others(folder):
    program = "import sys\nfrom signnap.cli import main\ntry:\n    main()\nfinally:\n    print(*sys.modules)"
    train = ("train", *GRAPH, "--out", "again", *map(str, SMALL), "--json")
    done = subprocess.run([sys.executable, "-c", program, *train], cwd=folder, capture_output=True, text=True)
    loaded = {name for name in done.stdout.splitlines()[-1].split() if name.startswith("signnap")}
    assert "signnap.train.loop" in loaded, done.stderr
    unused = ("signnap_paper", "signnap.evaluate", "signnap.walks", "signnap.cli.demo", "signnap.data.synthetic")
    assert [name for name in loaded if name.startswith(unused)] == []

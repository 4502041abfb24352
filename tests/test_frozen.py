"""Behaviour that must not change by accident: bits, names of the command line, files of earlier versions.

``frozen.json`` holds what the program computed when it was recorded. Bits are kept for each kind of processor and
release of torch. A machine without a record compares a few rounded numbers instead.

``python tests/test_frozen.py --record`` records this machine. Run it only where a change of numbers or names is
intended, with one thread (``OMP_NUM_THREADS=1``). Where the bits of a case change, the records that other machines
have of this case are dropped.

``data_frozen`` holds files that version 0.1.0 wrote before the package was rearranged. They are never made anew::

    signnap train edges.csv --nodes nodes.csv --label-column label --split-column part --categorical-columns rank \\
        --iterations 6 --dim 8 --out signnap --backbone gcn --negatives 16
    signnap train (the same columns) --iterations 6 --dim 8 --out dgi --method dgi --set hidden=8

``rows.jsonl`` are rows of the committed results, and one of a cell that failed.
"""

from __future__ import annotations

import ast
import contextlib
import hashlib
import io
import json
import logging
import os
import platform
import re
import runpy
import shutil
import sys
import tempfile
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from torch import nn

import signnap
from signnap import (
    CCA,
    SIGNNAP,
    AllPairs,
    BarlowTwins,
    Compose,
    ConvolutionalStack,
    DropEdge,
    DropUnimportant,
    FeatureNoise,
    Graph,
    MaskFeatures,
    load_graph,
    load_method,
    make_split,
    method_class,
)

HERE = Path(__file__).resolve().parent
RECORD, DATA = HERE / "frozen.json", HERE / "data_frozen"


# -- the machine -----------------------------------------------------------------------------------------------------


def machine():
    """What decides bits: the kind of processor, the instructions that torch uses, and torch."""
    facts = {}
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(errors="replace").splitlines():
            name, _, value = line.partition(":")
            facts.setdefault(name.strip(), value.strip())
    kind = " ".join(facts.get(name, "") for name in ("vendor_id", "cpu family", "model")).strip()
    return f"{kind or platform.machine()}, {torch.backends.cpu.get_cpu_capability()}, torch {torch.__version__}"


@pytest.fixture(autouse=True)
def _one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def sha(*parts):
    total = hashlib.sha256()
    for part in parts:
        total.update(part if isinstance(part, bytes) else str(part).encode())
    return total.hexdigest()[:16]


def bits(numbers):
    return sha(np.ascontiguousarray(numbers, dtype=np.float32).tobytes())


def summary(numbers):
    """The mean size and the size of five entries. Signs of singular vectors differ between libraries."""
    flat = np.abs(np.asarray(numbers, dtype=np.float64)).ravel()
    return [round(float(value), 6) for value in (flat.mean(), *flat[np.linspace(0, flat.size - 1, 5, dtype=int)])]


# -- graphs ----------------------------------------------------------------------------------------------------------


@cache
def graph(kind="sparse", name="frozen"):
    """Four communities: 700 nodes with a bag of 80 words, or 300 nodes with 24 dense features."""
    nodes, columns = (700, 80) if kind == "sparse" else (300, 24)
    rng = np.random.default_rng(7)
    y = np.arange(nodes) % 4
    ends = rng.integers(0, nodes - 1, (2, 8 * nodes))
    ends = ends[:, (y[ends[0]] == y[ends[1]]) | (rng.random(8 * nodes) < 0.2)]
    x = rng.random((nodes, columns)) + (np.arange(columns) % 4 == y[:, None])
    x = x * (rng.random(x.shape) < 0.04 * (1 + (x > 1))) if kind == "sparse" else x
    x[:, 0] += 0.1
    return Graph.from_edges(*ends, x.astype(np.float32), y=torch.from_numpy(y), name=name)


# -- numbers ---------------------------------------------------------------------------------------------------------

_WALKS = {"dim": 16, "walks": 1, "length": 8, "window": 2, "iterations": 4}
_GCC = {"dim": 8, "hidden": 8, "layers": 2, "steps": 12, "size": 12, "positions": 4, "batch": 8, "iterations": 4}
_WIDE = {"dim": 16, "hidden": 32, "iterations": 4}
_LABELS = {"dim": 16, "heads": 2, "iterations": 5, "split": "per-class:10:10"}
#: method -> its settings; SIGNNAP has more cases below.
METHODS = {
    "signnap": {"dim": 32, "negatives": 32, "iterations": 6},
    "supervised": _LABELS,
    "dropedge": _LABELS,
    "deepwalk": _WALKS,
    "node2vec": _WALKS,
    "arwmf": {"dim": 8, "window": 2, "passes": 2},
    "dgi": _WIDE,
    "cmv": {"dim": 16, "hops": 4, "iterations": 4},
    "gcc": _GCC,
    "gcc-attributed": _GCC,
    "grace": {**_WIDE, "projector": 16},
    "gca": {**_WIDE, "projector": 16},
    "bgrl": _WIDE,
    "g-bt": _WIDE,
    "cca-ssg": _WIDE,
    "graphmae": {"dim": 16, "heads": 2, "iterations": 4},
    "raw": {},
    "svd": {"dim": 8},
    "propagated": {},
    "untrained": {"dim": 16},
}
#: what is frozen of SIGNNAP, each as settings over the small ones
SIGNNAP_CASES = {
    **{f"backbone {name}": {"backbone": name, "heads": 2} for name in
       ("gcn", "resgcn", "jknet", "sage", "gat", "gcn-original", "gat-original")},
    "four layers": {"backbone": "resgcn", "layers": 4},
    "objective infonce": {"objective": "infonce"},
    **{f"share {share}": {"share": share} for share in (0, 1, 64)},
    **{f"drop law {law}": {"drop_law": law} for law in ("bernoulli", "undirected")},
    "mask features": {"mask_features": 0.3},
    "momentum": {"momentum": 0.9},
    **{f"noise {noise}": {"noise": noise} for noise in ("gaussian:0.1", "laplace:0.1", "uniform:0.1")},
    "nudged": {"init": "nudged"},
    "authors' first weights": {"init": "authors:4", "backbone": "sage"},
    "stored entries": {"edge_value": 2.0, "loop_value": 0.0, "normalize_features": False},
    "schedule": {"schedule": "cosine:0.5", "clip": 0.1, "decoupled_decay": True},
    "best weights": {"patience": 2, "lr": 0.5, "iterations": 10},
    "inductive": {"split": "inductive:per-class:20:20"},
    "seed 3": {"seed": 3},
}  # fmt: skip


class Mean(nn.Module):
    """An encoder of a user's own."""

    def __init__(self, width):
        super().__init__()
        self.layer = nn.Linear(width, 16)

    def forward(self, x, edge_index):
        x = self.layer(x)
        return x.index_add(0, edge_index[1], x[edge_index[0]])


PARTS = {
    "AllPairs": {"objective": lambda: AllPairs(projector=8)},
    "BarlowTwins": {"objective": BarlowTwins},
    "CCA": {"objective": CCA},
    "DropUnimportant degree": {"perturbation": lambda: DropUnimportant(0.3, 0.2, "degree")},
    "DropUnimportant eigenvector": {"perturbation": lambda: DropUnimportant(0.3, 0.2, "eigenvector")},
    "DropUnimportant pagerank": {"perturbation": lambda: DropUnimportant(0.3, 0.2, "pagerank")},
    "Compose": {"perturbation": lambda: Compose(DropEdge(0.2), MaskFeatures(0.2), FeatureNoise("laplace", 0.02))},
    "ConvolutionalStack": {
        "backbone": lambda: lambda width: ConvolutionalStack(width, [16, 16], "prelu", momentum=0.1)
    },
    "a module": {"backbone": lambda: Mean},
}


def fitted(method, settings, kind="sparse", name="frozen"):
    return method_class(method)(**settings).fit(graph(kind, name), device="cpu")


def resumed():
    """Six iterations, three at a time."""
    with tempfile.TemporaryDirectory() as folder:
        for iterations in (3, 6):
            settings = METHODS["signnap"] | {"iterations": iterations}
            model = SIGNNAP(**settings).fit(graph(), device="cpu", out=folder, resume=iterations > 3)
    return model


def models():
    """What is frozen, by its name: how to make a model, and the graph that it embeds."""
    small = METHODS["signnap"]
    made = {name: (lambda n=name, s=settings: fitted(n, s), graph) for name, settings in METHODS.items()}
    for name, settings in SIGNNAP_CASES.items():
        made[f"signnap, {name}"] = lambda s=settings: fitted("signnap", small | s), graph
    for name, parts in PARTS.items():
        own = lambda p=parts: SIGNNAP(**small, **{k: make() for k, make in p.items()}).fit(graph(), device="cpu")
        made[f"signnap, {name}"] = own, graph
    for backbone in ("gat", "jknet", "gcn-original"):
        made[f"supervised, {backbone}"] = lambda b=backbone: fitted("supervised", _LABELS | {"backbone": b}), graph
    for centrality in ("eigenvector", "pagerank"):
        settings = METHODS["gca"] | {"centrality": centrality}
        made[f"gca, {centrality}"] = lambda s=settings: fitted("gca", s), graph
    for name in ("signnap", "arwmf", "dgi", "grace", "cca-ssg", "graphmae", "raw", "propagated"):
        dense = lambda: graph("dense")
        made[f"{name} on dense features"] = lambda n=name: fitted(n, METHODS[n], "dense"), dense
    for method, name in (("signnap", "amazon_photo"), ("gca", "pubmed"), ("grace", "cora"), ("bgrl", "coauthor_cs")):
        made[f"{method} preset for {name}"] = lambda m=method, n=name: fitted(m, METHODS[m], name=n), graph
    made["signnap, one of two seeds"] = lambda: SIGNNAP(**small).fit_seeds(graph(), [1, 4], device="cpu")[1], graph
    made["signnap, resumed"] = resumed, graph
    return made


def numbers_of(name):
    """The bits of embeddings and weights, and the summary of both."""
    make, of = models()[name]
    model = make()
    with tempfile.TemporaryDirectory() as folder:
        model.save(folder)
        weights = sorted(load_file(Path(folder) / "model.safetensors").items())
    z = model.transform(of())
    numbers = np.concatenate([z.ravel(), *(tensor.float().numpy().ravel() for _, tensor in weights)])
    found = {"embeddings": bits(z), "weights": sha(*(x for n, t in weights for x in (n, t.numpy().tobytes())))}
    return found, summary(z) + summary(numbers)


def judged():
    """Accuracies in percent, and properties of the embeddings of one model."""
    given, model = graph(), fitted("signnap", METHODS["signnap"])
    split, z = make_split(given, "per-class:20:30"), model.embed(given)
    parts = z, given.y, split.train, split.val, split.test
    drop, source = DropEdge(0.3, "undirected"), torch.Generator().manual_seed(0)
    stable = signnap.stability(lambda: model.embed_view(drop(model.view(given), source)), copies=3)
    accuracies = [
        *(
            signnap.score([z], *parts[1:], probe=probe, seeds=range(2)).accuracy.mean
            for probe in ("linear-100", "logistic")
        ),
        100 * signnap.logistic_probe(*parts).test_accuracy,
    ]
    smooth = signnap.smoothness(z, given.pattern, torch.Generator().manual_seed(0))
    copies = (model.embed_view(drop(model.view(given), source)) for _ in range(2))
    apart = signnap.identifiability(*copies, torch.Generator().manual_seed(0))
    properties = stable.mean, stable.centred, *stable.per_node.values(), *vars(smooth).values(), *vars(apart).values()
    return [float(value) for value in (*accuracies, *properties)]


# -- the command line ------------------------------------------------------------------------------------------------

COLUMNS = ("--nodes", "nodes.csv", "--label-column", "label", "--split-column", "part", "--categorical-columns", "rank")
GRAPH = ("edges.csv", *COLUMNS)
SMALL = ("--dim", 8, "--negatives", 16, "--iterations", 4, "--device", "cpu")
PROBE = ("--probe", "linear-quick", "--seeds", 1, "--split", "public")
COMMANDS = {
    "datasets": ("datasets",),
    "methods": ("methods",),
    "train": ("train", *GRAPH, "--out", "run", *SMALL),
    "train --seeds": ("train", *GRAPH, "--out", "runs", "--seeds", "0,1", *SMALL),
    "train --profile": ("train", *GRAPH, "--out", "profiled", "--profile", *SMALL),
    "train --method raw": ("train", *GRAPH, "--out", "raw", "--method", "raw"),
    "train --method supervised": (
        "train", *GRAPH, "--out", "labels", "--method", "supervised", "--split", "public", "--iterations", 3,
    ),
    "train --resume": ("train", *GRAPH, "--out", "signnap", "--resume", "--iterations", 12, "--device", "cpu"),
    "train --resume (dgi)": ("train", *GRAPH, "--out", "dgi", "--resume", "--iterations", 12, "--device", "cpu"),
    "embed": ("embed", "run", *GRAPH, "--out", "z.csv"),
    "evaluate": ("evaluate", "run", *GRAPH, *PROBE),
    "evaluate FILE": ("evaluate", "z.csv", *GRAPH, *PROBE),
    "evaluate (supervised)": ("evaluate", "labels", *GRAPH, *PROBE),
    "analyze": ("analyze", "run", *GRAPH, "--copies", 2),
    "report": ("report", ".", "--out", "all.jsonl"),
    "reproduce": ("reproduce", "table-sharing", "--limit", 0, "--results", "."),
}  # fmt: skip


def run(*arguments):
    """Run the program here: its exit code and what it wrote to stdout."""
    out, argv, logger = io.StringIO(), sys.argv, logging.getLogger("signnap")
    level, handlers = logger.level, [*logger.handlers]
    sys.argv = ["signnap", *map(str, arguments)]
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()) as err:
            runpy.run_module("signnap", run_name="__main__")
        code = 0
    except SystemExit as end:
        code = int(end.code or 0)
    finally:
        sys.argv = argv
        logger.setLevel(level)
        logger.handlers[:] = handlers
    assert code == 0, err.getvalue()
    return out.getvalue()


def shape(value):
    """Names and types of what JSON holds; of a list, of all that is in it."""
    if isinstance(value, dict):
        return {name: shape(inner) for name, inner in sorted(value.items())}
    if isinstance(value, list):
        kinds = [shape(inner) for inner in value]
        return [kind for at, kind in enumerate(kinds) if kind not in kinds[:at]]
    return "null" if value is None else type(value).__name__


@contextlib.contextmanager
def working_folder():
    """A copy of the frozen files to work in."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(DATA, folder, dirs_exist_ok=True)
        os.chdir(folder)
        try:
            yield Path(folder)
        finally:
            os.chdir(before)


@cache
def commands():
    """What every command prints with --json, and what is computed from the frozen files."""
    found, bits_of = {}, {}
    with working_folder():
        for name in ("signnap", "dgi"):
            run("embed", name, *GRAPH, "--out", f"{name}.npy")
            bits_of[f"embed {name}"] = np.load(f"{name}.npy")
        bits_of["evaluate signnap"] = _accuracies(json.loads(run("evaluate", "signnap", *GRAPH, *PROBE, "--json")))
        for name, arguments in COMMANDS.items():
            found[name] = json.loads(run(*arguments, "--json"))
        for name in ("signnap", "dgi"):
            assert len(Path(name, "metrics.jsonl").read_text().splitlines()) >= 2
            bits_of[f"resume {name}"] = load_method(name).transform(_loaded())
        files = {"report": Path("all.jsonl").read_bytes(), "page": Path("table-sharing.md").read_bytes()}
    return found, bits_of, files


def _accuracies(judgement):
    return [judgement["accuracy"]["mean"], *(each["accuracy"]["mean"] for each in judgement["baselines"].values())]


def _loaded():
    columns = {"label_column": "label", "split_column": "part", "categorical_columns": ["rank"]}
    return load_graph("edges.csv", nodes="nodes.csv", **columns)


def usage(*command):
    """The options and commands that --help lists."""
    width = os.environ.get("COLUMNS"), os.environ.get("TERMINAL_WIDTH")
    os.environ["COLUMNS"] = os.environ["TERMINAL_WIDTH"] = "300"
    try:
        lines = run(*command, "--help").splitlines()
    finally:
        for name, value in zip(("COLUMNS", "TERMINAL_WIDTH"), width, strict=True):
            os.environ.pop(name) if value is None else os.environ.__setitem__(name, value)
    options = [re.match(r"\W*(--[a-z-]+)(?:\s+(-[a-z]))?\s", line) for line in lines]
    at = next((n for n, line in enumerate(lines) if "─ Commands ─" in line), len(lines))
    names = [re.match(r"│ ([a-z][a-z-]*) ", line) for line in lines[at:]]
    return {
        "options": sorted(name for match in options if match for name in match.groups() if name),
        "commands": sorted(match[1] for match in names if match),
    }


def every_usage():
    top = usage()
    below = {name: usage(name) for name in top["commands"]}
    deeper = {f"{name} {each}": usage(name, each) for name, of in below.items() for each in of["commands"]}
    return {"": top} | below | deeper


# -- what is the same on every machine -------------------------------------------------------------------------------


def purposes():
    """The names of random streams: every text that is given where a generator is made."""
    found = set()
    for path in Path(signnap.__file__).resolve().parents[1].glob("signnap*/**/*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            name = getattr(getattr(node, "func", None), "attr", None) or getattr(getattr(node, "func", None), "id", "")
            if isinstance(node, ast.Call) and name in ("generator", "generators"):
                texts = (each.value for part in node.args for each in ast.walk(part) if isinstance(each, ast.Constant))
                found |= {text for text in texts if isinstance(text, str) and text != "cpu"}
    return sorted(found)


def saved_state():
    """What the states of runs hold, beside names of weights."""
    found = {}
    with working_folder():
        run("train", *GRAPH, "--out", "new", *SMALL)
        for name in ("signnap", "dgi", "new"):
            state = torch.load(f"{name}/state.pt", weights_only=True)
            found[name] = {part: sorted(map(str, state[part])) for part in ("generators", "modules")}
            found[name]["parts"] = sorted(state)
        found["files"] = sorted(path.name for path in Path("new").iterdir() if path.suffix != ".lock")
    return found


def loaded_graphs():
    synthetic = load_graph("synthetic")
    parts = {}
    for spec in ("per-class:20:30", "random:0.1:0.2", "inductive:per-class:5:5", "paper"):
        split = make_split(synthetic, spec, seed=1)
        parts[spec] = [sha(part.numpy().tobytes()) for part in (split.train, split.val, split.test)]
    with working_folder():
        own, bare = _loaded(), load_graph("edges.csv")
        given = {name: rows.tolist() for name, rows in own.given_split.items()}
    names = [*own.feature_names, *own.classes, own.num_nodes, own.num_edges]
    return {
        "synthetic": synthetic.fingerprint(),
        "own": own.fingerprint(),
        "names": names,
        "splits": parts,
        "bare": bare.fingerprint(),
        "ids": bare.ids.tolist(),
    } | given


def listed():
    """What is listed of data sets and methods, without the sentences about them."""
    found = {name: commands()[0][name][name] for name in ("datasets", "methods")}
    found["methods"] = [row for row in found["methods"] if row["name"] in METHODS]  # later methods are not frozen
    return {name: [{k: v for k, v in row.items() if k != "about"} for row in rows] for name, rows in found.items()}


def written():
    """Files that other programs read: embeddings as text, and a line for every accuracy."""
    with tempfile.TemporaryDirectory() as folder:
        rows = np.linspace(-1, 1, 12, dtype=np.float32).reshape(4, 3)
        for suffix in ("csv", "npy"):
            signnap.write_embeddings(Path(folder) / f"z.{suffix}", rows, np.array(["a", "b c", "d", "é"]))
        files = [sha((Path(folder) / f"z.{suffix}").read_bytes()) for suffix in ("csv", "npy")]
    lines = [json.loads(line) for line in commands()[2]["report"].splitlines()]
    page = re.findall(r"\d+\.\d\d", commands()[2]["page"].decode())
    return {"embeddings": files, "accuracies": [len(lines), sha(json.dumps(lines))], "page": page}


SAME = {
    "json": lambda: {name: shape(found) for name, found in commands()[0].items()},
    "usage": every_usage,
    "purposes": purposes,
    "state": saved_state,
    "graphs": loaded_graphs,
    "listed": listed,
    "written": written,
    "public names": lambda: sorted(signnap.__all__),
}
NUMBERS = {
    **{name: lambda n=name: numbers_of(n) for name in models()},
    "judges": lambda: ({"values": bits(judged())}, [round(value, 6) for value in judged()]),
    **{
        name: lambda n=name: ({"values": bits(commands()[1][n])}, summary(commands()[1][n]))
        for name in ("embed signnap", "embed dgi", "resume signnap", "resume dgi", "evaluate signnap")
    },
}


# -- tests -----------------------------------------------------------------------------------------------------------


@cache
def recorded():
    return json.loads(RECORD.read_text(encoding="utf-8"))


def test_every_case_is_recorded():
    assert sorted(recorded()["summaries"]) == sorted(NUMBERS)
    assert sorted(recorded()["same"]) == sorted(SAME)
    assert {row["name"] for row in recorded()["same"]["listed"]["methods"]} == set(METHODS)


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers(name):
    found, shown = NUMBERS[name]()
    tolerance = recorded()["tolerances"].get(name, recorded()["tolerances"]["default"])
    np.testing.assert_allclose(shown, recorded()["summaries"][name], atol=tolerance, rtol=tolerance)
    known = recorded()["machines"].get(machine(), {}).get(name)
    assert known is None or found == known


@pytest.mark.parametrize("name", SAME)
def test_same_everywhere(name):
    found, known = json.loads(json.dumps(SAME[name]())), recorded()["same"][name]
    if name == "purposes":  # later methods have streams of their own
        found = [purpose for purpose in found if purpose in known]
    assert found == known


def test_a_page_of_earlier_rows(tmp_path):
    pytest.importorskip("markdown_it")
    shutil.copy(DATA / "rows.jsonl", tmp_path)
    run("report", tmp_path, "--out", tmp_path / "page.html")
    assert (tmp_path / "page.html").stat().st_size > 100_000


@pytest.mark.long
@pytest.mark.parametrize("name", ["demo", "bench speed", "bench memory"])
def test_slow_commands(name, request, monkeypatch):
    if name != "demo":
        monkeypatch.setenv("SIGNNAP_DATA", str(request.getfixturevalue("raw_data")))
    assert slow_shape(name) == recorded()["slow"][name]


def slow_shape(name):
    with working_folder():
        return shape(json.loads(run(*name.split(), "--json")))


# -- recording -------------------------------------------------------------------------------------------------------


def record(slow=False):
    """Write what this machine computes."""
    torch.set_num_threads(1)
    old = json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else {}
    machines, own = old.get("machines", {}), {}
    before = machines.pop(machine(), {})
    summaries = {}
    for name, compute in NUMBERS.items():
        own[name], summaries[name] = compute()
        if before.get(name, own[name]) != own[name]:
            machines = {each: {k: v for k, v in known.items() if k != name} for each, known in machines.items()}
    new = {
        "tolerances": old.get("tolerances", {"default": 1e-3}),
        "machines": machines | {machine(): own},
        "summaries": summaries,
        "same": {name: compute() for name, compute in SAME.items()},
        "slow": {name: slow_shape(name) for name in ("demo", "bench speed", "bench memory")} if slow else old["slow"],
    }
    RECORD.write_text(json.dumps(new, indent=1, sort_keys=True, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    if not {"--record", "--record-slow"} & set(sys.argv):
        sys.exit("usage: python tests/test_frozen.py --record (or --record-slow, with the shapes of slow commands)")
    record("--record-slow" in sys.argv)

"""Every command: what it prints and where, the keys others rely on, and the way from files to numbers."""

import json
import os
import re
from pathlib import Path

import numpy as np
import pytest

from signnap import SIGNNAP, SignnapError, load_graph, method_class, read_embeddings
from signnap.config import read_toml
from signnap.data.public import DATASETS

SMALL = ("--dim", 8, "--negatives", 16, "--iterations", 5)
GRAPH = ("edges.csv", "--nodes", "nodes.csv")
QUICK = ("--split", "per-class:5:5", "--probe", "logistic")


def notes_only(err):
    return all(line.startswith(("note: ", "iteration ", "wrote ")) for line in err.splitlines())


# -- train -----------------------------------------------------------------------------------------------------------


def test_train(files, command):
    result = command("train", *GRAPH, "--out", "run", *SMALL, "--json")
    found = result.json
    assert {"run", "iterations", "loss", "mutual_information_bound", "seconds"} <= set(found)
    assert (found["run"], found["graph"], found["iterations"]) == ("run", "edges", 5)
    assert found["loss"] > 0 and found["seconds"] > 0
    assert "iteration 5/5" in result.err and notes_only(result.err)
    assert "3 classes from column 'label'" in result.err
    assert set(os.listdir("run")) == {"config.toml", "metrics.jsonl", "model.safetensors", "state.pt", "run.json"}
    config = read_toml("run/config.toml")
    assert (config["dim"], config["negatives"], config["iterations"], config["backbone"]) == (8, 16, 5, "gcn")
    assert SIGNNAP.load("run").info_.feature_names == ("size", "age", "rank")


def test_train_in_words(files, command):
    result = command("train", *GRAPH, "--out", "run", *SMALL)
    assert result.code == 0
    assert "Run run" in result.out and "mutual_information_bound" in result.out
    assert notes_only(result.err)


def test_what_a_method_has_not_is_not_shown(files, command):
    result = command("train", *GRAPH, "--out", "run", "--method", "raw")
    assert result.code == 0 and "seconds" in result.out
    assert "None" not in result.out and "loss" not in result.out
    assert command("train", *GRAPH, "--out", "again", "--method", "raw", "--json").json["loss"] is None


@pytest.mark.parametrize("name", ["run[v2]", "run[/v2]", "run:smile:"])
def test_a_folder_is_shown_by_its_name(name, files, command):
    assert f"Run {name}" in command("train", *GRAPH, "--out", name, *SMALL).out


def test_train_several_seeds(files, command):
    found = command("train", *GRAPH, "--out", "runs", *SMALL, "--seeds", "2,5", "--json").json
    assert [run["run"] for run in found["runs"]] == [os.path.join("runs", f"seed-{seed}") for seed in (2, 5)]
    assert (
        command("train", *GRAPH, "--out", "alone", *SMALL, "--seed", 5, "--json").json["loss"]
        == found["runs"][1]["loss"]
    )
    again = command("train", *GRAPH, "--out", "runs", *SMALL, "--seeds", "2,5")
    assert again.code == 1 and "already holds a run" in again.err
    assert command("train", *GRAPH, "--out", "runs", *SMALL, "--seeds", "2,5", "--resume").code == 0
    assert "expected whole numbers" in command("train", *GRAPH, "--out", "x", "--seeds", "2;5").err
    assert "expected one of the two" in command("train", *GRAPH, "--out", "x", "--seeds", "2", "--seed", 1).err
    assert not os.path.exists("x")


@pytest.mark.parametrize("more", [(), ("--seeds", "0,1")])
def test_a_file_is_no_run_folder(more, files, command, monkeypatch):
    Path("taken").write_text("mine")
    monkeypatch.setattr("signnap.data.load.load_graph", None)  # it is told before a graph is loaded
    result = command("train", *GRAPH, "--out", "taken", *SMALL, *more)
    assert (result.code, result.out) == (1, "")
    assert result.err == "error: taken is a file: expected a folder\n"
    assert Path("taken").read_text() == "mine"


@pytest.mark.parametrize("method", ["signnap", "raw"])
def test_nor_is_it_one_in_python(method, files, small_graph):
    Path("taken").write_text("mine")
    for out in ("taken", "taken/run"):
        with pytest.raises(SignnapError, match=r"^taken is a file: expected a folder$"):
            method_class(method)(dim=8, iterations=1).fit(small_graph, out=out)


def test_methods(command):
    found = command("methods", "--json").json["methods"]
    assert {"name", "uses_labels", "reads_features", "inductive", "memory"} <= set(found[0])
    assert {"signnap", "grace", "raw"} <= {row["name"] for row in found}
    assert "linear" in command("methods").out


@pytest.mark.parametrize("method", ["g-bt", "svd"])
def test_another_method_from_training_to_judges(method, files, command):
    small = ("--dim", 8, "--iterations", 5)
    found = command("train", *GRAPH, "--out", "run", "--method", method, *small, "--json").json
    assert found["graph"] == "edges" and found["iterations"] == (5 if method == "g-bt" else 0)
    assert command("embed", "run", *GRAPH, "--out", "z.csv").code == 0
    judged = command("evaluate", "run", *GRAPH, *QUICK, "--json").json
    assert judged["accuracy"]["mean"] > 0 and "untrained encoder" in judged["baselines"]
    assert "stability" in command("analyze", "run", *GRAPH, "--copies", 2, "--json").json
    other = f"error: the probe on dropped graphs is SIGNNAP's, but a run of {method} was given"
    assert command("evaluate", "run", *GRAPH, *QUICK, "--dropped-probe").err.splitlines()[-1] == other


def test_a_setting_that_a_method_does_not_have(files, command):
    result = command("train", *GRAPH, "--out", "run", "--method", "grace", "--negatives", 5)
    assert result.code == 1 and "unknown setting 'negatives'" in result.err and not os.path.exists("run")


def test_settings_come_from_preset_file_set_and_flags_in_that_order(files, command):
    Path("mine.toml").write_text('backbone = "gat"\ndim = 16\nlr = 0.5\nseed = 3\n')
    more = ("--set", "lr=0.25", "--set", "seed=4", "--set", "drop_law=bernoulli", "--set", "normalize_features=false")
    flags = ("--seed", 5, "--negatives", 16, "--iterations", 1, "--noise", "gaussian:0.01", "--temperature", 1)
    assert command("train", *GRAPH, "--out", "run", "--config", "mine.toml", *more, *flags).code == 0
    config = read_toml("run/config.toml")
    assert (config["dropout"], config["heads"]) == (0.6, 8)  # the preset, for this backbone
    assert (config["backbone"], config["dim"]) == ("gat", 16)
    assert (config["lr"], config["drop_law"], config["normalize_features"]) == (0.25, "bernoulli", False)
    assert (config["seed"], config["noise"]) == (5, "gaussian:0.01")


def test_a_run_s_own_config_trains_the_same_run_again(trained, command):
    assert command("train", *GRAPH, "--out", "again", "--config", "run/config.toml").code == 0
    assert Path("again/config.toml").read_bytes() == Path("run/config.toml").read_bytes()
    assert Path("again/model.safetensors").read_bytes() == Path("run/model.safetensors").read_bytes()


def test_resume(trained, command):
    again = command("train", *GRAPH, "--out", "run", *SMALL)
    assert (again.code, again.out) == (1, "")
    assert again.err.splitlines()[-1] == (
        "error: run already holds a run: resume it (--resume, resume=True), or choose another folder"
    )
    same = command("train", *GRAPH, "--out", "run", *SMALL, "--resume", "--json").json
    assert same["iterations"] == 5 and same["loss"] is not None
    longer = command("train", *GRAPH, "--out", "run", *SMALL[:4], "--iterations", 9, "--resume", "--json").json
    assert longer["iterations"] == 9
    assert command("train", *GRAPH, "--out", "whole", *SMALL[:4], "--iterations", 9).code == 0
    assert Path("run/model.safetensors").read_bytes() == Path("whole/model.safetensors").read_bytes()


def test_a_run_is_resumed_without_its_settings_being_given_again(trained, command):
    longer = command("train", *GRAPH, "--out", "run", "--iterations", 9, "--resume", "--json").json
    assert longer["iterations"] == 9 and read_toml("run/config.toml")["dim"] == 8
    several = ("train", *GRAPH, "--out", "runs", "--seeds", "2,5")
    assert command(*several, *SMALL).code == 0
    assert [run["iterations"] for run in command(*several, "--resume", "--json").json["runs"]] == [5, 5]
    assert read_toml("runs/seed-5/config.toml")["seed"] == 5


def test_embeddings_do_not_replace_the_graph(trained, command):
    for file in ("edges.csv", "nodes.csv"):
        before = Path(file).read_bytes()
        result = command("embed", "run", *GRAPH, "--out", file)
        assert result.code == 1 and Path(file).read_bytes() == before
        assert result.err == f"error: --out is {file}, which is a file of the graph itself: expected another one\n"


def test_a_collapse_is_a_sentence_unless_told_to_go_on(files, command):
    wild = ("train", *GRAPH, "--dim", 8, "--negatives", 16, "--iterations", 20, "--lr", "1e20")
    stopped = command(*wild, "--out", "stopped")
    assert stopped.code == 1
    assert re.match("error: training collapsed: the loss is .* mean norm nan", stopped.err.splitlines()[-1])
    passed = command(*wild, "--out", "run", "--keep-going", "--json")
    assert (passed.json["iterations"], passed.json["loss"]) == (20, None)  # JSON has no NaN
    assert len(re.findall("note: training continues after a collapse: the loss is .* mean norm nan", passed.err)) == 1


def test_a_profile(files, command):
    plain = command("train", *GRAPH, "--out", "plain", *SMALL, "--json").json
    result = command("train", *GRAPH, "--out", "run", *SMALL, "--profile", "--json")
    found, trace = result.json, os.path.join("run", "trace.json")
    assert set(found) == {*plain, "profile"} and found["loss"] == plain["loss"]
    assert (found["profile"]["trace"], found["profile"]["iterations"]) == (trace, 2)
    regions = found["profile"]["regions"]
    assert len(regions) == 5 and all(set(each) == {"name", "milliseconds", "share"} for each in regions)
    assert regions == sorted(regions, key=lambda each: -each["milliseconds"])
    assert json.loads(Path(trace).read_text())["traceEvents"]
    assert f"wrote {trace}" in result.err and notes_only(result.err)
    assert Path("run/model.safetensors").read_bytes() == Path("plain/model.safetensors").read_bytes()


def test_a_profile_in_words(files, command):
    result = command("train", *GRAPH, "--out", "runs", *SMALL, "--seeds", "4,2", "--profile")
    assert result.code == 0 and notes_only(result.err)
    assert "Most expensive regions" in result.out and "ms per iteration" in result.out and "%" in result.out
    assert list(Path().rglob("trace.json")) == [Path("runs/seed-4/trace.json")]
    short = command("train", *GRAPH, "--out", "short", "--iterations", 1, "--profile")
    assert short.err.splitlines()[-1] == "error: a profile needs at least 2 iterations to go: found 1"
    assert not os.path.exists("short")


# -- embed -----------------------------------------------------------------------------------------------------------


def test_embed_in_every_format(trained, command):
    for suffix in ("npy", "csv", "parquet"):
        result = command("embed", "run", *GRAPH, "--out", f"z.{suffix}", "--json")
        assert result.json == {"file": f"z.{suffix}", "nodes": 60, "dim": 8}
        assert result.err.endswith(f"wrote 60 embeddings of width 8 to z.{suffix}\n")
    expected = SIGNNAP.load("run").transform(load_graph("edges.csv", nodes="nodes.csv"))
    for suffix in ("npy", "csv", "parquet"):
        z, ids = read_embeddings(f"z.{suffix}")
        assert z == pytest.approx(expected, rel=1e-6)
        assert ids is None if suffix == "npy" else ids.tolist() == trained  # the user's ids, in the user's order


def test_embed_in_words(trained, command):
    result = command("embed", "run", *GRAPH, "--out", "z.npy")
    assert (result.code, result.out) == (0, "")


def test_a_label_column_of_another_name_is_no_feature(files, command):
    text = Path("nodes.csv").read_text()
    Path("nodes.csv").write_text(text.replace("id,size,age,rank,label", "name,size,age,rank,team"))
    named = (*GRAPH, "--id-column", "name", "--label-column", "team")
    assert command("train", *named, "--out", "run", *SMALL).code == 0
    assert command("embed", "run", *named, "--out", "z.csv").code == 0
    assert command("evaluate", "run", *named, *QUICK, "--json").json["accuracy"]["mean"] > 0
    assert command("analyze", "run", *named, "--json").code == 0


def test_a_graph_never_seen(trained, command):
    Path("more.csv").write_text("a,b\nb,c\n")
    Path("people.csv").write_text("id,size,age,rank\nc,1,2,3\nb,2,3,4\na,0,0,1\n")
    assert command("embed", "run", "more.csv", "--nodes", "people.csv", "--out", "z.csv").code == 0
    assert read_embeddings("z.csv")[1].tolist() == ["c", "b", "a"]


# -- the rest of the program -----------------------------------------------------------------------------------------


def test_datasets(command):
    found = command("datasets", "--json").json["datasets"]
    assert [fact["name"] for fact in found] == list(DATASETS)
    assert all(set(fact) >= {"name", "nodes", "edges", "features", "classes", "setting"} for fact in found)
    pubmed = next(fact for fact in found if fact["name"] == "pubmed")
    assert (pubmed["nodes"], pubmed["edges"], pubmed["features"], pubmed["classes"]) == (19717, 44324, 500, 3)
    words = command("datasets")
    assert words.code == 0 and "19,717" in words.out and words.err == ""


def test_demo(command, monkeypatch):
    from signnap.cli import demo

    monkeypatch.setattr(demo, "ITERATIONS", 2)
    monkeypatch.setattr(demo, "score", lambda z, y, *split: demo_score)
    monkeypatch.setattr(demo, "stability", lambda draw: draw().shape and demo_score)
    assert command("demo").code == 0 and Path("runs/demo/run/config.toml").exists()
    told = command("demo", "--out", "here", "--json")
    assert told.json["seconds"] > 0 and "iteration 2/2" in told.err
    judged = {"accuracy": 50.0, "accuracy_perturbed": 50.0}
    assert told.json["rows"] == [
        {"method": "raw features", **judged, "stability": 1.0, "stability_text": "1 (ignores edges)"},
        {"method": "untrained encoder", **judged, "stability": 0.25, "stability_text": "0.250"},
        {"method": "SIGNNAP", **judged, "stability": 0.25, "stability_text": "0.250"},
    ]
    assert all(Path(path).exists() for path in told.json["files"].values())
    words = command("demo", "--out", "again").out
    assert words.count("50.0 %") == 6 and words.count("0.250") == 2


class demo_score:
    """What both judges say, whatever they are shown."""

    centred = 0.25

    class accuracy:
        mean = 50.0


def test_embeddings_are_those_of_the_library(trained, command):
    assert command("embed", "run", *GRAPH, "--out", "z.npy").code == 0
    graph = load_graph("edges.csv", nodes="nodes.csv")
    model = SIGNNAP(dim=8, negatives=16, iterations=5).fit(graph)
    assert np.array_equal(np.load("z.npy"), model.transform(graph))


def test_columns_can_be_named(command, tmp_path):
    (tmp_path / "edges.csv").write_text("w,a,b\n1,x,y\n2,y,z\n")
    (tmp_path / "nodes.csv").write_text("key,age,city,note\nx,1,A,q\ny,2,B,r\nz,3,A,s\n")
    columns = ["--nodes", "nodes.csv", "--endpoints", "a,b", "--id-column", "key", "--feature-columns", "age,city"]
    assert command("train", "edges.csv", *columns, "--out", "run", "--iterations", "2").code == 0
    facts = json.loads((tmp_path / "run" / "run.json").read_text())
    assert facts["feature_names"] == ["age", "city=A", "city=B"]
    assert facts["num_edges"] == 2

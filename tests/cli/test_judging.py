"""``evaluate`` and ``analyze``: numbers for runs and files, and what is said of both."""

import json
from pathlib import Path

from test_commands import GRAPH, QUICK, SMALL, notes_only


def test_evaluate_a_run_and_its_files(trained, command):
    run = command("evaluate", "run", *GRAPH, *QUICK, "--json").json
    assert {"accuracy", "protocol", "encoder_seeds", "probe_seeds", "baselines"} <= set(run)
    assert set(run["accuracy"]) >= {"mean", "std"}
    assert run["protocol"] == "over probe seeds (1 encoder × 1 probe)"
    assert set(run["baselines"]) == {"raw features", "untrained encoder", "most frequent class"}
    assert all(set(b["accuracy"]) >= {"mean", "std"} for b in run["baselines"].values())
    for suffix in ("npy", "csv", "parquet"):
        assert command("embed", "run", *GRAPH, "--out", f"z.{suffix}").code == 0
        file = command("evaluate", f"z.{suffix}", *GRAPH, *QUICK, "--json").json
        assert file["accuracy"] == run["accuracy"]
    header, *rows = Path("z.csv").read_text().splitlines()
    Path("shuffled.csv").write_text("\n".join([header, *sorted(rows)]))
    assert command("evaluate", "shuffled.csv", *GRAPH, *QUICK, "--json").json["accuracy"] == run["accuracy"]


def test_the_spread_of_several_runs_is_over_runs(trained, command):
    assert command("train", *GRAPH, "--out", "other", *SMALL, "--seed", 1).code == 0
    found = command("evaluate", "run", "other", *GRAPH, *QUICK, "--json").json
    assert found["protocol"] == "over encoder seeds (2 encoders × 1 probe)"
    assert (found["encoder_seeds"], len(found["runs"])) == (2, 2)


def test_runs_of_other_settings_are_no_seeds(trained, command):
    assert command("train", *GRAPH, "--out", "other", *SMALL, "--seed", 1, "--lr", 0.002).code == 0
    result = command("evaluate", "run", "other", *GRAPH, *QUICK)
    assert (result.code, result.out) == (1, "")
    told = "error: the runs differ in more than their seed, lr is 0.001 and 0.002: judge them one kind at a time"
    assert result.err.splitlines()[-1] == told


def test_a_run_that_was_not_finished_is_noted(trained, command):
    evaluate, embed = ("evaluate", "run", *GRAPH, *QUICK), ("embed", "run", *GRAPH, "--out", "z.npy")
    analyze = ("analyze", "run", *GRAPH, "--copies", 2)
    for what in (evaluate, embed, analyze):
        assert "to its end" not in command(*what).err
    facts = json.loads(Path("run/run.json").read_text())
    Path("run/run.json").write_text(json.dumps(facts | {"finished": False}))
    for what in (evaluate, embed, analyze):
        result = command(*what)
        assert result.code == 0 and notes_only(result.err.partition("embedding 4/4")[0])
        assert result.err.count("note: the training of run is not finished: ") == 1


def test_a_network_that_is_its_own_classifier_says_so(files, command):
    own = ("--method", "supervised", "--split", "per-class:5:5", "--dim", 8, "--iterations", 2)
    assert command("train", *GRAPH, "--out", "run", *own).code == 0
    judged = command("evaluate", "run", *GRAPH, *QUICK, "--dropped-probe")
    title = judged.out.splitlines()[0]
    assert title.strip() == "Accuracy in % on edges, split per-class:5:5, no probe (of the baselines: logistic)"


def test_evaluate_in_words(trained, command):
    result = command("evaluate", "run", *GRAPH, *QUICK)
    assert result.code == 0
    for words in ("Accuracy in %", "run", "untrained encoder", "most frequent class", "balanced", "±"):
        assert words in result.out
    assert "raw features (rows divided by their sum)" in result.out
    assert notes_only(result.err)
    assert command("train", *GRAPH, "--out", "plain", *SMALL, "--set", "normalize_features=false").code == 0
    assert "raw features (as given)" in command("evaluate", "plain", *GRAPH, *QUICK).out


def test_a_row_has_both_accuracies(trained, command):
    found = command("evaluate", "run", *GRAPH, *QUICK, "--json").json
    cells = [line.split("│")[1:-1] for line in command("evaluate", "run", *GRAPH, *QUICK).out.splitlines()]
    row = next([cell.strip() for cell in row] for row in cells if row and row[0].strip() == "run")
    means = [found[name]["mean"] for name in ("accuracy", "balanced_accuracy")]
    assert row == ["run", *(f"{mean:.2f} ± 0.00" for mean in means), found["protocol"]]


def test_the_folder_of_several_seeds_names_its_runs(files, command):
    assert command("train", *GRAPH, "--out", "runs", *SMALL, "--seeds", "0,1").code == 0
    told = "error: runs is not a finished run folder: it has no config.toml, but {} are runs"
    for judged in (("evaluate", "runs", *GRAPH, *QUICK), ("analyze", "runs", *GRAPH)):
        result = command(*judged)
        assert (result.code, result.out) == (1, "")
        assert result.err.splitlines()[-1] == told.format(Path("runs", "seed-*"))


def test_a_network_with_labels_is_judged_on_the_split_it_was_trained_on(command):
    own = ("--method", "supervised", "--set", "split=inductive", "--dim", 4, "--iterations", 1)
    assert command("train", "synthetic", "--out", "run", *own).code == 0
    judged = command("evaluate", "run", "synthetic", "--split", "inductive", "--probe", "linear-quick", "--json").json
    assert (judged["split"], judged["probe"]) == ("inductive:paper", "none")


def test_who_does_not_read_edges_is_not_praised_for_stability(trained, command):
    assert command("train", *GRAPH, "--out", "walks", "--method", "deepwalk", "--dim", 4, "--iterations", 3).code == 0
    told = "note: dropped edges do not change the embeddings of deepwalk, so its stability says nothing"
    assert told in command("analyze", "walks", *GRAPH, "--copies", 2).err
    assert "tells nothing" not in command("analyze", "run", *GRAPH, "--copies", 2).err


def test_analyze(trained, command):
    found = command("analyze", "run", *GRAPH, "--copies", 3, "--drop-edge", 0.5, "--json").json
    assert {"stability", "smoothness", "identifiability"} == set(found)
    assert all(isinstance(found[name]["mean"], float) for name in found)
    assert (found["stability"]["copies"], found["stability"]["nodes"]) == (3, 60)
    again = command("analyze", "run", *GRAPH, "--copies", 3, "--drop-edge", 0.5, "--json").json
    assert again == found
    some = command("analyze", "run", *GRAPH, "--copies", 3, "--split", "per-class:5:5", "--seed", 1, "--json").json
    assert some["stability"]["nodes"] == 30
    words = command("analyze", "run", *GRAPH, "--copies", 3)
    assert words.code == 0 and "identifiability" in words.out and "dirichlet" in words.out


def test_evaluate_by_several_probes(trained, command):
    judged = ("--split", "per-class:5:5", "--probe", "linear-quick", "--seeds", 2)
    found = command("evaluate", "run", *GRAPH, *judged, "--json").json
    assert found["protocol"] == "over probe seeds (1 encoder × 2 probes)"
    assert (found["probe_seeds"], len(found["runs"][0])) == (2, 2)


def test_another_seed_drops_other_edges(trained, command):
    analyze = ("analyze", "run", *GRAPH, "--copies", 3, "--json")
    first, again, other = (command(*analyze, "--seed", seed).json["stability"] for seed in (0, 0, 1))
    assert first == again and first["matrix"] != other["matrix"]

"""What a run records about itself, and what must agree before it goes on."""

import json
import platform
import re
from dataclasses import replace
from pathlib import Path

import pytest
import torch

import signnap
from signnap import SIGNNAP, Compose, DropEdge, Graph, method_class
from signnap.errors import SignnapError
from signnap.methods.fit import check_resumable, choose_device
from signnap.methods.input_checks import described
from signnap.methods.settings import resolve
from signnap.train.run_folder import RunFolder
from signnap.train.run_info import RunInfo, hash_of_labels, peak_memory_mb


def test_facts_before_and_after(small_graph):
    before = RunInfo.of(small_graph)
    assert before.facts == {
        "signnap": signnap.__version__, "torch": torch.__version__, "python": platform.python_version(),
        "device": "cpu", "threads": torch.get_num_threads(), "graph": "small",
        "fingerprint": small_graph.fingerprint(), "num_nodes": 40, "num_edges": small_graph.num_edges,
        "num_features": 12, "num_classes": 3, "feature_names": [], "finished": False,
    }  # fmt: skip
    after = before.ended(7, 1.23456, {"loss": 2.0})
    assert after.finished and (after.iterations, after.seconds, after.facts["loss"]) == (7, 1.235, 2.0)
    assert after.peak_memory_mb > 50 and after.collapsed is None
    assert RunInfo.parse(json.dumps(after.facts), "run.json") == after
    assert before.ended(7, 1.0, {}, "constant").collapsed == "constant"


def test_peak_memory_is_the_kernel_s():
    status = Path("/proc/self/status")
    if not status.exists():
        pytest.skip("this system keeps no record of peak memory to compare with")
    kilobytes = int(next(line for line in status.read_text().splitlines() if line.startswith("VmHWM")).split()[1])
    assert peak_memory_mb(torch.device("cpu")) == pytest.approx(kilobytes / 1024, rel=0.05)


def test_devices(monkeypatch):
    assert choose_device("cpu") == torch.device("cpu")
    with pytest.raises(SignnapError, match=r"^device is 'gpu': expected auto, cpu or cuda$"):
        choose_device("gpu")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert choose_device("auto") == torch.device("cpu")
    with pytest.raises(SignnapError, match=r"^device is cuda, but torch finds no CUDA device here: use cpu$"):
        choose_device("cuda")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert choose_device("auto") == choose_device("cuda") == torch.device("cuda")


@pytest.mark.parametrize("name", ["raw", "propagated", "svd", "arwmf", "untrained"])
def test_what_has_no_use_for_a_setting_says_so(name, small_graph, caplog):
    width, unused = method_class(name)(dim=3).fit(small_graph).transform(small_graph).shape[1], "iterations, lr"
    with caplog.at_level("INFO", "signnap"):
        method_class(name)(dim=3, iterations=5, lr=0.5).fit(small_graph)
        method_class(name)().fit(small_graph)
    if width != 3:
        unused = f"dim, {unused}"
    assert caplog.messages == [f"{name} has no use for {unused}: it learns nothing by gradient"]


# -- resuming --------------------------------------------------------------------------------------------------------


@pytest.fixture
def stopped(small_graph, tmp_path):
    """A folder that holds the beginning of a run."""
    SIGNNAP(dim=8, negatives=16, iterations=3).fit(small_graph, out=tmp_path / "run")
    return RunFolder(tmp_path / "run")


def check(folder, graph, resume=True, extendable=True, **changes):
    settings = resolve({"dim": 8, "negatives": 16, "iterations": 3} | changes)
    check_resumable(folder, settings, RunInfo.of(graph), resume, extendable=extendable)


def test_the_same_run_may_go_on(stopped, small_graph):
    check(stopped, small_graph)
    check(stopped, small_graph, iterations=100)
    check(stopped, small_graph.without_labels())


def test_a_free_folder(small_graph, tmp_path):
    check(RunFolder(tmp_path / "new"), small_graph, resume=False)
    assert not (tmp_path / "new").exists()
    with pytest.raises(SignnapError, match=r"new holds no run to resume: it has no config\.toml$"):
        check(RunFolder(tmp_path / "new"), small_graph)


def test_a_folder_in_use(stopped, small_graph):
    with pytest.raises(
        SignnapError, match=r"run already holds a run: resume it \(--resume, resume=True\), or choose another folder$"
    ):
        check(stopped, small_graph, resume=False)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"dim": 16}, "run was trained with dim = 8, not 16: cannot resume"),
        ({"lr": 0.5}, "run was trained with lr = 0.001, not 0.5: cannot resume"),
        ({"objective": "infonce"}, "run was trained with objective = 'nce', not 'infonce': cannot resume"),
        ({"normalize_features": False}, "run was trained with normalize_features = True, not False: cannot resume"),
        ({"seed": 1}, "run was trained with seed = 0, not 1: cannot resume"),
    ],
)
def test_other_settings(change, sentence, stopped, small_graph):
    with pytest.raises(SignnapError) as caught:
        check(stopped, small_graph, **change)
    assert str(caught.value).endswith(sentence)


def test_a_setting_that_is_younger_than_the_run_was_at_its_default(stopped, small_graph):
    lines = stopped.config.read_text().splitlines(keepends=True)
    stopped.config.write_text("".join(line for line in lines if not line.startswith("clip = ")))
    check(stopped, small_graph)
    with pytest.raises(SignnapError, match=r"was trained with clip = 0\.0, not 1\.0: cannot resume$"):
        check(stopped, small_graph, clip=1.0)


def test_why_there_may_not_be_more_iterations(small_graph, tmp_path):
    constant, scheduled = RunFolder(tmp_path / "constant"), RunFolder(tmp_path / "scheduled")
    for folder, schedule in ((constant, "constant"), (scheduled, "cosine:0.1")):
        SIGNNAP(dim=8, negatives=16, iterations=3, schedule=schedule).fit(small_graph, out=folder.path)
    sentence = "was trained with iterations = 3, not 5: cannot resume, since {} depends on how many there will be"
    for folder, options, why in (
        (scheduled, {"schedule": "cosine:0.1"}, "the schedule cosine:0.1"),
        (constant, {"extendable": False}, "signnap"),
    ):
        check(folder, small_graph, **options)
        with pytest.raises(SignnapError, match=re.escape(sentence.format(why)) + "$"):
            check(folder, small_graph, iterations=5, **options)


def test_another_graph(stopped, small_graph):
    x = torch.rand(40, 12)
    other = Graph.from_edges(*small_graph.pattern.to_scipy().nonzero(), x, name="small")
    for graph in (other, small_graph.subgraph(torch.arange(39))):
        with pytest.raises(SignnapError, match=r"run was trained on another graph than small: cannot resume$"):
            check(stopped, graph)


def test_other_labels(small_graph, tmp_path):
    """Most methods never see them; one that learns from them goes on with the same, for the same nodes."""
    fit = lambda graph, iterations, split="per-class:4:4": method_class("supervised")(
        dim=8, split=split, iterations=iterations
    ).fit(graph, out=tmp_path, resume=iterations > 3)
    fit(small_graph, 3)
    facts = RunFolder(tmp_path).read_info().facts
    assert re.fullmatch("[0-9a-f]{16}", facts["labels"]) and facts["finished"]
    other = replace(small_graph, y=small_graph.y.roll(1))
    with pytest.raises(SignnapError, match=rf"^{tmp_path} was trained on other labels than those of small: cannot"):
        fit(other, 5)
    fit(small_graph, 5)
    del facts["labels"]
    RunFolder(tmp_path).write_facts(facts)  # a run that is older
    fit(other, 7)


def test_labels_are_recognised_with_the_nodes_that_they_are_of(small_graph):
    split = {"train": torch.arange(10), "val": torch.arange(10, 20)}
    graph = replace(small_graph, given_split=split)
    assert hash_of_labels(graph) == hash_of_labels(
        replace(graph, y=graph.y.int(), given_split=dict(reversed(split.items())))
    )
    swapped = replace(graph, given_split={"train": split["val"], "val": split["train"]})
    shuffled = replace(graph, y=graph.y.roll(1))
    assert len({hash_of_labels(each)["labels"] for each in (graph, small_graph, swapped, shuffled)}) == 4
    assert hash_of_labels(graph.without_labels()) == {}


def test_another_device(stopped, small_graph):
    facts = json.loads(stopped.facts.read_text())
    stopped.facts.write_text(json.dumps(facts | {"device": "cuda:1", "finished": False}))
    with pytest.raises(SignnapError, match=r"go on only there: resume it with device cuda, not cpu$"):
        check(stopped, small_graph)
    stopped.state.unlink()  # nothing was drawn yet
    check(stopped, small_graph)


@pytest.mark.parametrize(
    ("file", "text", "sentence"),
    [
        ("config", "# a comment\n\ndim = 8", "run was trained with negatives = 1024, not 16: cannot resume"),
        ("config", "dim = ", "is not a TOML file"),
        ("config", b"\xff\xfe", "is not a TOML file"),
        ("facts", "", "is not JSON"),
        ("facts", "{}", "does not describe a run"),
    ],
)
def test_a_folder_that_was_tampered_with(file, text, sentence, stopped, small_graph):
    getattr(stopped, file).write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(SignnapError, match=sentence):
        check(stopped, small_graph)


def test_comments_in_the_settings_do_no_harm(stopped, small_graph):
    stopped.config.write_text("# mine\n\n" + stopped.config.read_text())
    check(stopped, small_graph)


def test_a_model_without_its_state(stopped, small_graph):
    stopped.state.unlink()
    with pytest.raises(SignnapError, match=r"run holds a model without its training state: cannot resume$"):
        check(stopped, small_graph)


# -- a perturbation of one's own -------------------------------------------------------------------------------------


def clean(view, generator):
    return view


class Nothing:
    def __call__(self, view, generator):
        return view


@pytest.mark.parametrize(
    ("perturbation", "recorded"),
    [
        (DropEdge(0.25), "DropEdge(ratio=0.25, law='exact')"),
        (clean, "<function clean>"),
        (Nothing(), f"<{__name__}.Nothing object>"),
        (Compose(DropEdge(0.5), clean), "Compose(DropEdge(ratio=0.5, law='exact'), <function clean>)"),
    ],
)
def test_a_perturbation_of_one_s_own_is_recorded_and_must_stay(perturbation, recorded, small_graph, tmp_path):
    assert described(perturbation) == recorded
    sizes = {"dim": 8, "negatives": 16}
    SIGNNAP(**sizes, iterations=3, perturbation=perturbation).fit(small_graph, out=tmp_path)
    facts = RunFolder(tmp_path).read_info().facts
    assert (facts["perturbation"], facts["finished"]) == (recorded, True)
    for other, words in ((None, "that of its settings"), (DropEdge(0.75), "DropEdge(ratio=0.75, law='exact')")):
        sentence = f"{tmp_path} was trained with another perturbation ({recorded}, not {words}): cannot resume"
        with pytest.raises(SignnapError, match=f"^{re.escape(sentence)}$"):
            SIGNNAP(**sizes, iterations=5, perturbation=other).fit(small_graph, out=tmp_path, resume=True)
    longer = SIGNNAP(**sizes, iterations=5, perturbation=perturbation).fit(small_graph, out=tmp_path, resume=True)
    assert longer.outcome_.iteration == 5
    assert (
        RunFolder(tmp_path).read_info().facts["perturbation"]
        == recorded
        == SIGNNAP.load(tmp_path).info_.facts["perturbation"]
    )


def test_a_perturbation_of_one_s_own_is_not_forgotten_for_the_settings_one(stopped, small_graph):
    with pytest.raises(SignnapError, match=r"another perturbation \(that of its settings, not <function clean>\)"):
        SIGNNAP(dim=8, negatives=16, iterations=5, perturbation=clean).fit(small_graph, out=stopped.path, resume=True)

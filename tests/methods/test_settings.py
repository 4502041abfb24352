"""Settings: the paper's values for every backbone and data set, and one sentence for whatever cannot be a setting."""

import inspect
import subprocess
import sys
from dataclasses import asdict, fields

import pytest

from signnap import SIGNNAP
from signnap.config import build, read_toml, to_toml
from signnap.data.public import DATASETS
from signnap.errors import SignnapError
from signnap.methods import capabilities
from signnap.methods.settings import (
    METHODS,
    Settings,
    preset_names,
    probe_weight_decay,
    resolve,
)
from signnap.registry import ENCODERS

# -- the paper's preset ----------------------------------------------------------------------------------------------

#: Spec §2.1, §2.4 and §2.5: what all runs share.
COMMON = {
    "drop_edge": 0.3, "drop_law": "exact", "mask_features": 0.0, "noise": "none", "objective": "nce",
    "negatives": 1024, "temperature": 0.1, "momentum": 0.5, "lr": 0.001, "iterations": 5000,
    "normalize_features": True,
}  # fmt: skip

#: Spec §2.3 and §2.5: width, layers, dropout, weight decay.
ENCODER = {
    "gcn": (128, 2, 0.5, 0.005),
    "resgcn": (128, 3, 0.5, 0.005),
    "jknet": (128, 3, 0.5, 0.005),
    "sage": (128, 2, 0.5, 0.0005),
    "gat": (64, 2, 0.6, 0.0005),
    "gcn-original": (128, 2, 0.5, 0.005),  # not in the paper: as its relative there
    "gat-original": (64, 2, 0.6, 0.0005),
}

#: Spec §1: edge and self-loop as stored, and what training may see.
GRAPH = {
    "pubmed": (1.0, 0.0, "none"),
    "cora": (1.0, 0.0, "none"),
    "citeseer": (1.0, 0.0, "none"),
    "facebook": (2.0, 3.0, "none"),
    "coauthor_cs": (1.0, 1.0, "none"),
    "coauthor_physics": (1.0, 1.0, "inductive:paper"),
    "amazon_computers": (1.0, 1.0, "none"),
    "amazon_photo": (1.0, 1.0, "none"),
    None: (1.0, 1.0, "none"),
}
AMAZON = ("amazon_computers", "amazon_photo")


@pytest.mark.parametrize("dataset", GRAPH)
@pytest.mark.parametrize("backbone", ENCODER)
def test_the_paper_s_values(backbone, dataset):
    dim, layers, dropout, weight_decay = ENCODER[backbone]
    edge_value, loop_value, split = GRAPH[dataset]
    expected = {
        **COMMON, "method": "signnap", "backbone": backbone, "dim": dim, "layers": layers, "dropout": dropout,
        "weight_decay": 0.0 if dataset in AMAZON else weight_decay, "edge_value": edge_value,
        "loop_value": loop_value, "split": split,
    }  # fmt: skip
    if backbone.startswith("gat"):
        expected["heads"] = 8
    found = asdict(resolve({"backbone": backbone}, dataset=dataset))
    assert {name: found[name] for name in expected} == expected
    assert found == asdict(SIGNNAP(backbone).settings_for(dataset))


def test_the_tables_are_complete():
    assert set(GRAPH) - {None} == set(DATASETS)
    assert set(ENCODER) == set(ENCODERS)
    assert METHODS.keys() == {row["name"] for row in capabilities()}
    assert preset_names() == ["paper"]


def test_to_resolve_settings_does_not_change_the_preset():
    resolve_all = lambda: [resolve({"method": method}, dataset=graph) for method in METHODS for graph in GRAPH]
    first = resolve_all()
    changed = [resolve({"method": method, "dim": 8, "seed": 7}) for method in METHODS if method != "raw"]
    assert {settings.seed for settings in changed} == {7} and resolve_all() == first


@pytest.mark.parametrize("dataset", GRAPH)
def test_the_probe_s_weight_decay(dataset):
    assert probe_weight_decay(str(dataset)) == (0.0 if dataset in AMAZON else 0.0005)


def test_the_user_s_changes_win():
    settings = resolve({"backbone": "gat", "dim": 16, "weight_decay": 1, "loop_value": 0}, dataset="amazon_photo")
    assert (settings.dim, settings.weight_decay, settings.loop_value) == (16, 1.0, 0.0)
    assert settings.dropout == 0.6
    assert isinstance(settings.weight_decay, float)


def test_defaults_are_the_paper_s_for_a_gcn():
    assert Settings() == resolve({})


# -- what cannot be a setting ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"dims": 3}, "the settings: unknown setting 'dims', did you mean 'dim'? Known: "),
        ({"learning": 3}, "the settings: unknown setting 'learning'"),
        ({"method": "dgi", "layrs": 3}, "the settings: unknown setting 'layrs', did you mean 'layers'? Known: "),
        (
            {"method": "dgi", "negatives": 8},
            "the settings: unknown setting 'negatives': dgi has no such setting. Known: clip, ",
        ),
        ({"dim": "wide"}, "the settings: dim is 'wide': expected a whole number"),
        ({"dim": 8.0}, "the settings: dim is 8.0: expected a whole number"),
        ({"dim": True}, "the settings: dim is True: expected a whole number"),
        ({"lr": "fast"}, "the settings: lr is 'fast': expected a number"),
        ({"lr": False}, "the settings: lr is False: expected a number"),
        ({"normalize_features": 1}, "the settings: normalize_features is 1: expected true or false"),
        ({"noise": 0.1}, "the settings: noise is 0.1: expected text"),
        ({"backbone": ["gcn"]}, "the settings: backbone is ['gcn']: expected text"),
        ({"backbone": "jknt"}, f"unknown backbone 'jknt', did you mean 'jknet'? Known: {', '.join(sorted(ENCODERS))}"),
        ({"objective": "infonec"}, "unknown objective 'infonec', did you mean 'infonce'? Known: infonce, nce"),
        ({"method": ["dgi"]}, "unknown method ['dgi']"),
        ({"method": "signap"}, "unknown method 'signap', did you mean 'signnap'? Known: arwmf, bgrl, cca-ssg, "),
        ({"split": "paper"}, "split is 'paper': expected none, or inductive:SPLIT to hide the judged nodes"),
        ({"split": "transductive:paper"}, "split is 'transductive:paper': expected none, or inductive:SPLIT"),
        ({"dim": 0}, "dim is 0: expected a whole number of at least 1"),
        ({"layers": -1}, "layers is -1: expected a whole number of at least 1"),
        ({"heads": 0}, "heads is 0: expected"),
        ({"negatives": 0}, "negatives is 0: expected"),
        ({"iterations": 0}, "iterations is 0: expected"),
        ({"lr": 0}, "lr is 0.0: expected a positive number"),
        ({"lr": float("nan")}, "lr is nan: expected a positive number"),
        ({"lr": float("inf")}, "lr is inf: expected a positive number"),
        ({"temperature": -1}, "temperature is -1.0: expected a positive number"),
        ({"edge_value": 0}, "edge_value is 0.0: expected a positive number"),
        ({"dropout": 1.1}, "dropout is 1.1: expected a number from 0 to 1"),
        ({"drop_edge": 2}, "drop_edge is 2.0: expected a number from 0 to 1"),
        ({"mask_features": float("nan")}, "mask_features is nan: expected a number from 0 to 1"),
        ({"momentum": -0.1}, "momentum is -0.1: expected a number from 0 to 1"),
        ({"weight_decay": -1}, "weight_decay is -1.0: expected a finite number of at least 0"),
        ({"weight_decay": float("nan")}, "weight_decay is nan: expected"),
        ({"loop_value": -1}, "loop_value is -1.0: expected a finite number of at least 0"),
        ({"share": -1}, "share is -1: expected"),
        ({"seed": -1}, "seed is -1: expected"),
        ({"init": "author"}, "init is 'author': expected seed, nudged, or authors:C with the number of classes C"),
        ({"init": "authors"}, "init is 'authors': expected seed, nudged, or"),
        ({"init": "authors:0"}, "init is 'authors:0': expected"),
        ({"init": "authors:-3"}, "init is 'authors:-3': expected"),
        ({"init": "authors:" + "9" * 5000}, "init is 'authors:999"),
        ({"init": "authors:3", "layers": 1}, "init is authors:3 for gcn with 1 layers: expected gat, gcn, jknet,"),
        ({"init": "authors:3", "backbone": "gcn-original"}, "init is authors:3 for gcn-original with 2 layers: exp"),
    ],
)
def test_one_sentence(changes, sentence):
    with pytest.raises(SignnapError) as caught:
        resolve(changes)
    assert str(caught.value).startswith(sentence)
    assert "\n" not in str(caught.value)


def test_an_unknown_preset():
    with pytest.raises(SignnapError, match=r"^unknown preset 'papr', did you mean 'paper'\? Known: paper$"):
        resolve({}, preset="papr")


def test_the_file_at_fault_is_named():
    with pytest.raises(SignnapError, match=r"^mine\.toml: unknown setting 'dims'"):
        resolve({"dims": 3}, origin="mine.toml")


# -- in and out ------------------------------------------------------------------------------------------------------


def test_toml_round_trip(tmp_path):
    settings = resolve(
        {"backbone": "gat", "noise": "gaussian:0.02", "normalize_features": False, "lr": 1e-5, "seed": 7}
    )
    path = tmp_path / "config.toml"
    path.write_text(to_toml(settings))
    assert build(Settings, read_toml(path), str(path)) == settings


def test_python_names_every_setting():
    parameters = inspect.signature(SIGNNAP).parameters
    assert next(iter(parameters)) == "backbone"
    assert {field.name for field in fields(Settings)} | {"perturbation", "preset"} == set(parameters)


def test_settings_need_no_torch():
    code = "import sys; from signnap.methods.settings import resolve; resolve({}); print('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "False"

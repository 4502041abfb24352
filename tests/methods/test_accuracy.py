"""What every method has to beat on the generated graph after brief training."""

from functools import cache

import pytest

from signnap import load_graph, make_split, method_class
from signnap.evaluate.models import judged
from signnap.registry import METHODS

#: Enough to learn something on the generated graph in a second or two; rates are higher than anybody's, for brevity.
BRIEF = {"dim": 32, "hidden": 32, "projector": 32, "iterations": 60, "lr": 0.005}
#: Where less would not do, or more would take too long.
CHANGES = {
    "signnap": {"iterations": 300, "negatives": 128},
    "deepwalk": {"iterations": 150, "lr": 0.02, "length": 40, "walks": 5},
    "node2vec": {"iterations": 150, "lr": 0.02, "length": 40, "walks": 5},
    "grace": {"iterations": 30},
    "gca": {"iterations": 30},
    "bgrl": {"iterations": 40},
}
#: What each has to beat, by ten points: features as they are, or an untrained encoder.
RAW = ["supervised", "dropedge", "arwmf", "dgi", "cmv", "gcc-attributed", "grace", "gca", "g-bt", "cca-ssg", "bgrl"]
RAW += ["steady", "diffused-svd"]
UNTRAINED = ["signnap", "deepwalk", "node2vec", "graphmae"]
#: What has to beat neither, and why.
EXEMPT = {
    "gcc": "reads structure alone, which in this graph says nothing about communities",
    "raw": "is what others have to beat",
    "untrained": "is what others have to beat",
    "svd": "learns nothing: the raw features in fewer columns",
    "propagated": "learns nothing: the raw features, averaged",
}


@pytest.fixture(scope="module")
def accuracy():
    """Test accuracy of a briefly trained model on the generated graph."""
    graph = load_graph("synthetic")
    parts = make_split(graph, "per-class:20:30")

    @cache
    def accuracy(name):
        kind = method_class(name)
        chosen = {k: v for k, v in BRIEF.items() if k in kind.parameters()} | CHANGES.get(name, {})
        if kind.uses_labels:
            chosen |= {"split": "per-class:20:30", "lr": 0.01}
        model = kind(**chosen).fit(graph, stop_on_collapse=False)
        return judged([model], graph, parts, probe="logistic").accuracy.mean

    return accuracy


def test_every_method_has_something_to_beat():
    placed = [*RAW, *UNTRAINED, *EXEMPT]
    assert set(METHODS) - set(placed) == set(), "in one of RAW, UNTRAINED and EXEMPT"
    assert sorted(placed) == sorted(METHODS), "once, and nothing else"


@pytest.mark.parametrize("name", RAW)
def test_better_than_raw_features(name, accuracy):
    assert accuracy(name) > accuracy("raw") + 10


@pytest.mark.parametrize("name", UNTRAINED)
def test_better_than_an_untrained_encoder(name, accuracy):
    assert accuracy(name) > accuracy("untrained") + 10

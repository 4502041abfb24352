"""Judge models, or embeddings of any origin, on a graph: accuracy beside three trivial baselines, and stability."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import asdict
from itertools import count
from typing import Any

import numpy as np
import torch
from torch import Tensor

from .. import rng
from ..data.load import load_graph
from ..data.splits import Split, make_split, parse_split
from ..errors import SignnapError
from ..graph import Graph, row_normalized
from ..graph.arrays import Array, as_tensor
from ..methods.base import Method
from ..methods.settings import probe_weight_decay
from ..methods.signnap import SIGNNAP
from ..perturb.edges import DropEdge
from ..train.progress import Report, silent
from .inputs import labelled_parts
from .properties import identifiability, smoothness, stability
from .score import Score, score, score_classes, score_most_frequent

_log = logging.getLogger(__name__)


def judge(
    subjects: Sequence[Method | Tensor],
    graph: Graph,
    *,
    split: str = "paper",
    probe: str = "linear",
    seeds: int = 5,
    dropped: bool = False,
    report: Report = silent,
) -> dict[str, Any]:
    """Score the subjects, one per encoder seed, and three baselines: raw features, an untrained encoder, one class.

    Networks that were trained on labels are their own classifiers, and must have been trained with this split. With
    ``dropped`` the probe is trained on freshly dropped graphs, as the authors do for GraphSAGE and GAT. ``report`` is
    called between the first three judgements; the last takes no time.
    """
    parts = make_split(graph, split)
    main = score_models(subjects, graph, parts, probe=probe, probe_seeds=seeds, dropped=dropped)
    options: dict[str, Any] = {"probe": probe, "seeds": range(seeds)}
    report(1, "next: raw features")
    normalized = _normalizes(subjects)
    features = row_normalized(graph.x) if normalized else graph.x
    baselines = {"raw features": score([features], *_nodes(graph, parts), **options | _decay(graph))}
    report(2, "next: an untrained encoder")
    untrained = [_blank(subject, number).untrained(graph) for number, subject in enumerate(subjects)]
    baselines["untrained encoder"] = judged(untrained, graph, parts, **options)
    baselines["most frequent class"] = score_most_frequent(*_nodes(graph, parts))
    return {
        "graph": graph.name,
        "split": parts.name,
        "features": "rows divided by their sum" if normalized else "as given",
        **_public(main),
        "baselines": {name: _public(result) for name, result in baselines.items()},
    }


def score_models(
    models: Sequence[Method | Array],
    graph: Any,
    split: str | Split = "paper",
    *,
    probe: str = "linear",
    probe_seeds: int = 5,
    dropped: bool = False,
) -> Score:
    """Score fitted models of one or more encoder seeds, or their embeddings, exactly as ``signnap evaluate`` does.

    ``score`` sees arrays only; this function knows the graph, too. The probe has the weight decay that the paper uses
    for this graph. In the inductive setting the training rows come from the training nodes and their edges alone.
    Networks that were trained on labels are their own classifiers. Embeddings are used as given. With ``dropped`` the
    probe is trained on freshly dropped graphs, as the authors do for GraphSAGE and GAT.

    >>> from signnap import SIGNNAP, load_graph, score_models
    >>> graph = load_graph("synthetic")
    >>> models = SIGNNAP(dim=8, negatives=16, iterations=2).fit_seeds(graph, [0, 1])
    >>> score_models(models, graph, "inductive:per-class:20:30", probe="linear-quick", probe_seeds=2).protocol
    'over encoder seeds (2 encoders × 2 probes)'
    """
    graph, subjects = load_graph(graph), _subjects(models)
    if not isinstance(probe_seeds, (int, np.integer)) or probe_seeds < 1:
        raise SignnapError(f"probe_seeds is {probe_seeds!r}: expected a whole number from 1 on")
    fitted = [subject for subject in subjects if isinstance(subject, Method)]
    _expect_seeds_of_one_model(fitted)
    parts = _parts(graph, split)
    _note_other_split(fitted, parts)
    _note_mixture(subjects)
    return judged(subjects, graph, parts, dropped=dropped, probe=probe, seeds=range(probe_seeds))


def judged(
    subjects: Sequence[Method | Tensor], graph: Graph, parts: Split, *, dropped: bool = False, **options: Any
) -> Score:
    """Score the subjects without baselines; ``options`` are those of ``score``."""
    if _trained_on_labels(subjects, graph, parts):
        assert graph.y is not None  # make_split needs labels
        return score_classes(embedded(subjects, graph, parts), graph.y, parts.val, parts.test)
    resample = [_redrawn(subject, graph, parts) for subject in subjects] if dropped else None
    rows = embedded(subjects, graph, parts, place=None if dropped else "cpu")
    return score(rows, *_nodes(graph, parts), resample=resample, **options | _decay(graph))


def _subjects(models: Sequence[Method | Array]) -> list[Method | Tensor]:
    """Check that models are fitted, and convert anything else to tensors."""
    if isinstance(models, (Method, Tensor, np.ndarray, str)) or not isinstance(models, Sequence):
        raise SignnapError("expected a list with the models, or the embeddings, of one or more encoder seeds")
    for model in models:
        if isinstance(model, Method) and not model.__sklearn_is_fitted__():
            raise SignnapError(f"a {type(model).__name__} among the models is not fitted yet: call fit first")
    return [model if isinstance(model, Method) else as_tensor(model, "embeddings") for model in models]


def _parts(graph: Graph, split: str | Split) -> Split:
    """Return the split of that name, or the given one after the checks of the probe: users make their own."""
    if isinstance(split, str):
        return make_split(graph, split)
    if not isinstance(split, Split):
        raise SignnapError(f"split is {split!r}: expected the name of a split, or what make_split returns")
    labelled_parts(torch.ones(graph.num_nodes, 1), graph.y, split.train, split.val, split.test)
    train, val, test = (as_tensor(part) for part in (split.train, split.val, split.test))
    return Split(train, val, test, split.name, split.inductive)


def _expect_seeds_of_one_model(models: Sequence[Method]) -> None:
    """Refuse runs that are not encoder seeds of one model: one run twice, or different settings."""
    if len({model.info_.fingerprint for model in models}) > 1:
        raise SignnapError("the runs were not trained on one and the same graph: judge them one graph at a time")
    own = lambda model: {name: model.info_.facts[name] for name in model.own_parts if name in model.info_.facts}
    recipes = [asdict(model.settings_) | own(model) for model in models]
    for recipe in recipes[1:]:
        for name in [*recipes[0], *recipe]:
            values = recipes[0].get(name), recipe.get(name)
            if name != "seed" and values[0] != values[1]:
                raise SignnapError(
                    f"the runs differ in more than their seed, {name} is {values[0]!r} and {values[1]!r}: "
                    "judge them one kind at a time"
                )
    seeds = [recipe["seed"] for recipe in recipes]
    for seed in seeds:
        if seeds.count(seed) > 1:
            raise SignnapError(f"{seeds.count(seed)} of the runs are of encoder seed {seed}: expected each seed once")


def _normalizes(subjects: Sequence[Method | Tensor]) -> bool:
    """Whether all models saw normalised features, which is the default."""
    return all(subject.settings_.normalize_features for subject in subjects if isinstance(subject, Method))


def _note_other_split(models: Sequence[Method], parts: Split) -> None:
    """Log that training hid other nodes than those of this split."""
    for split in sorted({model.settings_.split for model in models}):
        rule, hidden = parse_split(split)
        if hidden and rule != parse_split(parts.name)[0]:
            _log.info("training hid the nodes that %s judges, but the split is %s", split, parts.name)


def _note_mixture(subjects: Sequence[Method | Tensor]) -> None:
    """Log that the subjects cannot be seeds of one model: models beside embeddings, or different widths."""
    words = "%s are judged together, but count as encoder seeds of one model"
    if len({isinstance(subject, Method) for subject in subjects}) > 1:
        _log.info(words, "models and bare embeddings")
    shapes = {tuple(subject.shape[1:]) for subject in subjects if isinstance(subject, Tensor)}
    if len(shapes) > 1:
        widths = " and ".join(str(width) for shape in sorted(shapes) for width in shape)
        _log.info(words, f"embeddings of {widths} columns")


def _nodes(graph: Graph, parts: Split) -> tuple[Any, ...]:
    return graph.y, parts.train, parts.val, parts.test


def _decay(graph: Graph) -> dict[str, float]:
    return {"weight_decay": probe_weight_decay(graph.name)}


def _public(result: Score) -> dict[str, Any]:
    spread = lambda summary: {"mean": summary.mean, "std": summary.std}
    return {
        "accuracy": spread(result.accuracy),
        "balanced_accuracy": spread(result.balanced_accuracy),
        "val_accuracy": spread(result.val_accuracy),
        "protocol": result.protocol,
        "probe": result.probe,
        "encoder_seeds": result.encoder_seeds,
        "probe_seeds": result.probe_seeds,
        "runs": result.runs,
    }


def _blank(subject: Method | Tensor, number: int) -> Method:
    """Return the model that gives the untrained baseline: the subject itself, or a GCN where it does not train."""
    if isinstance(subject, Tensor):
        return SIGNNAP(dim=subject.shape[1], seed=number)
    own = subject.trains and subject.inductive and not subject.uses_labels
    return subject if own else SIGNNAP(seed=number)


def _trained_on_labels(subjects: Sequence[Method | Tensor], graph: Graph, parts: Split) -> bool:
    """Whether the subjects were trained on labels; such models may be judged on their own split only."""
    labelled = [subject for subject in subjects if isinstance(subject, Method) and subject.uses_labels]
    if labelled and len(labelled) < len(subjects):
        raise SignnapError("some of the models were trained on labels and some were not: judge them one kind at a time")
    for model in labelled:
        if parse_split(model.settings_.split)[0] != parse_split(parts.name)[0]:
            raise SignnapError(
                f"the model was trained on labels of the split {model.settings_.split}: expected that one"
            )
        if not torch.equal(make_split(graph, model.settings_.split).test, parts.test):
            raise SignnapError(f"the model saw labels of another {parts.name}: expected the split as seed 0 draws it")
    return bool(labelled)


def embedded(
    subjects: Sequence[Method | Tensor], graph: Graph, parts: Split, *, place: str | None = "cpu"
) -> list[Tensor]:
    """Return the rows for the probe, on the CPU beside the labels; without ``place``, on the device that embeds.

    In the inductive setting training rows come from the training subgraph, unless the method can only embed the graph
    that it was trained on.
    """
    seen = parts.training_graph(graph) if parts.inductive else None

    def rows(model: Method) -> Tensor:
        z = model.embed(graph)
        if seen is not None and model.inductive:
            return z.index_copy(0, parts.train.to(z.device), model.embed(seen))
        return z

    found = [subject if isinstance(subject, Tensor) else rows(subject) for subject in subjects]
    return found if place is None else [z.to(place) for z in found]


def _redrawn(model: Method | Tensor, graph: Graph, parts: Split) -> Callable[[], Tensor]:
    """Return a function that embeds a freshly dropped graph, on its device; the probe calls it once per epoch."""
    if not isinstance(model, SIGNNAP):
        found = f"a run of {model.name}" if isinstance(model, Method) else "a tensor"
        raise SignnapError(f"the probe on dropped graphs is SIGNNAP's, but {found} was given")
    seen = parts.training_graph(graph)
    view = model.view(seen)
    source = rng.generator(model.settings_.seed, "probe views", view.stored.device)
    drop = DropEdge(model.settings_.drop_edge, model.settings_.drop_law)

    def draw() -> Tensor:
        z = model.embed_view(drop(view, source))
        if not parts.inductive:
            return z
        return z.new_zeros(graph.num_nodes, z.shape[1]).index_copy_(0, parts.train.to(z.device), z)

    return draw


# -- stability, smoothness, identifiability --------------------------------------------------------------------------


def properties(
    model: Method,
    graph: Graph,
    *,
    drop_edge: float = 0.3,
    copies: int = 10,
    seed: int = 0,
    nodes: Tensor | None = None,
    report: Report = silent,
) -> dict[str, Any]:
    """Measure stability, smoothness and identifiability of a model on copies of the graph with dropped edges.

    ``nodes`` restricts stability to these nodes. ``report`` is called after each of the ``copies`` + 2 embeddings of
    dropped copies. Smoothness is measured on the whole graph.
    """
    view, drawn, made = model.view(graph), dropped_copies(model, graph, drop_edge, seed), count(1)

    def draw() -> Tensor:
        z = drawn()
        report(next(made))
        return z

    return {
        "stability": asdict(stability(draw, copies=copies, nodes=nodes)),
        "smoothness": asdict(smoothness(model.embed_view(view), view.pattern, rng.generator(seed, "pairs"))),
        "identifiability": asdict(identifiability(draw(), draw(), rng.generator(seed, "sample"))),
    }


def dropped_copies(model: Method, graph: Graph, drop_edge: float, seed: int) -> Callable[[], Tensor]:
    """A function that drops edges of the graph and embeds it at every call."""
    view = model.view(graph)
    drop, source = DropEdge(drop_edge), rng.generator(seed, "analysis views", view.stored.device)
    return lambda: model.embed_view(drop(view, source))

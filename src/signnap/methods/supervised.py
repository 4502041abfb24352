"""Networks trained on labels: the encoders of the SIGNNAP paper, with dropped edges (DropEdge) or without.

DropEdge: https://arxiv.org/abs/1907.10903.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from .. import rng
from ..data.splits import make_split
from ..encoders.wrap import build_encoder
from ..errors import SignnapError
from ..graph import Graph, View
from ..interfaces import Encoder, Perturbation, Step, Task, region
from ..perturb.compose import build_perturbation
from ..registry import ENCODERS
from .base import Method, Sizes, clean_view
from .settings import BaseSettings


@dataclass(frozen=True)
class SupervisedSettings(BaseSettings):
    """A network trained on labels. ``split`` says whose labels, ``drop_edge`` the share of edges to drop."""

    method: str = "supervised"
    backbone: str = "gcn"
    layers: int = 2
    dropout: float = 0.5
    heads: int = 8
    drop_edge: float = 0.0
    iterations: int = 1000
    patience: int = 400
    lr: float = 0.003
    weight_decay: float = 0.005
    split: str = "paper"

    def _expect_split(self) -> None:
        if self.split == "none":
            raise SignnapError("split is 'none': expected the split whose labels are for training, such as paper")


@dataclass(frozen=True)
class DropEdgeSettings(SupervisedSettings):
    """A network trained on labels that drops other edges in every iteration."""

    method: str = "dropedge"
    drop_edge: float = 0.3


class Supervised(Method):
    """Trains a backbone on the labels of a split; its class scores are the embeddings and its own classifier."""

    name = "supervised"
    uses_labels = True

    def training_view(self, graph: Graph, split: str) -> Graph:
        """The whole graph without the labels of test nodes. ``given_split`` names the nodes that the loss may use."""
        parts = make_split(graph, split)
        assert graph.y is not None  # a graph without labels has no split
        if len(graph.y[parts.train].unique()) < 2:
            raise SignnapError(f"all training nodes of {graph.name} have one class: {self.name} needs at least two")
        labelled = torch.cat([parts.train, parts.val])
        known = torch.full_like(graph.y, -1).index_copy_(0, labelled, graph.y[labelled])
        seen = parts.train if parts.inductive else torch.arange(graph.num_nodes)
        return replace(graph, y=known, given_split={"train": parts.train, "val": parts.val, "seen": seen})

    def build_encoder(self, settings: SupervisedSettings, sizes: Sizes) -> Classifier:
        if sizes.num_classes < 1:
            raise SignnapError(f"{self.name} learns from labels, but the graph has none")
        heads = settings.heads if ENCODERS.find(settings.backbone).multi_head else 1
        backbone = build_encoder(
            settings.backbone, in_dim=sizes.num_features, dim=settings.dim, layers=settings.layers,
            dropout=settings.dropout, heads=settings.heads, out_dim=sizes.num_classes * heads,
        )  # fmt: skip
        return Classifier(backbone, heads)

    def build_task(self, settings: SupervisedSettings, graph: Graph, view: View, encoder: Encoder) -> Classification:
        return Classification(graph, view, settings, encoder, build_perturbation(settings.drop_edge, "exact"))


class DropEdgeSupervised(Supervised):
    """As supervised, but drops other edges in every iteration, and none in validation (DropEdge)."""

    name = "dropedge"


class Classifier(Encoder):
    """An encoder whose output is one score per class: the mean over ``heads``."""

    def __init__(self, backbone: Encoder, heads: int) -> None:
        super().__init__()
        self.backbone, self.heads = backbone, heads

    def forward(self, view: View) -> Tensor:
        scores = self.backbone(view)
        return scores if self.heads == 1 else scores.unflatten(1, (self.heads, -1)).mean(dim=1)


class Classification(Task):
    """Minimise cross-entropy on the training nodes; the best iteration has the lowest one on the validation nodes.

    Validation uses the clean graph, and the weights with which the iteration starts. In an inductive split, training
    reads the edges between training nodes only, and validation reads all edges.
    """

    def __init__(
        self, graph: Graph, view: View, settings: SupervisedSettings, encoder: Encoder, drop: Perturbation
    ) -> None:
        if graph.y is None or graph.given_split is None:
            raise SignnapError(f"{settings.method} needs the labels of a split: {graph.name} has none")
        place = graph.pattern.device
        train, val, seen = (graph.given_split[part] for part in ("train", "val", "seen"))
        self.view, self.drop, self.allow_tf32 = view, drop, settings.allow_tf32
        self.seen, self.train = self.view, train.to(place)
        if len(seen) < graph.num_nodes:  # nodes in the order of ``train``
            self.seen = clean_view(graph.subgraph(seen).to(place), settings)
            self.train = torch.arange(len(train), device=place)
        self.val, self.labels = val.to(place), (graph.y[train].to(place), graph.y[val].to(place))
        self.generators = rng.generators(settings.seed, ("views", "layers"), place)
        self.modules = nn.ModuleDict({"encoder": encoder.to(place)})

    def step(self) -> Step:
        encoder, (train, val) = self.modules["encoder"], self.labels
        with region("validation"), torch.no_grad():
            chosen = encoder.eval()(self.view).index_select(0, self.val)
            encoder.train()
        with region("views"):
            view = self.drop(self.seen, self.generators["views"])
        with region("encoder"), rng.as_default(self.generators["layers"]):
            scores = encoder(view)
        judged = scores.index_select(0, self.train)
        loss, val_loss = cross_entropy(judged, train), cross_entropy(chosen, val)
        numbers = {
            "loss": loss.detach(), "val_loss": val_loss, "accuracy": _accuracy(judged, train),
            "val_accuracy": _accuracy(chosen, val),
        }  # fmt: skip
        return Step(loss, numbers, watched=val_loss)


def _accuracy(scores: Tensor, y: Tensor) -> Tensor:
    return (scores.detach().argmax(dim=1) == y).float().mean()

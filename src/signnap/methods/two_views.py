"""The task of SIGNNAP and its relatives: two perturbed views, one encoder, one objective."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import torch
from torch import Tensor, nn

from .. import rng
from ..errors import SignnapError
from ..graph import Graph, View
from ..interfaces import Encoder, Objective, Perturbation, Step, Task, Terms, region
from ..ops.geometry import alignment
from ..perturb.compose import build_perturbation
from .base import Method
from .input_checks import changes, expect_embeddings, expect_terms, expect_view
from .settings import BaseSettings


class TwoViews(Task):
    """Embed two perturbed views of the graph and minimise an objective of the two embeddings."""

    def __init__(
        self,
        view: View,
        encoder: Encoder,
        objective: Objective,
        perturbations: tuple[Perturbation, Perturbation],
        seed: int,
        allow_tf32: bool = False,
    ) -> None:
        self.view, self.perturbations, self.allow_tf32 = view, perturbations, allow_tf32
        device = view.stored.device
        self.generators = rng.generators(seed, ("views", "negatives", "layers", "objective"), device)
        self.encoder, self.objective = encoder.to(device), objective.to(device)
        self.modules = nn.ModuleDict({"encoder": self.encoder, "objective": self.objective})
        # A module that learns its sizes from its first input draws its weights here.
        with torch.no_grad(), rng.as_default(rng.generator(seed, "sizes", device)):
            z = self.encoder.eval()(view)
        expect_embeddings(z, view)
        self.objective.prepare(view.pattern.num_nodes, z.shape[1], rng.generator(seed, "bank", device))
        self.untouched = changes(view)

    def step(self) -> Step:
        with region("views"):
            views = [self._perturbed(perturb) for perturb in self.perturbations]
        with region("encoder"), rng.as_default(self.generators["layers"]):
            z1, z2 = self.encoder.encode(views)
        with region("contrast"), rng.as_default(self.generators["objective"]):
            terms = self.compare(views, z1, z2)
            expect_terms(terms)
        return Step(terms.total, terms.numbers(), (z1.detach(), z2.detach(), terms.detached()))

    def _perturbed(self, perturb: Perturbation) -> View:
        found = perturb(self.view, self.generators["views"])
        expect_view(found, self.view)
        if changes(self.view) != self.untouched:
            raise SignnapError("the perturbation wrote to the view that it was given: expected a changed copy")
        return found

    def compare(self, views: Sequence[View], z1: Tensor, z2: Tensor) -> Terms:
        """The objective of the embeddings of the two views."""
        return self.objective(z1, z2, self.generators["negatives"])

    def advance(self, step: Step) -> None:
        self.objective.update(*step.outputs)

    def describe(self, step: Step, encoder: nn.Module) -> dict[str, float]:
        z1, z2, _ = step.outputs
        return {"alignment": alignment(z1, z2)} | super().describe(step, encoder)


@dataclass(frozen=True)
class TwoViewSettings(BaseSettings):
    """Two corrupted views of the graph and a convolutional encoder.

    The first view drops every stored entry with probability ``drop_edge`` and masks every feature column with
    probability ``mask_features``; the second one uses ``drop_edge_2`` and ``mask_features_2``.
    """

    activation: str = "relu"
    drop_edge: float = 0.3
    drop_edge_2: float = 0.4
    mask_features: float = 0.1
    mask_features_2: float = 0.0


S = TypeVar("S", bound=TwoViewSettings)


class TwoViewMethod(Method, Generic[S]):
    """A method that corrupts each view at its own rates. A subclass defines the encoder and the objective."""

    def objective(self, settings: S) -> Objective:
        """The loss of two embeddings of the same nodes."""
        raise NotImplementedError

    def perturbations(self, settings: S) -> tuple[Perturbation, Perturbation]:
        """The corruption of each view, uniform over entries and over columns."""
        rates = (settings.drop_edge, settings.mask_features), (settings.drop_edge_2, settings.mask_features_2)
        first, second = (build_perturbation(drop, "bernoulli", mask) for drop, mask in rates)
        return first, second

    def parts(self, settings: S, view: View, encoder: Encoder) -> tuple[Any, ...]:
        """The arguments of ``TwoViews``."""
        return view, encoder, self.objective(settings), self.perturbations(settings), settings.seed, settings.allow_tf32

    def build_task(self, settings: S, graph: Graph, view: View, encoder: Encoder) -> TwoViews:
        return TwoViews(*self.parts(settings, view, encoder))

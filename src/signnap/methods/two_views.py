"""The task of SIGNNAP and its kin: two perturbed views, one encoder, one objective."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from .. import rng
from ..errors import SignnapError
from ..graph import View
from ..interfaces import Encoder, Objective, Perturbation, Step, Task, Terms, region
from ..ops.geometry import alignment
from .own_parts import changes, expect_embeddings, expect_terms, expect_view


class TwoViews(Task):
    """Two views of the graph, and what their embeddings should agree and differ on, as a task for the loop."""

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
        # A module that sizes itself on first use draws its weights here.
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
        """What the objective finds in the embeddings of the two views."""
        return self.objective(z1, z2, self.generators["negatives"])

    def advance(self, step: Step) -> None:
        self.objective.update(*step.outputs)

    def describe(self, step: Step, encoder: nn.Module) -> dict[str, float]:
        z1, z2, _ = step.outputs
        return {"alignment": alignment(z1, z2)} | super().describe(step, encoder)

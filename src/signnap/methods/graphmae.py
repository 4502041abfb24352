"""GraphMAE: nodes hide their features, and a decoder rebuilds them from what their neighbours know (spec §5.2)."""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor, nn

from .. import rng
from ..encoders.gat import GATLayer, GATStack
from ..graph import Graph, View
from ..interfaces import Encoder, Step, Task, region
from ..objectives.reconstruction import product_cosines, sharpened, unit_rows
from ..ops.dense import Linear
from ..ops.dropout import dropout
from .baseline_settings import GraphmaeSettings
from .method import Method
from .sizes import Sizes


class GraphMAE(Method):
    """Rebuilds the hidden features of nodes from their neighbourhoods (spec §5.2)."""

    name = "graphmae"

    def build_encoder(self, settings: GraphmaeSettings, sizes: Sizes) -> GATStack:
        return GATStack(
            sizes.features, settings.dim, settings.layers, settings.dropout, settings.heads,
            attention_dropout=settings.attention_dropout, activation="prelu", activate_last=True, bias=True,
        )  # fmt: skip

    def build_task(self, settings: GraphmaeSettings, graph: Graph, view: View, encoder: Encoder) -> Rebuilding:
        assert isinstance(encoder, GATStack)
        return Rebuilding(settings, view, encoder)


class Mask(NamedTuple):
    """Which nodes hide their features and which keep them; the first of the former show those of ``donors`` instead."""

    hidden: Tensor
    kept: Tensor
    donors: Tensor


def draw_mask(num_nodes: int, share: float, replaced: float, source: torch.Generator) -> Mask:
    """Hide ⌊share·N⌋ nodes, at least one; give ⌊replaced·that⌋ of them, maybe none, a random other node's features."""
    order = torch.randperm(num_nodes, generator=source, device=source.device)
    hidden = max(1, math.floor(share * num_nodes + 1e-9))
    count = math.floor(replaced * hidden + 1e-9)
    steps = torch.randint(1, max(2, num_nodes), (count,), generator=source, device=source.device)
    return Mask(order[:hidden], order[hidden:], (order[:count] + steps) % num_nodes)


class Token(nn.Module):
    """What hidden nodes show in place of their features: learned, the same for all of them, at first zero."""

    def __init__(self, num_features: int, dropout: float) -> None:
        super().__init__()
        self.features, self.dropout = nn.Parameter(torch.zeros(1, num_features)), dropout

    def forward(self, product: Tensor, weight: Tensor, mask: Mask) -> Tensor:
        """The product of the masked features with the weight, given that of the features as they are.

        Rows are replaced after the product, which is linear: the features themselves stay as they are, and sparse.
        """
        shown = dropout(self.features, self.dropout, self.training) @ weight
        donated = product.index_select(0, mask.donors)
        tokens = shown.expand(len(mask.hidden) - len(mask.donors), -1)
        return product.index_copy(0, mask.hidden, torch.cat([donated, tokens]))


class Decoder(nn.Module):
    """From embeddings back to features: a linear map, hidden nodes set to zero again, one head of attention."""

    def __init__(self, dim: int, num_features: int, dropout: float, attention_dropout: float) -> None:
        super().__init__()
        self.dropout = dropout
        self.bridge = Linear(dim, dim, bias=False)
        self.layer = GATLayer(dim, 1, num_features, attention_dropout, bias=True)

    def remask(self, z: Tensor, mask: Mask) -> Tensor:
        """What the attention layer reads. Hidden nodes are zero: their rows need not be computed first."""
        shown = dropout(self.bridge(z.index_select(0, mask.kept)), self.dropout, self.training)
        return torch.zeros_like(z).index_copy(0, mask.kept, shown)

    def forward(self, z: Tensor, mask: Mask, view: View) -> tuple[Tensor, Tensor]:
        """Two matrices, whose product would be the features of the hidden nodes.

        Attention averages rows, so that it may do so before they become as wide as the features.
        """
        h, layer = self.remask(z, mask), self.layer
        gathered = layer.attend(h @ (layer.weight @ layer.directions()), h, view).index_select(0, mask.hidden)
        assert layer.bias is not None
        left = torch.cat([gathered, torch.ones_like(gathered[:, :1])], dim=1)  # the bias is one more row of the weight
        return left, torch.cat([layer.weight, layer.bias[None]])


class Rebuilding(Task):
    """Hide the features of some nodes, embed what is left, and rebuild what was hidden, as a task for the loop."""

    def __init__(self, settings: GraphmaeSettings, view: View, encoder: GATStack) -> None:
        self.settings, self.view, self.allow_tf32 = settings, view, settings.allow_tf32
        device, num_features, rate = view.stored.device, view.x.shape[1], settings.dropout
        self.targets = unit_rows(view.x)
        self.generators = rng.generators(settings.seed, ("views", "layers"), device)
        with rng.as_default(rng.generator(settings.seed, "decoder")):
            decoder = Decoder(settings.dim, num_features, rate, settings.attention_dropout)
        self.encoder, self.token, self.decoder = encoder, Token(num_features, rate), decoder
        self.modules = nn.ModuleDict({"encoder": encoder, "token": self.token, "decoder": decoder}).to(device)

    def step(self) -> Step:
        chosen, nodes = self.settings, self.view.pattern.num_nodes
        with region("views"):
            mask = draw_mask(nodes, chosen.mask_nodes, chosen.replace_nodes, self.generators["views"])
        with rng.as_default(self.generators["layers"]):
            with region("encoder"):
                z = self.embed(mask)
            with region("decoder"):
                left, right = self.decoder(z, mask, self.view)
                cosines = product_cosines(left, right, self.targets, mask.hidden)
        total = sharpened(cosines, chosen.sharpness)
        return Step(total, {"loss": total.detach()})

    def embed(self, mask: Mask) -> Tensor:
        """Embed the graph as the mask shows it."""
        product = self.token(self.encoder.begin(self.view), self.encoder.layers[0].weight, mask)
        return self.encoder.finish(product, self.view)

"""The slow twin of the contrast: gather an N×(K+1)×d tensor of bank rows, and let autograd differentiate."""

import torch

from dense import source_of
from signnap.objectives.bank import draw_negatives


def embeddings(n, d, seed, scale=0.3):
    return (scale * torch.randn(n, d, generator=source_of(seed), dtype=torch.float64)).requires_grad_()


def prepared(objective, n, d, seed=7):
    """A prepared objective with float64 state, for comparison to the last digits."""
    objective.prepare(n, d, source_of(seed))
    return objective.double()


def candidates(n, k, group, seed):
    """Node numbers (N, K+1): the node itself, then the negatives that a generator of this seed draws."""
    drawn = draw_negatives(n, k, group, source_of(seed)).long()
    size = -(-n // len(drawn))
    return torch.cat([torch.arange(n)[:, None], drawn[torch.arange(n) // size]], dim=1)


def scores(z, bank, index, temperature):
    """z_i · M[I_ik] / τ for every candidate k of every anchor i."""
    return torch.einsum("nd,nkd->nk", z, bank[index]) / temperature


def info_nce(logits):
    """−log of the softmax of column 0, averaged over anchors (Eq. 1 and 3)."""
    return -logits.log_softmax(dim=1)[:, 0].mean()

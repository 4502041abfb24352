"""A generated graph with features and known communities. It needs no file and no network."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
import torch

from ..graph import Graph


def synthetic_graph(
    seed: int = 0,
    *,
    nodes: int = 3000,
    communities: int = 6,
    mean_degree: float = 6.0,
    wrong_edges: float = 0.2,
    words: int = 1000,
    words_per_node: int = 15,
    topic_share: float = 0.25,
) -> Graph:
    """Generate communities with uneven degrees and bag-of-words features, and a given share of spurious edges.

    Labels are the communities. Exactly ⌊wrong_edges · edges⌋ edges join different communities, all others the same
    community. Degrees follow log-normal propensities, as in a degree-corrected block model. Each node has
    ``words_per_node`` words: a ``topic_share`` of them from the vocabulary of its community, the others from a
    background that all nodes share. The same arguments always give the same graph.

    >>> synthetic_graph(0)
    Graph(synthetic: 3,000 nodes, 9,000 edges, 1,000 features, 6 classes)
    """
    rng = np.random.default_rng(seed)
    label = rng.permutation(np.arange(nodes) % communities)
    source, target = _edges(rng, label, int(nodes * mean_degree / 2), wrong_edges)
    x = _bags_of_words(rng, label, words, words_per_node, topic_share)
    return Graph.from_edges(source, target, x, y=torch.from_numpy(label), name="synthetic")


def _edges(rng: np.random.Generator, label: np.ndarray, count: int, wrong: float) -> tuple[np.ndarray, np.ndarray]:
    """Draw distinct undirected edges: first those inside communities, then the spurious ones."""
    propensity = rng.lognormal(sigma=0.8, size=len(label))
    pairs = np.empty(0, dtype=np.int64)
    quota = int(wrong * count)
    for wanted, same in ((count - quota, True), (count, False)):
        while len(pairs) < wanted:
            ends = rng.choice(len(label), (2, 4 * count), p=propensity / propensity.sum())
            low, high = ends.min(axis=0), ends.max(axis=0)
            fits = (low != high) & ((label[low] == label[high]) == same)
            fresh = _first_seen(low[fits] * len(label) + high[fits])
            pairs = np.concatenate([pairs, fresh[~np.isin(fresh, pairs)]])[:wanted]
    return pairs // len(label), pairs % len(label)


def _first_seen(values: np.ndarray) -> np.ndarray:
    return values[np.sort(np.unique(values, return_index=True)[1])]


def _bags_of_words(
    rng: np.random.Generator, label: np.ndarray, words: int, per_node: int, topic_share: float
) -> sp.csr_matrix:
    """Draw 0/1 features. Word frequencies follow Zipf's law, in one random order per community and one for all."""
    frequency = 1 / np.arange(1, words + 1)
    frequency /= frequency.sum()
    orders = np.stack([rng.permutation(words) for _ in range(label.max() + 2)])
    rank = rng.choice(words, (len(label), per_node), p=frequency)
    on_topic = rng.random(rank.shape) < topic_share
    chosen = orders[np.where(on_topic, label[:, None], -1), rank]
    rows = np.repeat(np.arange(len(label)), per_node)
    bag = sp.csr_matrix((np.ones(rows.size, np.float32), (rows, chosen.ravel())), (len(label), words))
    bag.data[:] = 1
    return bag

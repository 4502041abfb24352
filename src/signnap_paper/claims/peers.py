"""Is SIGNNAP better than other methods without labels? By its mean place over the six graphs, as the paper argues."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from signnap.evaluate import summarize

from ..cells import Cell
from ..paper import GRAPHS, OURS, cell, read_alike, reported, reported_as
from ..targets import overall
from .claim import Claim, Finding, Reading, leads, ranked

Accuracies = Mapping[tuple[str, str], float]
#: A row of the paper on a graph, judged one way or another.
CellOf = Callable[[str, str], Cell]


def _is_peer(name: str) -> bool:
    return not name.startswith("SIGNNAP")


def _cells(made: CellOf = cell) -> list[Cell]:
    return [made(name, graph) for name in overall.unlabelled() for graph in GRAPHS]


def _compared(ranks: Mapping[str, float], found: Accuracies, name: str) -> Finding:
    """Whether a method has a better mean place than all peers, and on which graphs it beats them."""
    peers = {peer: rank for peer, rank in ranks.items() if _is_peer(peer)}
    best = min(peers, key=lambda peer: peers[peer])
    wins = [graph for graph in GRAPHS if _wins(found, name, graph)]
    won = f"{len(wins)} of {len(GRAPHS)} graphs" + (f" ({', '.join(wins)})" if wins else "")
    text = f"{name} has mean place {ranks[name]:.2f}, the best peer, {best}, {peers[best]:.2f}"
    return Finding(ranks[name] < peers[best], f"{text}; it beats all peers on {won}.")


def _wins(found: Accuracies, name: str, graph: str) -> bool:
    theirs = [value for (peer, place), value in found.items() if place == graph and _is_peer(peer)]
    return found[name, graph] > max(theirs)


def _reported() -> Accuracies:
    """The paper's figures for methods without labels; it has none for some of ours."""
    figures = reported()["overall"]
    known = [(name, graph) for name in overall.unlabelled() for graph in GRAPHS if figures.get(name, {}).get(graph)]
    return {(name, graph): figures[name][graph][0] for name, graph in known}


def _check(read: Reading, names: list[str], made: CellOf = cell) -> Finding:
    """Ours and the paper's; of several names, the best is taken, in each."""
    found = {(name, graph): read(made(name, graph)) for name in overall.unlabelled() for graph in GRAPHS}
    ranks = overall.average_ranks({key: summarize([value]) for key, value in found.items()})
    theirs = reported()["average_rank"]
    first = lambda places: min(names, key=lambda name: places[name])
    ours = _compared(ranks, found, first(ranks))
    paper = _compared(theirs, _reported(), first(theirs))
    return Finding(ours.holds, f"{ours.evidence} The paper: {paper.evidence}")


def _gains(read: Reading) -> Finding:
    found = {name: read(cell(name, _GRAPH)) for name in _GAINED_OVER}
    theirs = {name: reported()["overall"][name][_GRAPH][0] for name in map(reported_as, _GAINED_OVER)}
    return Finding(leads(found, OURS), f"{ranked(found)}. The paper: {ranked(theirs)}.")


_WHERE = "Node Classification Performance, observation 1"
#: Where the paper counts the gains of its method, and over which others.
_GRAPH, _GAINED_OVER = "pubmed", (OURS, "DGI", "GCC", "GCC, with features")
SAME_ENCODER = Claim(
    "better than unsupervised peers",
    "With the same encoder, SIGNNAP(GCN) has a better average rank over six graphs than any unsupervised peer.",
    _WHERE, "table-overall", _cells, lambda read: _check(read, [OURS]),
)  # fmt: skip
BEST_BACKBONE = Claim(
    "better than unsupervised peers, best backbone",
    "The best backbone of SIGNNAP has a better average rank than any unsupervised peer.",
    _WHERE, "table-overall", _cells,
    lambda read: _check(read, [name for name in overall.unlabelled() if not _is_peer(name)]),
)  # fmt: skip
READ_ALIKE = Claim(
    "better than unsupervised peers, all read alike",
    "The same for SIGNNAP(GCN) if all embeddings are read by one probe, logistic regression; the paper gives its own "
    "method another than its peers.",
    _WHERE, "table-overall", lambda: _cells(read_alike), lambda read: _check(read, [OURS], read_alike),
)  # fmt: skip
GAINS = Claim(
    f"gains on {_GRAPH}",
    f"On {_GRAPH}, SIGNNAP(GCN) is more accurate than DGI and either kind of GCC.",
    _WHERE, "table-overall", lambda: [cell(name, _GRAPH) for name in _GAINED_OVER], _gains,
)  # fmt: skip

"""The paper's claims about accuracy in its tables, and the list of all claims."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from statistics import fmean

from signnap.evaluate import summarize

from . import tables
from .cells import Cell
from .figure_claims import DEPTH_TO_CLUSTERS, SWEEPS
from .paper import GRAPHS, OURS, ROWS, SIGNNAP_ROWS, UNLABELLED, cell, read_alike, reported, reported_as
from .verdict import Claim, Finding, Reading, leads, ranked

#: A row of the paper on a graph -> its accuracy.
Number = Callable[[str, str], float]
#: A row of the paper on a graph -> its cell, by one protocol or the other.
CellOf = Callable[[str, str], Cell]
_PERFORMANCE = "Node Classification Performance, observation {}"


def _both(check: Callable[[Number], Finding], cell_of: CellOf, theirs: Number, read: Reading) -> Finding:
    """Check our numbers, and name the paper's beside them."""
    ours = check(lambda name, graph: read(cell_of(name, graph)))
    paper = check(theirs)
    return Finding(ours.holds, f"Ours: {ours.evidence} The paper: {paper.evidence}")


# -- beside methods without labels: by the mean place over the six graphs, as the paper argues -------------------------


def _is_peer(name: str) -> bool:
    return not name.startswith("SIGNNAP")


def _unlabelled_cells(made: CellOf = cell) -> list[Cell]:
    return [made(name, graph) for name in UNLABELLED for graph in GRAPHS]


def _beats_peers(ranks: Mapping[str, float], found: Mapping[tuple[str, str], float], name: str) -> Finding:
    """Whether a method has a better mean place than all peers, and the graphs on which it beats them."""
    peers = {peer: rank for peer, rank in ranks.items() if _is_peer(peer)}
    best = min(peers, key=lambda peer: peers[peer])
    others = lambda graph: [value for (peer, place), value in found.items() if place == graph and _is_peer(peer)]
    wins = [graph for graph in GRAPHS if found[name, graph] > max(others(graph))]
    won = f"{len(wins)} of {len(GRAPHS)} graphs" + (f" ({', '.join(wins)})" if wins else "")
    text = f"{name} has mean place {ranks[name]:.2f}, the best peer, {best}, {peers[best]:.2f}"
    return Finding(ranks[name] < peers[best], f"{text}; it beats all peers on {won}.")


def _reported_accuracies() -> dict[tuple[str, str], float]:
    """Return the paper's figures for methods without labels; it has none for some of ours."""
    figures = reported()["overall"]
    known = [(name, graph) for name in UNLABELLED for graph in GRAPHS if figures.get(name, {}).get(graph)]
    return {(name, graph): figures[name][graph][0] for name, graph in known}


def _best_place(read: Reading, names: list[str], made: CellOf = cell) -> Finding:
    """Compare the best-placed of these methods with its peers, in our numbers and in the paper's."""
    found = {(name, graph): read(made(name, graph)) for name in UNLABELLED for graph in GRAPHS}
    ranks = tables.average_ranks({key: summarize([value]) for key, value in found.items()})
    theirs = reported()["average_rank"]
    first = lambda places: min(names, key=lambda name: places[name])
    ours = _beats_peers(ranks, found, first(ranks))
    paper = _beats_peers(theirs, _reported_accuracies(), first(theirs))
    return Finding(ours.holds, f"{ours.evidence} The paper: {paper.evidence}")


#: The graph for which the paper states the gains of its method, and the methods it compares there.
_GAIN_GRAPH, _GAINED_OVER = "pubmed", (OURS, "DGI", "GCC", "GCC, with features")


def _gains(read: Reading) -> Finding:
    found = {name: read(cell(name, _GAIN_GRAPH)) for name in _GAINED_OVER}
    theirs = {name: reported()["overall"][name][_GAIN_GRAPH][0] for name in map(reported_as, _GAINED_OVER)}
    return Finding(leads(found, OURS), f"{ranked(found)}. The paper: {ranked(theirs)}.")


_PEERS = (
    Claim(
        "better than unsupervised peers",
        "With the same encoder, SIGNNAP(GCN) has a better average rank over six graphs than any unsupervised peer.",
        _PERFORMANCE.format(1), "table-overall", _unlabelled_cells, lambda read: _best_place(read, [OURS]),
    ),
    Claim(
        "better than unsupervised peers, best backbone",
        "The best backbone of SIGNNAP has a better average rank than any unsupervised peer.",
        _PERFORMANCE.format(1), "table-overall", _unlabelled_cells,
        lambda read: _best_place(read, [name for name in UNLABELLED if not _is_peer(name)]),
    ),
    Claim(
        "better than unsupervised peers, all read alike",
        "The same for SIGNNAP(GCN) if all embeddings are read by one probe, logistic regression; the paper gives its "
        "own method another than its peers.",
        _PERFORMANCE.format(1), "table-overall", lambda: _unlabelled_cells(read_alike),
        lambda read: _best_place(read, [OURS], read_alike),
    ),
    Claim(
        f"gains on {_GAIN_GRAPH}",
        f"On {_GAIN_GRAPH}, SIGNNAP(GCN) is more accurate than DGI and either kind of GCC.",
        _PERFORMANCE.format(1), "table-overall", lambda: [cell(name, _GAIN_GRAPH) for name in _GAINED_OVER], _gains,
    ),
)  # fmt: skip


# -- beside networks that learn from labels ----------------------------------------------------------------------------


def _labelled() -> list[str]:
    return [name for name in ROWS if name not in UNLABELLED]


def _exceeding(number: Number) -> dict[str, str]:
    """Return each graph where SIGNNAP exceeds all networks with labels: by which backbones, and how far."""
    found = {}
    for graph in GRAPHS:
        best = max(number(name, graph) for name in _labelled())
        winners = {name: number(name, graph) for name in SIGNNAP_ROWS if number(name, graph) > best}
        if winners:
            backbones = ", ".join(name.removeprefix("SIGNNAP(").removesuffix(")") for name in winners)
            found[graph] = f"{graph} by {backbones} (best {max(winners.values()):.2f}, with labels {best:.2f})"
    return found


def _exceeds_labels(read: Reading) -> Finding:
    ours = _exceeding(lambda name, graph: read(cell(name, graph)))
    theirs = _exceeding(lambda name, graph: reported()["overall"][name][graph][0])
    text = f"All networks with labels are exceeded on {'; '.join(ours.values()) or 'no graph'}."
    return Finding(bool(ours), f"{text} The paper: on {', '.join(theirs)}.")


#: The graph where encoders see the training nodes alone, and the methods that the paper compares there.
_INDUCTIVE, _WITHOUT_LABELS = "coauthor_physics", ("DGI", "GCC", "GCC, with features", *SIGNNAP_ROWS)


def _below_labels(names: Iterable[str], number: Callable[[str], float]) -> Finding:
    """Whether the best that learned without labels is below the best that learned with them."""
    without, labelled = ({name: number(name) for name in each} for each in (names, _labelled()))
    text = f"{ranked(without)}; with labels {min(labelled.values()):.2f} to {max(labelled.values()):.2f}."
    return Finding(max(without.values()) < max(labelled.values()), text)


def _behind_labels(read: Reading) -> Finding:
    ours = _below_labels(_WITHOUT_LABELS, lambda name: read(cell(name, _INDUCTIVE)))
    known = dict.fromkeys(map(reported_as, _WITHOUT_LABELS))
    theirs = _below_labels(known, lambda name: reported()["overall"][name][_INDUCTIVE][0])
    return Finding(ours.holds, f"{ours.evidence} The paper: {theirs.evidence}")


_SUPERVISED = (
    Claim(
        "exceeds supervised models in some cases",
        "On some graph, SIGNNAP exceeds all supervised models.",
        _PERFORMANCE.format(1), "table-overall",
        lambda: [cell(name, graph) for name in (*SIGNNAP_ROWS, *_labelled()) for graph in GRAPHS], _exceeds_labels,
    ),
    Claim(
        "behind supervised models where many nodes have labels",
        f"On {_INDUCTIVE}, the best of DGI, GCC and SIGNNAP is below the best network with labels.",
        _PERFORMANCE.format(2), "table-overall",
        lambda: [cell(name, _INDUCTIVE) for name in (*_WITHOUT_LABELS, *_labelled())], _behind_labels,
    ),
)  # fmt: skip

# -- between backbones -------------------------------------------------------------------------------------------------

_OTHER = "SIGNNAP(GraphSage)"


def _depends_on_graph(read: Reading) -> Finding:
    gains = lambda number: {graph: number(_OTHER, graph) - number(OURS, graph) for graph in GRAPHS}
    ours = gains(lambda name, graph: read(cell(name, graph)))
    theirs = gains(lambda name, graph: reported()["overall"][name][graph][0])
    found, paper = (", ".join(f"{graph} {gain:+.2f}" for graph, gain in each.items()) for each in (ours, theirs))
    text = f"GraphSage less GCN: {found}. The paper: {paper}."
    return Finding(max(ours.values()) > 0 >= min(ours.values()), text)


_BACKBONE = Claim(
    "the better backbone depends on the graph",
    f"{_OTHER} is more accurate than SIGNNAP(GCN) on some graphs, and not on others.",
    _PERFORMANCE.format(3), "table-overall",
    lambda: [cell(name, graph) for name in (OURS, _OTHER) for graph in GRAPHS], _depends_on_graph,
)  # fmt: skip

# -- between perturbations ---------------------------------------------------------------------------------------------

_KIND = "DropEdge"
_NOISE = [name for name in tables.PERTURBED if _KIND not in name]


def _best_perturbation(number: Number) -> Finding:
    """Whether DropEdge leads on average over graphs, and on how many of them."""
    means = {name: fmean(number(name, graph) for graph in GRAPHS) for name in tables.PERTURBED}
    won = [g for g in GRAPHS if leads({name: number(name, g) for name in tables.PERTURBED}, _KIND)]
    text = f"mean over graphs {ranked(means)}; {_KIND} is best on {len(won)} of {len(GRAPHS)}."
    return Finding(leads(means, _KIND), text)


def _worse_noise(number: Number) -> Finding:
    """Whether every kind of noise alone is worse than DropEdge on average over graphs, and on how many of them."""
    means = {name: fmean(number(name, graph) for graph in GRAPHS) for name in (_KIND, *_NOISE)}
    lower = {name: sum(number(name, graph) < number(_KIND, graph) for graph in GRAPHS) for name in _NOISE}
    counts = ", ".join(f"{name} on {count}" for name, count in lower.items())
    return Finding(leads(means, _KIND), f"mean over graphs {ranked(means)}; of {len(GRAPHS)} graphs worse {counts}.")


def _reported_perturbed(name: str, graph: str) -> float:
    return reported()["perturbations"][name][graph]


_PERTURBATIONS = (
    Claim(
        "noise on attributes teaches less than DropEdge",
        "Each of three kinds of noise on attributes alone gives SIGNNAP(GCN) a lower accuracy than DropEdge alone, on "
        "average over six graphs.",
        "Different Perturbations, observation 1", "table-perturbations",
        lambda: [tables.perturbed_cell(name, graph) for name in (_KIND, *_NOISE) for graph in GRAPHS],
        partial(_both, _worse_noise, tables.perturbed_cell, _reported_perturbed),
    ),
    Claim(
        "DropEdge is the best perturbation",
        "Of seven perturbations, DropEdge alone gives SIGNNAP(GCN) the highest accuracy on average over six graphs.",
        "Different Perturbations, observation 2", "table-perturbations", tables.PERTURBATIONS.recipe,
        partial(_both, _best_perturbation, tables.perturbed_cell, _reported_perturbed),
    ),
)  # fmt: skip

#: All claims, in the order of the paper.
CLAIMS = (*_PEERS, *_SUPERVISED, _BACKBONE, *DEPTH_TO_CLUSTERS, *_PERTURBATIONS, *SWEEPS)

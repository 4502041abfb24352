"""The paper's claims about accuracy in its tables, and the list of all claims."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from statistics import fmean

from signnap.evaluate import summarize

from . import tables
from .cells import Cell
from .figure_claims import DEPTH_TO_CLUSTERS, SWEEPS
from .paper import GRAPHS, OURS, ROWS, SIGNNAP_ROWS, UNLABELLED, cell, reported, reported_as, same_probe_cell
from .verdict import Claim, Finding, Reading, leads, ranked

#: A row of the paper on a graph -> its accuracy.
Number = Callable[[str, str], float]
#: A row of the paper on a graph -> its cell, by one protocol or the other.
CellOf = Callable[[str, str], Cell]
_PERFORMANCE = "Node Classification Performance, observation {}"


def _both(check: Callable[[Number], Finding], cell_of: CellOf, theirs: Number, read: Reading) -> Finding:
    """Check our numbers, and give the paper's beside them."""
    ours = check(lambda name, graph: read(cell_of(name, graph)))
    paper = check(theirs)
    return Finding(ours.holds, ours.number, f"Ours: {ours.evidence} The paper: {paper.evidence}")


# -- against methods without labels: by the mean rank over the six graphs, as the paper argues -------------------------


def _is_peer(name: str) -> bool:
    return not name.startswith("SIGNNAP")


def _unlabelled_cells(made: CellOf = cell) -> list[Cell]:
    return [made(name, graph) for name in UNLABELLED for graph in GRAPHS]


def _beats_peers(ranks: Mapping[str, float], found: Mapping[tuple[str, str], float], name: str) -> Finding:
    """Whether a method has a better mean rank than all peers, and the graphs on which it beats them."""
    peers = {peer: rank for peer, rank in ranks.items() if _is_peer(peer)}
    best = min(peers, key=lambda peer: peers[peer])
    others = lambda graph: [value for (peer, place), value in found.items() if place == graph and _is_peer(peer)]
    wins = [graph for graph in GRAPHS if found[name, graph] > max(others(graph))]
    won = f"{len(wins)} of {len(GRAPHS)} graphs" + (f" ({', '.join(wins)})" if wins else "")
    text = f"mean rank {ranks[name]:.2f}, best peer {best} {peers[best]:.2f}"
    return Finding(ranks[name] < peers[best], f"{name}: {text}", f"{name}: {text}; it beats all peers on {won}.")


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
    return Finding(ours.holds, ours.number, f"{ours.evidence} The paper: {paper.evidence}")


#: The graph for which the paper states the gains of its method, and the methods it compares there.
_GAIN_GRAPH, _GAINED_OVER = "pubmed", (OURS, "DGI", "GCC", "GCC, with features")


def _gains(read: Reading) -> Finding:
    found = {name: read(cell(name, _GAIN_GRAPH)) for name in _GAINED_OVER}
    theirs = {name: reported()["overall"][name][_GAIN_GRAPH][0] for name in map(reported_as, _GAINED_OVER)}
    return Finding(leads(found, OURS), ranked(found), f"{ranked(found)}. The paper: {ranked(theirs)}.")


_PEERS = (
    Claim(
        "better than unsupervised peers",
        "With the same encoder, SIGNNAP(GCN) has a better mean rank over six graphs than each unsupervised peer.",
        _PERFORMANCE.format(1), "table-overall", _unlabelled_cells, lambda read: _best_place(read, [OURS]),
    ),
    Claim(
        "better than unsupervised peers, best backbone",
        "SIGNNAP with its best backbone has a better mean rank than each unsupervised peer.",
        _PERFORMANCE.format(1), "table-overall", _unlabelled_cells,
        lambda read: _best_place(read, [name for name in UNLABELLED if not _is_peer(name)]),
    ),
    Claim(
        "better than unsupervised peers, same probe for all",
        "SIGNNAP(GCN) has the better mean rank when one probe, logistic regression, reads all embeddings. The paper "
        "uses another probe for its own method than for most peers.",
        _PERFORMANCE.format(1), "table-overall", lambda: _unlabelled_cells(same_probe_cell),
        lambda read: _best_place(read, [OURS], same_probe_cell),
    ),
    Claim(
        f"better than DGI and GCC on {_GAIN_GRAPH}",
        f"On {_GAIN_GRAPH}, SIGNNAP(GCN) is more accurate than DGI and both kinds of GCC.",
        _PERFORMANCE.format(1), "table-overall", lambda: [cell(name, _GAIN_GRAPH) for name in _GAINED_OVER], _gains,
    ),
)  # fmt: skip


# -- against networks that learn from labels ---------------------------------------------------------------------------


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
    text = f"SIGNNAP exceeds all networks with labels on {'; '.join(ours.values()) or 'no graph'}."
    number = f"{len(ours)} of {len(GRAPHS)} graphs" + (f": {', '.join(ours)}" if ours else "")
    return Finding(bool(ours), number, f"{text} The paper: on {', '.join(theirs)}.")


#: The graph where encoders see the training nodes alone, and the methods that the paper compares there.
_INDUCTIVE, _WITHOUT_LABELS = "coauthor_physics", ("DGI", "GCC", "GCC, with features", *SIGNNAP_ROWS)


def _below_labels(names: Iterable[str], number: Callable[[str], float]) -> Finding:
    """Whether the best that learned without labels is below the best that learned with them."""
    without, labelled = ({name: number(name) for name in each} for each in (names, _labelled()))
    text = f"{ranked(without)}; with labels {min(labelled.values()):.2f} to {max(labelled.values()):.2f}."
    best = max(without, key=lambda name: without[name])
    ends = f"{best} {without[best]:.2f}, best with labels {max(labelled.values()):.2f}"
    return Finding(max(without.values()) < max(labelled.values()), ends, text)


def _behind_labels(read: Reading) -> Finding:
    ours = _below_labels(_WITHOUT_LABELS, lambda name: read(cell(name, _INDUCTIVE)))
    known = dict.fromkeys(map(reported_as, _WITHOUT_LABELS))
    theirs = _below_labels(known, lambda name: reported()["overall"][name][_INDUCTIVE][0])
    return Finding(ours.holds, ours.number, f"{ours.evidence} The paper: {theirs.evidence}")


_SUPERVISED = (
    Claim(
        "exceeds supervised models in some cases",
        "On at least one graph, SIGNNAP is more accurate than all supervised models.",
        _PERFORMANCE.format(1), "table-overall",
        lambda: [cell(name, graph) for name in (*SIGNNAP_ROWS, *_labelled()) for graph in GRAPHS], _exceeds_labels,
    ),
    Claim(
        "behind supervised models where many nodes have labels",
        f"On {_INDUCTIVE}, the best of DGI, GCC and SIGNNAP is less accurate than the best network with labels.",
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
    wins = sum(gain > 0 for gain in ours.values())
    number = f"GraphSage is better on {wins} of {len(GRAPHS)} graphs"
    text = f"GraphSage minus GCN: {found}. The paper: {paper}."
    return Finding(max(ours.values()) > 0 >= min(ours.values()), number, text)


_BACKBONE = Claim(
    "the better backbone depends on the graph",
    f"{_OTHER} is more accurate than SIGNNAP(GCN) on some graphs but not on all.",
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
    return Finding(leads(means, _KIND), _best_and_dropped(means), text)


def _worse_noise(number: Number) -> Finding:
    """Whether every kind of noise alone is worse than DropEdge on average over graphs, and on how many of them."""
    means = {name: fmean(number(name, graph) for graph in GRAPHS) for name in (_KIND, *_NOISE)}
    lower = {name: sum(number(name, graph) < number(_KIND, graph) for graph in GRAPHS) for name in _NOISE}
    counts = ", ".join(f"{name} on {count}" for name, count in lower.items())
    text = f"mean over graphs {ranked(means)}; lower than {_KIND}, of {len(GRAPHS)} graphs: {counts}."
    return Finding(leads(means, _KIND), _best_and_dropped(means), text)


def _best_and_dropped(means: Mapping[str, float]) -> str:
    """Return the mean accuracy of DropEdge and that of the best other perturbation."""
    best = max((name for name in means if name != _KIND), key=lambda name: means[name])
    return f"{_KIND} {means[_KIND]:.2f}, {best} {means[best]:.2f}"


def _reported_perturbed(name: str, graph: str) -> float:
    return reported()["perturbations"][name][graph]


_PERTURBATIONS = (
    Claim(
        "feature noise is worse than DropEdge",
        "Trained with feature noise alone, of each of three kinds, SIGNNAP(GCN) is less accurate than with DropEdge "
        "alone, on average over six graphs.",
        "Different Perturbations, observation 1", "table-perturbations",
        lambda: [tables.perturbed_cell(name, graph) for name in (_KIND, *_NOISE) for graph in GRAPHS],
        partial(_both, _worse_noise, tables.perturbed_cell, _reported_perturbed),
    ),
    Claim(
        "DropEdge is the best perturbation",
        "Of seven perturbations, DropEdge alone gives SIGNNAP(GCN) the highest mean accuracy over six graphs.",
        "Different Perturbations, observation 2", "table-perturbations", tables.PERTURBATIONS.recipe,
        partial(_both, _best_perturbation, tables.perturbed_cell, _reported_perturbed),
    ),
)  # fmt: skip

#: All claims, in the order of the paper.
CLAIMS = (*_PEERS, *_SUPERVISED, _BACKBONE, *DEPTH_TO_CLUSTERS, *_PERTURBATIONS, *SWEEPS)

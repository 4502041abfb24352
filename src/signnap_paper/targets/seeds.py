"""Where the paper's figure is not among ten encoder seeds of ours: is it among twenty, or among thirty?

If the paper's encoder were one more seed of ours, nine tenths of its figures would lie among nineteen seeds, not among
ten. More seeds only widen a range, so the cells whose figure lies inside need none.
"""

from __future__ import annotations

from .. import markdown
from ..cells import Cell
from ..paper import GRAPHS, cell
from ..results import Results
from .fidelity import BAR, COLUMNS, NAMES, Compared, chance, compare, settle, state
from .tried import OUTSIDE

#: Among twenty seeds these figures lie inside, so that these cells have no more.
AMONG_TWENTY = [
    ("SIGNNAP(ResGCN)", "pubmed"),
    ("SIGNNAP(GraphSage)", "amazon_photo"),
    ("SIGNNAP(GAT)", "amazon_computers"),
]
_ABOUT = """
Where the paper's figure was found outside the range of the encoder seeds of `table-fidelity`, more are trained: 20 in
all, and {seeds} where it lies outside of those as well, each time after a look at those before. More seeds only widen a
range, so that with {seeds} in every cell {inside} of {cells} figures would lie inside. We had aimed at {bar} with ten.
With {seeds}: {state}. Of those outside, {above} lie above and {below} below. If the paper's encoder were one more seed
of ours, {expected:.1f} would lie inside on average, and {bar} or more with probability {chance:.2f}.
"""


def recipe() -> list[Cell]:
    """The cells whose figure was found outside among twenty."""
    return [cell(*each) for each in OUTSIDE if each not in AMONG_TWENTY]


def page(results: Results, seeds: int) -> str:
    """The cells with more seeds in Markdown, and how many figures of all cells lie inside."""
    found = [each for name in NAMES for graph in GRAPHS if (each := compare(results, name, graph, seeds)[1])]
    cells, share = len(NAMES) * len(GRAPHS), Compared(0.0, [0.0] * seeds).share
    inside, unsettled = settle(found, cells, seeds)
    places = [each.place for each in found]
    head = _ABOUT.strip().format(
        seeds=seeds, inside=f"at least {inside}" if unsettled else inside, cells=cells, bar=BAR,
        state=state(inside, unsettled), expected=share * cells, chance=chance([share] * cells, BAR),
        above=sum(place.endswith("above") for place in places), below=sum(place.endswith("below") for place in places),
    )  # fmt: skip
    lines = [compare(results, name, graph, seeds)[0] for name, graph in OUTSIDE]
    return f"{head}\n\n{markdown.table(COLUMNS, lines)}"

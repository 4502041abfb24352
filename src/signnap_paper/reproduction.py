"""The page of verdicts: which claims of the paper hold, the number that decides each, and links to all tables."""

from __future__ import annotations

from collections.abc import Iterator

from . import fidelity, first_weights, reproduction_cells, summaries
from .claims import CLAIMS
from .results import Results
from .targets import HOMES, WHOLE, Target, find_target
from .verdict import RULE, Claim, Verdict, decide

_ABOUT = """
The paper [*Learning Node Representations against Perturbations*](https://arxiv.org/abs/2008.11416) introduces SIGNNAP.
`signnap` repeats its experiments: every method of its tables on six graphs, with several encoder seeds for each cell.
This page says which claims of the paper hold. The program computes all numbers here from
[the committed rows](../{folder}/{rows}).
"""
_QUICK = """
These are the results of a quick run. They say nothing about the paper, so this page gives no verdict.
"""
#: The verdicts by group, as the summary names them.
_GROUPS = {"holds": "holds", "in part": "holds in part", "not": "does not hold", "unknown": "not known yet"}
_FIGURE = """
![Mean rank of the methods without labels](../{folder}/figure-ranks.png)

*Mean rank over six graphs among methods without labels (1 is best): the paper's, ours with the paper's probes, and ours
with one probe for all. [Numbers](../{folder}/figure-ranks.md)*
"""
_RUN = """
## Run it

In a clone (each graph is downloaded when a command first needs it, see [data sets](data.md)):

<!-- not run: it trains for many hours -->
```bash
pip install '.[paper]'
signnap reproduce all --quick          # every table and figure in minutes, with meaningless numbers
signnap reproduce table-perturbations  # trains the missing cells of one table and writes its page
signnap reproduce all                  # trains everything that is missing; many hours on a GPU
signnap report results --out page.html # all pages and figures in one file
```

`signnap reproduce` skips completed cells. It stores each result in `results/rows.jsonl` with its settings, seeds,
device, versions, revision and command. [Evaluation](evaluation.md) explains splits, probes and seeds.
"""
_BEHIND = """
## All tables and figures

[All evidence and every cell](../{folder}/cells.md) has the complete numbers of every claim, the paper's figure beside
ours for every method and graph, and the reasons for differences. Each table and figure has a page. Tables that the
paper does not have are marked *ours*. SIGNNAP, GRACE and GCA were trained with `--precision tf32`, and SIGNNAP shares
one draw of negatives among 512 anchors, unless a column says otherwise; `table-letter` measures what both change.
"""
#: The targets that the paper does not have.
_OURS = {
    "authors", "table-fidelity", "table-seeds", "table-start", "table-tried", "table-letter", "table-rounding",
    "table-sharing", "table-grid", "figure-ranks",
}  # fmt: skip


def page(results: Results, seeds: int) -> str:
    """Return the page for so many encoder seeds."""
    names = {"folder": results.path.resolve().parent.name, "rows": results.path.name}
    found = [(claim, decide(claim, results, seeds)) for claim in CLAIMS]
    parts = [
        _ABOUT.format(**names),
        "## Result",
        *([_QUICK] if results.quick else _summary(results, seeds, [verdict for _, verdict in found])),
        _FIGURE.format(**names),
        *_claims(found, seeds),
        _RUN,
        _BEHIND.format(**names),
        _inventory(results, seeds, names["folder"]),
    ]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def _summary(results: Results, seeds: int, verdicts: list[Verdict]) -> Iterator[str]:
    """Count the verdicts, name the claims of each section by verdict, and count the accuracies that agree."""
    count = lambda kind: sum(verdict.kind == kind for verdict in verdicts)
    unknown = f" {count('unknown')} are not known yet." if count("unknown") else ""
    yield (
        f"Of {len(CLAIMS)} claims, **{count('holds')} hold**, {count('in part')} hold in part and "
        f"**{count('not')} do not hold**.{unknown} By section of the paper:"
    )
    sections: dict[str, dict[str, list[str]]] = {}
    for claim, verdict in zip(CLAIMS, verdicts, strict=True):
        section = sections.setdefault(claim.where.partition(",")[0], {kind: [] for kind in _GROUPS})
        section[verdict.kind].append(claim.name)
    said = lambda groups: " ".join(f"*{_GROUPS[kind]}*: {'; '.join(names)}." for kind, names in groups.items() if names)
    yield "\n".join(f"- **{section}** – {said(groups)}" for section, groups in sections.items())
    yield "Accuracies:"
    folder = results.path.resolve().parent.name
    link = lambda name: f"[{name}](../{folder}/{name}.md)"
    own = fidelity.FIDELITY.seeds if seeds == REPRODUCTION.seeds else seeds
    compared, cells = fidelity.compared_cells(results, own)
    inside = sum(each.place == "inside" for each in compared)
    expected = f"{sum(each.share for each in compared):.1f}"
    said_of = [
        f"- **SIGNNAP** – in {inside} of {len(compared)} cells, the paper's figure lies within the range of up to "
        f"{own} encoder seeds; {expected} are expected if the paper's encoder is one more seed of ours "
        f"({link('table-fidelity')})."
    ]
    pooled = first_weights.all_encoders(results, seeds)
    if all(each.encoders for each in pooled):
        inside, most = sum(each.place == "inside" for each in pooled), max(len(each.encoders) for each in pooled)
        said_of[0] += f" With all encoders, up to {most} in a cell, it is {inside} of {cells} ({link('table-start')})."
    near, known = reproduction_cells.near_the_paper(results, seeds)
    said_of.append(
        f"- **Other methods** – in {near} of {known} cells, ours is above the paper or at most "
        f"{reproduction_cells.TOLERANCE} points below it ([reasons](../{folder}/cells.md#other-methods))."
    )
    yield "\n".join(said_of)


def _claims(found: list[tuple[Claim, Verdict]], seeds: int) -> Iterator[str]:
    lines = [[f"**{claim.name}**: {claim.sentence}", verdict.text, verdict.number] for claim, verdict in found]
    yield "## Claims"
    yield summaries.table(["claim", "verdict", "number"], lines)
    yield f"{RULE.strip()} A claim uses up to {seeds} encoder seeds of each cell."


def _inventory(results: Results, seeds: int, folder: str) -> str:
    """List all other targets with their cells and encoder seeds, and the number of cells that lack seeds."""
    lines = []
    for name, target, count in other_targets(seeds):
        cells = target.recipe()
        numbers = [str(len(cells)), str(count), str(len(results.missing(cells, count)))] if cells else ["–"] * 3
        title = (target.title or AUTHORS_TITLE) + (" (*ours*)" if name in _OURS else "")
        lines.append([f"[`{name}`](../{folder}/{name}.md)", title, *numbers])
    return summaries.table(["page", "content", "cells", "encoder seeds", "cells that lack seeds"], lines)


def other_targets(seeds: int) -> Iterator[tuple[str, Target, int]]:
    """Yield every table and figure with its own number of encoder seeds, or the number that the page is asked for."""
    for name in HOMES:
        if name not in (WHOLE, "cells"):
            target = find_target(name)
            yield name, target, target.seeds if seeds == REPRODUCTION.seeds else seeds


#: The page of authors has no title, because the documentation includes it.
AUTHORS_TITLE = "Every method against the accuracies that were reported for it"
REPRODUCTION = Target(list, page, title="The paper, reproduced")

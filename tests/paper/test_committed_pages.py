"""The committed pages are those that the committed rows make."""

import re
from pathlib import Path

import pytest

from signnap_paper.paper import explanations
from signnap_paper.results import Results
from signnap_paper.targets import HOMES, find_target

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "results"
#: The page of verdicts is a part of the documentation.
PLACES = {name: RESULTS / f"{name}.md" for name in HOMES} | {"reproduction": ROOT / "docs" / "reproduction.md"}
PAGES = [
    pytest.param(name, marks=[pytest.mark.data] if name == "table-datasets" else [])
    for name, place in PLACES.items()
    if place.exists()
]


@pytest.fixture(scope="module")
def rows():
    return Results(RESULTS / "rows.jsonl")


@pytest.mark.parametrize("name", PAGES)
def test_a_committed_page_is_made_of_the_committed_rows(name, rows, request, monkeypatch):
    if name == "table-datasets":  # it is made of the graphs themselves
        monkeypatch.setenv("SIGNNAP_DATA", str(request.getfixturevalue("raw_data")))
    made = find_target(name).text(name, rows, find_target(name).seeds)
    assert PLACES[name].read_text("utf-8") == made, "make it again: make pages"


@pytest.mark.skipif(not (RESULTS / "rows.jsonl").exists(), reason="there are no rows here")
def test_every_committed_row_belongs_to_a_target(rows):
    wanted = {cell.key for name in HOMES for cell in find_target(name).recipe()}
    assert [key for key in rows._rows if key not in wanted] == []


def test_every_difference_is_explained_and_every_explanation_needed():
    page = PLACES["cells"].read_text("utf-8") + PLACES["table-fidelity"].read_text("utf-8")
    assert "| not yet |" not in page
    assert [text for texts in explanations().values() for text in texts.values() if text not in page] == []


@pytest.mark.parametrize(
    ("claim", "verdict"),
    [
        ("better than unsupervised peers", "does not hold"),
        ("more stable", "does not hold"),
        *((f"loses less accuracy with depth on {graph}", "holds (2 of 3") for graph in ("pubmed", "facebook")),
        *((f"A {what} hurts", "holds (") for what in ("larger K", "small ρ", "much lower τ")),
        ("A large ρ hurts", "holds only for one seed"),
        ("varies less over dimensions than DGI", "holds ("),
        ("DropEdge is the best perturbation", "does not hold"),
    ],
)
def test_the_readme_sums_up_what_the_page_says(claim, verdict):
    """If this fails, the rows have changed the verdict: update the README."""
    (line,) = (line for line in PLACES["reproduction"].read_text("utf-8").splitlines() if f"| **{claim}**" in line)
    assert line.split(" | ")[1].startswith(verdict)


def test_the_readme_counts_the_figures_within_range_as_the_page_does():
    (count,) = re.findall(r"seeds in (\d+ of \d+ cells)", (RESULTS / "table-fidelity.md").read_text("utf-8"))
    assert f"In {count} the paper's figure" in " ".join((ROOT / "README.md").read_text("utf-8").split())


def test_the_gpu_page_says_what_precision_changes_as_the_table_does():
    page = (RESULTS / "table-letter.md").read_text("utf-8")
    ((mean, cells, error),) = re.findall(
        r"It is (\S+) on average over (\d+) cells, with a standard error of (\S+),", page
    )
    said = f"{mean} points on average over {cells} cells, with a standard error of {error}"
    assert said in " ".join((ROOT / "docs" / "gpu.md").read_text("utf-8").split())


def test_the_gpu_page_says_what_a_rounding_changes_as_the_table_does():
    lines = [line.strip("| ").split(" | ") for line in (RESULTS / "table-rounding.md").read_text("utf-8").splitlines()]
    apart = {(line[0], *line[1:3]): float(line[-1]) for line in lines if len(line) == 8 and line[-1][0].isdigit()}
    most = {name: max(each for key, each in apart.items() if key[0] == name) for name, *_ in apart}
    assert len(apart) == 38 and most.pop("SIGNNAP(GAT)") <= 0.01 and min(most.values()) > 1
    said = f"a GAT becomes the same, but other backbones end up to {max(apart.values()):.1f} points of accuracy apart"
    assert said in " ".join((ROOT / "docs" / "gpu.md").read_text("utf-8").split())

"""``signnap report``: one file of a folder of results."""

import json
import shutil
from pathlib import Path

import pytest

ROWS = Path(__file__).resolve().parents[2] / "results" / "rows.jsonl"
pytestmark = pytest.mark.skipif(not ROWS.exists(), reason="there are no rows here")


@pytest.fixture
def results(tmp_path):
    (tmp_path / "results").mkdir()
    shutil.copy(ROWS, tmp_path / "results" / "rows.jsonl")


def test_a_page_with_all_figures(command, results):
    told = command("report", "results", "--out", "new/page.html", "--json").json
    page = Path("new/page.html").read_text()
    assert told == {"report": "new/page.html", "rows": len(ROWS.read_text().splitlines())}
    assert page.count('<img src="data:image/png;base64,') == page.count("<img") == 6
    assert "does not hold" in page and 'id="figure-stability"' in page


def test_lines_for_programs(command, results):
    assert command("report", "results", "--out", "all.jsonl").code == 0
    lines = [json.loads(line) for line in Path("all.jsonl").read_text().splitlines()]
    rows = [json.loads(line) for line in ROWS.read_text().splitlines()]
    assert len(lines) == sum(len(probes) for row in rows for part in ("test", "val") for probes in row.get(part, []))


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("results", "--out", "page.txt"), "page.txt ends in '.txt': expected .html or .jsonl"),
        (("gone", "--out", "page.html"), "gone has no results: expected a folder that reproduce wrote"),
        (("results", "--out", "results/rows.jsonl"), "results/rows.jsonl holds the results themselves"),
    ],
)
def test_one_sentence(command, results, arguments, sentence):
    before = Path("results/rows.jsonl").read_bytes()
    found = command("report", *arguments)
    assert found.code == 1 and found.err.startswith(f"error: {sentence}") and found.err.count("\n") == 1
    assert [path.name for path in Path().rglob("*") if path.is_file()] == ["rows.jsonl"]
    assert Path("results/rows.jsonl").read_bytes() == before

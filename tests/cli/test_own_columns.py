"""Columns of one's own: later batches are read as in training, and splits come from the table."""

from pathlib import Path

import pytest

HEADER = "id,age,country,code\n"
SMALL = ("--dim", 4, "--negatives", 8, "--iterations", 2)


@pytest.fixture
def run(command):
    """A run on numbers, text, and codes that are told to be categories."""
    rows = [f"n{i},{i % 7 / 7:.2f},{('DE', 'FR')[i % 2]},{(5411, 5812)[i % 3 % 2]}\n" for i in range(20)]
    Path("nodes.csv").write_text(HEADER + "".join(rows))
    Path("edges.csv").write_text("source,target,weight\n" + "".join(f"n{i},n{(i * 3 + 1) % 20},2\n" for i in range(20)))
    Path("later.csv").write_text("source,target\na,b\n")
    graph = ("edges.csv", "--nodes", "nodes.csv", "--categorical-columns", "code")
    trained = command("train", *graph, "--out", "run", *SMALL)
    assert trained.code == 0, trained.err
    return trained


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ("a,0.5,DE,5411\nb,0.6,FR,5812\n", []),
        ("a,0.5,IT,5411\nb,0.6,FR,5812\n", ["were not seen in training, and count as none: country=IT"]),
        ("a,0.5,,5411\nb,0.6,,\n", []),
        ("a,0.5,276,5411\nb,0.6,276,7\n", ["were not seen in training, and count as none: country=276, code=7"]),
    ],
)
def test_a_batch_of_two_nodes_is_embedded(run, command, rows, told):
    Path("batch.csv").write_text(HEADER + rows)
    result = command("embed", "run", "later.csv", "--nodes", "batch.csv", "--out", "z.csv")
    assert result.code == 0, result.err
    assert [line.partition("columns ")[2] for line in result.err.splitlines() if "not seen" in line] == told
    assert len(Path("z.csv").read_text().splitlines()) == 3
    assert command("analyze", "run", "later.csv", "--nodes", "batch.csv", "--copies", 2).code == 0


def test_text_among_the_numbers_of_training_is_one_sentence(run, command):
    Path("batch.csv").write_text(HEADER + "a,0.5,DE,5411\nb,old,FR,5812\n")
    for what in (("embed", "run", "later.csv", "--out", "z.csv"), ("evaluate", "run", "later.csv")):
        result = command(*what, "--nodes", "batch.csv")
        told = "error: batch.csv, line 3, column 'age' holds 'old': expected a finite number"
        assert (result.code, result.err.splitlines()[-1]) == (1, told)


def test_every_note_is_shown_once(run):
    notes = [line for line in run.err.splitlines() if line.startswith("note: ")]
    assert len(notes) == len(set(notes)) == 3
    assert "note: edges.csv: edges from 'source' to 'target'; ignored other columns: weight" in notes


def test_blanks_in_lists_of_columns_do_not_matter(run, command):
    graph = ("edges.csv", "--nodes", "nodes.csv", "--endpoints", "target, source", "--feature-columns", "country, age")
    result = command("train", *graph, "--out", "other", *SMALL)
    assert result.code == 0, result.err
    assert "3 features from 2 columns" in result.err


def test_a_split_from_the_table(files, command):
    lines = Path("nodes.csv").read_text().splitlines()
    parts = ["part", *(("train", "val", "test", "")[row % 4] for row in range(60))]
    Path("nodes.csv").write_text("\n".join(f"{line},{part}" for line, part in zip(lines, parts, strict=True)))
    graph = ("edges.csv", "--nodes", "nodes.csv", "--split-column", "part")
    assert command("train", *graph, "--out", "run", *SMALL).code == 0
    found = command("evaluate", "run", *graph, "--split", "public", "--probe", "logistic", "--json").json
    assert found["split"] == "public"

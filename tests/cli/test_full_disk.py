"""A disk that is full: one sentence, exit code 1, and what was there before is still there."""

import os
import re
from pathlib import Path

import pytest

from full_disk import full_disk

TRAIN = ("train", "edges.csv", "--nodes", "nodes.csv", "--iterations", 9, "--dim", 8, "--negatives", 16, "--out")


@pytest.mark.parametrize("suffix", ["npy", "csv", "parquet"])
def test_no_room_for_embeddings(suffix, folder, fails):
    Path(f"z.{suffix}").write_text("what was there")
    with full_disk(500):
        sentence = fails("embed", "run", "edges.csv", "--nodes", "nodes.csv", "--out", f"z.{suffix}")
    assert re.fullmatch(rf"cannot write z\.{suffix}: .*File too large.*; nothing was left half-written", sentence)


def test_no_room_for_a_checkpoint(fails, command):
    with full_disk(8000):
        sentence = fails(*TRAIN, "run", "--resume", but=[f"run/{name}" for name in MAY_GROW])
    assert sentence == "cannot write run/state.pt: File too large; nothing was left half-written"
    assert command(*TRAIN, "run", "--resume").code == 0


#: What is written before the state: whole files all of them, which a resumed run writes again.
MAY_GROW = ("config.toml", "run.json", "metrics.jsonl", "model.safetensors")


def test_no_room_for_a_run(folder, command):
    with full_disk(100):
        result = command(*TRAIN, "new")
    assert result.code == 1
    assert (
        result.err.splitlines()[-1] == "error: cannot write new/run.json: File too large; nothing was left half-written"
    )
    assert not os.path.exists("new")
    assert command(*TRAIN, "new").code == 0

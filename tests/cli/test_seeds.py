"""Several encoder seeds: which numbers are meant, and with which settings they go on."""

import os

import pytest

from signnap.config import read_toml

SMALL = ("--dim", 8, "--negatives", 16, "--iterations", 5)
GRAPH = ("edges.csv", "--nodes", "nodes.csv")


@pytest.mark.parametrize("seeds", ["2,0", "00,1", " 1 ,2"])
def test_new_seeds_are_trained_as_the_old_ones_were(seeds, files, command):
    assert command("train", *GRAPH, "--out", "runs", *SMALL, "--seeds", "0,1").code == 0
    found = command("train", *GRAPH, "--out", "runs", "--seeds", seeds, "--resume", "--json").json["runs"]
    numbers = [int(seed) for seed in seeds.split(",")]
    assert [run["run"] for run in found] == [os.path.join("runs", f"seed-{number}") for number in numbers]
    for run, number in zip(found, numbers, strict=True):
        config = read_toml(os.path.join(run["run"], "config.toml"))
        assert (config["dim"], config["iterations"], config["seed"]) == (8, 5, number)


@pytest.mark.parametrize("seeds", ["1_0,2", "٣", "-1", "+1", "1,", "0x1", "1.0", "9" * 5000])
def test_what_is_no_seed(seeds, fails):
    sentence = fails("train", *GRAPH, "--out", "new", "--seeds", seeds)
    whole = f"--seeds is {seeds!r}: expected whole numbers with commas between them, such as 0,1,2"
    assert (sentence[:900], sentence[-900:]) == (whole[:900], whole[-900:])  # the longest loses its middle


def test_a_seed_that_is_too_large(fails):
    sentence = fails("train", *GRAPH, "--out", "new", "--seeds", 10**20)
    assert sentence == f"the settings: seed is {10**20}: expected a number of at most 9.2e+18"

"""Seeds: independent by purpose, reproducible for ever, and without a trace outside their block."""

import hashlib
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
import torch

from signnap.rng import as_default, derive_seed, generator, generators


def test_seeds_are_what_they_were_in_earlier_versions():
    digest = hashlib.sha256(b"7/views").digest()
    assert derive_seed(7, "views") == int.from_bytes(digest[:8], "big") // 2


def test_seeds_differ_by_purpose_and_number():
    seeds = {derive_seed(seed, purpose) for seed in range(50) for purpose in ("views", "negatives", "layers", "bank")}
    assert len(seeds) == 200
    assert all(0 <= seed < 2**63 for seed in seeds)


def test_generators_of_different_purposes_are_uncorrelated():
    a, b = (torch.randn(10_000, generator=generator(0, purpose)) for purpose in ("views", "negatives"))
    assert abs(torch.corrcoef(torch.stack([a, b]))[0, 1]) < 0.05
    assert torch.equal(a, torch.randn(10_000, generator=generator(0, "views")))


def test_generators_by_purpose():
    found = generators(3, ("views", "layers"), "cpu")
    assert [*found] == ["views", "layers"]
    assert all(torch.equal(s.get_state(), generator(3, name).get_state()) for name, s in found.items())


def test_default_draws_come_from_the_given_generator_and_advance_it():
    source, found = generator(1, "layers"), []
    for _ in range(2):
        with as_default(source):
            found.append(torch.randn(3))
        torch.rand(5)  # draws between the blocks do not matter
    fresh = generator(1, "layers")
    assert torch.equal(torch.stack(found), torch.stack([torch.randn(3, generator=fresh) for _ in range(2)]))


def test_nothing_changes_outside_the_block():
    before = torch.get_rng_state()
    with as_default(generator(2, "layers")):
        torch.rand(10)
    assert torch.equal(torch.get_rng_state(), before)


def test_an_exception_leaves_no_trace_either():
    source, before = generator(3, "layers"), torch.get_rng_state()
    with pytest.raises(KeyboardInterrupt), as_default(source):
        torch.rand(4)
        raise KeyboardInterrupt
    assert torch.equal(torch.get_rng_state(), before)
    fresh = generator(3, "layers")
    torch.rand(4, generator=fresh)
    assert torch.equal(source.get_state(), fresh.get_state())


def test_threads_wait_for_each_other():
    together, before = Barrier(2), torch.get_rng_state()

    def draw(seed):
        together.wait()
        source, found = generator(seed, "layers"), []
        for _ in range(200):
            with as_default(source):
                found.append(torch.randn(2000))
        return torch.stack(found)

    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(draw, (0, 1)))
    for seed, drawn in enumerate(found):
        source = generator(seed, "layers")
        assert torch.equal(drawn, torch.stack([torch.randn(2000, generator=source) for _ in range(200)]))
    assert torch.equal(torch.get_rng_state(), before)

"""Registries: what a name stands for, which arguments a part takes, and that each part exists."""

import subprocess
import sys

import pytest

from signnap import NCE, InfoNCE, SignnapError
from signnap.interfaces import Encoder, Objective
from signnap.registry import ENCODERS, OBJECTIVES, Part, Registry


@pytest.mark.parametrize("name", ENCODERS)
def test_every_encoder_is_built_by_name_with_the_last_width_asked_for(name):
    encoder = ENCODERS[name].build(in_dim=5, dim=8, layers=2, dropout=0.5, heads=2, out_dim=6)
    assert isinstance(encoder, Encoder)


@pytest.mark.parametrize(("name", "kind"), [("nce", NCE), ("infonce", InfoNCE)])
def test_an_objective_gets_the_settings_that_it_names(name, kind):
    built = OBJECTIVES.find(name).build(negatives=7, temperature=0.2, momentum=0.9, negatives_group=3, more=1)
    assert type(built) is kind and isinstance(built, Objective)
    assert (built.negatives, built.temperature, built.bank.momentum, built.negatives_group) == (7, 0.2, 0.9, 3)


@pytest.mark.parametrize("name", ["nec", ["nce"], None, 3])
def test_an_unknown_name(name):
    with pytest.raises(SignnapError, match=r"^unknown objective .* Known: infonce, nce$"):
        OBJECTIVES.find(name)
    with pytest.raises(SignnapError, match=r"^unknown objective 'nec', did you mean 'nce'"):
        OBJECTIVES.find("nec")


def test_fixed_arguments_win_and_a_part_that_takes_any_gets_all():
    assert Part("registry:Part", {"home": "fixed"}).build(home="given", other=1) == Part("fixed")


def test_names_in_a_sentence():
    assert Registry("kind", {"a": 1}).choices() == "a"
    assert Registry("kind", {"a": 1, "b": 2, "c": 3}).choices() == "a, b or c"


def test_names_are_known_without_torch():
    code = "import sys; from signnap.registry import ENCODERS; print('torch' in sys.modules, len(ENCODERS) > 4)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]

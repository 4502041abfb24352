"""The public names: exactly these, each documented, and every example in the documentation runs."""

import ast
import doctest
import importlib.metadata
import inspect
import pkgutil
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

import signnap

NAMES = [
    "__version__",
    "SIGNNAP", "Settings", "SignnapError", "Method", "method_class", "load_method",
    "Graph", "View",
    "load_graph", "make_split", "Split", "write_embeddings", "read_embeddings",
    "DropEdge", "DropUnimportant", "FeatureNoise", "MaskFeatures", "Compose",
    "Encoder", "Objective", "Perturbation", "Terms", "ConvolutionalStack",
    "NCE", "InfoNCE", "AllPairs", "BarlowTwins", "CCA",
    "score", "score_models", "linear_probe", "logistic_probe",
    "stability", "smoothness", "identifiability",
]  # fmt: skip


def test_these_names_are_public():
    assert sorted(signnap.__all__) == sorted(NAMES)
    assert dir(signnap) == sorted(NAMES)


def test_a_star_import_brings_them_all():
    scope = {}
    exec("from signnap import *", scope)
    assert set(NAMES) <= set(scope)


@pytest.mark.parametrize("name", sorted(set(NAMES) - {"__version__"}))
def test_each_name_is_documented(name):
    found = getattr(signnap, name)
    assert found.__name__ == name
    words = inspect.getdoc(found)
    assert words and not words.startswith(f"{name}("), "a dataclass's signature is no documentation"


def test_type_checkers_see_the_same_names():
    tree = ast.parse(Path(signnap.__file__).read_text(encoding="utf-8"))
    blocks = [node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"]
    seen = [alias.name for block in blocks for line in block.body for alias in line.names]
    assert sorted(seen) == sorted(set(signnap.__all__) - {"__version__"})
    assert all(hasattr(signnap, name) for name in seen)


def test_the_version_is_that_of_the_installed_package():
    assert signnap.__version__ == importlib.metadata.version("signnap")


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'signnap' has no attribute 'SIGNAP'"):
        signnap.SIGNAP  # noqa: B018


def examples():
    """Every docstring of the package that shows an example."""
    finder = doctest.DocTestFinder(exclude_empty=True)
    names = ["signnap", *(module.name for module in pkgutil.walk_packages(signnap.__path__, "signnap."))]
    for name in names:
        if name != "signnap.__main__" and (find_spec("triton") or ".triton." not in name):
            yield from (test for test in finder.find(import_module(name)) if test.examples)


EXAMPLES = {test.name: test for test in examples()}


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_do_what_they_show(name):
    report = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    runner.run(EXAMPLES[name], out=report.append)
    assert runner.summarize(verbose=False).failed == 0, "".join(report)


def test_the_example_of_the_estimator_is_among_them():
    assert "signnap.methods.signnap.SIGNNAP" in EXAMPLES

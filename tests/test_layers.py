"""Imports point one way: a module imports from lower layers or its own room, and the core knows no reproduction."""

import ast
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import signnap
import signnap_paper

FOUNDATIONS = [
    "errors",
    "storage",
    "registry",
    "rng",
    "config",
    "ops",
    "graph",
    "interfaces",
]
PARTS = ["data", "perturb", "encoders", "objectives", "walks"]
LIBRARY = [*FOUNDATIONS, *PARTS, "train", "methods", "evaluate"]

#: room -> the rooms it may import. Foundations stand in order: each may import those before it.
ALLOWED = {
    **{room: set(FOUNDATIONS[:number]) for number, room in enumerate(FOUNDATIONS)},
    **{room: set(FOUNDATIONS) for room in (*PARTS, "train", "evaluate")},
    "methods": {*FOUNDATIONS, *PARTS, "train"},
    "cli": set(LIBRARY),
    "__main__": {"cli"},
    "__init__": set(LIBRARY),
}
#: A module that knows models, in a room whose other modules see arrays only.
ABOVE_THEIR_ROOM = {"evaluate/models.py": set(LIBRARY)}


def room_of(path, root):
    """The sub-package or top-level module that a file belongs to."""
    return path.relative_to(root).with_suffix("").parts[0]


def imported_names(path, root, types=True):
    """Yield everything of the package that a file imports anywhere in it, as dotted names below the package.

    Imports behind TYPE_CHECKING count, unless ``types`` is false.
    """
    package, tree = [*path.relative_to(root).parent.parts], ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if not types and isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            node.body = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = [*package[: len(package) - node.level + 1], *(node.module.split(".") if node.module else [])]
            yield from (".".join([*base, alias.name]) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == root.name:
            yield from (".".join([*node.module.split(".")[1:], alias.name]) for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (a.name.partition(".")[2] or "*" for a in node.names if a.name.split(".")[0] == root.name)


def wrong_imports(root):
    """One sentence for each import that points the wrong way, and for each room without a layer."""
    found = []
    for path in sorted(root.rglob("*.py")):
        room = room_of(path, root)
        if room not in ALLOWED:
            found.append(f"{room} has no layer")
            continue
        allowed = ABOVE_THEIR_ROOM.get(path.relative_to(root).as_posix(), ALLOWED[room])
        for name in imported_names(path, root):
            target = name.split(".")[0]
            if name != "__version__" and target != room and target not in allowed:
                found.append(f"{path.relative_to(root)} imports {name}")
    return found


def circle(root):
    """Return modules of which each imports the next and the last the first, or nothing where there is no cycle.

    Imports in functions and behind TYPE_CHECKING count, except for the names that an ``__init__.py`` lists for type
    checkers and loads on first use.
    """
    paths = {".".join(path.relative_to(root).with_suffix("").parts): path for path in root.rglob("*.py")}
    paths = {name.removesuffix(".__init__"): path for name, path in paths.items()}
    imports = {
        name: {
            found
            for each in imported_names(path, root, types=path.name != "__init__.py")
            if (found := _module(each, paths)) != name
        }
        for name, path in paths.items()
    }
    try:
        TopologicalSorter(imports).prepare()
    except CycleError as error:
        return error.args[1]
    return []


def _module(name, paths):
    """The module that a name is in, or is."""
    while name not in paths:
        name = name.rpartition(".")[0] or "__init__"
    return name


def test_imports_point_one_way():
    assert wrong_imports(Path(signnap.__file__).parent) == []


def test_the_layers_are_those_of_rooms_that_exist():
    root = Path(signnap.__file__).parent
    assert {room_of(path, root) for path in root.rglob("*.py")} == set(ALLOWED)


def test_no_two_rooms_import_each_other():
    assert not [(a, b) for a in ALLOWED for b in ALLOWED[a] if a in ALLOWED.get(b, ())]


def tree(tmp_path, files):
    root = tmp_path / "signnap"
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def test_no_module_imports_itself_through_others():
    assert circle(Path(signnap.__file__).parent) == []
    assert circle(Path(signnap_paper.__file__).parent) == []


def test_the_core_never_imports_the_reproduction():
    for path in sorted(Path(signnap.__file__).parent.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not [name for name in names if name.split(".")[0] == "signnap_paper"], path


def test_only_the_command_line_imports_the_benchmarks():
    root = Path(signnap_paper.__file__).parent
    found = {
        path.relative_to(root).parts[0]
        for path in root.rglob("*.py")
        if any(name.startswith("benchmarks") for name in imported_names(path, root))
    }
    assert found - {"benchmarks"} == {"cli.py"}


def test_circles_are_found(tmp_path):
    files = {
        "__init__.py": "__version__ = 1",
        "data/__init__.py": "from .load import load",
        "data/load.py": "from typing import TYPE_CHECKING",
        "data/made.py": "from .load import load",
    }
    assert circle(tree(tmp_path, files)) == []
    typed = {"data/load.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from . import made"}
    assert set(circle(tree(tmp_path, files | typed))) == {"data.load", "data.made"}
    late = tree(tmp_path, files | {"data/load.py": "def load():\n    from . import made"})
    assert set(circle(late)) == {"data.load", "data.made"}


def test_right_imports_pass(tmp_path):
    files = {
        "__init__.py": "from .methods.signnap import SIGNNAP",
        "graph/view.py": "from ..errors import SignnapError\nfrom .pattern import Pattern\nimport torch",
        "encoders/gcn.py": "from .. import rng\nfrom ..graph import View\nfrom signnap.interfaces import Encoder",
        "methods/facts.py": "from .. import __version__\nfrom ..train.run_folder import RunFolder",
        "data/__init__.py": "from importlib import import_module",
        "cli/app.py": "def run():\n    from ..evaluate.models import judge",
        "evaluate/models.py": "from ..methods.signnap import SIGNNAP",
    }
    assert wrong_imports(tree(tmp_path, files)) == []


@pytest.mark.parametrize(
    ("file", "line", "name"),
    [
        ("encoders/gcn.py", "from ..objectives import NCE", "objectives.NCE"),
        ("perturb/edges.py", "from .. import data", "data"),
        ("train/loop.py", "from ..encoders.gcn import GCNStack", "encoders.gcn.GCNStack"),
        ("evaluate/score.py", "from ..methods.signnap import SIGNNAP", "methods.signnap.SIGNNAP"),
        ("evaluate/properties.py", "from ..methods.base import Method", "methods.base.Method"),
        ("methods/signnap.py", "from ..evaluate import score", "evaluate.score"),
        ("graph/view.py", "from ..interfaces import Encoder", "interfaces.Encoder"),
        ("errors.py", "from .storage import replacing", "storage.replacing"),
        ("evaluate/models.py", "from ..cli.output import emit", "cli.output.emit"),
        ("data/load.py", "from .. import SIGNNAP", "SIGNNAP"),
        ("data/load.py", "import signnap.methods.signnap as method", "methods.signnap"),
        ("data/load.py", "import signnap", "*"),
        ("data/load.py", "from signnap.encoders import build_encoder", "encoders.build_encoder"),
        ("data/deep/er.py", "from ...encoders import build_encoder", "encoders.build_encoder"),
        ("rng.py", "def late():\n    from .graph import Graph", "graph.Graph"),
    ],
)
def test_wrong_imports_are_found(tmp_path, file, line, name):
    assert wrong_imports(tree(tmp_path, {file: line})) == [f"{file} imports {name}"]


def test_a_new_room_needs_a_layer(tmp_path):
    assert wrong_imports(tree(tmp_path, {"utils/misc.py": ""})) == ["utils has no layer"]

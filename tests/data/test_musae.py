"""The facebook graph from its real files, and faults in them."""

import csv
import json
import shutil

import pytest

from signnap.data.musae import read_facebook
from signnap.errors import SignnapError
from signnap.graph import as_dense

FILES = ("facebook_edges.csv", "facebook_features.json", "facebook_target.csv")


@pytest.fixture
def copied(raw_data, tmp_path):
    """A copy of the real files that a test can damage."""
    for name in FILES:
        shutil.copyfile(raw_data / "musae" / name, tmp_path / name)
    return tmp_path


@pytest.mark.data
def test_real_files_against_a_slow_twin(raw_data):
    folder = raw_data / "musae"
    graph = read_facebook(folder)
    with open(folder / "facebook_target.csv", newline="", encoding="utf-8") as file:
        types = [row["page_type"] for row in csv.DictReader(file)]
    assert graph.classes == tuple(dict.fromkeys(types)) == ("tvshow", "government", "company", "politician")
    assert [graph.classes[label] for label in graph.y] == types
    words = json.loads((folder / "facebook_features.json").read_text())
    dense = as_dense(graph.x)
    for node in (0, 1, 22469):
        assert dense[node].nonzero().ravel().tolist() == sorted(words[str(node)])
    assert dense.max() == 1
    assert (graph.report.given, graph.report.self_loops) == (171_002, 179)


def test_quoted_names_repeated_words_and_loops(tmp_path):
    pages = '0,10,"Cats, dogs\n& ""friends""",company\n1,11,Ünï\u2028code,tvshow\n2,12,,company\n'
    (tmp_path / "facebook_target.csv").write_text("id,facebook_id,page_name,page_type\n" + pages, encoding="utf-8")
    (tmp_path / "facebook_edges.csv").write_text("id_1,id_2\n0,1\n1,0\n1,2\n2,2\n")
    (tmp_path / "facebook_features.json").write_text('{"2": [1, 1], "0": [2], "1": []}')
    graph = read_facebook(tmp_path)
    assert graph.y.tolist() == [0, 1, 0]
    assert graph.classes == ("company", "tvshow")
    assert graph.num_edges == 2
    assert as_dense(graph.x).tolist() == [[0, 0, 1], [0, 0, 0], [0, 1, 0]]


@pytest.mark.data
@pytest.mark.parametrize(
    ("file", "line", "text", "sentence"),
    [
        ("facebook_edges.csv", 3, "7,abc", "facebook_edges.csv, line 3: found node 'abc', expected 0 to 22469"),
        ("facebook_edges.csv", 3, "7,22470", "facebook_edges.csv, line 3: found node '22470'"),
        ("facebook_edges.csv", 3, "7,-1", "facebook_edges.csv, line 3: found node '-1'"),
        ("facebook_edges.csv", 3, "7", "facebook_edges.csv, line 3: found 1 cells, expected 2"),
        ("facebook_edges.csv", 1, "a,b", "found the columns a,b, expected id_1,id_2"),
        ("facebook_target.csv", 4, "9,1,name,company", "facebook_target.csv, line 4: found node '9', expected 2"),
        ("facebook_target.csv", 4, '2,1,"na"me,company', "facebook_target.csv, line 4: "),
        ("facebook_features.json", 1, "[1, 2]", "facebook_features.json is not a JSON object of lists"),
        ("facebook_features.json", 1, '{"0": [1.5]}', "has the word 1.5"),
        ("facebook_features.json", 1, '{"0": [1000000000000]}', "has the word 1000000000000"),
        ("facebook_features.json", 1, '{"22470": [1]}', "facebook_features.json: found node '22470'"),
        ("facebook_features.json", 1, "{", "facebook_features.json is not a JSON object of lists"),
    ],
)
def test_fault_is_named(copied, file, line, text, sentence):
    path = copied / file
    lines = path.read_text(encoding="utf-8").split("\n")
    lines[line - 1] = text
    path.write_text("\n".join(lines), encoding="utf-8")
    with pytest.raises(SignnapError) as caught:
        read_facebook(copied)
    assert sentence in str(caught.value)

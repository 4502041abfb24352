"""``signnap report FILE.jsonl``: a line for every accuracy."""

from made_rows import failed, row

from signnap_paper.paper import cell
from signnap_paper.report import each_accuracy
from signnap_paper.results import Results

MADE = {"signnap": "0.1.0", "revision": "abc", "peak_memory_mb": 3.0}


def test_a_line_for_every_probe_of_every_encoder(tmp_path):
    results = Results(tmp_path / "rows.jsonl")
    results.add(cell("SIGNNAP(GAT)", "pubmed"), row([[70.0, 71.0], [72.0, 73.0]], val=[[1.0, 2.0], [3.0, 4.0]], **MADE))
    results.add(cell("CMV", "pubmed"), failed())
    lines = list(each_accuracy(results))
    tests = [(line["encoder_seed"], line["probe_seed"], line["value"]) for line in lines if line["metric"][0] == "t"]
    assert tests == [(0, 0, 70.0), (0, 1, 71.0), (1, 0, 72.0), (1, 1, 73.0)]
    assert [line["value"] for line in lines if line["metric"] == "validation accuracy"] == [1.0, 2.0, 3.0, 4.0]
    assert lines[0] == {
        "method": "signnap", "backbone": "gat", "dataset": "pubmed", "split": "paper", "redrawn": False,
        "protocol": "linear, on dropped graphs", "settings": {"backbone": "gat", "precision": "tf32"},
        "encoder_seed": 0, "probe_seed": 0, "metric": "test accuracy", "value": 70.0, "iterations": 7,
        "collapsed": False, "seconds": 2.2, "peak_memory_mb": 3.0, "device": "Fast One",
        "version": "0.1.0+abc", "config_hash": None,
    }  # fmt: skip


def test_different_settings_have_different_hashes(tmp_path):
    results = Results(tmp_path / "rows.jsonl")
    for graph, lr in (("pubmed", 0.1), ("facebook", 0.2), ("coauthor_cs", 0.1)):
        resolved = {"lr": lr, "backbone": "gcn"}
        results.add(cell("DGI", graph), row([[70.0]], signnap="0.1.0", resolved=resolved))
    found = {line["dataset"]: line for line in each_accuracy(results)}
    hashes = [found[graph]["config_hash"] for graph in ("pubmed", "facebook", "coauthor_cs")]
    assert hashes[0] == hashes[2] != hashes[1] and len(hashes[0]) == 16
    assert found["pubmed"]["backbone"] == "gcn" and found["pubmed"]["version"] == "0.1.0"
    assert found["pubmed"]["peak_memory_mb"] is None


def test_encoders_that_several_cells_share_count_once(tmp_path):
    results = Results(tmp_path / "rows.jsonl")
    collapsed = {"collapsed": {"1": "constant"}}
    results.add(cell("DGI", "pubmed"), row([[70.0], [71.0]], **collapsed))
    looks = {"silhouette": [0.1, 0.2, 0.3]}
    results.add(cell("DGI", "pubmed", looks=("silhouette",)), row([[70.5], [71.5], [72.5]], looks=looks))
    tests = [line for line in each_accuracy(results) if line["metric"] == "test accuracy"]
    assert [(line["encoder_seed"], line["value"]) for line in tests] == [(0, 70.0), (1, 71.0), (2, 72.5)]
    assert [line["collapsed"] for line in tests] == [False, True, False]

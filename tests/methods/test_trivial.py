"""Methods that learn nothing."""

import numpy as np
import pytest

from signnap import method_class
from signnap.graph import as_dense


@pytest.mark.parametrize("normalize", [False, True])
def test_features_are_handed_out_as_a_copy(normalize, small_graph):
    before = as_dense(small_graph.x).clone()
    model = method_class("raw")(normalize_features=normalize).fit(small_graph)
    z = model.transform(small_graph)
    kept = z.copy()
    z[:] = -1
    assert np.array_equal(as_dense(small_graph.x), before)
    assert np.array_equal(model.transform(small_graph), kept)

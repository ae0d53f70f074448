"""What people return: columns, lists, tables and tensors of other libraries."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import fwbq
from fwbq.evaluation.returned import as_array

xr = pytest.importorskip("xarray")


class Tensor:
    """A stand-in for a PyTorch tensor that is part of a graph: it converts itself only when it was detached."""

    def __init__(self, values, graph=True):
        self.values, self.graph = np.asarray(values, dtype=np.float32), graph

    def detach(self):
        return Tensor(self.values, graph=False)

    def cpu(self):
        return self

    def __array__(self, dtype=None, copy=None):
        if self.graph:
            raise RuntimeError("Can't call numpy() on Tensor that requires grad")
        return self.values.astype(dtype or self.values.dtype)


class Jax:
    """A stand-in for an array that offers ``__array__``."""

    def __init__(self, values):
        self.values = np.asarray(values)

    def __array__(self, dtype=None, copy=None):
        return self.values.astype(dtype or self.values.dtype)


class Exchanged:
    """A stand-in for an array that offers DLPack only."""

    def __init__(self, values):
        self.values = np.asarray(values)

    def __dlpack__(self, **options):
        return self.values.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.values.__dlpack_device__()


def square(x):
    return x[:, 0] ** 2


RETURNS = {
    "column": lambda x: square(x)[:, None],
    "elementwise": lambda x: x**2,
    "list": lambda x: square(x).tolist(),
    "tuple": lambda x: tuple(square(x).tolist()),
    "list of lists": lambda x: [[v] for v in square(x).tolist()],
    "series": lambda x: pd.Series(square(x)),
    "series by other labels": lambda x: pd.Series(square(x), index=[f"run {i}" for i in range(len(x))][::-1]),
    "frame": lambda x: pd.DataFrame({"value": square(x)}),
    "xarray": lambda x: xr.DataArray(square(x), dims="run"),
    "xarray column": lambda x: xr.DataArray(square(x)[:, None], dims=("run", "output")),
    "tensor": lambda x: Tensor(square(x)),
    "tensor column": lambda x: Tensor(square(x)[:, None]),
    "list of tensors": lambda x: [Tensor(v) for v in square(x)],
    "jax": lambda x: Jax(square(x)),
    "dlpack": lambda x: Exchanged(square(x)),
}
ONE_POINT = {
    "python": lambda x: float(x[0]) ** 2,
    "numpy": lambda x: np.float64(x[0]) ** 2,
    "vector of one": lambda x: [float(x[0]) ** 2],
    "tensor": lambda x: Tensor(float(x[0]) ** 2),
    "series": lambda x: pd.Series([float(x[0]) ** 2]),
}


@pytest.mark.parametrize("name", RETURNS)
def test_many_points_give_one_integral(name):
    result = fwbq.integrate(RETURNS[name], stats.norm(), n=12, rng=0)
    assert isinstance(result.mean, float) and result.values.shape == (12,)
    # Tensors of the stand-in are float32.
    np.testing.assert_allclose(result.values, square(result.points), rtol=2.0**-23)
    assert repr(result).startswith("IntegrationResult(1.0") or repr(result).startswith("IntegrationResult(0.9")


@pytest.mark.parametrize("name", ONE_POINT)
def test_one_point_gives_one_integral(name):
    result = fwbq.integrate(ONE_POINT[name], stats.norm(), n=12, rng=0, vectorized=False)
    np.testing.assert_allclose(result.values, result.points[:, 0] ** 2, rtol=2.0**-23)
    assert isinstance(result.mean, float)


def test_several_columns_stay_several_integrals():
    result = fwbq.integrate(lambda x: pd.DataFrame({"a": x[:, 0], "b": x[:, 0] ** 2}), stats.norm(), n=12, rng=0)
    assert result.mean.shape == (2,)


def test_the_lambda_of_one_dimension_prints_a_number():
    result = fwbq.integrate(lambda x: np.exp(-(x**2)), stats.norm(), n=20, rng=0)
    assert result.mean == pytest.approx(3.0**-0.5, abs=1e-4)
    assert "0.5773" in repr(result)


def test_a_column_of_log_likelihoods_is_taken():
    found = fwbq.evidence(lambda x: -0.5 * x**2, stats.norm(), n=20, rng=0)
    assert found.log_evidence == pytest.approx(-0.5 * np.log(2.0), abs=1e-6)


def test_whatever_is_no_number_is_still_refused():
    for bad in (lambda x: ["a"] * len(x), lambda x: {"value": 1.0}, lambda x: None, lambda x: 1j * x[:, 0]):
        with pytest.raises(fwbq.EvaluationError):
            fwbq.integrate(bad, stats.norm(), n=12, rng=0)
    assert as_array(3.0).shape == ()

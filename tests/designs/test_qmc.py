import subprocess
import sys

import numpy as np
import pytest
from scipy import stats

import fwbq
from fwbq.designs.qmc import LATTICE_BITS, LATTICE_VECTOR, _bit_reverse, scrambled_engine, sobol_points

SEQUENCES = ["sobol", "halton", "lattice"]
COV = np.array([[1.0, 0.6], [0.6, 2.0]])
MEASURES = {
    "full covariance": fwbq.Gaussian([1.0, -2.0], COV),
    "mixture": fwbq.GaussianMixture([0.2, 0.8], [[-2.0, 0.0], [1.0, 1.0]], [COV, 0.5 * np.eye(2)]),
    "uniform": fwbq.Uniform([0.0, -1.0], [1.0, 3.0]),
    "truncated": fwbq.TruncatedGaussian([1.0, 1.0], [0.5, 0.5]),
}


@pytest.mark.parametrize("sequence", SEQUENCES)
@pytest.mark.parametrize("name", MEASURES)
def test_nested_reproducible_and_better_than_monte_carlo(name, sequence):
    embedding = fwbq.embed(fwbq.ExpQuad(1.0), MEASURES[name])
    design = fwbq.QMC(embedding, sequence=sequence, rng=5)
    first = design.take(10)
    again = fwbq.QMC(embedding, sequence=sequence, rng=5).take(1500)
    assert np.array_equal(design.take(1500), again)
    assert np.array_equal(first, again[:10])
    assert np.isfinite(again).all()
    assert not np.array_equal(again[:10], fwbq.QMC(embedding, sequence=sequence, rng=6).take(10))
    # The mean error over seeds; a Monte Carlo rule has (int k(x, x) p - p[mu]) / n.
    errors = [fwbq.QMC(embedding, sequence=sequence, rng=seed).rule(256).mmd2 for seed in range(3)]
    assert np.mean(errors) < (1 - embedding.variance) / 256 / 5


@pytest.mark.parametrize("sequence", SEQUENCES)
def test_the_mixture_has_its_components_in_proportion(sequence):
    mixture = fwbq.GaussianMixture([0.25, 0.75], [[-50.0], [50.0]], [[[1.0]], [[1.0]]])
    x = fwbq.QMC(fwbq.embed(fwbq.ExpQuad(1.0), mixture), sequence=sequence, rng=0).take(1024)
    assert abs((x < 0).mean() - 0.25) < 0.01
    assert x[x < 0].mean() == pytest.approx(-50, abs=0.02)


def test_the_default_is_sobol():
    embedding = fwbq.embed(fwbq.ExpQuad(1.0), MEASURES["uniform"])
    x = fwbq.QMC(embedding, rng=0).take(64)
    assert np.array_equal(x, fwbq.QMC(embedding, sequence="sobol", rng=0).take(64))
    # A (t, m, 2)-net: one point in each of the 64 intervals of either coordinate.
    for u in ((x - [0, -1]) / [1, 4]).T:
        assert sorted(np.floor(u * 64).astype(int)) == list(range(64))


def test_the_lattice_is_a_group_after_the_shift_is_removed():
    embedding = fwbq.embed(fwbq.ExpQuad(1.0), fwbq.Uniform([0.0] * 3, [1.0] * 3))
    design = fwbq.QMC(embedding, sequence="lattice", rng=1)
    u = (design.take(128) - design.take(1)) % 1.0
    lattice = {tuple(v) for v in np.round(u * 128).astype(int) % 128}
    assert len(lattice) == 128
    assert all(tuple((np.array(a) + b) % 128) in lattice for a in list(lattice)[:10] for b in lattice)


@pytest.mark.parametrize("n", [64, 256, 1024])
@pytest.mark.parametrize("d", [2, 3, 8])
def test_the_lattice_vector_is_better_than_chance(n, d):
    # Worst-case errors of the two-dimensional projections in the periodic Sobolev space of order 1, which the vector
    # was made for, against random odd vectors.
    rng = np.random.default_rng(0)

    def error(z):
        u = (np.arange(n)[:, None] * z / n) % 1.0
        b = 2 * np.pi**2 * (u * u - u + 1 / 6)
        return sum((b[:, i] * b[:, j]).mean() for i in range(d) for j in range(i))

    others = [error(2 * rng.integers(0, n // 2, d) + 1) for _ in range(100)]
    ours = error(LATTICE_VECTOR[:d])
    assert ours < np.median(others) and ours < 3 * np.quantile(others, 0.05)
    assert len(LATTICE_VECTOR) == 40 and (LATTICE_VECTOR % 2 == 1).all() and (LATTICE_VECTOR < 2**LATTICE_BITS).all()


def test_bits_are_reversed():
    i = np.array([0, 1, 2, 3, 2**LATTICE_BITS - 1])
    expected = [int(f"{j:0{LATTICE_BITS}b}"[::-1], 2) for j in i]
    assert _bit_reverse(i).tolist() == expected


def test_the_lattice_says_where_it_ends():
    wide = fwbq.embed(fwbq.ExpQuad(1.0), fwbq.Uniform([0.0] * 41, [1.0] * 41))
    with pytest.raises(ValueError, match=r"`sequence`.*40 coordinates.*41.*sobol"):
        fwbq.QMC(wide, sequence="lattice")
    design = fwbq.QMC(fwbq.embed(fwbq.ExpQuad(1.0), fwbq.Uniform([0.0], [1.0])), sequence="lattice", rng=0)
    design._stream = np.zeros((2**LATTICE_BITS, 1))  # as if all points had been made
    design._append = lambda *args, **kwargs: design._index.append(-1)
    with pytest.warns(RuntimeWarning, match="1048576 of the 1048577"):
        design.take(2**LATTICE_BITS + 1)
    assert "2^20" in design.status


def test_unknown_sequences_are_named():
    embedding = fwbq.embed(fwbq.ExpQuad(1.0), MEASURES["uniform"])
    with pytest.raises(ValueError, match=r"`sequence`.*sobol.*niederreiter"):
        fwbq.QMC(embedding, sequence="niederreiter")


def test_marginals_are_right():
    x = fwbq.QMC(fwbq.embed(fwbq.ExpQuad(1.0), MEASURES["full covariance"]), rng=0).take(1024)
    for j in range(2):
        assert stats.kstest(x[:, j], stats.norm([1.0, -2.0][j], np.sqrt(COV[j, j])).cdf).statistic < 0.01
    assert np.corrcoef(x.T)[0, 1] == pytest.approx(0.6 / np.sqrt(2.0), abs=0.02)


# SciPy loads its direction numbers with the first Sobol sequence of a process, and ignores exceptions there.
FIRST_SOBOL = """
import sys
import numpy as np
import fwbq

def integral():
    normal = fwbq.Gaussian([0.0, 0.0], np.eye(2))
    return fwbq.integrate(lambda x: np.exp(x[:, 0] + x[:, 1]), normal, n=4096, method="net", rng=1, progress=False)

real = np.load
error = {"KeyboardInterrupt": KeyboardInterrupt, "OSError": OSError(24, "Too many open files")}[sys.argv[1]]

def fail(*arguments, **options):
    np.load = real
    raise error

np.load = fail
try:
    print("no error", integral())
except BaseException as raised:
    print(type(raised).__name__, raised)
result = integral()
print(abs(result.mean - np.e) < 3.0 * result.sd < 0.2)
"""


def first_sobol(error):
    run = subprocess.run([sys.executable, "-c", FIRST_SOBOL, error], capture_output=True, text=True, check=True)
    return run.stdout.splitlines()


@pytest.mark.parametrize(
    ("error", "words"), [("KeyboardInterrupt", "KeyboardInterrupt"), ("OSError", "OSError [Errno 24] Too many open")]
)
def test_a_fault_while_direction_numbers_are_loaded_is_raised_and_does_no_harm(error, words):
    """Without care the integral is 0.97059 with a standard deviation of zero, after an interruption that is ignored."""
    first, second = first_sobol(error)
    assert first.startswith(words)
    assert second == "True"


def test_a_sequence_that_repeats_its_points_is_refused(monkeypatch):
    class Stuck(stats.qmc.Sobol):
        def random(self, n=1, **options):
            return np.repeat(super().random(1), n, axis=0)

    monkeypatch.setattr(stats.qmc, "Sobol", Stuck)
    with pytest.raises(RuntimeError, match="Sobol sequence repeats its points"):
        scrambled_engine("sobol", 3, np.random.default_rng(0))


@pytest.mark.parametrize("number", range(6))
def test_a_sequence_that_lacks_a_direction_number_is_refused(monkeypatch, number):
    """The points of index with this binary digit are then those without it, in one coordinate of three."""

    class Lacking(stats.qmc.Sobol):
        def random(self, n=1, **options):
            points = super().random(n, **options)
            i = np.arange(n) ^ (np.arange(n) >> 1)  # the order in which SciPy makes them
            points[i >> number & 1 == 1, 1] = points[np.argsort(i)[i[i >> number & 1 == 1] ^ 1 << number], 1]
            return points

    monkeypatch.setattr(stats.qmc, "Sobol", Lacking)
    with pytest.raises(RuntimeError, match="Sobol sequence repeats its points"):
        scrambled_engine("sobol", 3, np.random.default_rng(0))


@pytest.mark.parametrize("dim", [1, 2, 40, 1000])
def test_the_check_changes_no_point_and_no_generator(dim):
    ours, theirs = np.random.default_rng(3), np.random.default_rng(3)
    points = scrambled_engine("sobol", dim, ours).random(8)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fwbq.designs.qmc._checked", lambda engine: engine)
        np.testing.assert_array_equal(points, scrambled_engine("sobol", dim, theirs).random(8))
    assert ours.bit_generator.state == theirs.bit_generator.state


@pytest.mark.parametrize(("dim", "size"), [(1, 1), (3, 5), (2, 64), (40, 1000)])
def test_any_number_of_points_is_the_beginning_of_the_sequence_without_a_warning(dim, size):
    expected = scrambled_engine("sobol", dim, np.random.default_rng(7)).random(1024)[:size]
    np.testing.assert_array_equal(sobol_points(dim, size, np.random.default_rng(7)), expected)

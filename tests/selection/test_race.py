"""Comparisons: against brute force, racing, stopping, journals, executors, results."""

import json
import sqlite3
import threading
import warnings
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from scipy import integrate, stats

import fwbq
from fwbq import _files, chema
from fwbq.evaluation import EvaluationError, JournalError
from fwbq.selection import Comparison, Earlier, LogScale, Options, Standard, compare_families
from fwbq.selection import race as race_module
from studies import calibration

PRIOR = fwbq.Gaussian([0.0], [[1.0]])


def bump(centre: float, shift: float = 0.0):
    return fwbq.Model(lambda x: shift - 2.0 * (x[:, 0] - centre) ** 2, PRIOR)


def exact(centre: float) -> float:
    return float(-0.5 * np.log(5.0) - 2.0 * centre**2 / 5.0)


def run(models, **options) -> Comparison:
    return fwbq.compare_models(models, rng=0, progress=False, **options)


def same(a: Comparison, b: Comparison) -> None:
    for key in ("kind", "centre", "scale", "df", "offset"):
        np.testing.assert_array_equal(getattr(a.evidences, key), getattr(b.evidences, key))
    assert [(s.n, s.evaluations, s.contenders, s.best, s.map_probability) for s in a.stages] == [
        (s.n, s.evaluations, s.contenders, s.best, s.map_probability) for s in b.stages
    ]
    assert (a.names, a.status, a.settings) == (b.names, b.status, b.settings)
    np.testing.assert_array_equal(a.points, b.points)
    np.testing.assert_array_equal(a.log_prior, b.log_prior)


@pytest.fixture(scope="module")
def kinetic() -> Comparison:
    return chema.compare(
        chema.Dataset.example(), units="given", truncated=False, n=40, rng=0, progress=False, race=False
    )


def test_log_evidences_are_those_of_quadrature():
    def rough(x):
        return np.sin(3 * x[:, 0]) - np.abs(x[:, 0]) ** 1.5

    found = run({"rough": fwbq.Model(rough, PRIOR), 0.5: bump(0.5)}, n=60, race=False)
    value = integrate.quad(
        lambda t: np.exp(rough(np.array([[t]]))[0] - 0.5 * t * t) / np.sqrt(2 * np.pi), -9, 9, points=[0.0], limit=200
    )[0]
    for name, truth in (("rough", np.log(value)), (0.5, exact(0.5))):
        low, high = found.log_evidence_interval(name, 0.99)
        assert low <= truth <= high
        assert high - low < 0.1


def test_kinetic_evidences_are_those_of_brute_force(kinetic):
    data = chema.Dataset.example()
    names = [(), ("E7",), ("E3",), ("E19",)]
    inside = 0
    for name in names:
        value, left = calibration.exact_log_evidences(data, [name])
        low, high = kinetic.log_evidence_interval(name, 0.99)
        inside += low <= value[0] <= high
        assert left == 0
        assert kinetic.log_evidence(name) == pytest.approx(value[0], abs=0.02)
    assert inside >= 3


def test_the_linear_model_agrees_where_it_is_easy():
    models = {c: bump(c) for c in (0.0, 0.5)}
    found = run(models, n=40, race=False, evidence="linear")
    for c in models:
        assert found.log_evidence(c) == pytest.approx(exact(c), abs=0.01)
    assert set(found.evidences.kind) == {"positive"}


def needle(width: float) -> fwbq.Model:
    return fwbq.Model(lambda x: -0.5 * ((x[:, 0] - 0.123) / width) ** 2, PRIOR)


def test_the_linear_model_decides_nothing_about_values_that_are_all_but_zero():
    # At 20 points the needle is zero but for one of them: it may be anything, and is neither dropped nor beaten.
    models = {"wide": bump(0.0), "needle": needle(1e-4)}
    with pytest.warns(RuntimeWarning, match="of model 'needle' is carried by 1 of the points"):
        found = run(models, n=40, stop=0.9, evidence="linear")
    assert found.best == "wide"
    assert found.points.tolist() == [40, 40]
    assert not found.status.startswith("P(MAP) reached")
    decided = run({"wide": bump(0.0), "far": bump(2.5)}, n=40, stop=0.9, evidence="linear")
    assert decided.status.startswith("P(MAP) reached")


def test_the_linear_model_says_when_it_cannot_be_trusted():
    with pytest.warns(RuntimeWarning, match=r"of model 'needle' is carried by 1 of the points.*use `evidence"):
        run({"needle": needle(1e-4)}, n=20, evidence="linear")
    # Under the paper's amplitude of one, a likelihood much rougher than the kernel has an error far above the stated.
    rough = fwbq.Model(lambda x: np.cos(9.0 * x[:, 0]), PRIOR)
    with pytest.warns(RuntimeWarning, match=r"error of model 'rough' may be too small.*times larger"):
        run({"rough": rough}, n=20, evidence="linear", amplitude=1.0)


def regression(dim: int, noise: float, deviation: float) -> tuple[fwbq.Model, float]:
    t = np.linspace(-1.0, 1.0, 20)
    y = 1.0 + 0.8 * t - 1.2 * t**2 + 0.1 * np.cos(7.0 * t)
    X = np.vander(t, dim, increasing=True)

    def log_likelihood(theta):
        return -0.5 * np.sum(((y - theta @ X.T) / noise) ** 2, axis=1) - len(y) * np.log(noise * np.sqrt(2.0 * np.pi))

    prior = fwbq.Gaussian(np.zeros(dim), deviation**2 * np.eye(dim))
    cov = noise**2 * np.eye(len(y)) + deviation**2 * X @ X.T
    return fwbq.Model(log_likelihood, prior), float(stats.multivariate_normal(np.zeros(len(y)), cov).logpdf(y))


@pytest.mark.parametrize("race", [True, False])
@pytest.mark.parametrize(("noise", "deviation"), [(0.2, 2.0), (0.5, 1.0), (3.0, 1.0)])
def test_the_linear_model_names_every_model_whose_interval_misses(noise, deviation, race):
    made = {f"degree {d - 1}": regression(d, noise, deviation) for d in range(1, 6)}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = run({name: model for name, (model, _) in made.items()}, n=100, evidence="linear", race=race)
    said = " ".join(str(each.message) for each in caught)
    missed = []
    for name, (_, truth) in made.items():
        low, high = found.log_evidence_interval(name)
        if not low - 0.02 <= truth <= high + 0.02:
            missed.append(name)
    assert all(repr(name) in said for name in missed)
    assert len(missed) >= 3 or noise > 0.2  # of narrow likelihoods most are missed


def test_models_with_one_measure_share_it_and_the_order_is_the_callers():
    models = {"c": bump(2.0), "a": fwbq.Model(lambda x: -(x.sum(axis=1) ** 2), fwbq.Gaussian([0.0, 0.0], np.eye(2)))}
    models |= {"b": bump(0.0), "d": fwbq.Model(lambda x: -2 * x[:, 0] ** 2, fwbq.Gaussian([0.0], [[1.0]]))}
    found = run(models, n=30, race=False)
    assert found.names == ("c", "a", "b", "d")
    assert found.log_evidence("b") == pytest.approx(exact(0.0), abs=1e-3)
    assert found.log_evidence("b") == pytest.approx(found.log_evidence("d"), abs=1e-12)
    assert found.log_evidence("c") == pytest.approx(exact(2.0), abs=1e-2)
    apart = {i: fwbq.Model(lambda x: -x[:, 0], fwbq.Uniform(0.0, 1.0), coordinates=LogScale(1.0)) for i in range(2)}
    assert len(fwbq.selection.family.families(apart)) == 1


def test_racing_drops_only_losers():
    models = {c: bump(c) for c in np.linspace(0.0, 3.0, 16).tolist()}
    full, raced = run(models, n=80, race=False), run(models, n=80)
    assert raced.best == full.best == 0.0
    assert raced.n_evaluations < 0.6 * full.n_evaluations
    assert raced.points.sum() == raced.n_evaluations
    for c, n in zip(raced.names, raced.points, strict=True):
        if n < 80:
            assert exact(c) < exact(0.0)
    assert [s.contenders for s in raced.stages] == sorted((s.contenders for s in raced.stages), reverse=True)


@pytest.mark.parametrize("race", [True, False])
def test_what_cannot_win_by_earlier_evidences_is_not_evaluated(kinetic, race):
    data = chema.Dataset.example()
    families = [chema.KineticFamily(data, tuple(m for m in kinetic.names if len(m) == size)) for size in (0, 1, 2)]
    # Of the models without and with one enzyme nothing is known.
    earlier = [None, None, Earlier(kinetic.evidences.take(np.arange(27, 352)), 40)]
    found = compare_families(families, Options.of(stages=(60,), race=race, rng=0, progress=False), earlier=earlier)
    assert found.names == kinetic.names and found.best == kinetic.best
    out = found.points == 40
    assert not out[:27].any() and out.any() == race
    for key in ("centre", "scale", "df"):
        before, after = getattr(kinetic.evidences, key), getattr(found.evidences, key)
        np.testing.assert_array_equal(after[out], before[out])
        assert np.all(after[~out] != before[~out])
    assert found.stages[0].contenders == np.sum(~out) and found.stages[0].evaluations == 60 * np.sum(~out)
    # Whoever is left out has less than one chance in ten thousand to beat the leader.
    centre, sd, best = kinetic.evidences.log_median, kinetic.evidences.log_sd, kinetic.names.index(kinetic.best)
    assert np.all(centre[best] - centre[out] > 3.5 * np.hypot(sd[best], sd[out]))


def test_statuses():
    models = {c: bump(c) for c in (0.0, 1.0)}
    assert run(models, stop=0.95).status == "P(MAP) reached 0.95"
    assert run(models, tol=0.05).status.startswith("the leading probability is known to")
    assert run(models, n=12).status == "the budget of 12 points for each model ended"
    assert run(models, stages=(5, 7, 9)).stages[-1].n == 9
    assert [s.n for s in run(models, n=50).stages] == [10, 20, 40, 50]
    stopped = run(models, stop=0.95)
    assert stopped.map_probability >= 0.95 and stopped.stages[-1].map_probability == stopped.map_probability
    assert np.std(run(models, tol=0.05).probabilities(500)[:, 0]) <= 0.06


def test_a_prior_moves_probabilities_and_not_evidences():
    models = {c: bump(c) for c in (0.0, 0.2)}
    flat, tilted = run(models, n=40, race=False), run(models, n=40, race=False, prior={0.0: 0.1, 0.2: 0.9})
    assert tilted.log_evidence(0.0) == flat.log_evidence(0.0)
    assert (flat.best, tilted.best) == (0.0, 0.2)
    odds = np.exp(exact(0.2) - exact(0.0)) * 9.0
    assert tilted.probabilities(2000)[:, 1].mean() == pytest.approx(odds / (1 + odds), abs=0.01)
    assert run(models, prior={0.0: 0.0, 0.2: 1.0}).map_probability == 1.0


def test_evidences_far_apart_and_one_model():
    models = {s: bump(0.0, s) for s in (-9210.0, 9210.0)}
    found = run(models)
    assert found.best == 9210.0 and found.map_probability == 1.0
    np.testing.assert_array_equal(found.probabilities(10), [[0.0, 1.0]] * 10)
    alone = run({"only": bump(0.0)}, stop=0.9)
    assert alone.best == "only" and alone.map_probability == 1.0 and [s.n for s in alone.stages] == [10, 20]
    assert alone.forecast().startswith("nothing more")


def test_identical_models_are_level():
    found = run({name: bump(0.0) for name in "abc"}, stop=0.95, n=40)
    np.testing.assert_allclose(found.map_probabilities, 1 / 3, atol=1e-3)
    assert found.status == "the budget of 40 points for each model ended"
    assert "points for each" in found.forecast(0.95) or "cannot be predicted" in found.forecast(0.95)


def test_a_design_of_ones_own_with_repeated_points():
    class Fixed:
        def take(self, n):
            return np.tile(np.linspace(-2.5, 2.5, 15)[:, None], (2, 1))[:n]

    # With coordinates given the points are shared, and the design is theirs.
    placed = replace(bump(0.0), coordinates=Standard(PRIOR))
    for model, options in (
        (placed, {"kernel": fwbq.Matern52(1.0)}),
        (placed, {"kernel": fwbq.Matern52, "amplitude": "loo"}),
        (bump(0.0), {"evidence": "linear", "kernel": fwbq.ExpQuad(0.5)}),
        (bump(0.0), {"evidence": "linear", "kernel": fwbq.Matern52, "amplitude": "calibrated"}),
    ):
        found = run({0.0: model}, stages=(30,), design=lambda embedding, rng: Fixed(), **options)
        # The evidence is known to what is stated: all kernels are rougher than the parabola or its exponential.
        assert abs(found.log_evidence(0.0) - exact(0.0)) <= 2.0 * found.evidences.log_sd[0] < 0.1


@pytest.mark.parametrize("evidence", ["log", "linear"])
def test_an_amplitude_that_is_a_number(evidence):
    # Four times the variance is twice the error, at the same points; on the logarithm to first order, which at errors
    # of 1e-2 is to a part in a hundred.
    model = replace(bump(0.0), coordinates=Standard(PRIOR) if evidence == "log" else None)
    once, twice = (
        run({0.0: model}, stages=(20,), evidence=evidence, kernel=fwbq.Matern52(1.0), amplitude=a).evidences.scale[0]
        for a in (1e-4, 4e-4)
    )
    assert 0.0 < once < 1e-2
    assert twice == pytest.approx(2.0 * once, rel=1e-2)
    with pytest.raises(ValueError, match="`amplitude`"):
        run({0.0: model}, amplitude="huge")


def test_length_scales_of_the_linear_process_are_found():
    # The same likelihood and prior in two units: the class is fitted in units of the prior's scale.
    found = {}
    for scale in (1.0, 1e3):
        prior = fwbq.Gaussian([0.0], [[scale**2]])
        model = fwbq.Model(lambda x, s=scale: -2.0 * (x[:, 0] / s) ** 2, prior)
        found[scale] = run({0.0: model}, stages=(15,), evidence="linear", kernel=fwbq.Matern52).evidences
    # The maximiser stops at a relative change of 1e-6 of the likelihood, which fixes length-scales to about 1e-3.
    np.testing.assert_allclose(found[1e3].centre, found[1.0].centre, rtol=1e-4)
    np.testing.assert_allclose(found[1e3].scale, found[1.0].scale, rtol=1e-2)


# Failing models


def sometimes(x):
    """Log likelihood of bump(0.0) that fails for a fifth of the prior."""
    if np.any(x[:, 0] > 0.84):
        raise FloatingPointError("the solver gave up")
    return -2.0 * x[:, 0] ** 2


@pytest.mark.parametrize("options", [{}, {"evidence": "linear"}])
def test_points_at_which_a_model_fails(options, tmp_path):
    models = {"fails": fwbq.Model(sometimes, PRIOR), "works": bump(0.5)}
    with pytest.raises(EvaluationError, match="the solver gave up"):
        run(models, n=20, **options)
    with pytest.warns(RuntimeWarning, match=r"failed at [1-9][0-9]* of [1-9][0-9]* evaluations, which were skipped"):
        found = run(models, n=20, on_error="skip", race=False, **options)
    # Beyond 0.84 lies 5 % of the posterior mass.
    assert found.log_evidence("fails") == pytest.approx(exact(0.0), abs=max(0.2, 3.0 * found.evidences.log_sd[0]))
    fails, works = (found.points[found.names.index(name)] for name in ("fails", "works"))
    assert fails < 20
    assert works == (20 if not options else fails)
    # Evaluations that fail are paid for too, and no others are lost to the total.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of the skipped points, and of the linear process
        cut = run({"fails": models["fails"]}, n=40, budget=27, on_error="skip", **options)
    assert cut.stages[-1].evaluations == 27
    with pytest.raises(ValueError, match="model 'never' failed at every point"):
        run({"never": fwbq.Model(lambda x: x[:, 0] * np.nan, PRIOR)}, n=10, on_error="skip", **options)


def test_an_evaluation_that_takes_too_long():
    def slow(x):
        if x[0] > 0.0:
            threading.Event().wait(30.0)
        return -2.0 * x[0] ** 2

    with pytest.raises(EvaluationError, match=r"0\.2 s"):
        run({"slow": fwbq.Model(slow, PRIOR)}, n=10, vectorized=False, timeout=0.2)


def test_vectorized_is_said_for_all_models():
    def one(x):
        assert x.shape == (1,)
        return -2.0 * float(x[0]) ** 2

    found = run({"one": fwbq.Model(one, PRIOR)}, n=20, vectorized=False)
    assert found.log_evidence("one") == pytest.approx(exact(0.0), abs=1e-6)


def test_the_tolerance_is_half_a_95_percent_interval():
    def wavy(shift):
        return fwbq.Model(lambda x: shift + 2.0 * np.sin(5.0 * x[:, 0]) - np.abs(x[:, 0]), PRIOR)

    found = run({0.0: wavy(0.0), 0.3: wavy(0.3)}, tol=0.02, n=400)
    assert found.reason is fwbq.Reason.DECIDED and found.success
    short = run({0.0: wavy(0.0), 0.3: wavy(0.3)}, tol=1e-9, n=20)
    assert short.reason is fwbq.Reason.NOT_REACHED and not short.success
    leading = found.probabilities(4000)[:, found.names.index(found.best)]
    low, high = np.quantile(leading, (0.025, 0.975))
    # The decision rests on 500 draws, whose quantiles are known to a fifth of the width.
    assert 0.5 * (high - low) <= 1.3 * 0.02


def test_a_design_chooses_the_points_of_each_model_under_its_posterior():
    found = run({0.0: bump(0.0)}, n=30, design=fwbq.FrankWolfe)
    assert found.log_evidence(0.0) == pytest.approx(exact(0.0), abs=1e-6)


def test_a_journal_answers_for_what_was_done(tmp_path):
    calls = []

    def counted(c):
        def f(x):
            calls.append(len(x))
            return -2.0 * (x[:, 0] - c) ** 2

        return fwbq.Model(f, PRIOR)

    path = tmp_path / "run.db"
    models = {c: counted(c) for c in (0.0, 0.3, 2.0)}
    first = run(models, n=40, journal=path, tag="bumps")
    spent = sum(calls)
    again = run(models, n=40, journal=path, tag="bumps")
    assert sum(calls) == spent
    same(first, again)
    with sqlite3.connect(path) as db:
        assert db.execute("pragma integrity_check").fetchone()[0] == "ok"
    longer = run(models, n=60, journal=path, tag="bumps")
    assert 0 < sum(calls) - spent <= 3 * 20
    same(longer, run(models, n=60))


def test_without_a_seed_a_journal_answers_too(tmp_path):
    calls = []

    def f(x):
        calls.append(len(x))
        return -2.0 * np.sum((x - 0.3) ** 2, axis=1)

    models = {"f": fwbq.Model(f, fwbq.Gaussian([0.0, 0.0], np.eye(2)))}
    path = tmp_path / "run.db"
    first = fwbq.compare_models(models, n=30, journal=path, tag="f", progress=False)
    spent = sum(calls)
    same(first, fwbq.compare_models(models, n=30, journal=path, tag="f", progress=False))
    assert sum(calls) == spent


def test_an_open_journal_is_refused(tmp_path):
    with fwbq.Journal(tmp_path / "run.db", {}) as journal, pytest.raises(TypeError, match="`journal` of a comparison"):
        run(scaled(1.0), n=10, journal=journal)


def scaled(a, vectorized=True):
    if vectorized:
        return {"m": fwbq.Model(lambda x: -a * x[:, 0] ** 2, PRIOR)}
    return {"m": fwbq.Model(lambda x: -a * x[..., 0] ** 2, PRIOR, vectorized=False)}


def test_a_changed_model_is_not_answered_from_the_journal(tmp_path):
    path = tmp_path / "run.db"
    first = run(scaled(1.0), n=10, journal=path)
    same(first, run(scaled(1.0), n=10, journal=path))
    with pytest.raises(JournalError, match=r"models\[0\]\.function\.closure a: \"1\.0\" in the journal, \"5\.0\" here"):
        run(scaled(5.0), n=10, journal=path)
    with pytest.raises(JournalError, match="vectorized: true in the journal, false here"):
        run(scaled(1.0, vectorized=False), n=10, journal=path)
    with pytest.raises(JournalError, match="version"):
        run(scaled(1.0), n=10, journal=path, version="2")
    with pytest.raises(JournalError, match="function"):
        run(scaled(1.0), n=10, journal=path, tag="other")


def test_a_tag_takes_the_place_of_the_code(tmp_path):
    lock = threading.Lock()

    def guarded(x):
        with lock:
            return -(x[:, 0] ** 2)

    models, path = {"m": fwbq.Model(guarded, PRIOR)}, tmp_path / "run.db"
    with pytest.raises(TypeError, match=r"closure lock is a lock.*Pass `tag`") as error:
        run(models, n=10, journal=path)
    assert error.value.__notes__ == ["in model 'm'"]
    same(run(models, n=10, journal=path, tag="guarded"), run(models, n=10, journal=path, tag="guarded"))
    with pytest.raises(TypeError, match="`tag` must be a text"):
        run(models, n=10, journal=path, tag=1)


def test_a_run_that_died_goes_on(tmp_path):
    budget = [25]

    def f(x):
        budget[0] -= len(x)
        if budget[0] < 0:
            raise RuntimeError("power cut")
        return -2.0 * x[:, 0] ** 2

    models = {"m": fwbq.Model(f, PRIOR)}
    with pytest.raises(EvaluationError, match="power cut"):
        run(models, n=40, journal=tmp_path / "j.db", tag="f")
    budget[0] = 1000
    found = run(models, n=40, journal=tmp_path / "j.db", tag="f")
    assert 1000 - budget[0] < 40
    budget[0] = 1000
    same(found, run(models, n=40))


def test_executors_give_the_same_bits():
    data = chema.Dataset.simulate(5, rng=3)
    here = chema.compare(data, n=30, rng=0, progress=False)
    with ThreadPoolExecutor(2) as pool:
        same(here, chema.compare(data, n=30, rng=0, progress=False, executor=pool))
    with ProcessPoolExecutor(2) as pool:
        same(here, chema.compare(data, n=30, rng=0, progress=False, executor=pool))


def test_input_errors_say_what_to_do():
    model = {"a": bump(0.0)}
    for options, match in [
        ({"stop": 95}, "95 % is written 0.95"), ({"stages": (20, 10)}, "increasing"), ({"n": 2}, ">= 3"),
        ({"stages": (20,), "n": 4}, "give one of the two"), ({"evidence": "warp"}, "'log', 'linear'"),
        ({"prior": {"b": 1.0}}, r"missing \['a'\], unknown \['b'\]"), ({"prior": {"a": 0.0}}, "positive probability"),
    ]:  # fmt: skip
        with pytest.raises(ValueError, match=match):
            run(model, **options)
    for evidence in ("log", "linear"):
        with pytest.raises(TypeError, match="`design` must be a design class"):
            run(model, design="fw", evidence=evidence)
        with pytest.raises(TypeError, match="`design` must return a design"):
            run(model, design=lambda embedding, rng: None, evidence=evidence)
    with pytest.raises(ValueError, match="`models` is empty"):
        run({})
    with pytest.raises(TypeError, match=r"fwbq.Model\(log_integrand, measure\)"):
        run({"a": 1})
    with pytest.raises(TypeError, match="`coordinates` must be a Coordinates"):
        fwbq.Model(lambda x: x, PRIOR, coordinates=3)
    with pytest.raises(EvaluationError, match="nan"):
        run({"a": fwbq.Model(lambda x: np.where(x[:, 0] > 0, 0.0, np.nan), PRIOR)})
    with pytest.raises(EvaluationError, match="one value per point"):
        run({"a": fwbq.Model(lambda x: np.ones((len(x), 2)), PRIOR)})
    with pytest.raises(KeyError, match="no model is called 'z'"):
        run(model, n=10).log_evidence("z")


def test_tables(kinetic):
    frame = kinetic.to_frame()
    assert len(frame) == 352 and frame["model"][0] == "{E7, E19}"
    assert frame["probability"].sum() == pytest.approx(1.0)
    assert (frame["q05"] <= frame["q50"]).all() and (frame["q50"] <= frame["q95"]).all()
    assert frame["map_probability"].sum() == pytest.approx(1.0)
    ranks = kinetic.rank_probabilities(top=5)
    np.testing.assert_allclose(ranks.sum(axis=0), 1.0)
    assert (ranks.sum(axis=1) <= 1.0 + 1e-12).all()
    drawn = kinetic.evidences.sample(20_000, np.random.default_rng(3)) + kinetic.log_prior
    first = np.bincount(np.argmax(drawn, axis=1), minlength=352) / 20_000
    np.testing.assert_allclose(kinetic.map_probabilities, first, atol=0.02)
    included = kinetic.inclusion().set_index("name")
    assert set(included.index[:2]) == {"E7", "E19"}
    assert ((included["lower"] <= included["probability"]) & (included["probability"] <= included["upper"])).all()
    shares = kinetic.probabilities(2000)
    with_e7 = shares[:, [i for i, name in enumerate(kinetic.names) if "E7" in name]].sum(axis=1)
    assert included.loc["E7", "probability"] == pytest.approx(np.median(with_e7))
    history = kinetic.history()
    assert history["n"].tolist() == [10, 20, 40] and history["evaluations"].tolist() == [3520, 7040, 14080]


def test_bayes_factors_are_differences():
    found = run({c: bump(c) for c in (0.0, 1.0)}, n=30, race=False)
    log = found.log_bayes_factor(0.0, 1.0)
    low, high = log.interval(0.95)
    assert low <= exact(0.0) - exact(1.0) <= high and low < log.mean < high
    assert log.mean == found.log_evidence(0.0) - found.log_evidence(1.0)
    assert found.log_bayes_factor(1.0, 0.0).mean == -log.mean
    factor = found.bayes_factor(0.0, 1.0)
    assert factor.mean == pytest.approx(np.exp(log.mean), rel=1e-12)
    assert factor.interval(0.95) == pytest.approx((np.exp(low), np.exp(high)), rel=1e-12)


def test_stages_can_be_looked_back_at(kinetic):
    early = kinetic.at_stage(0)
    assert early.n_evaluations == 3520 and early.points.max() == 10
    assert early.map_probability == pytest.approx(kinetic.stages[0].map_probability)
    assert kinetic.at_stage(-1).map_probability == pytest.approx(kinetic.map_probability)


def test_forecast_falls_with_the_gap():
    # Gaussian likelihoods would be known to rounding.
    prior = fwbq.Gaussian([0.0], [[1.0]])
    near = run({c: fwbq.Model(lambda x, c=c: np.cos(3.0 * x[:, 0]) + c, prior) for c in (0.0, 1e-4)}, n=12)
    assert near.map_probability < 0.999
    assert "points for each of the two leading models" in near.forecast(0.9999)
    far = run({c: bump(c) for c in (0.0, 2.0)}, n=12)
    assert far.forecast(0.95).startswith("nothing more")


def test_saved_comparisons_come_back_to_the_bit(tmp_path, kinetic):
    path = tmp_path / "comparison.json"
    kinetic.save(path)
    back = Comparison.load(path)
    same(kinetic, back)
    assert back.map_probability == kinetic.map_probability and repr(back) == repr(kinetic)
    for s, t in zip(kinetic.stages, back.stages, strict=True):
        np.testing.assert_array_equal(s.evidences.centre, t.evidences.centre)
    nested = run({("a", ("b", 1)): bump(0.0), 2.5: bump(1.0)}, n=10)
    nested.save(path)
    assert Comparison.load(path).names == nested.names
    path.write_text(path.read_text()[:-30])
    with pytest.raises(ValueError, match="damaged"):
        Comparison.load(path)
    path.write_text("{}")
    with pytest.raises(ValueError, match="no saved comparison"):
        Comparison.load(path)
    with pytest.raises(TypeError, match="strings, numbers or tuples"):
        run({frozenset("a"): bump(0.0)}, n=10).save(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d.pop("names"), "names missing"),
        (lambda d: d.update(names=["a", "a"]), "two models have the same name"),
        (lambda d: d.update(names=["a", None]), "None is not the name of a model"),
        (lambda d: d.update(names=["a"]), "not a number of evaluations for each model"),
        (lambda d: d["evidences"].update(kind=["evil", "log"]), "kind of the evidences is not one of log, positive"),
        (lambda d: d["evidences"].update(centre=["1", 2.0]), "centre of the evidences is not a number"),
        (lambda d: d["evidences"].update(scale=[-1.0, 2.0]), "scale or df of the evidences is negative"),
        (lambda d: d["evidences"].pop("df"), "df of the evidences missing"),
        (lambda d: d.update(points=[-1, 10]), "not a number of evaluations"),
        (lambda d: d.update(log_prior=[0.0]), "`log_prior` must be a vector"),
        (lambda d: d["stages"][0].update(best=2), "best or contenders of stage 0"),
        (lambda d: d["stages"][0].update(best=-1), "best of stage 0 is not a whole number"),
        (lambda d: d["stages"][0].update(map_probability=1.5), "map_probability of stage 0"),
        (lambda d: d["stages"][0].pop("evidences"), "evidences of stage 0 missing"),
        (lambda d: d.update(stages=3), "stages is not a list"),
        (lambda d: d.update(settings=[]), "settings is not a dictionary"),
        (lambda d: d.update(status=None), "status is not a text"),
        (lambda d: d.update(rest=[1]), "rest is not a number of models"),
        (lambda d: d.update(version=3), "has version 3; this fwbq reads version 2"),
        (lambda d: d.update(version=True), "has version True"),
        (lambda d: d["evidences"].update(centre=[10**400, 2.0]), "it holds a whole number of 401 digits"),
        (lambda d: d["evidences"].update(centre=[float("nan"), 2.0]), "a posterior of the evidences is none"),
        (lambda d: d["evidences"].update(centre=[float("inf"), 2.0]), "a posterior of the evidences is none"),
        (lambda d: d["evidences"].update(scale=[float("nan"), 2.0]), "a posterior of the evidences is none"),
        (lambda d: d["evidences"].update(scale=[float("inf"), 2.0]), "a posterior of the evidences is none"),
        (lambda d: d["evidences"].update(df=[float("nan"), 2.0]), "a posterior of the evidences is none"),
        (lambda d: d["evidences"].update(offset=[float("nan"), 2.0]), "a posterior of the evidences is none"),
        (
            lambda d: d["stages"][0]["evidences"].update(scale=[float("nan"), 2.0]),
            "of the evidences of stage 0 is none",
        ),
        (lambda d: d["settings"].update(seed="text"), "the seed is not a whole number"),
    ],
)
def test_a_comparison_that_cannot_be_is_refused(tmp_path, change, message):
    path = tmp_path / "comparison.json"
    comparison = run({"a": bump(0.0), "b": bump(1.0)}, n=10)
    comparison.save(path)
    content = _files.unsealed(json.loads(path.read_text()))
    change(content)
    path.write_text(json.dumps(content))
    if "version" not in message and "digits" not in message:  # without a checksum nothing of it is believed
        with pytest.raises(ValueError, match="its checksum is missing or does not fit"):
            Comparison.load(path)
    path.write_text(_files.seal(content))
    with pytest.raises(ValueError, match=message) as error:
        Comparison.load(path)
    assert str(error.value).endswith("pass a .json file written by Comparison.save(path)")


def test_no_version_is_believed_without_a_checksum(tmp_path):
    path = tmp_path / "comparison.json"
    comparison = run({"a": bump(0.0), "b": bump(1.0)}, n=10)
    comparison.save(path)
    content = _files.unsealed(json.loads(path.read_text()))
    for version in (1, 2):
        path.write_text(json.dumps(content | {"version": version}))
        with pytest.raises(ValueError, match=r"has version 1; this fwbq reads version 2|its checksum is missing"):
            Comparison.load(path)


def test_xarray_and_arviz(kinetic):
    pytest.importorskip("xarray")
    data = kinetic.to_xarray(draws=50)
    assert dict(data.sizes) == {"draw": 50, "model": 352}
    np.testing.assert_allclose(data["probability"].sum("model"), 1.0)
    pytest.importorskip("arviz")
    inference = kinetic.to_arviz(draws=50)
    assert inference.posterior["log_evidence"].shape == (4, 50, 352)
    flat = inference.posterior["probability"].values.reshape(200, 352)
    np.testing.assert_array_equal(flat, kinetic.probabilities(200))


def test_draws_are_reproducible_and_seeded(kinetic):
    np.testing.assert_array_equal(kinetic.probabilities(20), kinetic.probabilities(20))
    assert not np.array_equal(kinetic.probabilities(20), kinetic.probabilities(20, rng=9))
    np.testing.assert_allclose(kinetic.probabilities(20).sum(axis=1), 1.0)


def narrow_box(half: float) -> fwbq.Model:
    return fwbq.Model(lambda x: np.where(np.abs(x[:, 0] - 0.3) < half, 100.0, -np.inf), PRIOR)


def test_a_likelihood_that_is_zero_at_the_first_points_stays_in_the_race():
    # Twenty points miss the box; its evidence is exp(95), that of the other model one.
    found = run({"box": narrow_box(0.01), "flat": fwbq.Model(lambda x: np.zeros(len(x)), PRIOR)}, stop=0.99)
    assert found.best == "box" and found.success
    low, high = found.log_evidence_interval("box")
    assert low < 100.0 + np.log(0.02 * np.exp(-0.045) / np.sqrt(2.0 * np.pi)) < high


@pytest.mark.parametrize("options", [{}, {"evidence": "linear"}, {"race": False}])
def test_a_likelihood_that_is_zero_at_every_point_is_not_certain(options):
    models = {"box": narrow_box(1e-9), "flat": fwbq.Model(lambda x: np.zeros(len(x)), PRIOR)}
    with pytest.warns(RuntimeWarning, match="likelihood of model 'box' was zero at every point"):
        found = run(models, stop=0.99, n=40, **options)
    assert found.log_evidence_interval("box") == (-np.inf, np.inf)
    assert found.log_evidence("box") == -np.inf
    assert not found.success and "nothing is known of the evidence" in found.status
    assert "Nothing is known of the evidence of box" in found.summary()
    assert found.to_frame().set_index("model").loc["box", "log_evidence_sd"] == np.inf
    log = found.log_bayes_factor("box", "flat")
    assert (log.mean, *log.interval()) == (-np.inf, -np.inf, np.inf)
    assert found.bayes_factor("box", "flat").interval() == (0.0, np.inf)
    assert found.points[0] == 40
    if not options:  # what is decided rests
        assert found.points[1] == 20


def test_a_zero_likelihood_without_prior_probability_delays_nothing():
    models = {"box": narrow_box(1e-9), "flat": fwbq.Model(lambda x: np.zeros(len(x)), PRIOR)}
    with pytest.warns(RuntimeWarning, match="zero at every point"):
        found = run(models, stop=0.99, n=40, prior={"box": 0.0, "flat": 1.0})
    assert found.success and found.points.tolist() == [20, 20]


def test_budgets_are_kept_or_refused():
    for count in (2, 5):
        models = {i: bump(0.3 * i) for i in range(count)}
        for budget in (1, 3, 3 * count - 1):
            with pytest.raises(ValueError, match=rf"`budget` must be at least {3 * count}"):
                run(models, budget=budget)
        for budget in (3 * count, 3 * count + 1, 30):
            assert run(models, budget=budget).n_evaluations <= budget


def test_many_models_are_judged_first_when_something_can_be_decided(monkeypatch):
    prior = fwbq.Gaussian([0.0], [[1.0]])
    models = {c: fwbq.Model(lambda x, c=c: np.cos(3.0 * x[:, 0]) + c, prior) for c in (0.0, 0.1, 2.0)}
    few = run(models, n=40, budget=75)
    monkeypatch.setattr(race_module, "_MANY", 3)
    many = run(models, n=40, budget=75)
    assert [stage.n for stage in few.stages] == [10, *(stage.n for stage in many.stages)]
    # The winner is known as well as among few; the others, which cannot win, roughly, within what they state.
    for name in ("centre", "scale"):
        known, also = getattr(many.evidences, name), getattr(few.evidences, name)
        assert known[2] == also[2]
        assert np.all(known[:2] != also[:2])
    apart = np.abs(many.evidences.centre - few.evidences.centre)
    assert np.all(apart <= 4.0 * np.hypot(many.evidences.scale, few.evidences.scale))
    # A run that ends before that says what it knows.
    assert [stage.n for stage in run(models, n=40, budget=24).stages] == [8]


def test_of_many_models_all_that_may_win_are_known_well(monkeypatch):
    """A comparison whose models are all near the first one is the same, whether they are many or few."""
    models = {c: fwbq.Model(lambda x, c=c: 0.3 * np.cos(3.0 * x[:, 0] + c), PRIOR) for c in (0.0, 0.001, 0.002)}
    few = run(models, n=20, race=False)
    monkeypatch.setattr(race_module, "_MANY", 3)
    many = run(models, n=20, race=False)
    np.testing.assert_array_equal(many.evidences.centre, few.evidences.centre)
    np.testing.assert_array_equal(many.evidences.scale, few.evidences.scale)


def test_more_values_than_a_process_can_be_fitted_to_are_refused_with_the_remedy():
    def never(x):
        raise AssertionError("the function was called")

    with pytest.raises(ValueError, match=r"`n` must be at most 2500 without gradients, got 5000: .*gradient=True"):
        fwbq.compare_models({"a": fwbq.Model(never, fwbq.Gaussian([0.0], [[1.0]]))}, n=5000)

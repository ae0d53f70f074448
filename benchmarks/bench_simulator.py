"""Simulators by fwbq, and by SALib, OpenTURNS and chaospy, at the same numbers of evaluations.

Run where the four packages are installed: ``python -m benchmarks.bench_simulator`` for five functionals of the
borehole, ``python -m benchmarks.bench_simulator means [name ...]`` for the means of the functions of
`studies.problems.simulators` by fwbq and by sparse polynomial chaos. References come from 2^20 points.
"""

from __future__ import annotations

import sys
import time
import warnings

import numpy as np
from scipy.stats import qmc

import fwbq
from studies.problems.simulators import SIMULATORS, borehole

NAMES = ["r_w", "r", "T_u", "H_u", "T_l", "H_l", "L", "K_w"]
LOWER, UPPER = SIMULATORS["borehole"].measure.lower, SIMULATORS["borehole"].measure.upper
THRESHOLD = 200.0


def reference():
    """Mean, variance, P(f > 200), 95 % quantile and first-order index of r_w."""
    u = qmc.Sobol(8, seed=np.random.default_rng(1)).random_base2(20)
    f = borehole(LOWER + u * (UPPER - LOWER))
    t, w = np.polynomial.legendre.leggauss(32)
    lines = np.repeat(u[: 2**13], 32, axis=0)
    lines[:, 0] = np.tile(0.5 + 0.5 * t, 2**13)
    effect = borehole(LOWER + lines * (UPPER - LOWER)).reshape(-1, 32).mean(axis=0)
    first = 0.5 * w @ (effect - 0.5 * w @ effect) ** 2 / f.var()
    return np.array([f.mean(), f.var(), np.mean(f > THRESHOLD), np.quantile(f, 0.95), first])


def by_fwbq(n, seed):
    """fwbq: one process."""
    result = fwbq.integrate(borehole, fwbq.Uniform(LOWER, UPPER), n=n, rng=seed)
    first = result.sobol(NAMES).first.mean[0]
    rare = result.probability(above=THRESHOLD)
    return n, [result.mean, result.variance().mean, rare.mean, result.quantile(0.95).mean, first]


def by_salib(n, seed):
    """SALib: Saltelli's sampling; moments are those of the sample."""
    from SALib.analyze import sobol as salib_sobol
    from SALib.sample import sobol as salib_sample

    problem = {"num_vars": 8, "names": NAMES, "bounds": np.column_stack([LOWER, UPPER]).tolist()}
    base = max(2 ** int(np.log2(n / 10)), 2)
    x = salib_sample.sample(problem, base, calc_second_order=False, seed=seed)
    f = borehole(x)
    indices = salib_sobol.analyze(problem, f, calc_second_order=False, seed=seed)
    return len(x), [f.mean(), f.var(), np.mean(f > THRESHOLD), np.quantile(f, 0.95), indices["S1"][0]]


def openturns_inputs(measure):
    """Return the marginals of OpenTURNS for independent inputs that are uniform or Gaussian."""
    import openturns as ot

    if isinstance(measure, fwbq.Uniform):
        return [ot.Uniform(float(a), float(b)) for a, b in zip(measure.lower, measure.upper, strict=True)]
    return [ot.Normal(float(m), float(s)) for m, s in zip(measure.mean, measure.scale, strict=True)]


def chaos_of(f, inputs, n, seed, degree, norm):
    """Return the sparse polynomial chaos of f by least angles, on n points of a Latin hypercube, and its inputs.

    Candidates are the polynomials up to a degree in a hyperbolic norm, 1500 at most; `inputs` are the marginals of
    OpenTURNS, which are independent.
    """
    import openturns as ot

    ot.RandomGenerator.SetSeed(seed)
    joint = ot.JointDistribution(inputs)
    x = ot.LHSExperiment(joint, n).generate()
    enumeration = ot.HyperbolicAnisotropicEnumerateFunction(len(inputs), norm)
    lines = [ot.StandardDistributionPolynomialFactory(each) for each in inputs]
    basis = ot.OrthogonalProductPolynomialFactory(lines, enumeration)
    sparse = ot.LeastSquaresMetaModelSelectionFactory(ot.LARS(), ot.CorrectedLeaveOneOut())
    algorithm = ot.FunctionalChaosAlgorithm(
        x,
        ot.Sample(f(np.array(x))[:, None]),
        joint,
        ot.FixedStrategy(basis, min(enumeration.getMaximumDegreeCardinal(degree), 1500)),
        ot.LeastSquaresStrategy(sparse),
    )
    algorithm.run()
    return algorithm.getResult(), joint


def by_openturns(n, seed):
    """OpenTURNS: sparse polynomial chaos by least angles, and large samples of it."""
    import openturns as ot

    chaos, inputs = chaos_of(borehole, openturns_inputs(SIMULATORS["borehole"].measure), n, seed, degree=5, norm=0.6)
    sample = np.array(chaos.getMetaModel()(inputs.getSample(200_000)))[:, 0]
    first = ot.FunctionalChaosSobolIndices(chaos).getSobolIndex(0)
    variance = ot.FunctionalChaosRandomVector(chaos).getCovariance()[0, 0]
    mean = ot.FunctionalChaosRandomVector(chaos).getMean()[0]
    return n, [mean, variance, np.mean(sample > THRESHOLD), np.quantile(sample, 0.95), first]


def by_chaospy(n, seed):
    """chaospy: polynomial chaos of degree 2 by least squares on Sobol points."""
    import chaospy

    inputs = chaospy.J(*(chaospy.Uniform(a, b) for a, b in zip(LOWER, UPPER, strict=True)))
    u = qmc.Sobol(8, seed=np.random.default_rng(seed)).random(n)
    x = LOWER + u * (UPPER - LOWER)
    basis = chaospy.generate_expansion(2, inputs)
    chaos = chaospy.fit_regression(basis, x.T, borehole(x))
    sample = chaos(*inputs.sample(50_000, seed=seed))
    first = chaospy.Sens_m(chaos, inputs)[0]
    return n, [
        float(chaospy.E(chaos, inputs)), float(chaospy.Var(chaos, inputs)), np.mean(sample > THRESHOLD),
        np.quantile(sample, 0.95), first,
    ]  # fmt: skip


#: Largest degree and norm of the chaos up to a number of inputs: as rich as 200 values and some seconds allow.
DEGREES = {
    1: (15, 1.0), 2: (14, 0.8), 3: (12, 0.75), 4: (10, 0.7), 6: (8, 0.6), 8: (6, 0.6), 10: (5, 0.6), 20: (3, 0.6),
}  # fmt: skip
SEEDS = 5


def degrees(dim):
    """Return largest degree and norm of the chaos for `dim` inputs."""
    return next(found for largest, found in DEGREES.items() if dim <= largest)


def mean_by_fwbq(simulator, n, seed):
    """Return mean and 95 % interval."""
    result = fwbq.integrate(simulator.f, simulator.measure, n=n, rng=seed, progress=False)
    return result.mean, result.interval(0.95)


def mean_by_openturns(simulator, n, seed):
    """Return the mean; it has no interval."""
    import openturns as ot

    inputs = openturns_inputs(simulator.measure)
    chaos, _ = chaos_of(simulator.f, inputs, n, seed, *degrees(simulator.dim))
    return ot.FunctionalChaosRandomVector(chaos).getMean()[0], (np.nan, np.nan)


def means(names=(), sizes=(50, 100, 200)):
    """Print medians over seeds of error and half-width in standard deviations of f, and how many intervals held."""
    methods = {"fwbq": mean_by_fwbq, "OpenTURNS": mean_by_openturns}
    for name in names or SIMULATORS:
        simulator = SIMULATORS[name]
        truth, std = simulator.reference()
        for n in sizes:
            row = [name, str(simulator.dim), str(n)]
            for label, method in methods.items():
                start = time.process_time()
                try:
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore", RuntimeWarning)
                        found = [method(simulator, n, seed) for seed in range(SEEDS)]
                except ImportError:
                    continue
                seconds = (time.process_time() - start) / SEEDS
                error = np.median([abs(mean - truth) for mean, _ in found]) / std
                row.append(f"{label} {error:.1e}")
                if label == "fwbq":
                    half = np.median([high - low for _, (low, high) in found]) / (2.0 * std)
                    held = sum(low <= truth <= high for _, (low, high) in found)
                    row.append(f"{half:.1e} | {held}/{SEEDS} | {seconds:.2f} s")
            print(f"| {' | '.join(row)} |", flush=True)


def functionals():
    """Print the root mean squared relative errors of five functionals, over seeds."""
    truth = reference()
    print("reference", *(f"{value:.5g}" for value in truth))
    methods = {"fwbq": by_fwbq, "SALib": by_salib, "OpenTURNS": by_openturns, "chaospy": by_chaospy}
    for n in (100, 200):
        for name, method in methods.items():
            start, found, used = time.process_time(), [], 0
            for seed in range(5):
                used, numbers = method(n, seed)
                found.append(numbers)
            error = np.sqrt(np.mean((np.array(found) / truth - 1.0) ** 2, axis=0))
            seconds = (time.process_time() - start) / 5
            shown = " | ".join(f"{each:.1e}" for each in error)
            print(f"| {name} | {used} | {shown} | {seconds:.1f} s |", flush=True)


if __name__ == "__main__":
    means(sys.argv[2:]) if sys.argv[1:2] == ["means"] else functionals()

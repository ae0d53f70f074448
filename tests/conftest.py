import json
from pathlib import Path

import numpy as np
import pytest


def pytest_configure(config):
    config.addinivalue_line("markers", "network: needs a package index that pip can reach; skipped when there is none")


@pytest.fixture(scope="session")
def reference():
    """Independent high-precision values; tests/reference/README.md says how they were computed."""
    return json.loads((Path(__file__).parent / "reference" / "reference.json").read_text())


@pytest.fixture(scope="session")
def build_comparison():
    """Make a comparison from log evidences and the standard deviations of its rounds, without evaluating anything."""
    from fwbq.selection import Comparison, Evidences, Stage, map_probabilities

    def build(names, centre, sds=(0.5, 0.05), rounds=(10, 40), *, status="decided", settings=None, rest=None):
        m = len(names)
        prior = np.full(m, -np.log(max(m, 1)))
        stages, spent, before = [], 0, 0
        for n, sd in zip(rounds, sds, strict=True):
            arrays = (np.full(m, x, dtype=float) for x in (sd, n - 1.0, 0.0))
            evidences = Evidences(np.full(m, "log", dtype="<U8"), np.array(centre, dtype=float), *arrays)
            chances = map_probabilities(evidences, prior)
            best = int(np.argmax(chances))
            spent, before = spent + m * (n - before), n
            stages.append(Stage(n, spent, m, evidences, best, float(chances[best])))
        points = np.full(m, rounds[-1])
        kept = {"seed": 0, "stages": list(rounds), "stop": 0.95} | (settings or {})
        return Comparison(tuple(names), evidences, prior, points, tuple(stages), status, kept, rest)

    return build

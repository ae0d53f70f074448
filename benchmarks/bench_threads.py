"""Processor time with the number of BLAS threads left alone, over that with one thread set.

Run: python benchmarks/bench_threads.py [name ...]

Each job runs in a process of its own, with OPENBLAS_NUM_THREADS=1 and without the variable, on the machine as it is and
beside two processes that never wait. A job is measured in processor time of all its threads, the least of three runs.
"""

import os
import subprocess
import sys
import time

GOAL = 1.3


def herding():
    import fwbq
    from fwbq.paper.simulation import mixture

    fwbq.FrankWolfe(fwbq.embed(fwbq.ExpQuad(0.8), mixture(0)), candidates=50_000, rng=0).take(500)


def sbq():
    import fwbq
    from fwbq.paper.simulation import mixture

    fwbq.SBQ(fwbq.embed(fwbq.ExpQuad(0.8), mixture(0)), candidates=10_000, rng=0).rule(200)


def integrate():
    import numpy as np

    import fwbq

    fwbq.integrate(lambda x: np.sin(x[:, 0] + x[:, 1]), fwbq.Gaussian([1.0, 0.5], np.eye(2)), n=100, rng=0)


def compare_models():
    import numpy as np

    import fwbq

    prior = fwbq.Gaussian([0.0, 0.0], np.eye(2))
    models = {j: fwbq.Model(lambda x, j=j: -np.sum((x - 0.2 * j) ** 2, axis=1), prior) for j in range(10)}
    fwbq.compare_models(models, n=80, rng=0, progress=False)


def chema_compare():
    import fwbq

    fwbq.chema.compare(fwbq.chema.Dataset.example(), n=100, rng=0, progress=False)


JOBS = {
    "herding, M = 50,000, n = 500": herding,
    "SBQ, M = 10,000, n = 200": sbq,
    "`integrate`, d = 2, n = 100": integrate,
    "`compare_models`, 10 models, n = 80": compare_models,
    "`chema.compare`, 352 models, n = 100": chema_compare,
}


def seconds(name, threads):
    """Processor time of a job in a new process, the least of three runs; `threads` None leaves the variable unset."""
    environment = {key: value for key, value in os.environ.items() if key != "OPENBLAS_NUM_THREADS"}
    if threads is not None:
        environment["OPENBLAS_NUM_THREADS"] = str(threads)
    command = [sys.executable, __file__, "--job", name]
    return float(subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout)


def job(name):
    """Run a job three times and print the least processor time; the first run also loads what the job needs."""
    spent = []
    for _ in range(3):
        start = time.process_time()
        JOBS[name]()
        spent.append(time.process_time() - start)
    print(min(spent))


def main(names):
    now, beside = "machine as it is: one thread set, s", "beside two busy processes: one thread set, s"
    print(f"| job | {now} | not set, s | ratio | {beside} | not set, s | ratio |")
    print("|---|---|---|---|---|---|---|")
    worst = 0.0
    for name in names or JOBS:
        cells = []
        for busy in (False, True):
            others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2 * busy)]
            try:
                one, unset = seconds(name, 1), seconds(name, None)
            finally:
                for other in others:
                    other.kill()
                    other.wait()
            cells += [f"{one:.3f}", f"{unset:.3f}", f"{unset / one:.2f}"]
            worst = max(worst, unset / one)
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)
    print(f"\nlargest ratio {worst:.2f} (goal: at most {GOAL})")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--job"]:
        job(sys.argv[2])
    else:
        main(sys.argv[1:])

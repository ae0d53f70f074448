"""Where a command evaluates: here, in processes of this machine, or on a Dask cluster."""

from __future__ import annotations

import logging
import os
import signal
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from .. import _extras, _validate
from ..evaluation import pool

#: Seconds to wait for a scheduler to answer.
_PATIENCE = 10
#: Code that each worker of a cluster on this machine begins with: Ctrl-C, which a terminal sends to all processes, is
#: handled by the process that gave the work out.
_LEAVE_INTERRUPTIONS_TO_THE_PARENT = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)"


@contextmanager
def executor(workers: int = 1, dask: str | None = None) -> Iterator[Executor | None]:
    """Open what evaluates, and close it at the end.

    Parameters
    ----------
    workers : int, optional
        Processes on this machine; one is this process itself.
    dask : str, optional
        Address of a running scheduler, e.g. ``tcp://10.0.0.1:8786``; or ``"local"`` for a cluster on this machine, with
        `workers` processes or, when that is one, as many as there are cores.

    Yields
    ------
    Executor or None
    """
    count = _validate.count(workers, "workers")
    if dask is None:
        with pool(count) as where:
            yield where
        return
    distributed = _extras.load("distributed", "dask", "`dask`")
    if dask == "local":
        cluster = distributed.LocalCluster(
            n_workers=count if count > 1 else os.cpu_count(), threads_per_worker=1,
            dashboard_address="127.0.0.1:0",  # any free port: the usual one may be another cluster's
            preload=[_LEAVE_INTERRUPTIONS_TO_THE_PARENT],
        )  # fmt: skip
        with cluster, distributed.Client(cluster) as client:
            try:
                yield client.get_executor()
            except BaseException:
                _end(cluster)
                raise
        return
    if count != 1:
        raise ValueError(
            "`workers` starts processes on this machine, but the cluster of `dask` has its own: leave it out"
        )
    with _connected(distributed, dask) as client:
        yield client.get_executor()


def _end(cluster: Any) -> None:
    """End the workers of a cluster on this machine at once; Dask would wait four seconds for what they are doing."""
    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # it would tell of every connection that breaks
    for nanny in cluster.workers.values():
        nanny.auto_restart = False
        if nanny.pid is not None:
            with suppress(ProcessLookupError):
                os.kill(nanny.pid, signal.SIGTERM if sys.platform == "win32" else signal.SIGKILL)


def _connected(distributed: ModuleType, address: str) -> Any:
    try:
        return distributed.Client(address, timeout=_PATIENCE)
    except (OSError, ValueError) as error:
        raise ValueError(
            f"`dask` {address!r}: no scheduler answers there ({str(error)[:200]}); give the address that it printed "
            'when it was started, such as tcp://127.0.0.1:8786, or "local" for a cluster on this machine'
        ) from error


@dataclass(frozen=True, eq=False)
class Travelling:
    """A function whose code travels with it, so that the workers of a cluster need not have its module.

    Parameters
    ----------
    function : callable
        Of a module in the current directory, or of an installed one, which travels by name.
    """

    function: Callable[..., Any]

    def __call__(self, x: Any) -> Any:
        """Call the function."""
        return self.function(x)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the function with the code of its module where that lies in the current directory."""
        cloudpickle = import_module("cloudpickle")
        module = sys.modules.get(getattr(self.function, "__module__", ""))
        source = getattr(module, "__file__", None)
        if module is not None and source is not None and Path(source).resolve().is_relative_to(Path.cwd().resolve()):
            cloudpickle.register_pickle_by_value(module)
        return cloudpickle.loads, (cloudpickle.dumps(self.function),)

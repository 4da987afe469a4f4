"""One run, in a process and an environment of its own: read the table, fit, sample, write the rows and the figures.

    python benchmarks/worker.py FOLDER

``FOLDER`` holds ``job.json`` and ``train.parquet``; the worker adds ``synthetic.parquet`` and ``figures.json``. It is
started by ``compare.py``, which ends it when its time is over.
"""

from __future__ import annotations

import json
import sys
import time
from dataclasses import asdict
from pathlib import Path

import pandas as pd

from baselines.protocol import RunContext
from methods import METHODS
from microtome.schema import Schema
from results import versions


def main(folder: Path) -> None:
    job = json.loads((folder / "job.json").read_text())
    frame = pd.read_parquet(folder / "train.parquet")
    context = RunContext(seed=job["seed"], time_limit=job["time_limit"])
    method = METHODS[job["method"]].load()(context)
    clock, cpu = time.perf_counter(), time.process_time()
    method.fit(frame, Schema.from_dict(job["schema"]), job["epsilon"], job["delta"])
    fit_seconds, fit_cpu, clock = time.perf_counter() - clock, time.process_time() - cpu, time.perf_counter()
    method.sample(len(frame)).to_parquet(folder / "synthetic.parquet", index=False)
    figures = {
        "seconds": {"fit": fit_seconds, "fit_cpu": fit_cpu, "sample": time.perf_counter() - clock},
        "peak_mebibytes": _peak_mebibytes(),
        "notes": method.notes(),
        "context": asdict(context),
        "worker": {"python": sys.version.split()[0], "versions": versions()},
    }
    (folder / "figures.json").write_text(json.dumps(figures))


def _peak_mebibytes() -> float:
    """The most memory that this process held; 0 where the system does not say (the runner looks from outside too).

    Not ``ru_maxrss``, in which a process starts with the peak of the one that forked it.
    """
    status = Path("/proc/self/status")
    lines = status.read_text().splitlines() if status.exists() else []
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM:")), 0.0)


if __name__ == "__main__":
    main(Path(sys.argv[1]))

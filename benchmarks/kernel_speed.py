"""Speed of the kernel f-divergence: fast against reference, and against the number of released rows.

Both estimators run in this process, forward and backward, on the same release, taken in turns so that a busy
machine slows them alike. The reference is timed as it stands (one slice and bandwidth at a time, on a
batch of b released rows, as Algorithm 1) and as training has it, batched over slices and bandwidths: with a batch of
released rows for every step, as printed, and with a batch that serves 16 steps, the default. The fast one summarises
all n rows.

    python benchmarks/kernel_speed.py -o benchmarks/results/kernel_speed.json
    python benchmarks/kernel_speed.py --slices 20 --slice-dim 5 -o …    # the shape of Tables 1 and 3
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import torch
from torch import Tensor

from microtome.divergences import (
    KernelFDivergence,
    KernelSettings,
    MiniBatchKernelFDivergence,
    ReferenceKernelFDivergence,
    random_frames,
)
from microtome.training import LossMix

CHUNK_ROWS = 5_000
USES = LossMix().batch_uses
Step = Callable[[], None]


def main() -> None:
    options = parse_options()
    torch.set_num_threads(options.threads)
    settings = KernelSettings()
    directions = random_frames(options.slices, options.dim, options.slice_dim, generator=seeded(options.seed))
    batch = torch.randn(options.batch, options.dim, generator=seeded(options.seed + 1)) / options.dim**0.5
    fast, builds = {}, {}
    for rows in options.rows:
        start = time.perf_counter()
        fast[rows] = KernelFDivergence.from_slices(
            released_chunks(rows, directions, options),
            directions,
            noise_scale=options.noise_scale,
            settings=settings,
            num_landmarks=options.landmarks,
            generator=seeded(options.seed + 2),
        )
        builds[rows] = time.perf_counter() - start
    first = min(options.rows)
    slices = torch.cat(list(released_chunks(first, directions, options)))
    shape = {"noise_scale": options.noise_scale, "settings": settings, "batch_rows": options.batch}
    reference = ReferenceKernelFDivergence(slices, directions, **shape)
    batched, pooled = (MiniBatchKernelFDivergence(slices, directions, **shape, uses=uses) for uses in (1, USES))
    versus = time_in_turns(
        {
            "fast": step(fast[first], batch, options.seed),
            "reference": step(reference, batch, options.seed),
            "batched": step(batched, batch, options.seed),
            "batched, a batch for 16 steps": step(pooled, batch, options.seed, times=USES),
        },
        options.repeats,
    )
    versus["batched, a batch for 16 steps"] /= USES
    flat = time_in_turns(
        {str(rows): step(fast[rows], batch, options.seed) for rows in options.rows}, 5 * options.repeats
    )
    result = {
        "what": "seconds per step, forward and backward; median over repeats taken in turns",
        "seconds_per_step": versus,
        "steps_per_second": {name: 1.0 / seconds for name, seconds in versus.items()},
        "ratios_to_reference": {name: versus["reference"] / seconds for name, seconds in versus.items()},
        "fast_seconds_per_step_by_rows": flat,
        "slowest_to_quickest_over_rows": max(flat.values()) / min(flat.values()),
        "seconds_to_draw_and_summarise_by_rows": {str(rows): seconds for rows, seconds in builds.items()},
        "configuration": vars(options)
        | {
            "output": None,
            "f": "kl",
            "bandwidth_multipliers": settings.bandwidth_multipliers,
            "ridge": settings.ridge,
        },
        "environment": environment(),
    }
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(json.dumps(result, indent=2) + "\n")
    print(json.dumps({key: result[key] for key in list(result)[1:7]}, indent=2))


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", type=Path, default=Path("benchmarks/results/kernel_speed.json"))
    parser.add_argument("--slices", type=int, default=200)
    parser.add_argument("--slice-dim", type=int, default=2)
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--dim", type=int, default=100)
    parser.add_argument("--landmarks", type=int, default=64)
    parser.add_argument("--noise-scale", type=float, default=1.0)
    parser.add_argument("--rows", type=int, nargs="+", default=[10**4, 10**5, 10**6])
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def released_chunks(rows: int, directions: Tensor, options: argparse.Namespace) -> Iterator[Tensor]:
    """Noisy slices of Gaussian rows of norm about one, never held all at once."""
    draw = seeded(options.seed + 3)
    for start in range(0, rows, CHUNK_ROWS):
        count = min(CHUNK_ROWS, rows - start)
        encoded = torch.randn(count, options.dim, generator=draw) / options.dim**0.5
        slices = torch.matmul(encoded, directions).transpose(0, 1)
        yield slices + options.noise_scale * torch.randn(slices.shape, generator=draw)


def step(divergence: Callable[..., Tensor], batch: Tensor, seed: int, *, times: int = 1) -> Step:
    draw = seeded(seed + 4)

    def run() -> None:
        for _ in range(times):
            x = batch.clone().requires_grad_()
            divergence(x, generator=draw).backward()

    return run


def time_in_turns(steps: dict[str, Step], repeats: int) -> dict[str, float]:
    seconds: dict[str, list[float]] = {name: [] for name in steps}
    for turn in range(repeats + 1):
        for name, run in steps.items():
            start = time.perf_counter()
            run()
            if turn > 0:  # the first turn warms up
                seconds[name].append(time.perf_counter() - start)
    return {name: statistics.median(values) for name, values in seconds.items()}


def environment() -> dict[str, object]:
    def git(*words: str) -> str:
        done = subprocess.run(["git", *words], cwd=Path(__file__).parent, capture_output=True, text=True, check=False)
        return done.stdout.strip()

    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "git_commit": git("rev-parse", "HEAD"),
        "git_clean": git("status", "--porcelain", "../src/microtome/divergences", "kernel_speed.py") == "",
        "python": platform.python_version(),
        "torch": torch.__version__,
        "platform": platform.platform(),
        "processors": os.cpu_count(),
        "load_average": os.getloadavg(),
    }


if __name__ == "__main__":
    main()

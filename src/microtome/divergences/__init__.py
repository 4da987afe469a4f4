"""How far synthetic rows are from released ones: differentiable, fast, and with nothing private in reach."""

from microtome.divergences.algorithm1 import ReferenceKernelFDivergence, run_algorithm1
from microtome.divergences.component_moments import Moments, component_moments
from microtome.divergences.f_functions import ConvexFunction, FDivergence
from microtome.divergences.gaussian_kernel import KernelSettings
from microtome.divergences.kernel_minibatch import MiniBatchKernelFDivergence
from microtome.divergences.kernel_ratio import KernelFDivergence
from microtome.divergences.landmarks import Landmarks, summarise
from microtome.divergences.moment_matching import MomentMatching, MomentSettings, ReleasedMoments
from microtome.divergences.protocol import Divergence
from microtome.divergences.singular_values import Denoising, denoise, shrink
from microtome.divergences.slice_frames import column_frames, pair_frames, random_frames
from microtome.divergences.sliced_mmd import MMDSettings, SlicedMMD
from microtome.divergences.sliced_wasserstein import SlicedWasserstein

__all__ = [
    "ConvexFunction",
    "Denoising",
    "Divergence",
    "FDivergence",
    "KernelFDivergence",
    "KernelSettings",
    "Landmarks",
    "MMDSettings",
    "MiniBatchKernelFDivergence",
    "MomentMatching",
    "MomentSettings",
    "Moments",
    "ReferenceKernelFDivergence",
    "ReleasedMoments",
    "SlicedMMD",
    "SlicedWasserstein",
    "column_frames",
    "component_moments",
    "denoise",
    "pair_frames",
    "random_frames",
    "run_algorithm1",
    "shrink",
    "summarise",
]

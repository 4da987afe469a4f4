"""Every statement of the paper, by its number and label in the paper's source: where it is, and what tests it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Statement:
    """A numbered item of the paper.

    Attributes:
        name: Kind and number, as LaTeX counts them in the source.
        label: Its label there, if it has one.
        what: What it says, in a few words.
        place: Where it is here: files under ``src/microtome`` or ``benchmarks``.
        tests: ``file::test`` under ``tests``.
        remark: Where we differ, and why.
    """

    name: str
    label: str
    what: str
    place: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()
    remark: str = ""


_ACCOUNTING = "src/microtome/accounting"
_DIVERGENCES = "src/microtome/divergences"
_RENYI = "accounting/test_renyi.py"
_KERNEL = "divergences/test_kernel_ratio.py"
_FAST = "divergences/test_kernel_minibatch.py"

STATEMENTS = (
    Statement(
        name="Definition 1",
        label="def:1",
        what="adjacent data sets: rows at most 1 apart",
        place=(f"{_ACCOUNTING}/neighbours.py",),
        tests=("accounting/test_neighbours.py", "private/test_slicing.py"),
        remark="Taken as a record blanked out (`blank-one`, distance 1). The paper says that it covers adding or "
        "removing a record; as there is a row a record, it does so only with padding (`add-remove`). Replacing one "
        "costs √2.",
    ),
    Statement(
        name="Definition 2",
        label="def:2",
        what="(ε, δ)-differential privacy",
        place=(f"{_ACCOUNTING}/privacy_profile.py",),
        tests=(
            "accounting/test_exact_profile.py",
            "private/test_slicing.py::test_privacy_loss_of_the_mechanism_is_what_the_accountant_says",
        ),
        remark="The profile δ(ε) is computed exactly; Theorem 1 is one accountant of three.",
    ),
    Statement(
        name="Definition 3",
        label="",
        what="f-divergence",
        place=(f"{_DIVERGENCES}/f_functions.py",),
        tests=("divergences/test_f_functions.py",),
        remark="Six f, each with f'(1) = 0 and continued by its tangent below 10⁻⁴.",
    ),
    Statement(
        name="Equation 1",
        label="eq::fdiv_est",
        what="the kernel estimator of an f-divergence",
        place=(f"{_DIVERGENCES}/algorithm1.py", f"{_DIVERGENCES}/kernel_ratio.py"),
        tests=(
            f"{_KERNEL}::test_f_divergence_of_shifted_gaussians",
            f"{_KERNEL}::test_estimate_is_consistent_as_rows_and_batch_grow",
        ),
    ),
    Statement(
        name="Definition 4",
        label="",
        what="the smoothed-sliced f-divergence",
        place=(f"{_DIVERGENCES}/slice_frames.py", f"{_DIVERGENCES}/kernel_ratio.py"),
        tests=(
            f"{_KERNEL}::test_a_slice_average_approaches_the_sliced_divergence_as_slices_grow",
            "divergences/test_training_directions.py::test_random_frames_are_orthonormal_uniform_and_reproducible",
        ),
    ),
    Statement(
        name="Proposition 1",
        label="prop::SD_zero",
        what="it is zero for equal laws only",
        place=(f"{_DIVERGENCES}/kernel_ratio.py",),
        tests=(
            f"{_KERNEL}::test_equal_distributions_are_near_zero_and_nothing_is_negative",
            "divergences/test_consistency.py::test_corollary_1_on_a_census_table",
        ),
    ),
    Statement(
        name="Equation 2",
        label="eq::SDloss",
        what="its estimate from noisy slices",
        place=(f"{_DIVERGENCES}/algorithm1.py", f"{_DIVERGENCES}/kernel_minibatch.py"),
        tests=(f"{_KERNEL}::test_mini_batches_of_all_slices_are_the_reference",),
        remark="The default estimator (`kernel`) has synthetic noise in closed form, and landmarks for rows.",
    ),
    Statement(
        name="Definition 5",
        label="defn::slicing_mech",
        what="the slicing mechanism",
        place=("src/microtome/private/slicing.py",),
        tests=("private/test_slicing.py::test_gaussian_directions_have_their_scale",),
        remark="`--directions gaussian`. The default is an orthogonal block: less noise, and any slice to be had.",
    ),
    Statement(
        name="Equation 3",
        label="eq:mechanism",
        what="M(X) = (U, XU + V)",
        place=("src/microtome/private/slicing.py",),
        tests=("private/test_slicing.py::test_released_noise_has_the_planned_scale",),
    ),
    Statement(
        name="Remark 1",
        label="rem::slice_mech",
        what="U is published",
        place=("src/microtome/private/slicing.py",),
        tests=("private/test_slicing.py::test_directions_are_never_taken_from_a_caller",),
    ),
    Statement(
        name="Theorem 1",
        label="thm:diffpriv",
        what="the mechanism's ε",
        place=(f"{_ACCOUNTING}/paper.py",),
        tests=(f"{_RENYI}::test_theorem_1_check_values", f"{_RENYI}::test_exact_below_renyi_below_theorem_1"),
        remark="Valid and loose: the exact accountant asks for less noise ([privacy.md](privacy.md), section 3).",
    ),
    Statement(
        name="Remark 2",
        label="",
        what="α* without a search",
        place=(f"{_ACCOUNTING}/paper.py",),
        tests=(f"{_RENYI}::test_remark_2",),
        remark="Printed with √(d/(2(d − γ))) where substitution gives d/(2(d − γ)). The root is no less as long as "
        "γ ≤ d/2, so the bound printed is valid all the same.",
    ),
    Statement(
        name="Equation 4",
        label="eq::loss_generic",
        what="the loss, with any estimator",
        place=("src/microtome/training/losses.py",),
        tests=("training/test_trainer.py",),
    ),
    Statement(
        name="Corollary 1",
        label="cor:consist",
        what="the loss vanishes for the data's law only",
        place=(f"{_DIVERGENCES}/kernel_ratio.py",),
        tests=("divergences/test_consistency.py::test_corollary_1_on_a_census_table",),
    ),
    Statement(
        name="Equation 5",
        label="eq::loss_slice",
        what="the loss with the kernel estimator",
        place=(f"{_DIVERGENCES}/algorithm1.py", f"{_DIVERGENCES}/kernel_minibatch.py"),
        tests=(
            f"{_KERNEL}::test_reference_is_equation_five_written_out_for_two_points",
            f"{_KERNEL}::test_mini_batches_of_all_slices_are_the_reference",
        ),
        remark="b/b' of Equation 1 is kept where batches differ in size; τ = ridge·b, so that it has a limit.",
    ),
    Statement(
        name="Equation 6",
        label="eq::kernel_slice",
        what="the Gram matrices",
        place=(f"{_DIVERGENCES}/gaussian_kernel.py", f"{_DIVERGENCES}/kernel_ladder.py"),
        tests=(
            f"{_FAST}::test_gradients_of_kernel_means_are_those_of_autograd",
            f"{_FAST}::test_one_exponential_gives_the_kernels_of_all_bandwidths",
        ),
    ),
    Statement(
        name="Remark 3",
        label="",
        what="an ensemble of bandwidths about the median distance",
        place=(f"{_DIVERGENCES}/gaussian_kernel.py",),
        tests=("divergences/test_landmarks.py::test_median_distance_from_cells_is_that_of_the_rows",),
        remark="½, 1 and 2 times the median distance of released points; the paper does not say which.",
    ),
    Statement(
        name="Algorithm 1",
        label="alg:dp_Gen",
        what="training",
        place=(f"{_DIVERGENCES}/algorithm1.py", "src/microtome/training/loop.py", "benchmarks/baselines/slicing.py"),
        tests=(
            "training/test_algorithm1.py::test_the_loop_is_algorithm_1",
            f"{_FAST}::test_a_batch_of_released_rows_has_no_row_twice",
        ),
        remark="With `batch_uses` above 1 a batch of released rows serves several steps, others in between.",
    ),
    Statement(
        name="Definition 6",
        label="",
        what="Rényi differential privacy",
        place=(f"{_ACCOUNTING}/renyi.py",),
        tests=(f"{_RENYI}::test_rdp_is_the_log_moment_of_the_energy",),
    ),
    Statement(
        name="Proposition 2",
        label="prop:RDP",
        what="from Rényi to (ε, δ)",
        place=(f"{_ACCOUNTING}/paper.py", f"{_ACCOUNTING}/renyi.py"),
        tests=(f"{_RENYI}::test_proposition_2",),
        remark="The accountant `renyi` has the tighter conversion of Canonne, Kamath and Steinke.",
    ),
    Statement(
        name="Lemma 1",
        label="lem:amplification",
        what="amplification by subsampling",
        place=(f"{_ACCOUNTING}/renyi.py",),
        tests=(f"{_RENYI}::test_lemma_1", "accounting/test_subsampled_profile.py::test_check_values"),
        remark="The sample is padded to a public size, without which its size would leak; the exact accountant "
        "composes it with the profile through privacy losses.",
    ),
    Statement(
        name="Equation 7",
        label="eq::renyi_normal",
        what="Rényi divergence of Gaussians",
        place=(f"{_ACCOUNTING}/renyi.py",),
        tests=(f"{_RENYI}::test_lemma_2_by_the_covariances_of_its_proof",),
    ),
    Statement(
        name="Lemma 2",
        label="lem:slicedRenyi",
        what="the mechanism's Rényi divergence",
        place=(f"{_ACCOUNTING}/paper.py", f"{_ACCOUNTING}/renyi.py"),
        tests=(
            f"{_RENYI}::test_theorem_1_bounds_exact_rdp",
            f"{_RENYI}::test_lemma_2_by_the_covariances_of_its_proof",
        ),
        remark="The accountant `renyi` stops before the proof's last inequality, where there is an equality.",
    ),
    Statement(
        name="Equation 8",
        label="eq::cov_mech",
        what="the covariance of the mechanism's output",
        place=(f"{_ACCOUNTING}/renyi.py",),
        tests=(f"{_RENYI}::test_lemma_2_by_the_covariances_of_its_proof",),
    ),
    Statement(
        name="Proposition 3",
        label="prop::DP_det_proj",
        what="ε where U is not random",
        place=(f"{_ACCOUNTING}/paper.py",),
        tests=(f"{_RENYI}::test_proposition_3",),
        remark="For `microtome budget` only; no release takes directions from a caller.",
    ),
    Statement(
        name="Equation 9",
        label="eq:11",
        what="the limit of the loss",
        place=(f"{_DIVERGENCES}/kernel_ratio.py",),
        tests=("divergences/test_consistency.py::test_corollary_1_on_a_census_table",),
    ),
    Statement(
        name="Table 1",
        label="tabel:benchmark1",
        what="census tables, ε = 5.1",
        place=("benchmarks/compare.py", "benchmarks/baselines/slicing.py"),
        tests=("benchmarks/test_baseline_slicing.py",),
        remark="Below.",
    ),
    Statement(
        name="Table 2",
        label="tab:data",
        what="the data",
        place=("benchmarks/census.py",),
        tests=("benchmarks/test_census.py",),
        remark="The same five tasks, of 14 whole states: California is at hand as a 40 % sample of three of them. "
        "`make bench SOURCE=folktables` downloads the paper's own.",
    ),
    Statement(
        name="Table 3",
        label="tabel:gan1",
        what="census tables, ε = 8.1",
        place=("benchmarks/compare.py", "benchmarks/baselines/slicing.py"),
        tests=("benchmarks/test_baseline_slicing.py",),
        remark="Below.",
    ),
    Statement(
        name="Figure 1",
        label="fig:MNIST",
        what="digits against ε",
        place=("benchmarks/mnist.py",),
        tests=("training/test_mnist.py",),
        remark="Below.",
    ),
    Statement(
        name="Figure 2",
        label="fig:DA",
        what="domain adaptation against ε",
        place=("benchmarks/adaptation.py",),
        tests=("adaptation/test_real_digits.py",),
        remark="Below.",
    ),
)

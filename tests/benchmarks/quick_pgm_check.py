"""Run by the interpreter of the baselines: the quick Private-PGM equals the package's."""

import string

import numpy as np
from dpmm.models import aim
from dpmm.models.base.matrix import Identity
from dpmm.models.base.mbi import Domain
from dpmm.models.base.mbi.inference import FactoredInference
from scipy import sparse

from baselines import quick_pgm

NAMES = string.ascii_lowercase[:8]
TOTAL = 1000.0


def main() -> None:
    rng = np.random.default_rng(0)
    domain = Domain(list(NAMES), [3, 5, 2, 7, 4, 1, 6, 9])
    pairs = ["ab", "db", "ca", "eg", "gh", "bc", "hd"]
    measured = [measurement(domain, tuple(names), rng) for names in [*NAMES, *pairs]]
    theirs = FactoredInference(domain, iters=60).estimate(measured, total=TOTAL)
    workload = aim.compile_workload([(one, other) for one in NAMES for other in NAMES if one < other])
    limits = (0.0005, 0.001, 0.002, 0.005, 0.01, None)
    allowed = [aim.filter_candidates(workload, theirs, limit) for limit in limits]
    far = theirs.project(("a", "h")).values
    quick_pgm.install()
    ours = FactoredInference(domain, iters=60).estimate(measured, total=TOTAL)
    assert len({len(one) for one in allowed}) > 2
    assert [quick_pgm.filter_candidates(workload, ours, limit) for limit in limits] == allowed
    assert ours.cliques == theirs.cliques
    assert any(len(clique) > 2 for clique in ours.cliques)
    for clique in ours.cliques:
        np.testing.assert_allclose(ours.marginals[clique].values, theirs.marginals[clique].values, rtol=1e-6)
    np.testing.assert_allclose(ours.project(("a", "h")).values, far, rtol=1e-6)


def measurement(domain, names, rng):
    """Every cell, or as many random queries as there are cells and one."""
    cells = domain.size(names)
    queries = Identity(cells) if cells % 2 else sparse.csr_matrix(rng.normal(size=(cells + 1, cells)))
    counts = TOTAL * rng.dirichlet(np.ones(cells))
    return queries, queries @ counts + rng.normal(size=queries.shape[0]), 5.0 if cells % 2 else 3.0, names


if __name__ == "__main__":
    main()

"""How good a synthetic table is: fidelity, utility, attacks, and a page that shows them."""

from microtome.evaluation.reporting import Report, report

__all__ = ["Report", "report"]

"""How good a synthetic table is: fidelity, utility, attacks, and a page that shows them."""

from microtome.evaluation.linked_report import LinkedReport, report_linked
from microtome.evaluation.reporting import Report, report

__all__ = ["LinkedReport", "Report", "report", "report_linked"]

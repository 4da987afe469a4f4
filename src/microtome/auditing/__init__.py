"""Empirical lower bounds on ε, against the claim: does the program keep what the argument promises?

audit_data.py   neighbouring data of the worst kind, many pairs in one set (audit_table.py, audit_images.py)
observation.py  one run of the real release, with everything known but the noise and one record
evidence.py     what a noisy array says of a record: likelihood ratios in closed form
                (table_evidence.py, image_evidence.py)
attacks.py      scores by which to tell whether a record is there
lower_bound.py  a bound on ε from how often that succeeds, with no assumption on the mechanism
claim.py        the claimed privacy profile, at every δ
setting.py      what is audited, and the suite of all of it
audit.py        the audit of a setting from first release to finding
"""

from microtome.auditing.audit import AuditRun, Bound, Finding
from microtome.auditing.session import Audit, audit
from microtome.auditing.setting import AuditKind, AuditSetting, suite

__all__ = ["Audit", "AuditKind", "AuditRun", "AuditSetting", "Bound", "Finding", "audit", "suite"]

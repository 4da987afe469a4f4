"""Several settings audited one after the other, within a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import microtome
from microtome.auditing.audit import AuditRun, Finding
from microtome.auditing.setting import AuditSetting
from microtome.errors import ParameterError
from microtome.progress import Progress, silent

_LEAST_WEIGHT, _MOST_WEIGHT = 0.5, 2.0


@dataclass(frozen=True, kw_only=True)
class Audit:
    """What was found.

    Attributes:
        findings: Setting by setting, as far as there was time.
        settings: How many there were to be.
        confidence: With which the bounds of each setting hold, and, all settings together, the verdicts.
        finished: Whether nobody ended it early.
    """

    findings: tuple[Finding, ...]
    settings: int
    confidence: float
    finished: bool

    @property
    def violations(self) -> list[Finding]:
        """Settings whose promise is refuted."""
        return [finding for finding in self.findings if finding.is_violation]

    def to_dict(self) -> dict[str, Any]:
        """As plain values for JSON."""
        return {
            "software": f"microtome {microtome.__version__}",
            "confidence": self.confidence,
            "settings": self.settings,
            "finished": self.finished,
            "violations": len(self.violations),
            "findings": [finding.to_dict() for finding in self.findings],
        }


def audit(
    settings: Sequence[AuditSetting],
    *,
    seconds: float,
    confidence: float = 0.95,
    progress: Progress = silent,
    seed: int | None = None,
) -> Audit:
    """Audit settings one after the other. Ctrl-C gives what has been found so far.

    Args:
        settings: What to audit.
        seconds: Time for all of them; a smaller ε shows more slowly and gets more of it.
        confidence: With which the bounds of each setting are to hold. A promise counts as refuted only if all
            verdicts hold together with this confidence: with many settings some bound is wrong by chance.
        progress: Told how far each setting is.
        seed: Of the coins that decide who is in a table. Noise is never seeded.
    """
    if not settings:
        raise ParameterError("there is nothing to audit; give at least one setting")
    if not seconds > 0:
        raise ParameterError(f"seconds is {seconds}; it must be a positive number")
    if not 0 < confidence < 1:
        raise ParameterError(f"confidence is {confidence}; it must be between 0 and 1, both excluded")
    weights = [min(max(1.0 / setting.epsilon, _LEAST_WEIGHT), _MOST_WEIGHT) for setting in settings]
    findings: list[Finding] = []
    finished = True
    for number, (setting, weight) in enumerate(zip(settings, weights, strict=True)):
        run = AuditRun(setting, error=(1.0 - confidence) / len(settings), seed=None if seed is None else seed + number)
        try:
            findings.append(run.run(seconds=seconds * weight / sum(weights), progress=progress))
        except KeyboardInterrupt:
            finished = False
        if run.interrupted or not finished:
            finished = False
            break
    return Audit(findings=tuple(findings), settings=len(settings), confidence=confidence, finished=finished)

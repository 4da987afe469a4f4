"""Hypothesis without deadlines: the machines that run these tests are shared."""

from hypothesis import HealthCheck, settings

settings.register_profile("shared", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
settings.load_profile("shared")

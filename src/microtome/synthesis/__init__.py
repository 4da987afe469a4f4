"""Sampling and the ``Synthesizer`` face."""

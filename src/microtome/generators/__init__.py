"""Noise in, encoded rows out: the networks, and the protocol for your own."""

"""Randomness that nobody can predict, repeat or choose, and the one place where noise is added.

Every purpose (noise of a row block, the profile, directions, sampling, shuffling) has a stream of its own:
AES in counter mode under a key derived from the release's secret key, the purpose and the block number. The
secret comes from the operating system. So a block that has to be done again gets the same noise again, which
reveals nothing new, and nobody else can ever regenerate it: the secret lives in memory only and is forgotten
when the release is written. There is no seed. Machines that make rows in our stead get a key of their own, derived from
the secret, from which nothing else can be had.

Tests may inject another ``Randomness``; a release made with it says that it is not private.
"""

from __future__ import annotations

import hashlib
import secrets
from typing import Any, NoReturn, Protocol

import numpy as np
import scipy
from numpy.typing import NDArray
from randomgen import AESCounter

from microtome.errors import MicrotomeError
from microtome.private.discrete_gaussian import CELLS, discrete_gaussian

GRID = 256
"""Of rows, noise standard deviations are divided into this many grid steps: coarse against rounding error of 64-bit
floats, fine against the noise."""
_LATTICE_BITS, _LATTICE_MARGIN = 26, 2.0**-15
_WIDEST, _LARGEST = 2.0**52, 2.0**61
LATTICE_GAP = 2.0**-53
"""What discrete noise on a count that a record touches adds to δ, beside that of the continuous Gaussian."""


class Randomness(Protocol):
    """Independent streams of random numbers by purpose and block."""

    def stream(self, purpose: str, block: int = 0) -> np.random.Generator:
        """The generator of a purpose and block: the same each time it is asked for."""
        ...


class ReleaseRandomness(Randomness, Protocol):
    """All randomness of one release."""

    def require_secret(self) -> object:
        """What streams are keyed by; an error if it is gone."""
        ...

    def subkey(self, purpose: str) -> bytes:
        """A key of 32 bytes for streams of its own, which tells nothing of others."""
        ...

    def forget(self) -> None:
        """Drop it: the release is made, and no stream is needed again."""
        ...


class KeyedRandomness:
    """Streams keyed by a secret of 32 bytes, which is never written down: an object with it cannot be pickled."""

    def __init__(self, secret: bytes) -> None:
        self._secret: bytes | None = secret

    def stream(self, purpose: str, block: int = 0) -> np.random.Generator:
        """The generator of a purpose and block; an error once the secret is forgotten."""
        label = f"{purpose}/{block}".encode()
        key = hashlib.blake2b(label, key=self.require_secret(), digest_size=16, person=b"microtome").digest()
        return np.random.Generator(AESCounter(key=int.from_bytes(key, "little")))

    def subkey(self, purpose: str) -> bytes:
        """A key derived from the secret, for streams of its own."""
        label, secret = purpose.encode(), self.require_secret()
        return hashlib.blake2b(label, key=secret, digest_size=32, person=b"microtome-key").digest()

    def __reduce__(self) -> NoReturn:
        raise MicrotomeError("the secret of a release is not written down")

    def require_secret(self) -> bytes:
        """The secret; an error once it is forgotten."""
        if self._secret is None:
            raise MicrotomeError("this release is finished; its noise cannot be drawn again")
        return self._secret

    def forget(self) -> None:
        """Drop the secret: no stream can be had again."""
        self._secret = None


class SystemRandomness(KeyedRandomness):
    """Streams keyed by a secret of the operating system. The only ``Randomness`` of a private release."""

    def __init__(self) -> None:
        super().__init__(fresh_key())


def fresh_key() -> bytes:
    """Secret bits: the system's own, kept nowhere."""
    return secrets.token_bytes(32)


def is_unpredictable(randomness: Randomness) -> bool:
    """Whether what is made with it may be called private: not with any other source, nor with a variant of this one."""
    return type(randomness) is SystemRandomness


def poisson_sample(count: int, rate: float, stream: np.random.Generator) -> NDArray[np.bool_]:
    """Which of the next ``count`` records are in a Poisson sample; each has a whole number of 64 bits of its own.

    The rate is rounded down to a multiple of 2⁻⁶⁴: no record is sampled more often than the accounting says.
    """
    numbers = stream.integers(0, 1 << 64, size=count, dtype=np.uint64)
    sampled: NDArray[np.bool_] = numbers < np.uint64(min(int(rate * 2.0**64), (1 << 64) - 1))
    return sampled


def add_gaussian_noise(
    values: NDArray[np.float64], noise_scale: float, stream: np.random.Generator
) -> NDArray[np.int64]:
    """``values + N(0, noise_scale²)`` in whole steps of ``noise_scale / GRID``.

    Low-order bits of a float would betray the value under the noise; the grid hides them.
    """
    noisy: NDArray[np.float64] = stream.standard_normal(values.shape)
    noisy *= GRID
    noisy += values * (GRID / noise_scale)
    return np.rint(noisy, out=noisy).astype(np.int64)


def noisy_counts(
    counts: NDArray[np.float64], scale: float | NDArray[np.float64], stream: np.random.Generator, *, digits: int = 0
) -> NDArray[np.float64]:
    """Counts, or sums of multiples of 2^−digits, under discrete Gaussian noise: no float has a say in what comes out.

    The noise of each number is at least its scale, and on a lattice so fine that this is the Gaussian mechanism but for
    ``LATTICE_GAP`` (``docs/privacy.md``, section 6): of at least 2²⁶ steps a standard deviation, and 2²⁶/σ if σ < 1.
    """
    scales = np.broadcast_to(np.asarray(scale, dtype=np.float64), counts.shape).ravel()
    exponents = np.frexp(scales)[1].astype(np.int64)  # 2^(e−1) ≤ σ < 2^e
    bits = np.maximum(_LATTICE_BITS + 1 - exponents + np.maximum(1 - exponents, 0), digits)
    widths, exact = np.ceil(np.ldexp(scales, bits) / CELLS), np.ldexp(counts.ravel(), bits)
    if not ((widths >= 1) & (widths < _WIDEST) & (np.abs(exact) < _LARGEST) & (exact == np.rint(exact))).all():
        raise MicrotomeError("counts or their noise do not fit the lattice of what is published; nothing is released")
    noisy = exact.astype(np.int64) + discrete_gaussian(widths.astype(np.int64), stream)
    return np.ldexp(noisy.astype(np.float64), -bits).reshape(counts.shape)


def noise_quantile(scale: float, chance: float) -> float:
    """What the noise of a count exceeds, on either side, with at most this chance.

    That of the continuous Gaussian, and a little more for the lattice: half a step of it, and the scale rounded up.
    """
    return scale * (_LATTICE_MARGIN - float(scipy.special.ndtri(chance)))


def haar_columns(dim: int, count: int, stream: np.random.Generator) -> NDArray[np.float64]:
    """The first columns of a uniformly random orthogonal dim × dim matrix: QR of a Gaussian, diagonal positive."""
    q, r = np.linalg.qr(stream.standard_normal((dim, count)))
    orthogonal: NDArray[Any] = q * np.sign(np.diag(r))
    return orthogonal

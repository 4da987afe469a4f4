"""Values in a format of their own, and codes among them: ``1,4`` and ``>200``, ``31.01.2026`` and ``unknown``.

A column that has both is a column of texts: measurements in the usual way, whatever their format is, and codes as they
are written.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from microtome.schema.notation import Notation


@dataclass(frozen=True, kw_only=True)
class CodedNotation:
    """A notation of measurements, and codes that are none.

    Attributes:
        inner: How measurements are written.
        codes: The codes.
        measured: The type of measurements.
    """

    inner: Notation
    codes: tuple[str, ...]
    measured: pa.DataType

    def fits(self, texts: pa.Array) -> pa.Array:
        """Which texts are codes or written so; false for missing ones."""
        return pc.or_(self._are_codes(texts), self.inner.fits(texts))

    def read(self, texts: pa.Array, wanted: pa.DataType) -> pa.Array:
        """Measurements in the usual way, and codes."""
        coded = self._are_codes(texts)
        values = self.inner.read(_without(texts, coded), self.measured).cast(pa.string())
        return pc.if_else(coded, _trimmed(texts), values).cast(wanted)

    def write(self, values: pa.Array) -> pa.Array:
        """The inverse of ``read``."""
        coded = self._are_codes(values)
        return pc.if_else(coded, _trimmed(values), self.inner.write(_without(values, coded).cast(self.measured)))

    def _are_codes(self, texts: pa.Array) -> pa.Array:
        return pc.is_in(_trimmed(texts), value_set=pa.array(self.codes))


def _trimmed(texts: pa.Array) -> pa.Array:
    return pc.utf8_trim_whitespace(texts.cast(pa.string()))


def _without(texts: pa.Array, coded: pa.Array) -> pa.Array:
    return pc.if_else(coded, pa.scalar(None, pa.string()), texts.cast(pa.string()))

"""The directions a row is sliced along, as the accountants see them: how much of the row they let through.

For neighbouring rows a distance Δ apart the loss depends on the directions U only through the energy
W = ‖(x − x')U‖² (``docs/privacy.md``, section 2):

    gaussian     U_ij ~ N(0, 1/d)                          W = Δ² χ²(m')/d
    orthogonal   m' = q·d: q Haar-orthogonal blocks        W = Δ² q
    orthogonal   m' = q·d + r: the last block cut to r     W = Δ² (q + Beta(r/2, (d−r)/2))
    fixed        any U, orthonormal columns per slice      W ≤ Δ² m
"""

from dataclasses import dataclass
from enum import StrEnum

from microtome.accounting.ranges import require_count
from microtome.errors import ParameterError
from microtome.json_record import JsonRecord


class DirectionKind(StrEnum):
    """How the directions are drawn."""

    ORTHOGONAL = "orthogonal"
    GAUSSIAN = "gaussian"
    FIXED = "fixed"

    @property
    def is_drawn(self) -> bool:
        """Whether chance chooses them, and not somebody."""
        match self:
            case DirectionKind.ORTHOGONAL | DirectionKind.GAUSSIAN:
                return True
            case DirectionKind.FIXED:
                return False

    @property
    def is_independent(self) -> bool:
        """Whether each is drawn without regard to the others."""
        match self:
            case DirectionKind.GAUSSIAN:
                return True
            case DirectionKind.ORTHOGONAL | DirectionKind.FIXED:
                return False

    @property
    def is_orthogonal(self) -> bool:
        """Whether blocks of them are drawn that are orthogonal to each other."""
        match self:
            case DirectionKind.ORTHOGONAL:
                return True
            case DirectionKind.GAUSSIAN | DirectionKind.FIXED:
                return False


@dataclass(frozen=True, kw_only=True)
class Directions(JsonRecord):
    """m slices of k directions each in d dimensions.

    Attributes:
        kind: how they are drawn.
        dim: d, the width of an encoded row.
        num_slices: m.
        slice_dim: k.
    """

    kind: DirectionKind
    dim: int
    num_slices: int
    slice_dim: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "kind", _direction_kind(self.kind))
        require_count("dim", self.dim)
        require_count("num_slices", self.num_slices)
        require_count("slice_dim", self.slice_dim)
        if not self.kind.is_drawn and self.slice_dim > self.dim:
            raise ParameterError(f"slice_dim must be at most dim={self.dim} for fixed directions, got {self.slice_dim}")

    @property
    def count(self) -> int:
        """M' = m·k, the number of directions."""
        return self.num_slices * self.slice_dim

    @property
    def full_blocks(self) -> int:
        """q, the number of full orthogonal blocks."""
        return self.count // self.dim

    @property
    def cut_columns(self) -> int:
        """r, the number of columns of the cut last block; 0 if there is none."""
        return self.count % self.dim

    @property
    def is_whole(self) -> bool:
        """Whether they are full orthogonal blocks and no more."""
        return self.kind.is_orthogonal and self.cut_columns == 0

    @property
    def constant_energy(self) -> float | None:
        """W/Δ² where it is the same for every draw (for fixed directions its largest value), else None."""
        match self.kind:
            case DirectionKind.FIXED:
                return float(self.num_slices)
            case DirectionKind.ORTHOGONAL:
                return float(self.full_blocks) if self.cut_columns == 0 else None
            case DirectionKind.GAUSSIAN:
                return None

    @property
    def orthonormal_slices(self) -> bool:
        """Whether the columns of every slice are orthonormal, as Proposition 3 of the paper asks."""
        match self.kind:
            case DirectionKind.FIXED:
                return True
            case DirectionKind.ORTHOGONAL:
                return self.dim % self.slice_dim == 0
            case DirectionKind.GAUSSIAN:
                return False


def _direction_kind(value: str) -> DirectionKind:
    try:
        return DirectionKind(value)
    except ValueError:
        names = ", ".join(kind.value for kind in DirectionKind)
        raise ParameterError(f"kind of directions must be one of {names}, got {value!r}") from None

"""What a long list of nearly equal events is counted as.

Every different event of a composition is discretised by itself (``loss_distribution.py``). A ledger of many releases
has hundreds that differ in nothing but their noise. Beyond a limit those whose noise is nearly the same are counted as
if all had the least of it. Divergences rise with Δ/σ in both orders, so this may overstate the cost of the
composition and never understates it.
"""

from collections.abc import Hashable, Sequence

from microtome.accounting.events import SliceEvent, SubsampledEvent

MOST_DIFFERENT = 24
Part = tuple[SliceEvent | SubsampledEvent, int]


def merged(parts: Sequence[Part], limit: int = MOST_DIFFERENT) -> list[Part]:
    """At most ``limit`` different events that cost no less than ``parts``, where so few suffice to keep kinds apart.

    Args:
        parts: different events, and how often each happens.
        limit: how many may stay different. Events of different directions, rates or symmetry always do.
    """
    groups: dict[Hashable, list[Part]] = {}
    for part in parts:
        groups.setdefault(part[0].beside_noise, []).append(part)
    classes = [part for group in groups.values() for part in sorted(group, key=lambda part: part[0].ratio)]
    while len(classes) > limit:
        kinds = [event.beside_noise for event, _ in classes]
        pairs = [place for place in range(len(classes) - 1) if kinds[place] == kinds[place + 1]]
        if not pairs:
            break
        cheapest = min(pairs, key=lambda place: _extra(classes[place], classes[place + 1]))
        (_, few), (worse, many) = classes[cheapest : cheapest + 2]
        classes[cheapest : cheapest + 2] = [(worse, few + many)]
    return classes


def _extra(better: Part, worse: Part) -> float:
    """How much is added to Σ(Δ/σ)² by counting the first as the second."""
    return better[1] * (worse[0].ratio ** 2 - better[0].ratio ** 2)

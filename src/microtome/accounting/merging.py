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
        groups.setdefault(_alike(part[0]), []).append(part)
    classes = [part for group in groups.values() for part in sorted(group, key=lambda part: _ratio(part[0]))]
    while len(classes) > limit:
        pairs = [
            place for place in range(len(classes) - 1) if _alike(classes[place][0]) == _alike(classes[place + 1][0])
        ]
        if not pairs:
            break
        cheapest = min(pairs, key=lambda place: _extra(classes[place], classes[place + 1]))
        (_, few), (worse, many) = classes[cheapest : cheapest + 2]
        classes[cheapest : cheapest + 2] = [(worse, few + many)]
    return classes


def _alike(event: SliceEvent | SubsampledEvent) -> Hashable:
    """What events must share to be compared by Δ/σ alone."""
    if isinstance(event, SubsampledEvent):
        return event.event.directions, event.rate, event.symmetric
    return event.directions


def _ratio(event: SliceEvent | SubsampledEvent) -> float:
    return event.event.ratio if isinstance(event, SubsampledEvent) else event.ratio


def _extra(better: Part, worse: Part) -> float:
    """How much is added to Σ(Δ/σ)² by counting the first as the second."""
    return better[1] * (_ratio(worse[0]) ** 2 - _ratio(better[0]) ** 2)

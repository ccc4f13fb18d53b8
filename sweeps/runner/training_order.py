"""In which order trainings begin."""

from collections.abc import Collection, Mapping, Sequence

from ..specs.grid import Trunk

__all__ = ["in_order"]


def in_order(
    trunks: Sequence[Trunk], flops: Mapping[str, float], order: str, last: Collection[str] = ()
) -> list[Trunk]:
    """By their FLOPs.

    Args:
        flops: to train on one image, by trunk id.
        order: "cheapest_first" or "largest_first".
        last: ids of trunks that come after all others.
    """

    def key(trunk: Trunk) -> tuple[bool, float]:
        work = trunk.num_images * flops[trunk.trunk_id]
        return trunk.trunk_id in last, -work if order == "largest_first" else work

    return sorted(trunks, key=key)

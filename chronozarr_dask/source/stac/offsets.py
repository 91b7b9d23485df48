"""Whether 1000 has to be subtracted from the pixels of a Sentinel-2 L2A scene.

Since processing baseline 04.00 ESA's products carry an offset of 1000. Some catalogues have taken it out of their
copies and say so by a flag. ``raster:bands`` is no proof: Earth Search v1 writes an offset of -0.1 beside pixels from
which it has been subtracted. The sensing date is none either, since old scenes are processed again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from chronozarr_dask.errors import InputError
from chronozarr_dask.source.stac.items import Scene

Policy = Literal["auto", "none"] | int

OFFSET = -1000
SINCE_BASELINE = 4.0


@dataclass(frozen=True)
class Decision:
    """What is added to the pixels of a scene, and why.

    Attributes
    ----------
    id : str
        Of the scene.
    offset : int
        In DN; 0 leaves the pixels as they are.
    rule : str
        One line for the report.
    """

    id: str
    offset: int
    rule: str


def decide_offsets(
    scenes: Iterable[Scene], policy: Policy = "auto", overrides: Mapping[str, Policy] | None = None
) -> tuple[Decision, ...]:
    """One decision a scene, in the order of `scenes`.

    Parameters
    ----------
    scenes : iterable of Scene
    policy : "auto", "none" or int
        ``none`` leaves all pixels as they are, a number is added to all (-1000).
    overrides : mapping of item id to policy, optional
        Counts in place of `policy` for these items.

    Raises
    ------
    InputError
        If an override names no scene, a policy is none of the three, or ``auto`` meets a Sentinel-2 item without a
        processing baseline or of level 1C.
    """
    scenes, overrides = list(scenes), dict(overrides or {})
    unknown = sorted(set(overrides) - {scene.id for scene in scenes})
    if unknown:
        raise InputError(
            f"an offset is given for item {unknown[0]!r}, which is not among the {len(scenes)} items found"
        )
    return tuple(_decide(scene, overrides.get(scene.id, policy), scene.id in overrides) for scene in scenes)


def _decide(scene: Scene, policy: Policy, is_own: bool) -> Decision:
    told = "set for this item" if is_own else "set for all items"
    if policy == "none":
        return Decision(scene.id, 0, f"policy none, {told}")
    if isinstance(policy, int) and not isinstance(policy, bool):
        return Decision(scene.id, policy, f"policy {policy}, {told}")
    if policy != "auto":
        raise InputError(f"offset policy {policy!r} of {scene.where}: give auto, none or a whole number such as -1000")
    return _auto(scene)


def _auto(scene: Scene) -> Decision:
    if not scene.is_sentinel2:
        return Decision(scene.id, 0, "auto: not a Sentinel-2 item")
    if "1c" in (scene.product_type or "").lower() or "l1c" in (scene.collection or "").lower():
        raise InputError(
            f"{scene.where} is Sentinel-2 of level 1C, and the offset policy auto knows level 2A only: set the policy "
            f"to none, or to the number that is to be added"
        )
    if scene.baseline is None:
        raise InputError(
            f"{scene.where} is from Sentinel-2 and has no processing_baseline that reads as a number "
            f"(s2:processing_baseline, sentinel:processing_baseline or processing:version), so auto cannot know "
            f"whether its pixels carry the offset of {-OFFSET}{_hint(scene)}; set the offset policy to none or "
            f"{OFFSET}, for this item or for all"
        )
    said = f"auto: processing baseline {scene.baseline:05.2f}"
    if scene.baseline < SINCE_BASELINE:
        return Decision(scene.id, 0, f"{said} is before {SINCE_BASELINE:05.2f}")
    if scene.offset_applied:
        return Decision(scene.id, 0, f"{said}, and the catalogue says boa_offset_applied")
    return Decision(
        scene.id, OFFSET, f"{said} is {SINCE_BASELINE:05.2f} or later, and the catalogue has not applied it"
    )


def _hint(scene: Scene) -> str:
    return f" (the product is {scene.product})" if scene.product else ""

"""Scenes of STAC: search, parse, sign, drop twins, decide offsets, derive the grid. No pixel is read here."""

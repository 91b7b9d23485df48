"""Decisions as data: what is cut where, in which order, and what it needs. No pixel, no I/O."""

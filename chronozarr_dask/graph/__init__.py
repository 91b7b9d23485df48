"""Wiring: regions as small Dask collections made with public calls. No arithmetic: every block function lives below."""

"""The chronozarr v0.2 specification as pure functions and frozen dataclasses: standard library and numpy, no I/O.

Start with this folder's README: a table from each section to its module and its test.
"""

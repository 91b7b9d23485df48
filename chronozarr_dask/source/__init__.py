"""Inputs of the encoder: files and cubes, checked and still lazy."""

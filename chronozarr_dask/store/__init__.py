"""Keys to bytes and back: targets, reader, writer, journal, commit, validation. Only this and `source` import zarr."""

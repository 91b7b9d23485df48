"""GeoTIFFs and COGs, local or remote, as one lazy cube: names and moments, headers, agreement, windows."""

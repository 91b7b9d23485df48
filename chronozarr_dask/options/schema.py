"""The JSON Schema of a recipe: what editors complete and check by, written beside the recipes by `make schema`."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from chronozarr_dask.options.recipe import Recipe

DIALECT = "https://json-schema.org/draft/2020-12/schema"


@cache
def recipe_schema() -> dict[str, Any]:
    """JSON Schema of a recipe as it is written; a part that is left out is not spelled out as a default."""
    made = Recipe.model_json_schema(mode="validation")
    for part in made["properties"].values():
        if isinstance(part.get("default"), dict):
            del part["default"]
    return {"$schema": DIALECT, "title": "chronozarr-dask recipe", **{k: v for k, v in made.items() if k != "title"}}


def render() -> str:
    """The schema as the file holds it."""
    return json.dumps(recipe_schema(), indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    print(render(), end="")

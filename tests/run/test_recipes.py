"""Recipes as text: the schema beside them, what is right, and one clear sentence for what is wrong."""

import re
from pathlib import Path

import pytest
import yaml

from chronozarr_dask.errors import InputError
from chronozarr_dask.options.recipe import Recipe
from chronozarr_dask.options.schema import recipe_schema, render
from chronozarr_dask.run.composites import make_grid
from chronozarr_dask.run.found import find
from chronozarr_dask.run.produce import check_no_secrets
from chronozarr_dask.run.recipes import Document, read_recipe
from tests.conftest import REPO

PIPELINES = REPO / "pipelines"
RECIPES = sorted(PIPELINES.glob("*.yaml"))
TEXT = """\
version: 1
source:
  items: items.json
  bands: [B04]
period:
  start: 2024-01
target: store
"""


def parse(text: str, *settings: str) -> Recipe:
    return Document.parse(text, "r.yaml").with_values(settings).recipe()


def wrong(text: str, *settings: str) -> str:
    with pytest.raises(InputError) as caught:
        parse(text, *settings)
    return str(caught.value)


# ---- the schema and the recipes ------------------------------------------------------------------------------------


def test_the_schema_is_that_of_the_model() -> None:
    assert (PIPELINES / "recipe.schema.json").read_text(encoding="utf-8") == render(), "run make schema"


def test_every_field_says_what_it_is() -> None:
    schema = recipe_schema()
    for part in (schema, *schema["$defs"].values()):
        for name, field in part["properties"].items():
            inner = [field, *field.get("anyOf", [])]
            parts = [schema["$defs"][f["$ref"].rsplit("/", 1)[-1]] if "$ref" in f else f for f in inner]
            assert any(p.get("description") for p in parts), name


@pytest.mark.parametrize("path", RECIPES, ids=lambda p: p.stem)
def test_recipes_are_right(path: Path) -> None:
    document, recipe = read_recipe(str(path), ["target.url=/data/elsewhere"])
    assert recipe.target.url == "/data/elsewhere"
    assert faults(document.values, recipe_schema(), recipe_schema()) == []
    assert path.read_text(encoding="utf-8").startswith("# yaml-language-server: $schema=recipe.schema.json\n")
    assert f"[{path.name}]({path.name})" in (PIPELINES / "README.md").read_text(encoding="utf-8")


def test_the_recipes_are_there() -> None:
    assert {p.stem for p in RECIPES} >= {
        "sentinel2-earth-search", "sentinel2-planetary-computer", "landsat-c2-l2-planetary-computer", "geotiff-stack",
    }  # fmt: skip


ITEMS = {
    "sentinel2-earth-search": [
        "opendatacube__odc-tools/S2A_17SPR_20221106_0_L2A.json",
        "opendatacube__odc-tools/S2A_28QCH_20200714_0_L2A.json",
        "opendatacube__odc-tools/S2B_T37MGP_20240710T073012_L2A_C1.json",
    ],
    "sentinel2-planetary-computer": [
        "stac-utils__stac-geoparquet/sentinel-2-item.json",
        "stac-utils__rustac/two-sentinel-2-items.json",
    ],
    "landsat-c2-l2-planetary-computer": ["stac-utils__stac-geoparquet/landsat-c2-l2-pc.json"],
}


@pytest.mark.parametrize(("name", "items"), [(n, i) for n, items in ITEMS.items() for i in items])
def test_the_bands_of_recipes_are_those_of_real_items(realdata: Path, name: str, items: str) -> None:
    settings = ["source.api=null", f"source.items={realdata / 'stac' / items}", "area=null", "period={}"]
    settings += ["source.collections=[]", "source.query=null"]
    settings += ["grid.crs=EPSG:32656"] if "landsat" in name else []  # three of four items are on 32655
    recipe = read_recipe(str(PIPELINES / f"{name}.yaml"), settings)[1]
    found = find(recipe)
    assert all(len(scene.assets) == 5 for scene in found.scenes)
    assert make_grid(recipe, found.scenes, [a.name for a in found.scenes[0].assets]).width > 5000


def faults(value: object, part: dict, schema: dict, at: str = "recipe") -> list[str]:
    """A validator for the little of JSON Schema that recipes need."""
    if "$ref" in part:
        part = schema["$defs"][part["$ref"].rsplit("/", 1)[-1]]
    if "anyOf" in part:
        tried = [faults(value, one, schema, at) for one in part["anyOf"]]
        return [] if any(not t for t in tried) else [f"{at}: {value!r} fits nothing"]
    if "const" in part or "enum" in part:
        return [] if value in part.get("enum", [part.get("const")]) else [f"{at}: {value!r}"]
    kinds = {
        "object": dict, "array": list, "string": str, "integer": int, "number": (int, float), "boolean": bool,
        "null": type(None),
    }  # fmt: skip
    if "type" in part and not isinstance(value, kinds[part["type"]]):
        return [f"{at}: {value!r} is no {part['type']}"]
    out = []
    if isinstance(value, dict):
        known, rest = part.get("properties", {}), part.get("additionalProperties", True)
        out += [f"{at}.{name} is missing" for name in part.get("required", []) if name not in value]
        for name, inner in value.items():
            if name not in known and rest is False:
                out.append(f"{at}.{name} is unknown")
            elif isinstance(known.get(name, rest), dict):
                out += faults(inner, known.get(name, rest), schema, f"{at}.{name}")
    elif isinstance(value, list):
        several = part.get("prefixItems")
        out += [f"{at} has {len(value)}"] if len(value) < part.get("minItems", 0) else []
        for i, inner in enumerate(value):
            out += faults(inner, several[i] if several else part.get("items", {}), schema, f"{at}[{i}]")
    return out


def test_the_schema_refuses_what_the_model_refuses() -> None:
    for text in (TEXT.replace("bands: [B04]", "bands: []"), f"{TEXT}extra: 1\n", TEXT.replace("version: 1", "")):
        wrong(text)
        assert faults(yaml.safe_load(text), recipe_schema(), recipe_schema())


# ---- what is wrong -------------------------------------------------------------------------------------------------

SOURCE = "There are api, items, files, date_format, collections"
WRONG = {
    "unknown, at the top": (
        f"{TEXT}targets: x\n",
        "r.yaml, line 8: targets: there is no such field; did you mean target?",
    ),
    "unknown, inside": (
        TEXT.replace("items:", "collection: x\n  items:"),
        f"r.yaml, line 3: source.collection: there is no such field; did you mean collections? {SOURCE}",
    ),
    "unknown, and like nothing": (
        f"{TEXT}zzz: x\n",
        "r.yaml, line 8: zzz: there is no such field; there are version, source",
    ),
    "a number for a key": (f"{TEXT}3: x\n", "r.yaml, line 8: the key 3 is no text: write it as '3'"),
    "unknown, in a band": (
        TEXT.replace("[B04]", "[{name: red, aset: B04}]"),
        "r.yaml, line 4: source.bands.0.aset: there is no such field; did you mean asset?",
    ),
    "missing": (
        TEXT.replace("target: store\n", ""),
        "r.yaml: target: is missing; give a text or the fields url, journal, storage_options",
    ),
    "missing, inside": (TEXT.replace("  bands: [B04]\n", ""), "r.yaml, line 2: source.bands: is missing; give a list"),
    "empty": (TEXT.replace("target: store", "target:"), "r.yaml, line 7: target: nothing is not allowed; give a text"),
    "type": (
        f"{TEXT}run: {{reads: many}}\n",
        'r.yaml, line 8: run.reads: "many" is not allowed; give a whole number from 1 to 256',
    ),
    "type of alternatives": (
        TEXT.replace("[B04]", "[B04]\n  offset: maybe"),
        'r.yaml, line 5: source.offset: "maybe" is not allowed; give auto, none or a whole number',
    ),
    "a truth for a number": (
        TEXT.replace("[B04]", "[B04]\n  offset: true"),
        "r.yaml, line 5: source.offset: true is not allowed; give auto, none or a whole number",
    ),
    "one of a list": (f"{TEXT}area: [1, 2, x, 4]\n", 'r.yaml, line 8: area.2: "x" is not allowed; give a number'),
    "a list too short": (
        f"{TEXT}area: [1, 2]\n",
        "r.yaml, line 8: area: [1, 2] is not allowed; give a list of 4 numbers, a mapping of names to values or a text",
    ),
    "enum": (
        TEXT.replace("start: 2024-01", "step: week"),
        'r.yaml, line 6: period.step: "week" is not allowed; give month, quarter, year, dekad or day',
    ),
    "a text for a list": (
        TEXT.replace("[B04]", "B04"),
        'r.yaml, line 4: source.bands: "B04" is not allowed; give a list, each of it a text',
    ),
    "bytes": (
        f"{TEXT}encode: {{memory: lots}}\n",
        'r.yaml, line 8: encode.memory: "lots" is not allowed; give a size as in 4GB',
    ),
    "version": (TEXT.replace("version: 1", "version: 2"), "r.yaml, line 1: version: 2 is not allowed; give 1"),
    "two sources": (
        TEXT.replace("items:", "api: x\n  items:"),
        "r.yaml, line 2: source: give one of api, items and files; given: api, items",
    ),
    "no source": (
        TEXT.replace("  items: items.json\n", ""),
        "r.yaml, line 2: source: give one of api, items and files; given: none",
    ),
    "classes and bits": (
        TEXT.replace("[B04]", "[B04]\n  classes: {}\n  bits: {}"),
        "r.yaml, line 2: source: classes and bits are both",
    ),
    "resolution alone": (f"{TEXT}grid: {{resolution: 10}}\n", "r.yaml, line 8: grid: resolution is given without crs"),
    "a month 13": (TEXT.replace("2024-01", "2024-13"), "r.yaml, line 6: period.start is '2024-13"),
    "end before start": (
        TEXT.replace("2024-01", "2024-01\n  end: 2023"),
        "r.yaml, line 6: period.start is 2024-01 and period.end is 2023",
    ),
    "percentile without a number": (
        f"{TEXT}composite: {{method: percentile}}\n",
        "r.yaml, line 8: composite.percentile is None: the method",
    ),
    "a bit": (
        TEXT.replace("[B04]", "[B04]\n  bits: {reject: [clowd]}"),
        "r.yaml, line 5: source.bits: bit 'clowd' cannot be",
    ),
    "a class that is nothing": (
        TEXT.replace("[B04]", "[B04]\n  classes: {keep: [0]}"),
        "r.yaml, line 5: source.classes: class 0 is",
    ),
    "a query of files": (
        TEXT.replace("items:", "query: {a: {lt: 1}}\n  files:"),
        "r.yaml, line 3: source.query: means nothing for source.files, only for api and items: leave it out",
    ),
    "a format of dates of items": (
        TEXT.replace("items:", "date_format: '%Y'\n  items:"),
        "r.yaml, line 3: source.date_format: means nothing for source.items, only for files: leave it out",
    ),
    "two bands of a name": (
        TEXT.replace("[B04]", "[B04, B04]"),
        "r.yaml, line 4: source.bands: two bands are named 'B04'",
    ),
    "an option of the encode": (
        f"{TEXT}encode:\n  chunk_size: 63\n",
        "r.yaml, line 9: encode.chunk_size is 63: a cell's edge",
    ),
    "given twice": (f"{TEXT}target: other\n", "r.yaml, line 8: target is given twice, before in line 7"),
    "given twice, inside": (
        TEXT.replace("items:", "bands: [B08]\n  items:"),
        "r.yaml, line 5: source.bands is given twice, before in line 3",
    ),
    "no YAML": (
        TEXT.replace("[B04]", "[B04"),
        "r.yaml, line 5: this is no YAML of a recipe: while parsing a flow sequence",
    ),
    "a tab": (
        TEXT.replace("  bands", "\tbands"),
        "r.yaml, line 4: this is no YAML of a recipe: .*; indent with spaces",
    ),
    "an alias": (
        f"{TEXT}area: &a x\nrun: *a\n",
        r"r.yaml, line 9: this is no YAML of a recipe: aliases \(\*name\) are not",
    ),
    "an alias of itself": ("a: &a [*a]", r"r.yaml, line 1: this is no YAML of a recipe: aliases \(\*name\) are not"),
    "two documents": (f"{TEXT}---\na: b\n", "r.yaml, line 8: this is no YAML of a recipe: expected a single document"),
    "a Python object": (
        "!!python/object:os.system x",
        "r.yaml, line 1: this is no YAML of a recipe: could not determine",
    ),
    "a control character": ("a: \x01", "r.yaml: this is no YAML of a recipe: unacceptable character #x0001"),
    "nothing": ("", "r.yaml is no recipe: it has no fields; begin with version: 1"),
    "a list": ("[1, 2]", "r.yaml is no recipe: it has no fields; begin with version: 1"),
    "a secret": (
        TEXT.replace("store\n", "\n  url: s3://b/p\n  storage_options:\n    key: abcdef\n"),
        "r.yaml, line 10: target.storage_options.key: secrets do not go into a recipe",
    ),
    "a secret, deeper": (
        TEXT.replace("[B04]", "[B04]\n  storage_options: {client_kwargs: {aws_secret: abcdef}}"),
        "r.yaml, line 5: source.storage_options.client_kwargs.aws_secret: secrets do not go into a recipe",
    ),
    "a signed URL": (
        TEXT.replace("items.json", "https://h/i.json?sv=1&sig=abcdef"),
        "r.yaml, line 3: source.items: holds a signature or a key",
    ),
    "a password": (
        TEXT.replace("items.json", "https://me:abcdef@h/i.json"),
        "r.yaml, line 3: source.items: holds a user name or a password",
    ),
    "a password in the target": (
        TEXT.replace(": store", ": s3://me:abcdef@h/i"),
        "r.yaml, line 7: target.url: holds a user name or a password",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_said_with_its_line(case: str) -> None:
    text, expected = WRONG[case]
    message = wrong(text)
    pattern = expected if "\\" in expected or ".*" in expected else re.escape(expected)
    assert re.match(pattern, message), message
    assert "\n" not in message, "one fault, one line"
    assert "abcdef" not in message


SET_WRONG = {
    "targets.url=x": "--set: targets: there is no such field; did you mean target?",
    "source.offst=none": "--set: source.offst: there is no such field; did you mean offset?",
    "source.offset=maybe": '--set: source.offset: "maybe" is not allowed; give auto, none or a whole number',
    "version=2": "--set: version: 2 is not allowed; give 1",
    "source.items.deep=1": "--set source.items.deep=1: source.items is 'items.json' and has no fields",
    "source.bands.0=B08": "--set source.bands.0=B08: source.bands is a list: set it as a whole",
    "grid.resolution=10": "--set: grid: resolution is given without crs",
    "target": "--set target: give path.to.field=value",
    ".url=x": "--set .url=x: give path.to.field=value",
    "area=[1, 2": "--set area=[1, 2: the value is no YAML",
    "source.api=https://me:abcdef@h": "r.yaml, line 2: source: give one of",
    "target.storage_options.token=abcdef": "--set: target.storage_options.token: secrets do not go into a recipe",
}


@pytest.mark.parametrize("setting", SET_WRONG)
def test_what_is_set_wrong(setting: str) -> None:
    message = wrong(TEXT, setting)
    assert message.startswith(SET_WRONG[setting]), message
    assert "abcdef" not in message


def test_several_faults_are_all_told_each_on_its_line() -> None:
    text = TEXT.replace("bands: [B04]", "band: [B04]").replace("version: 1", "version: 3")
    lines = wrong(text, "run.reads=0").splitlines()
    assert [line.split(":")[0] for line in lines] == ["r.yaml, line 1", "r.yaml, line 2", "r.yaml, line 4", "--set"]


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"the recipe .*nowhere\.yaml cannot be read"):
        read_recipe(str(tmp_path / "nowhere.yaml"))
    (tmp_path / "r.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="cannot be read"):
        read_recipe(str(tmp_path / "r.yaml"))


@pytest.mark.parametrize("url", ["https://h/i.json?X-Amz-Signature=abcdef", "https://h/i.json;jwt=abcdef"])
def test_a_recipe_made_in_python_holds_no_secret_either(url: str) -> None:
    values = yaml.safe_load(TEXT.replace("2024-01", "'2024-01'"))
    values["source"]["items"] = url
    with pytest.raises(InputError, match=r"source\.items: holds a signature") as caught:
        check_no_secrets(Recipe.model_validate(values))
    assert "abcdef" not in str(caught.value)


# ---- what is right -------------------------------------------------------------------------------------------------


def test_a_recipe_means_what_it_looks_like() -> None:
    recipe = parse(
        "version: 1\nsource: {items: a, bands: [on, 'no', {name: red, asset: B04}], offsets: {yes: none, S2A: -1000}}\n"
        "period: {start: 2024-01-01, end: 2024}\narea: [1, 2, 3, 4.5]\ntarget: {url: /x}\n"
    )
    assert [b.name for b in recipe.source.bands] == ["on", "no", "red"]
    assert recipe.source.offsets == {"yes": "none", "S2A": -1000}
    assert (recipe.period.start, recipe.period.end) == ("2024-01-01", "2024")
    assert recipe.area == (1.0, 2.0, 3.0, 4.5)


def test_set() -> None:
    settings = [
        "target.journal=/j",
        "source.bands=[B02, B03]",
        "period.end=2024-06",
        "area=null",
        "grid.crs=EPSG:32631",
    ]
    document = Document.parse(f"{TEXT}grid:\n", "r.yaml").with_values([*settings, "period.end=2024-07"])
    recipe = document.recipe()
    assert (recipe.target.url, recipe.target.journal) == ("store", "/j")
    assert [b.name for b in recipe.source.bands] == ["B02", "B03"]
    assert (recipe.period.start, recipe.period.end) == ("2024-01", "2024-07")
    assert recipe.grid.crs == "EPSG:32631"
    assert Document.parse(document.written, "again").recipe() == recipe


def test_setting_changes_no_other_document() -> None:
    document = Document.parse(TEXT, "r.yaml")
    document.with_values(["source.items=other", "period.end=2025"])
    assert document.written == TEXT
    assert document.recipe().source.items == "items.json"
    assert document.recipe().period.end is None

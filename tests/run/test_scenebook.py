"""Scenes are told apart by collection and id: an id is unique in its collection only."""

from tests.run.made import World


def test_the_same_id_in_two_collections_is_two_rows(tmp_path):
    world = World(tmp_path)
    for collection, value, scl in (("a", 1000, 4), ("b", 3000, [[4] * 16 + [9] * 16] * 32)):
        folder = World(tmp_path / collection)
        item = folder.add("same", "2024-03-02T10:00:00Z", {"B04": value}, scl)
        item["collection"] = collection
        for asset in item["assets"].values():
            asset["href"] = f"./{collection}/{asset['href'].removeprefix('./')}"
        item["properties"]["datetime"] = f"2024-03-{2 if collection == 'a' else 5:02d}T10:00:00Z"
        world.items.append(item)
    report = world.run(source__offset="none")
    used = report.scenes["used"]
    assert [(s["collection"], s["id"], s["valid_pixels"]) for s in used] == [("a", "same", 4096), ("b", "same", 2048)]
    assert report.scenes["covered_pixels"] == {"2024-03": 4096}


def test_a_lost_scene_is_told_with_its_collection(tmp_path):
    world = World(tmp_path)
    world.add("A", "2024-03-02T10:00:00Z", {"B04": 1000})
    world.add("B", "2024-03-05T10:00:00Z", {"B04": 3000})
    (tmp_path / "B" / "B04.tif").unlink()
    report = world.run(source__offset="none", run__keep_going=True)
    (lost,) = report.scenes["lost"]
    assert (lost["collection"], lost["id"], lost["timestep"]) == ("sentinel-2-l2a", "B", "2024-03")

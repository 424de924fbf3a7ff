"""Modal data on disk and back, and what other programs write."""

import json

import numpy as np
import pytest
from flexible_bodies import beam, random_flexible

import linkwise as lw

pyuff = pytest.importorskip("pyuff")


@pytest.mark.parametrize("ending", ["json", "npz"])
@pytest.mark.parametrize("bends", [False, True])
def test_what_is_saved_is_loaded(tmp_path, rng, ending, bends):
    path = tmp_path / f"body.{ending}"
    for x in (random_flexible(rng, bends=bends), beam(stiffening=bends)):
        x.save(path)
        assert lw.Flexible.load(path) == x


def test_a_file_written_by_hand(tmp_path):
    path = tmp_path / "rod.json"
    told = {
        "format": "linkwise flexible body",
        "masses": [1.0, 2.0],
        "places": [[1, 0, 0], [2, 0, 0]],
        "shapes": [[[0], [1.1], [0]], [[0], [1.6], [0]]],
        "stiffness": [8.0],
        "nodes": {
            "root": {"at": [0, 0, 0], "shape": [[0], [1], [0]]},
            "tip": {"at": [2, 0, 0], "shape": [[0], [1.6], [0]], "turn": [[0], [0], [0.5]]},
        },
        "clamped_at": "root",
    }
    path.write_text(json.dumps(told))
    x = lw.Flexible.load(path)
    np.testing.assert_allclose(x.shapes[:, 1, 0], [0.1, 0.6])
    assert x.node_names == ("tip",)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"format": "other"}, "its format must be 'linkwise flexible body'"),
        ({"masses": None}, "it has no 'masses'"),
        ({"mases": [1.0]}, "it has 'mases', which the format does not know"),
        ({"shapes": [[[0]] * 3]}, "shapes of a flexible body"),
        ({"nodes": {"tip": {"at": [0, 0, 0]}}}, "node 'tip' must have at and shape"),
    ],
)
def test_files_that_are_wrong(tmp_path, change, said):
    path = tmp_path / "body.json"
    beam(1).save(path)
    told = json.loads(path.read_text()) | change
    path.write_text(json.dumps({k: x for k, x in told.items() if x is not None}))
    with pytest.raises(lw.FileError, match=said) as e:
        lw.Flexible.load(path)
    assert str(path) in str(e.value)


def test_files_that_are_no_such_files(tmp_path):
    path = tmp_path / "body.npz"
    path.write_bytes(b"nothing")
    with pytest.raises(lw.FileError, match="is no file of modal data"):
        lw.Flexible.load(path)
    with pytest.raises(lw.FileError, match="cannot read"):
        lw.Flexible.load(tmp_path / "none.json")
    with pytest.raises(lw.FileError, match="from_universal_file"):
        lw.Flexible.load(tmp_path / "plate.unv")
    with pytest.raises(lw.FileError, match="written to .json or .npz"):
        beam().save(tmp_path / "body.txt")


# --- universal files -------------------------------------------------------------------------------------


def universal_file(path, x: lw.Flexible, numbers: list[int], modes: int = 2, width: int = 6) -> None:
    """The points of a body as nodes of these numbers, with its first modes."""
    places = x.places
    sets = [
        pyuff.prepare_15(
            node_nums=numbers,
            def_cs=[0] * len(numbers),
            disp_cs=[0] * len(numbers),
            color=[0] * len(numbers),
            **{k: places[:, i] for i, k in enumerate("xyz")},
        )
    ]
    for i in range(modes):
        columns = {f"r{k + 1}": x.shapes[:, k, i] if k < 3 else np.full(len(numbers), 0.1 * k) for k in range(width)}
        sets.append(
            pyuff.prepare_55(
                model_type=1,
                id1="none",
                id2="none",
                id3="none",
                id4="none",
                id5="none",
                analysis_type=2,
                data_ch=3 if width == 6 else 2,
                spec_data_type=8,
                data_type=2,
                n_data_per_node=width,
                load_case=1,
                mode_n=i + 1,
                freq=float(x.frequencies[i] / 2 / np.pi),
                modal_m=1.5,
                modal_damp_vis=0.01,
                modal_damp_his=0.0,
                node_nums=numbers,
                **columns,
            )
        )
    pyuff.UFF(str(path)).write_sets(sets, "overwrite")


def test_universal_files(tmp_path, rng):
    x = random_flexible(rng, modes=3, points=6)
    path, numbers = tmp_path / "body.unv", [11, 12, 13, 14, 25, 26]
    universal_file(path, x, numbers)
    found = lw.Flexible.from_universal_file(path, x.masses, nodes={"tip": 26, "side": 14})
    np.testing.assert_allclose(found.places, x.places, atol=1e-4)  # the format has five digits
    np.testing.assert_allclose(found.shapes, x.shapes[..., :2], atol=1e-5)
    np.testing.assert_allclose(found.stiffness, 1.5 * x.frequencies[:2] ** 2, rtol=1e-4)
    np.testing.assert_allclose(found.damping, 2 * 0.01 * 1.5 * x.frequencies[:2], rtol=1e-4)
    np.testing.assert_allclose(found.node("tip").turn, np.full((3, 2), [[0.3], [0.4], [0.5]]), rtol=1e-5)
    one = lw.Flexible.from_universal_file(path, dict(zip(numbers, x.masses)), nodes={"tip": 26}, modes=[1])
    np.testing.assert_allclose(one.shapes[..., 0], found.shapes[..., 1])
    held = lw.Flexible.from_universal_file(path, x.masses, nodes={"root": 11, "tip": 26}, clamped_at="root")
    np.testing.assert_allclose(held.places[0], 0)
    np.testing.assert_allclose(held.shapes[0], 0, atol=1e-15)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"masses": [1.0]}, "has 6 nodes, and masses have shape"),
        ({"masses": {99: 1.0}}, "has no node 99, of which a mass is given"),
        ({"nodes": {"tip": 99}}, "node 'tip' is number 99, which the file does not have"),
        ({"modes": [7]}, "there is no mode 7; the file has 2"),
    ],
)
def test_universal_files_that_do_not_fit(tmp_path, rng, given, said):
    x = random_flexible(rng, modes=3, points=6)
    universal_file(tmp_path / "body.unv", x, [1, 2, 3, 4, 5, 6], width=3)
    with pytest.raises(lw.FileError, match=said):
        lw.Flexible.from_universal_file(tmp_path / "body.unv", **({"masses": x.masses, "nodes": {"tip": 6}} | given))
    (tmp_path / "text.unv").write_text("nothing of the kind\n")
    with pytest.raises(lw.FileError, match=r"text\.unv"):
        lw.Flexible.from_universal_file(tmp_path / "text.unv", x.masses, nodes={})
    with pytest.raises(lw.FileError, match="no such file"):
        lw.Flexible.from_universal_file(tmp_path / "none.unv", x.masses, nodes={})

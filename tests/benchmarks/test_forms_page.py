"""The pages of the scan: what stands out is named, and no robot is forgotten. Nothing is measured here."""

import importlib.util
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(scope="module")
def forms_page():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(FOLDER))
        spec = importlib.util.spec_from_file_location("forms_page", FOLDER / "forms_page.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        yield module
    sys.modules.pop("pages", None)


def row(robot, function, form="straight", ns=None, nv=5, **more):
    timed = {} if ns is None else {"ns": ns, "first": 0.5, "warm": 0.01}
    return {"robot": robot, "function": function, "form": form, "bodies": nv, "nv": nv, **timed, **more}


@pytest.fixture
def found():
    machine = dict.fromkeys(("processor", "llvm_name", "vector_bits", "cores", "system", "python", "date"), "")
    rows = [
        row("chain 5", "forward_dynamics", ns=50.0, pinocchio=1000.0),
        row("chain 10", "forward_dynamics", "loops", ns=150.0, nv=10, pinocchio=450.0, first=7.0, warm=0.2),
        row("chain 10", "mass_matrix", ns=100.0, nv=10),
        row("chain 20", "mass_matrix", ns=400.0, nv=20),
        row("arm", "momentum", "NumPy: too long"),
        row("arm", "energy"),
    ]
    return {"rows": rows, "machine": {**machine, "versions": {}}, "files left out": {"box.urdf": "nothing moves"}}


def test_what_stands_out_is_named(forms_page, found):
    text = forms_page.page(found)
    assert "6 calls of 4 robots: 4 straight, 1 loops, 1 NumPy." in text
    assert "- `momentum` of arm: NumPy: too long" in text
    assert "- 1.50 `forward_dynamics` chain 5 (straight) → 10 (loops)" in text
    assert "- 7.0 s `forward_dynamics` of chain 10 (loops)" in text
    assert "- 200 ms `forward_dynamics` of chain 10 (loops)" in text
    assert "- 3.0 `forward_dynamics` of chain 10 (loops)" in text
    assert "| chain 5 | 5 | 50 (20.0×) |" in text and "| chain 10 | 10 | 150 (3.0×) l |" in text
    assert "- box.urdf: nothing moves" in text


def test_a_scan_without_faults_says_so(forms_page, found):
    text = forms_page.page({**found, "rows": found["rows"][:1]})
    assert text.count(": none.") == 5


def test_it_goes_into_the_page_on_speed(forms_page, found, tmp_path, monkeypatch):
    page = tmp_path / "speed.md"
    page.write_text("a\n<!-- scan -->\nold\n<!-- end scan -->\nb\n")
    monkeypatch.setattr(forms_page, "PAGE", page)
    forms_page.into_page(found)
    assert page.read_text().startswith("a\n<!-- scan -->\n- 6 calls of 4 robots") and page.read_text().endswith(
        "-->\nb\n"
    )
    assert "old" not in page.read_text()


def test_the_picture_is_drawn(forms_page, found, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(forms_page, "PICTURE", tmp_path / "forms.png")
    forms_page.draw(found)
    assert (tmp_path / "forms.png").read_bytes().startswith(b"\x89PNG")

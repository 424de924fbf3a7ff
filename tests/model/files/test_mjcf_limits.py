"""MJCF files that crash MuJoCo's parser or keep it busy for hours are refused first, in words that say where."""

import os

import pytest
from mjcf_files import FILES

import linkwise as lw
from linkwise.model.files import mjcf_limits
from linkwise.model.files.mjcf_limits import refuse_huge, tags

pytest.importorskip("mujoco")

BODY = '<body><joint/><geom size=".1"/></body>'


def model(world=BODY, before=""):
    return f"<mujoco>{before}<worldbody>{world}</worldbody></mujoco>"


def asset(text):
    return model(before=f"<asset>{text}</asset>")


def nested(tag, count):
    return f'<{tag} count="10">' * count + BODY + f"</{tag}>" * count


HUGE = {
    "a billion copies": model(f'<replicate count="1000000000">{BODY}</replicate>'),
    "the same, written otherwise": model(f"<replicate\n count = '&#49;000000000' count='1'>{BODY}</replicate>"),
    "copies of copies": model(nested("replicate", 6)),
    "copies of nothing": model('<replicate count="1000000"/>'),
    "behind a comment": "<mujoco><!-- -- <replicate> -- -->" + model(nested("replicate", 6))[8:],
    "a grid": model('<flexcomp type="grid" count="1000 1000 1000" spacing="1 1 1" name="f" dim="3"/>'),
    "keys": model(before='<size nkey="1000000000"/>'),
    "memory": model(before='<size memory="1E"/>'),
    "numbers for each body": model(before='<size nuser_body="2000000000"/>'),
    "a height field": asset('<hfield name="h" nrow="2147483647" ncol="2147483647" size="1 1 1 1"/>'),
    "a texture": asset('<texture name="t" type="2d" builtin="flat" width="90000" height="90000"/>'),
    "a fine mesh": asset('<mesh name="m" builtin="supersphere" params="100000 1 1"/>'),
    "a long reading": "<mujoco><worldbody/><sensor><user dim='2000000000'/></sensor></mujoco>",
    "a long memory": model(before='<actuator><position joint="j" nsample="2000000000" delay="1"/></actuator>'),
}


@pytest.mark.parametrize("text", HUGE.values(), ids=HUGE)
def test_what_asks_for_a_world_is_refused(text, tmp_path):
    with pytest.raises(lw.FileError, match=r"XML text:\d: <\w+>: .*(grows by more than|more than the)"):
        lw.load(text)
    path = tmp_path / "robot.xml"
    path.write_text(text)
    with pytest.raises(lw.FileError, match=r"robot\.xml:\d: <"):
        lw.load(path)


ATTACHED = (
    '<mujoco><asset><model name="m" file="{0}"/></asset>'
    '<worldbody><body name="b"><geom size=".1"/><attach model="m" body="b" prefix="x"/></body></worldbody></mujoco>'
)


@pytest.mark.parametrize(
    "files",
    [
        {"a.xml": ATTACHED.format("a.xml")},
        {"a.xml": ATTACHED.format("sub/b.xml"), "sub/b.xml": ATTACHED.format("../a.xml")},
        {"a.xml": '<mujoco><include file="a.xml"/></mujoco>'},
        {"a.xml": ATTACHED.format("b.xml"), "b.xml": '<mujoco><include file="a.xml"/></mujoco>'},
    ],
)
def test_rings_are_refused(files, tmp_path):
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    with pytest.raises(lw.FileError, match=r"includes or attaches itself \(.*a\.xml"):
        lw.load(tmp_path / "a.xml")


@pytest.mark.parametrize("attached", [True, False])
def test_files_that_double_at_every_level(attached, tmp_path):
    """Sixty small files that stand for a billion bodies, or only have to be read a billion times."""
    twice = "".join(f'<attach model="m" prefix="{x}"/>' for x in "xy") if attached else ""
    for i in range(29):
        models = "".join(f'<model name="{name}" file="{name}{i + 1}.xml"/>' for name in "mn")
        for name in "mn":
            text = f"<mujoco><asset>{models}</asset><worldbody><body name='b'>{twice}</body></worldbody></mujoco>"
            (tmp_path / f"{name}{i}.xml").write_text(text)
    for name in "mn":
        (tmp_path / f"{name}29.xml").write_text(model())
    with pytest.raises(lw.FileError, match=r"\.xml:1: <\w+>: with it the model grows"):
        lw.load(tmp_path / "m0.xml")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes here")
def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe.xml")
    (tmp_path / "a.xml").write_text('<mujoco><include file="pipe.xml"/></mujoco>')
    with pytest.raises(lw.FileError, match=r"pipe\.xml is no file"):
        lw.load(tmp_path / "a.xml")


@pytest.mark.parametrize("text", FILES.values(), ids=FILES)
def test_robots_pass(text):
    refuse_huge(text)
    assert sum(t.name == "body" and t.opens for t in tags(text.encode())) == text.count("<body")


def test_modest_copies_and_files_within_files_pass(tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "arm.xml").write_text(model('<body name="arm"><joint/><geom size=".1"/></body>'))
    (tmp_path / "sub" / "more.xml").write_text("<mujoco><include file='leaf.xml'/></mujoco>")
    (tmp_path / "sub" / "leaf.xml").write_text("<mujoco><worldbody>" + BODY + "</worldbody></mujoco>")
    (tmp_path / "scene.xml").write_text(
        "<mujoco><!-- a comment -- with dashes --><asset><model name='m' file='arm.xml'/></asset>"
        "<include file='sub/more.xml'/><worldbody><attach model='m' prefix='a_'/><attach model='m' prefix='b_'/>"
        f"<replicate count='3' offset='1 0 0'>{BODY}</replicate><replicate count='0'>{BODY}</replicate>"
        "</worldbody></mujoco>"
    )
    robot = lw.load(tmp_path / "scene.xml")
    assert robot.nv == 6 and {"a_arm", "b_arm"} <= {b.name for b in robot.bodies}


def test_what_is_written_may_be_large():
    """A file of many elements is as long as it looks: it is not refused."""
    refuse_huge(model(BODY * (mjcf_limits.MAX_ADDED // 2)))


def test_errors_of_the_parser_become_ours():
    for text in (
        model('<body pos="a"/>'),
        "<mujoco><worldbody>",
        "<mujoco>" + "<body>" * 1000,
        '<mujoco a="1"/>',
    ):
        with pytest.raises(lw.FileError):
            lw.load(text)


def test_a_device_does_not_fill_the_memory(monkeypatch):
    if not os.path.exists("/dev/zero"):
        pytest.skip("no such device")
    with pytest.raises(lw.FileError, match="more than 256 MiB"):
        lw.load("/dev/zero")

"""The viewer's server: its page has its own title and icon, and it talks to that page alone."""

import urllib.request

import pytest
from patience import PATIENCE

import linkwise as lw

viser = pytest.importorskip("viser", reason='the viewer needs viser: pip install "linkwise[view]"')
client = pytest.importorskip("websockets.sync.client")
from websockets.exceptions import InvalidStatus  # noqa: E402

from linkwise.view.server import Doorkeeper, named  # noqa: E402


@pytest.fixture(scope="module")
def viewer():
    with lw.view.open(lw.load("cartpole"), browser=False, port=0) as made:
        yield made


def test_the_page_has_its_own_title_and_icon(viewer):
    for packed in (None, "gzip"):
        request = urllib.request.Request(viewer.url, headers={"Accept-Encoding": packed} if packed else {})
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            text = answer.read()
        if packed:
            import gzip

            text = gzip.decompress(text)
        page = text.decode("utf-8")
        assert "<title>cartpole – linkwise</title>" in page and "<title>Viser</title>" not in page
        assert "22303c" in page.partition('rel="icon"')[2][:900]


def connected(viewer, origin):
    address = viewer.url.replace("http", "ws")
    with client.connect(address, origin=origin, subprotocols=[f"viser-v{viser.__version__}"]) as socket:
        return len(socket.recv(timeout=PATIENCE)) > 0


def test_only_its_own_page_is_listened_to(viewer):
    assert connected(viewer, viewer.url)
    assert connected(viewer, None)  # a program, not a page
    for other in ("http://elsewhere.example", "null", viewer.url.rpartition(":")[0] + ":1"):
        with pytest.raises(InvalidStatus) as refused:
            connected(viewer, other)
        assert refused.value.response.status_code == 403


@pytest.mark.parametrize(
    ("host", "origin", "asked", "allowed"),
    [
        ("127.0.0.1", "http://localhost:8080", "localhost:8080", True),
        ("127.0.0.1", "http://127.0.0.1:8080", "127.0.0.1:8080", True),
        ("127.0.0.1", "http://localhost:8081", "localhost:8080", False),
        ("127.0.0.1", "http://trick.example:8080", "trick.example:8080", False),  # a name that points here
        ("0.0.0.0", "http://robot-lab:8080", "robot-lab:8080", True),
        ("0.0.0.0", "http://elsewhere.example", "robot-lab:8080", False),
        ("0.0.0.0", "https://[::1]:8080", "[::1]:8080", True),
    ],
)
def test_who_may_ask(host, origin, asked, allowed):
    assert Doorkeeper(host, "x").allows(origin, asked) is allowed


def test_a_page_without_an_icon_keeps_its_text():
    assert named("<title>Viser</title>a", "A & B") == "<title>A &amp; B</title>a"

"""A line to a server of this machine that breaks when it is told to."""

import contextlib
import socket
import threading

_ERROR = b"<Error><Code>InternalError</Code><Message>We encountered an internal error.</Message></Error>"
_REFUSED = b"HTTP/1.1 500 Internal Server Error\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s" % (
    len(_ERROR),
    _ERROR,
)


class BrokenLine:
    """Passes on what it hears while ``mode`` is "whole"; "cut" ends connections, old and new, "half" ends them after
    half an answer, "500" answers so, "silent" says nothing."""

    def __init__(self, port):
        self.mode, self.target = "whole", ("127.0.0.1", port)
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port = self._server.getsockname()[1]
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self):
        with contextlib.suppress(OSError):  # closed
            while True:
                client, _ = self._server.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client):
        with client, contextlib.suppress(OSError):
            if self.mode == "cut":
                return
            if self.mode == "500":
                client.recv(2**16)
                client.sendall(_REFUSED)
                return
            with socket.create_connection(self.target) as server:
                there = threading.Thread(target=self._pass, args=(client, server), daemon=True)
                there.start()
                self._pass(server, client, answers=True)
                there.join()

    def _pass(self, source, sink, answers=False):
        with contextlib.suppress(OSError):
            while data := source.recv(2**16):
                if self.mode == "half" and answers:
                    sink.sendall(data[: len(data) // 2])
                if self.mode in ("half", "cut"):
                    break
                if self.mode != "silent":
                    sink.sendall(data)
        for s in (source, sink):
            with contextlib.suppress(OSError):
                s.shutdown(socket.SHUT_RDWR)

    def close(self):
        self._server.close()

# SPDX-License-Identifier: Apache-2.0
"""A proxy before a hub that notes what is asked, and treats the stream of events as some proxies do."""

import re
import socket
import threading

REQUEST = re.compile(rb"(?:^|\n)(GET|POST|PUT|HEAD) (\S+) HTTP/1\.1\r")


class WatchingProxy:
    """`events`: "pass" them on, "refuse" them, "keep" them back, or "cut" the stream after its first bytes."""

    def __init__(self, port, events="pass"):
        self.port, self.events = port, events
        self.asked = []
        self.server = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.server.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self):
        self.server.close()

    def count(self, path):
        return sum(one == path for one in self.asked)

    def _accept(self):
        while True:
            try:
                client, _ = self.server.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client):
        with client, socket.create_connection(("127.0.0.1", self.port)) as hub:
            cut = threading.Event()
            threading.Thread(target=self._answers, args=(hub, client, cut), daemon=True).start()
            while data := self._receive(client):
                paths = [path.decode() for _, path in REQUEST.findall(data)]
                self.asked += paths
                if "/v1/events" in paths and self.events == "refuse":
                    client.sendall(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
                    return
                if "/v1/events" in paths and self.events == "keep":
                    continue
                if "/v1/events" in paths and self.events == "cut":
                    cut.set()
                hub.sendall(data)

    def _answers(self, hub, client, cut):
        while data := self._receive(hub):
            try:
                client.sendall(data)
                if cut.is_set() and b": hello" in data:
                    client.shutdown(socket.SHUT_RDWR)
            except OSError:
                return
        try:
            client.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass

    @staticmethod
    def _receive(connection):
        try:
            return connection.recv(65536)
        except OSError:
            return b""

# SPDX-License-Identifier: Apache-2.0
"""Registries that send their callers elsewhere for a token: a real docker-registry, and fakes that watch who is told what."""

import base64
import http.server
import json
import threading
from pathlib import Path

import pytest
from conftest import needs
from image_files import sha256, tar_of
from registry import registry
from token_server import REFRESH, SERVICE, token_server

pytestmark = [needs("docker-registry", "openssl")]


@pytest.fixture
def tokens(tmp_path):
    (tmp_path / "tokens").mkdir()
    with token_server(tmp_path / "tokens") as server:
        yield server


@pytest.fixture
def made(longship, tmp_path):
    (tmp_path / "root.tar").write_bytes(tar_of({"a": b"the image's", "large": b"x" * 100000}))
    done = longship("image", "import", tmp_path / "root.tar", "-t", "small")
    assert done.returncode == 0, done.stderr


def log_in_as_docker_does(longship, host, **entry):
    config = Path(longship.environment["HOME"]) / ".docker"
    config.mkdir()
    (config / "config.json").write_text(json.dumps({"auths": {host: entry}}))


def test_who_has_a_password_pushes_and_everybody_pulls(longship, made, tokens):
    with registry(tokens=tokens) as lab:
        refused = longship("image", "push", "small", f"{lab.host}/team/small:v1")
        assert refused.returncode == 1
        assert f"longship image login {lab.host}" in refused.stderr
        wrong = longship("image", "login", lab.host, "-u", "ada", "--password-stdin", stdin=None, input="guess\n")
        assert wrong.returncode == 1 and "wrong password" in wrong.stderr
        right = longship("image", "login", lab.host, "-u", "ada", "--password-stdin", stdin=None, input="secret\n")
        assert right.returncode == 0, right.stderr
        done = longship("image", "push", "small", f"{lab.host}/team/small:v1")
        assert done.returncode == 0, done.stderr
        assert longship("image", "logout", lab.host).returncode == 0
        tokens.asked.clear()
        done = longship("image", "pull", f"{lab.host}/team/small:v1", "-t", "back")
        assert done.returncode == 0, done.stderr
        assert tokens.asked[0] == ("GET", None, {"service": [SERVICE], "scope": ["repository:team/small:pull"]})


def test_a_refresh_token_of_docker_is_changed_for_one(longship, made, tokens):
    with registry(tokens=tokens) as lab:
        log_in_as_docker_does(longship, lab.host, auth=base64.b64encode(b"00000000-0000:").decode(), identitytoken=REFRESH)
        done = longship("image", "push", "small", f"{lab.host}/small:v1")
        assert done.returncode == 0, done.stderr
        method, authorization, form = tokens.asked[0]
        assert (method, authorization) == ("POST", None)
        assert form["scope"] == ["repository:small:pull,push"] and form["service"] == [SERVICE]


def test_a_password_is_not_sent_in_the_clear_by_who_came_through_tls(longship, made, tokens):
    with registry(tokens=tokens, tls=True) as lab:
        longship.environment["SSL_CERT_FILE"] = lab.certificate
        log_in_as_docker_does(longship, lab.host, auth=base64.b64encode(b"ada:secret").decode())
        done = longship("image", "push", "small", f"{lab.host}/small:v1")
        assert done.returncode == 1
        assert f"it wants credentials sent in the clear to {tokens.realm}, which is refused" in done.stderr
        assert not tokens.asked


def test_a_registry_on_this_machine_cannot_have_a_password_sent_elsewhere_in_the_clear(longship, watched):
    origin = watched()
    with_tokens(origin, "http://192.0.2.1/token", ["t1"], small_image())
    log_in_as_docker_does(longship, origin.host, auth=base64.b64encode(b"ada:secret").decode())
    done = longship("image", "pull", f"{origin.host}/small:v1", "-t", "back")
    assert done.returncode == 1
    assert "it wants credentials sent in the clear to http://192.0.2.1/token, which is refused" in done.stderr


def test_a_manifest_that_has_no_end_is_refused(longship, watched):
    origin = watched()
    origin.answer = lambda path, shown: (200, {}, b" " * (5 << 20))
    done = longship("image", "pull", f"{origin.host}/small:v1", "-t", "back")
    assert done.returncode == 1 and "is larger than expected" in done.stderr


class Watched(http.server.BaseHTTPRequestHandler):
    """A server that keeps what it was shown; `server.answer` gives status, headers and content."""

    def log_message(self, *words):
        pass

    def do_GET(self):
        self.server.shown.append((self.path, self.headers.get("Authorization")))
        status, headers, content = self.server.answer(self.path, self.headers.get("Authorization"))
        self.send_response(status)
        for name, value in ({"Content-Length": str(len(content))} | headers).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)


@pytest.fixture
def watched():
    """Makes servers; the answer of each is set by the test."""
    servers = []

    def make():
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Watched)
        server.shown, server.host = [], f"localhost:{server.server_address[1]}"
        server.answer = lambda path, shown: (404, {}, b"")
        threading.Thread(target=server.serve_forever, daemon=True).start()
        servers.append(server)
        return server
    yield make
    for server in servers:
        server.shutdown()
        server.server_close()


def small_image():
    """Paths of a registry and what is there."""
    layer = tar_of({"a": b"the image's"})
    config = json.dumps({"architecture": "amd64", "os": "linux", "config": {},
                         "rootfs": {"type": "layers", "diff_ids": [sha256(layer)]}}).encode()
    manifest = json.dumps({"schemaVersion": 2, "mediaType": "application/vnd.docker.distribution.manifest.v2+json",
                           "config": {"digest": sha256(config), "size": len(config),
                                      "mediaType": "application/vnd.docker.container.image.v1+json"},
                           "layers": [{"digest": sha256(layer), "size": len(layer),
                                       "mediaType": "application/vnd.docker.image.rootfs.diff.tar"}]}).encode()
    return {"/v2/small/manifests/v1": manifest, f"/v2/small/blobs/{sha256(config)}": config,
            f"/v2/small/blobs/{sha256(layer)}": layer}


def with_tokens(server, realm, valid, blobs):
    """A registry that wants one of the `valid` tokens; `blobs` maps paths to contents or to where they are."""
    def answer(path, shown):
        if shown not in [f"Bearer {token}" for token in valid]:
            return 401, {"WWW-Authenticate": f'Bearer realm="{realm}",service="s",scope="repository:small:pull"'}, b""
        found = blobs.get(path)
        if found is None:
            return 404, {}, b""
        return (200, {}, found) if isinstance(found, bytes) else (307, {"Location": found}, b"")
    server.answer = answer


def test_each_host_is_told_only_what_is_for_it(longship, watched):
    origin, realm, storage = watched(), watched(), watched()
    blobs = small_image()
    storage.answer = lambda path, shown: (200, {}, blobs[path])
    elsewhere = {path: f"http://{storage.host}{path}" if "/blobs/" in path else content for path, content in blobs.items()}
    with_tokens(origin, f"http://{realm.host}/token", ["t1"], elsewhere)
    realm.answer = lambda path, shown: (200, {}, b'{"token": "t1"}')
    log_in_as_docker_does(longship, origin.host, auth=base64.b64encode(b"ada:secret").decode())
    done = longship("image", "pull", f"{origin.host}/small:v1", "-t", "back")
    assert done.returncode == 0, done.stderr
    password = "Basic " + base64.b64encode(b"ada:secret").decode()
    assert {shown for _, shown in realm.shown} == {password}
    assert {shown for _, shown in origin.shown} == {None, "Bearer t1"}
    assert {shown for _, shown in storage.shown} == {None} and len(storage.shown) == 2


def test_a_token_that_expires_on_the_way_is_asked_for_again(longship, watched):
    origin, realm = watched(), watched()
    valid, blobs = [], small_image()
    with_tokens(origin, f"http://{realm.host}/token", valid, blobs)
    given = iter(f"t{number}" for number in range(1, 100))

    def give(path, shown):
        token = next(given)
        valid.append(token)
        return 200, {}, json.dumps({"access_token": token}).encode()
    realm.answer = give
    answer = origin.answer

    def answer_once(path, shown):
        status, headers, content = answer(path, shown)
        if status == 200 and "/manifests/" in path:
            valid.clear()  # the blobs are asked for later
        return status, headers, content
    origin.answer = answer_once
    done = longship("image", "pull", f"{origin.host}/small:v1", "-t", "back")
    assert done.returncode == 0, done.stderr
    assert len(realm.shown) >= 2


@pytest.mark.parametrize("says, error", [
    (b'{"token": "a\\r\\nX-Other: b"}', "its token is none"), (b"{}", "its token is none: token: access_token: missing"),
    (b"\xff", "its token is none: token:1:1: expected a value"), (b'{"token": ""}', "access_token: missing"),
    (b'{"token": 5}', "its token is none: token:1: token: expected text in quotes, found 5")])
def test_a_token_that_is_none_is_not_used(longship, watched, says, error):
    origin, realm = watched(), watched()
    with_tokens(origin, f"http://{realm.host}/token", ["t1"], small_image())
    realm.answer = lambda path, shown: (200, {}, says)
    done = longship("image", "pull", f"{origin.host}/small:v1", "-t", "back")
    assert done.returncode == 1 and error in done.stderr, done.stderr
    assert {shown for _, shown in origin.shown} == {None}


@pytest.mark.parametrize("status, headers", [(503, {}), (429, {"Retry-After": "1"}), (500, {})])
def test_a_busy_registry_is_asked_again(longship, watched, status, headers):
    origin, blobs, busy = watched(), small_image(), set()

    def answer(path, shown):
        if path in blobs and path not in busy:
            busy.add(path)
            return status, headers, b""
        return (200, {}, blobs[path]) if path in blobs else (404, {}, b"")
    origin.answer = answer
    done = longship("image", "pull", f"{origin.host}/small:v1", "-t", "back")
    assert done.returncode == 0, done.stderr
    assert busy == set(blobs)


def test_a_helper_of_docker_is_asked_for_the_password(longship, made, tmp_path):
    """docker-credential-NAME: a program that is given the host and answers in JSON."""
    programs = tmp_path / "programs"
    programs.mkdir()
    helper = programs / "docker-credential-lab"
    helper.write_text('#!/bin/sh\nread host || test -n "$host"\necho "$1 $host" >"$0.asked"\n'
                      'echo \'{"ServerURL": "x", "Username": "ada", "Secret": "secret"}\'\n')
    helper.chmod(0o755)
    longship.environment["PATH"] = f"{programs}:{longship.environment['PATH']}"
    with registry("ada", "secret") as lab:
        config = Path(longship.environment["HOME"]) / ".docker"
        config.mkdir()
        (config / "config.json").write_text(json.dumps({"credHelpers": {lab.host: "lab"}}))
        done = longship("image", "push", "small", f"{lab.host}/small:v1")
        assert done.returncode == 0, done.stderr
        assert Path(f"{helper}.asked").read_text() == f"get {lab.host}\n"

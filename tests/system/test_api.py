# SPDX-License-Identifier: Apache-2.0
"""The hub's HTTP API, driven with other people's clients: urllib, raw sockets, curl."""

import hashlib
import json
import os
import signal
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from conftest import needs, wait_until

JOB = {"job": {"version": 1, "name": "tiny", "command": ["true"]}}
SPECIFICATION = Path(__file__).resolve().parents[2] / "docs" / "openapi.json"


class Hub:
    """`longship hub` in a directory of its own, and a client for it."""

    def __init__(self, longship, directory):
        self.longship = longship
        self.directory = directory
        longship.environment["LONGSHIP_HUB_DIR"] = str(directory)
        self.start()

    def start(self):
        self.process = self.longship.start("hub", "--listen", "127.0.0.1:0")
        file = self.directory / "hub.json"

        def answers():
            assert self.process.poll() is None, self.process.communicate()[1]
            return file.exists() and json.loads(file.read_text())["pid"] == self.process.pid

        wait_until(answers, "the hub to answer")
        self.url = json.loads(file.read_text())["url"]
        self.token = (self.directory / "token").read_text().strip()

    def kill(self):
        self.process.kill()
        self.process.wait()

    def ask(self, method, path, body=None, token=None, **headers):
        """(status, headers, bytes); a body that is not bytes is sent as JSON."""
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data=body, method=method)
        request.add_header("Authorization", f"Bearer {token or self.token}")
        for name, value in headers.items():
            request.add_header(name.replace("_", "-"), value)
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return answer.status, answer.headers, answer.read()
        except urllib.error.HTTPError as error:
            return error.code, error.headers, error.read()

    def json(self, method, path, body=None, **headers):
        status, _, answer = self.ask(method, path, body, **headers)
        return status, json.loads(answer)


@pytest.fixture
def hub(longship, tmp_path):
    return Hub(longship, tmp_path / "hub")


def test_health_tells_that_it_works_and_needs_no_token(hub, longship):
    with urllib.request.urlopen(hub.url + "/v1/health") as answer:
        health = json.load(answer)
    assert health["status"] == "ok"
    assert health["jobs"] == 0
    assert health["version"] in longship("--version").stdout


def test_the_token_is_in_a_private_file(hub):
    assert (hub.directory / "token").stat().st_mode & 0o777 == 0o600
    assert hub.directory.stat().st_mode & 0o777 == 0o700
    database = b"".join(path.read_bytes() for path in hub.directory.glob("hub.db*"))
    assert hub.token.encode() not in database


def test_a_strangers_token_is_refused(hub):
    status, answer = hub.json("GET", "/v1/jobs", token="stranger")
    assert status == 401
    assert answer == {"error": "this token is not known here"}
    assert hub.ask("POST", "/v1/jobs", JOB, token="stranger")[0] == 401
    assert hub.ask("PUT", "/v1/blobs/sha256:" + "0" * 64, b"x", token="stranger")[0] == 401


def test_the_same_key_is_the_same_job(hub):
    first = hub.json("POST", "/v1/jobs", JOB, Idempotency_Key="k")
    assert first == (201, {"jobs": ["tiny-1"]})
    assert hub.json("POST", "/v1/jobs", JOB, Idempotency_Key="k") == first
    other = {"job": JOB["job"] | {"name": "other"}}
    assert hub.json("POST", "/v1/jobs", other, Idempotency_Key="k")[0] == 409
    assert hub.json("GET", "/v1/jobs")[1]["total"] == 1


def test_a_job_file_of_10_mb_is_refused_with_a_sentence(hub):
    status, answer = hub.json("POST", "/v1/jobs", b" " * 10_000_000)
    assert status == 413
    assert "larger than 1024 KiB" in answer["error"]
    chunked = subprocess.run(
        ["curl", "-sS", "-H", f"Authorization: Bearer {hub.token}", "-H", "Transfer-Encoding: chunked",
         "--data-binary", "@-", f"{hub.url}/v1/jobs"],
        input=b" " * 10_000_000, capture_output=True, timeout=60)
    assert b"larger than 1024 KiB" in chunked.stdout, chunked.stderr
    assert hub.json("GET", "/v1/jobs")[0] == 200


@pytest.mark.parametrize("body", [b'{"job":{"version":1,"name":"a","command":' + b"[" * 100_000, b'{"job":' * 100_000,
                                  b"[" * 100_000 + b"]" * 100_000], ids=["a list", "tables", "only lists"])
def test_deep_nesting_is_refused_with_a_sentence(hub, body):
    status, answer = hub.json("POST", "/v1/jobs", body)
    assert status == 400 and "nested too deeply" in answer["error"]
    assert hub.json("GET", "/v1/jobs")[1]["total"] == 0


def test_a_job_that_makes_no_sense_is_refused_with_its_key(hub):
    status, answer = hub.json("POST", "/v1/jobs", {"job": JOB["job"] | {"comand": ["x"]}})
    assert status == 400
    assert 'did you mean "command"?' in answer["error"]


def test_names_of_files_do_not_lead_away(hub):
    hub.json("POST", "/v1/jobs", JOB)
    for name in ["../../token", "..%2f..%2ftoken", "%2e%2e/token", "%2Fetc%2Fpasswd", "a/../../token", "a%00b"]:
        with socket.create_connection(("127.0.0.1", int(hub.url.rsplit(":", 1)[1]))) as connection:
            connection.sendall(
                f"GET /v1/jobs/tiny-1/files/{name} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
                f"Authorization: Bearer {hub.token}\r\n\r\n".encode())
            answer = b"".join(iter(lambda: connection.recv(65536), b""))
        assert answer.split(b" ")[1] in (b"400", b"404"), answer
        assert hub.token.encode() not in answer


def test_what_is_no_request_gets_400_and_the_hub_goes_on(hub):
    for nonsense in [b"\0\1\2\3\r\n\r\n", b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"\x16\x03\x01\x02\x00",
                     b"GET / HTTP/1.1\r\nContent-Length: -5\r\n\r\n", b"A" * 70_000]:
        with socket.create_connection(("127.0.0.1", int(hub.url.rsplit(":", 1)[1])), timeout=10) as connection:
            connection.sendall(nonsense)
            connection.shutdown(socket.SHUT_WR)
            answer = b"".join(iter(lambda: connection.recv(65536), b""))
            assert answer == b"" or answer.startswith(b"HTTP/1.1 4"), answer
    assert hub.json("GET", "/v1/health")[0] == 200


def test_another_hosts_name_is_refused(hub):
    status, _, body = hub.ask("GET", "/v1/jobs", Host="evil.example")
    assert status == 421
    assert b"evil.example is not a name of this hub" in body
    assert hub.ask("GET", "/v1/jobs", Origin="http://evil.example")[0] == 403
    assert hub.ask("GET", "/v1/jobs", Origin=hub.url)[0] == 200


def test_an_upload_that_was_cut_off_goes_on(hub):
    data = os.urandom(5_000_000)
    digest = "sha256:" + hashlib.sha256(data).hexdigest()
    path = f"/v1/blobs/{digest}"
    # The connection breaks in the middle of a body.
    with socket.create_connection(("127.0.0.1", int(hub.url.rsplit(":", 1)[1]))) as connection:
        connection.sendall(f"PUT {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {hub.token}\r\n"
                           f"Content-Length: {len(data)}\r\n\r\n".encode() + data[:2_500_000])
        wait_until(lambda: int(hub.ask("HEAD", path)[1]["X-Longship-Uploaded"]) > 0, "a piece to be written")
    status, headers, _ = hub.ask("HEAD", path)
    assert status == 404
    status = 409
    while status == 409:  # what was under way may still arrive
        there = int(headers["X-Longship-Uploaded"])
        assert 0 < there < len(data)
        status, headers, _ = hub.ask("PUT", path, data[there:],
                                     Content_Range=f"bytes {there}-{len(data) - 1}/{len(data)}")
    assert status == 201 and int(headers["X-Longship-Uploaded"]) == len(data)
    assert hub.ask("GET", path)[2] == data
    status, headers, part = hub.ask("GET", path, Range="bytes=1000000-1000009")
    assert (status, part) == (206, data[1000000:1000010])
    assert headers["Content-Range"] == f"bytes 1000000-1000009/{len(data)}"
    assert hub.ask("GET", path, Range=f"bytes={len(data)}-")[0] == 416


def test_bytes_with_another_digest_are_thrown_away(hub):
    path = "/v1/blobs/sha256:" + hashlib.sha256(b"right").hexdigest()
    status, answer = hub.json("PUT", path, b"wrong")
    assert status == 400 and "digest" in answer["error"]
    assert hub.ask("HEAD", path)[0] == 404
    assert hub.ask("PUT", path, b"right")[0] == 201


def test_events_come_as_they_happen_and_after_a_pause(hub):
    def events(last=None):
        request = urllib.request.Request(hub.url + "/v1/events")
        request.add_header("Authorization", f"Bearer {hub.token}")
        if last:
            request.add_header("Last-Event-ID", last)
        return urllib.request.urlopen(request, timeout=30)

    def next_event(stream):
        event = {}
        for line in stream:
            line = line.decode().rstrip("\n")
            if not line and "data" in event:
                return event
            name, _, value = line.partition(": ")
            if name:
                event[name] = value

    with events() as stream:
        assert stream.headers["Content-Type"] == "text/event-stream"
        assert stream.readline() == b": hello\n"
        threading.Thread(target=hub.json, args=("POST", "/v1/jobs", JOB)).start()
        event = next_event(stream)
    assert event["event"] == "job"
    assert json.loads(event["data"])["id"] == "tiny-1"
    hub.json("POST", "/v1/jobs", JOB)
    with events(event["id"]) as stream:
        assert json.loads(next_event(stream)["data"])["id"] in ("tiny-1", "tiny-2")
    with events("1-1") as stream:
        assert next_event(stream)["event"] == "reset"


def test_jobs_survive_kill_9(hub):
    for _ in range(20):
        assert hub.ask("POST", "/v1/jobs", JOB)[0] == 201
    before = hub.json("GET", "/v1/jobs")[1]
    hub.kill()
    hub.start()
    after = hub.json("GET", "/v1/jobs")[1]
    assert after["total"] == before["total"] == 20
    assert [job["id"] for job in after["jobs"]] == [job["id"] for job in before["jobs"]]
    assert hub.json("POST", "/v1/jobs", JOB)[1] == {"jobs": ["tiny-21"]}


def test_a_second_hub_on_the_same_directory_names_the_first(hub, longship):
    second = longship("hub", "--listen", "127.0.0.1:0")
    assert second.returncode == 1
    assert hub.url in second.stderr
    up = longship("up", "--port", "0")
    assert up.returncode == 1
    assert f"a hub is already running in {hub.directory}: {hub.url}" in up.stderr


def test_addresses_that_others_reach_need_tls(longship, tmp_path):
    longship.environment["LONGSHIP_HUB_DIR"] = str(tmp_path / "hub")
    refused = longship("hub", "--listen", "0.0.0.0:0")
    assert refused.returncode == 2
    assert "tokens would travel in the clear" in refused.stderr


@needs("openssl", "curl")
def test_tls_by_pem_files(longship, tmp_path):
    certificate, key = tmp_path / "hub.pem", tmp_path / "hub.key"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", certificate,
                    "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"],
                   check=True, capture_output=True)
    directory = tmp_path / "hub"
    longship.environment |= {"LONGSHIP_HUB_DIR": str(directory), "LONGSHIP_CA": str(certificate)}
    process = longship.start("hub", "--listen", "127.0.0.1:0", "--tls-cert", certificate, "--tls-key", key)
    wait_until(lambda: (directory / "hub.json").exists() or process.poll() is not None, "the hub to answer")
    url = json.loads((directory / "hub.json").read_text())["url"]
    assert url.startswith("https://")
    curl = subprocess.run(["curl", "-sS", "--cacert", certificate, "-D-", url + "/v1/health"], text=True,
                          capture_output=True, timeout=30)
    assert '"status":"ok"' in curl.stdout, curl.stderr
    assert "Strict-Transport-Security" in curl.stdout
    jobs = longship("jobs")
    assert jobs.returncode == 0, jobs.stderr
    del longship.environment["LONGSHIP_CA"]
    refused = longship("jobs")
    assert refused.returncode == 1
    assert "certificate is not trusted" in refused.stderr


def test_the_hub_ends_when_told(hub):
    hub.process.send_signal(signal.SIGTERM)
    assert hub.process.wait(timeout=30) == 0
    assert not (hub.directory / "hub.json").exists()


def test_the_specification_is_valid():
    validator = pytest.importorskip("openapi_spec_validator")
    validate = getattr(validator, "validate", None) or validator.validate_spec
    validate(json.loads(SPECIFICATION.read_text()))


# --- commands ---


def write_job(directory, **more):
    lines = ["version = 1", 'name = "tiny"', 'command = ["true"]', *(f"{k} = {v}" for k, v in more.items())]
    path = directory / "job.toml"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_commands_of_a_job_that_waits(hub, longship, tmp_path):
    job = write_job(tmp_path)
    submitted = longship("submit", job)
    assert (submitted.returncode, submitted.stdout) == (0, "tiny-1\n"), submitted.stderr
    assert json.loads(longship("submit", job, "--count", "3", "--json").stdout) == {"jobs": ["tiny-2", "tiny-3", "tiny-4"]}
    jobs = longship("jobs").stdout
    assert "tiny-4" in jobs and "waiting" in jobs
    assert jobs.splitlines()[0].split() == ["JOB", "STATE", "SITE", "RANKS", "DONE", "AGE", "OWNER", "REASON"]
    assert json.loads(longship("jobs", "--json").stdout)["total"] == 4
    assert "tiny-1" in longship("show", "tiny-1").stdout
    assert "tiny-1: waiting" in longship("why", "tiny-1").stdout
    assert longship("hold", "tiny-1").stdout.startswith("tiny-1: held")
    assert longship("release", "tiny-1").stdout.startswith("tiny-1: waiting")
    assert longship("cancel", "tiny-1", "tiny-2").stdout.count(": cancelled: ") == 2
    assert "tiny-1" in longship("jobs", "--state", "cancelled").stdout


@pytest.mark.parametrize("rest, said", [("# much\n" * 1_500_000, "job.toml is larger than 1048576 bytes"),
                                        ("deep = " + "[" * 100_000, "job.toml:4:264: ")], ids=["large", "deep"])
def test_submit_refuses_a_job_file_that_is_too_large_or_too_deep(hub, longship, tmp_path, rest, said):
    job = write_job(tmp_path)
    job.write_text(job.read_text() + rest)
    refused = longship("submit", job)
    assert refused.returncode == 2 and said in refused.stderr
    assert len(refused.stderr) < 2000
    assert hub.json("GET", "/v1/jobs")[1]["total"] == 0


def test_commands_say_what_is_wrong(hub, longship, tmp_path):
    missing = longship("show", "tiny-9")
    assert missing.returncode == 1 and 'there is no job "tiny-9"' in missing.stderr
    state = longship("jobs", "--state", "runing")
    assert state.returncode == 2 and 'did you mean "running"?' in state.stderr
    longship.environment["LONGSHIP_TOKEN"] = "stranger"
    stranger = longship("jobs")
    assert stranger.returncode == 1 and "the hub does not accept our token" in stranger.stderr


def test_without_a_hub_the_remedy_is_named(longship, tmp_path):
    longship.environment["LONGSHIP_HUB_DIR"] = str(tmp_path / "none")
    assert "`longship up` starts one" in longship("jobs").stderr
    longship.environment |= {"LONGSHIP_HUB": "http://127.0.0.1:1", "LONGSHIP_TOKEN": "x"}
    refused = longship("jobs")
    assert refused.returncode == 1
    assert "cannot reach the hub at http://127.0.0.1:1: connection refused; is it running?" in refused.stderr


def test_another_user_gets_a_token_of_their_own(hub, longship, tmp_path):
    token = longship("token", "add", "anna").stdout.strip()
    assert len(token) >= 32
    hub.json("POST", "/v1/jobs", JOB)
    assert hub.json("POST", "/v1/jobs", JOB, token=token)[0] == 201
    assert hub.json("POST", "/v1/jobs/tiny-1/cancel", token=token)[0] == 403
    assert hub.json("POST", "/v1/jobs/tiny-2/cancel", token=token)[0] == 200
    assert hub.json("POST", "/v1/tokens", {"user": "eve"}, token=token)[0] == 403


def test_tokens_are_listed_without_the_secret_and_revoked_at_once(hub, longship, tmp_path):
    token = longship("token", "add", "anna", "--team", "clic").stdout.strip()
    assert hub.json("GET", "/v1/jobs", token=token)[0] == 200
    listed = json.loads(longship("token", "ls", "--json").stdout)["tokens"]
    assert [(one["user"], one["team"], one["site"]) for one in listed] == [("anna", "clic", "")]
    assert abs(listed[0]["added"] - time.time()) < 600
    assert token not in longship("token", "ls").stdout + json.dumps(listed)
    wait_until(lambda: json.loads(longship("token", "ls", "--json").stdout)["tokens"][0]["used"], "the use to be noted")
    assert hub.json("GET", "/v1/tokens", token=token)[1]["tokens"][0]["id"] == listed[0]["id"]
    wrong = longship("token", "rm", token)
    assert wrong.returncode == 2 and token not in wrong.stderr
    assert 'there is no token "nonesuch": see longship token ls' in longship("token", "rm", "nonesuch").stderr
    done = longship("token", "rm", listed[0]["id"])
    assert (done.returncode, done.stderr) == (0, f"longship: revoked token {listed[0]['id']} of anna\n")
    assert hub.json("GET", "/v1/jobs", token=token)[0] == 401
    assert "there are no tokens but that of the hub's owner" in longship("token", "ls").stderr


@pytest.mark.parametrize("words", [["up", "--background"], ["up"], ["hub"]], ids=" ".join)
def test_where_loopback_is_down_the_reason_comes_at_once(longship, tmp_path, nothing_stays_behind, words):
    alone = ["unshare", "--user", "--map-root-user", "--net"]
    if subprocess.run([*alone, "true"], capture_output=True).returncode != 0:
        pytest.skip("namespaces are not allowed here")
    hub = longship.start(*words, "--dir", tmp_path / "hub", before=alone)
    _, said = hub.communicate(timeout=30)
    assert hub.returncode == 3, said
    assert "nobody could reach a hub at 127.0.0.1: the loopback interface is down; `ip link set lo up` brings it up" in said


def test_up_in_the_background_and_down(longship, tmp_path, nothing_stays_behind):
    directory = tmp_path / "hub"
    longship.environment["LONGSHIP_HUB_DIR"] = str(directory)
    up = longship("up", "--background", "--port", "0")
    assert up.returncode == 0, up.stderr + (directory / "hub.log").read_text()
    try:
        url, token = up.stdout.strip().split("/#token=")
        assert token == (directory / "token").read_text().strip()
        assert json.loads((directory / "hub.json").read_text())["url"] == url
        again = longship("up", "--background", "--port", "0")
        assert (again.returncode, again.stdout) == (0, up.stdout)
        assert longship("up", "--address").stdout == up.stdout
        assert longship("up").returncode == 1

        def sites():
            request = urllib.request.Request(url + "/v1/sites", headers={"Authorization": f"Bearer {token}"})
            return [site["name"] for site in json.loads(urllib.request.urlopen(request).read())["sites"]]

        wait_until(lambda: sites() == ["here"], "this machine to be a site")
    finally:
        down = longship("down")
    assert down.returncode == 0, down.stderr
    assert longship("down").returncode == 1
    assert longship("up", "--address").returncode == 1

# SPDX-License-Identifier: Apache-2.0
"""Names that lead elsewhere, all the way through the hub: in a bundle, in outputs.keep, as links among the outputs.
Each is refused with a sentence, and nothing outside of the attempt's directory is written or read."""

import hashlib
import io
import json
import subprocess
import tarfile

import pytest
from conftest import needs
from hub_lab import running_hub


@pytest.fixture
def hub(longship, tmp_path):
    with running_hub(longship, tmp_path) as lab:
        yield lab


def member(name, content=None, **more):
    info = tarfile.TarInfo(name)
    info.mode = 0o644
    info.size = len(content or b"")
    for key, value in more.items():
        setattr(info, key, value)
    return info, io.BytesIO(content or b"")


def link(name, target, kind=tarfile.SYMTYPE):
    return member(name, type=kind, linkname=target)


def upload(hub, members):
    """A bundle that no longship would make."""
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for info, content in members:
            tar.addfile(info, content if info.isreg() else None)
    data = subprocess.run(["zstd", "-q", "-c"], input=plain.getvalue(), capture_output=True, check=True).stdout
    digest = "sha256:" + hashlib.sha256(data).hexdigest()
    assert hub.request("PUT", f"/v1/blobs/{digest}", data)[0] == 201
    return {"digest": digest, "size": len(data)}


def submit(hub, code=None, **job):
    job = {"version": 1, "name": "sea", "command": ["true"], **job}
    return hub.request("POST", "/v1/jobs", {"job": job} | ({"code": code} if code else {}))


@needs("zstd")
@pytest.mark.parametrize("what", ["up", "absolute", "through a link", "link out", "absolute link", "hard link", "device"])
def test_a_bundle_that_leads_elsewhere_fails_the_job_and_writes_nothing(hub, tmp_path, what):
    target = tmp_path / "target"
    target.mkdir()
    secret = target / "secret"
    secret.write_text("secret")
    hostile = {
        "up": [member("../../../../../../../../../../.." + str(target / "new"), b"x")],
        "absolute": [member(str(target / "new"), b"x")],
        "through a link": [link("away", str(target)), member("away/new", b"x")],
        "link out": [link("away", "../../../../../x")],
        "absolute link": [link("away", str(secret))],
        "hard link": [link("away", str(secret), tarfile.LNKTYPE)],
        "device": [member("null", type=tarfile.CHRTYPE, devmajor=1, devminor=3)],
    }[what]
    status, body = submit(hub, upload(hub, [member("a.sh", b"true"), *hostile]), command=["sh", "a.sh"])
    assert status == 201, body
    job = hub.wait(json.loads(body)["jobs"][0])
    assert job["state"] == "failed", job
    assert "the code: cannot unpack the bundle" in job["reason"]
    assert len(job["attempts"]) == 1, "it will not get better by trying again"
    assert sorted(path.name for path in target.iterdir()) == ["secret"]
    assert secret.read_text() == "secret" and secret.stat().st_nlink == 1


@pytest.mark.parametrize("name", ["../../x", "/etc/passwd", "a/../../x", ".."])
def test_outputs_that_lead_elsewhere_are_refused_at_once(hub, longship, tmp_path, name):
    status, body = submit(hub, outputs={"keep": [name]})
    assert status == 400 and "outputs.keep" in json.loads(body)["error"], body
    (tmp_path / "job.toml").write_text(
        f'version = 1\nname = "sea"\ncommand = ["true"]\n[outputs]\nkeep = [{json.dumps(name)}]\n')
    done = longship("submit", tmp_path / "job.toml")
    assert done.returncode == 2 and "outputs.keep" in done.stderr, done.stderr
    assert hub.get("/v1/jobs?limit=1")["total"] == 0


def test_links_among_the_outputs_are_not_followed(hub, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("secret")
    script = f"echo fine > fine; ln -s {secret} out; mkdir d; ln -s {tmp_path} d/away; echo x > d/x; echo x > more"
    status, body = submit(hub, command=["sh", "-c", script], outputs={"keep": ["fine", "d", "m*"]})
    name = json.loads(body)["jobs"][0]
    job = hub.wait(name)
    assert job["state"] == "finished", job
    assert [output["name"] for output in job["attempts"][0]["outputs"]] == ["d/x", "fine", "more"]
    status, body = submit(hub, command=["sh", "-c", script], outputs={"keep": ["out"]})
    job = hub.wait(json.loads(body)["jobs"][0])
    assert job["state"] == "failed" and "it did not write out" in job["reason"], job
    assert b"secret" not in hub.request("GET", f"/v1/jobs/{job['id']}/files/out")[1]


def test_what_becomes_a_link_later_is_not_read_either(hub, tmp_path):
    (tmp_path / "secret").write_text("secret")
    status, body = submit(hub, command=["sh", "-c", "echo x > out"], outputs={"keep": ["out"]})
    name = json.loads(body)["jobs"][0]
    assert hub.wait(name)["state"] == "finished"
    assert hub.request("GET", f"/v1/jobs/{name}/files/out") == (200, b"x\n")
    attempt = tmp_path / "hub" / "spool" / "attempts" / f"{name}.1"
    (attempt / "out").unlink()
    (attempt / "out").symlink_to(tmp_path / "secret")
    (attempt / "output").rename(attempt / "kept")
    (attempt / "output").symlink_to(tmp_path)
    for path in (f"/v1/jobs/{name}/files/out", f"/v1/jobs/{name}/files/output/secret", f"/v1/jobs/{name}/log"):
        status, body = hub.request("GET", path)
        assert status >= 400 and json.loads(body)["error"], path
        assert b"secret\n" not in body and body != b"secret"

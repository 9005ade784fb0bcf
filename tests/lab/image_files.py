# SPDX-License-Identifier: Apache-2.0
"""Images as other tools write them, and as only an attacker would: tars and OCI layouts, made by hand."""

import gzip
import hashlib
import io
import json
import tarfile


def tar_of(files):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size, member.mode = len(content), 0o755
            tar.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


def sha256(content):
    return "sha256:" + hashlib.sha256(content).hexdigest()


def by_gzip(content):
    return gzip.compress(content, mtime=0)


def write_layout(directory, layers, env=(), labels=None, pack=by_gzip, architecture="amd64"):
    blobs = directory / "blobs/sha256"
    blobs.mkdir(parents=True)

    def put(content, kind):
        digest = sha256(content)
        (blobs / digest[7:]).write_bytes(content)
        return {"mediaType": f"application/vnd.oci.image.{kind}", "digest": digest, "size": len(content)}

    packed = [put(pack(layer), "layer.v1.tar+gzip") for layer in layers]
    config = {"architecture": architecture, "os": "linux", "config": {"Env": list(env), "Cmd": ["/a"], "Labels": labels or {}},
              "rootfs": {"type": "layers", "diff_ids": [sha256(layer) for layer in layers]}}
    manifest = {"schemaVersion": 2, "config": put(json.dumps(config).encode(), "config.v1+json"), "layers": packed}
    index = {"schemaVersion": 2, "manifests": [put(json.dumps(manifest).encode(), "manifest.v1+json")]}
    (directory / "index.json").write_text(json.dumps(index))
    (directory / "oci-layout").write_text('{"imageLayoutVersion": "1.0.0"}')
    return packed

# SPDX-License-Identifier: Apache-2.0
"""Who gives out tokens for a registry, as Docker's hub and most centres have it: the registry sends its callers here, they
show who they are, and come back with a signed word that says what they may do (docker's "token authentication")."""

import base64
import http.server
import json
import subprocess
import threading
import time
import urllib.parse
from contextlib import contextmanager

SERVICE = "the lab's registry"
ISSUER = "the lab"
REFRESH = "a refresh token"


def url_safe(content):
    return base64.urlsafe_b64encode(content).rstrip(b"=")


class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *words):
        pass

    def do_GET(self):
        query = urllib.parse.parse_qs(urllib.parse.urlparse(self.path).query)
        shown = self.headers.get("Authorization")
        self.server.asked.append(("GET", shown, query))
        if shown and base64.b64decode(shown.split()[1]).decode() != self.server.password:
            self.answer(401, {"errors": [{"code": "UNAUTHORIZED", "message": "wrong password"}]})
        else:
            self.answer(200, {"token": self.server.token(query.get("scope", []), everything=bool(shown))})

    def do_POST(self):
        form = urllib.parse.parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
        self.server.asked.append(("POST", self.headers.get("Authorization"), form))
        if form.get("grant_type") != ["refresh_token"] or form.get("refresh_token") != [REFRESH]:
            self.answer(401, {"errors": [{"code": "UNAUTHORIZED"}]})
        else:
            self.answer(200, {"access_token": self.server.token(form.get("scope", []), everything=True)})

    def answer(self, status, document):
        content = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


class TokenServer(http.server.ThreadingHTTPServer):
    """Everybody may pull; whoever has the password, or the refresh token, may push too."""

    def __init__(self, directory, password):
        super().__init__(("127.0.0.1", 0), Handler)
        self.directory, self.password, self.asked, self.tokens = directory, password, [], []
        self.realm = f"http://127.0.0.1:{self.server_address[1]}/token"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=tokens",
                        "-keyout", f"{directory}/token-key.pem", "-out", f"{directory}/token-cert.pem"],
                       check=True, capture_output=True)

    def token(self, scopes, everything):
        access = []
        for scope in scopes:
            kind, name, actions = scope.split(":")
            allowed = [action for action in actions.split(",") if everything or action == "pull"]
            access.append({"type": kind, "name": name, "actions": allowed})
        lines = [line for line in open(f"{self.directory}/token-cert.pem") if not line.startswith("-----")]
        now = int(time.time())
        header = {"typ": "JWT", "alg": "RS256", "x5c": ["".join(line.strip() for line in lines)]}
        claims = {"iss": ISSUER, "sub": "somebody", "aud": SERVICE, "iat": now - 10, "nbf": now - 10, "exp": now + 600,
                  "jti": str(len(self.asked)), "access": access}
        said = b".".join(url_safe(json.dumps(part).encode()) for part in (header, claims))
        signature = subprocess.run(["openssl", "dgst", "-sha256", "-sign", f"{self.directory}/token-key.pem"], input=said,
                                   check=True, capture_output=True).stdout
        self.tokens.append((said + b"." + url_safe(signature)).decode())
        return self.tokens[-1]


@contextmanager
def token_server(directory, password="ada:secret"):
    server = TokenServer(directory, password)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()

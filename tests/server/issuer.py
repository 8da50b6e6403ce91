"""An OpenID Connect issuer on the loopback: metadata, keys, registration, codes and tokens."""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Final, Self
from urllib.parse import parse_qs, urlencode, urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from jwt.algorithms import ECAlgorithm, RSAAlgorithm

if TYPE_CHECKING:
    from types import TracebackType

AUDIENCE: Final = "https://desk.example.org/mcp"


class Key:
    """A key pair with its id."""

    def __init__(self, key_id: str, algorithm: str = "ES256", *, is_bound: bool = True) -> None:
        """`is_bound` says in the published key that it is for this algorithm alone."""
        self.id = key_id
        self.algorithm = algorithm
        self.secret: Any
        if algorithm == "ES256":
            self.secret = ec.generate_private_key(ec.SECP256R1())
            public = ECAlgorithm.to_jwk(self.secret.public_key(), as_dict=True)
        else:
            self.secret = rsa.generate_private_key(65537, 2048)
            public = RSAAlgorithm.to_jwk(self.secret.public_key(), as_dict=True)
        self.public = {**public, "kid": key_id, "use": "sig"}
        if is_bound:
            self.public["alg"] = algorithm


class Issuer:
    """A running issuer; everybody who asks for a code is let in as `subject`."""

    def __init__(self, *keys: Key) -> None:
        self.keys = list(keys or (Key("one"),))
        self.subject = "ann-7"
        self.asked: list[str] = []
        self.metadata: dict[str, Any] = {}
        """What differs from good metadata."""
        self.names_keys = True
        self.is_answering = threading.Event()
        self.is_answering.set()
        self.discovery = "/.well-known/openid-configuration"
        """Where the metadata is."""
        self._codes: dict[str, dict[str, str]] = {}
        issuer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                issuer._answer(self, {})

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"])).decode()
                issuer._answer(self, {"": body})

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # as the base names it
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.is_answering.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def token(self, key: Key | None = None, /, **claims: Any) -> str:
        """Return a token; claims that are None are left out."""
        signer = key or self.keys[0]
        now = int(time.time())
        given = {
            "iss": self.url,
            "sub": self.subject,
            "aud": AUDIENCE,
            "iat": now,
            "exp": now + 300,
            "client_id": "inspector",
            "scope": "read write",
            **claims,
        }
        kept = {name: value for name, value in given.items() if value is not None}
        headers = {"typ": "at+jwt"} | ({"kid": signer.id} if self.names_keys else {})
        return jwt.encode(kept, signer.secret, algorithm=signer.algorithm, headers=headers)

    def _answer(self, request: BaseHTTPRequestHandler, posted: dict[str, str]) -> None:
        path = urlsplit(request.path)
        self.asked.append(path.path)
        self.is_answering.wait()
        query = {name: values[0] for name, values in parse_qs(path.query).items()}
        if path.path == "/authorize":
            code = secrets.token_urlsafe()
            self._codes[code] = query
            back = urlencode({"code": code, "state": query["state"], "iss": self.url})
            request.send_response(302)
            request.send_header("location", f"{query['redirect_uri']}?{back}")
            request.send_header("content-length", "0")
            request.end_headers()
            return
        status, answer = self._document(path.path, posted.get("", ""))
        body = json.dumps(answer).encode()
        request.send_response(status)
        request.send_header("content-type", "application/json")
        request.send_header("content-length", str(len(body)))
        request.end_headers()
        request.wfile.write(body)

    def _document(self, path: str, body: str) -> tuple[int, dict[str, Any]]:
        if path == self.discovery:
            return 200, self._metadata()
        if path == "/keys":
            return 200, {"keys": [key.public for key in self.keys]}
        if path == "/register":
            return 201, {**json.loads(body), "client_id": "c1"}
        if path == "/token":
            form = {name: values[0] for name, values in parse_qs(body).items()}
            asked = self._codes.pop(form["code"])
            digest = hashlib.sha256(form["code_verifier"].encode()).digest()
            proof = base64.urlsafe_b64encode(digest).decode().rstrip("=")
            if proof != asked["code_challenge"]:
                return 400, {"error": "invalid_grant"}
            token = self.token(aud=asked["resource"], scope=asked["scope"], client_id="c1")
            return 200, {"access_token": token, "token_type": "Bearer", "scope": asked["scope"]}
        return 404, {}

    def _metadata(self) -> dict[str, Any]:
        return {
            "issuer": self.url,
            "jwks_uri": f"{self.url}/keys",
            "authorization_endpoint": f"{self.url}/authorize",
            "token_endpoint": f"{self.url}/token",
            "registration_endpoint": f"{self.url}/register",
            "response_types_supported": ["code"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["ES256"],
            "code_challenge_methods_supported": ["S256"],
            "scopes_supported": ["read", "write"],
            "authorization_response_iss_parameter_supported": True,
            **self.metadata,
        }

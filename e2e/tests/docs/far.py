"""Answers for every host that the pages name, on ports 80 and 443 of every address.

usage: far.py FOLDER [SITE-PACKAGES]

FOLDER holds `far.pem` and `far.key`; what was asked for is written to `far.log` there, one JSON object in a line. With
SITE-PACKAGES, what is installed there is packed again, and served as the Python package index.
"""

import functools
import hashlib
import http.server
import io
import json
import pathlib
import re
import ssl
import sys
import threading
import zipfile

FOLDER = pathlib.Path(sys.argv[1])
PACKAGES = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else None
LOCK = threading.Lock()
WHEELS = {}


def plain(name):
    return re.sub(r"[-_.]+", "-", name).lower()


@functools.cache
def wheel(name):
    """Packs what is installed under that name, and returns the name of the file and its bytes."""
    for info in PACKAGES.glob("*.dist-info"):
        own, version = info.name[: -len(".dist-info")].rsplit("-", 1)
        if plain(own) != plain(name):
            continue
        kept = []
        for line in (info / "RECORD").read_text().splitlines():
            path = line.split(",")[0].strip('"')
            made_here = path.endswith((".pyc", "/INSTALLER", "/REQUESTED", "/direct_url.json", "/RECORD"))
            if not path.startswith("..") and not made_here and (PACKAGES / path).is_file():
                kept.append(path)
        # Older archives call the universal tag py2-none-any as well; the last line is the one for today's Python.
        tag = [line[5:] for line in (info / "WHEEL").read_text().splitlines() if line.startswith("Tag: ")][-1]
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w") as archive:
            for path in kept:
                archive.write(PACKAGES / path, path)
            record = f"{info.name}/RECORD"
            archive.writestr(record, "".join(f"{path},,\n" for path in [*kept, record]))
        return f"{own.replace('-', '_')}-{version}-{tag.strip()}.whl", packed.getvalue()
    return None


class Answers(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        self.noted(b"")
        host = self.headers.get("host", "").split(":")[0]
        if host == "pypi.org" and PACKAGES:
            return self.index(plain(self.path.strip("/").split("/")[-1]))
        if host == "files.pythonhosted.org":
            return self.answered(*((200, WHEELS[self.path]) if self.path in WHEELS else (404, b"")))
        if host == "api.github.com" and self.path == "/zen":
            return self.answered(200, b"Design for failure.")
        return self.answered(200, f"this stands in for {host}\n".encode())

    def do_POST(self):
        self.noted(self.rfile.read(int(self.headers.get("content-length", 0))))
        self.answered(200, b"thank you\n")

    def index(self, name):
        with LOCK:
            found = wheel(name)
            if not found:
                return self.answered(404, b"")
            file, data = found
            WHEELS[f"/{file}"] = data
        digest = hashlib.sha256(data).hexdigest()
        link = f'<a href="https://files.pythonhosted.org/{file}#sha256={digest}">{file}</a>'
        self.answered(200, f"<!DOCTYPE html><html><body>{link}</body></html>".encode(), "text/html")

    def noted(self, body):
        asked = {"method": self.command, "host": self.headers.get("host"), "path": self.path, "body": body.decode(errors="replace")}
        with LOCK, open(FOLDER / "far.log", "a") as log:
            log.write(json.dumps(asked) + "\n")

    def answered(self, status, body, kind="text/plain"):
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def served(port, context=None):
    server = http.server.ThreadingHTTPServer(("0.0.0.0", port), Answers)
    if context:
        # The handshake is made by the thread of the connection: one that does not speak holds nobody up.
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    threading.Thread(target=server.serve_forever).start()


context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(FOLDER / "far.pem", FOLDER / "far.key")
served(80)
served(443, context)
(FOLDER / "far.ready").touch()

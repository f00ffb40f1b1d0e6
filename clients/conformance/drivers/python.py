# The driver of examples/python/handover_follow.py. The commands and answers are in ../README.md.
import http.server
import json
import pathlib
import sys
import threading
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).parents[3] / "examples" / "python"))
from handover_follow import FilesRefused, Folder, serve_status  # noqa: E402

mesh = None


class Server(http.server.ThreadingHTTPServer):
    def get_request(self):
        connection, address = super().get_request()
        secure = mesh.server_context().wrap_socket(connection, server_side=True, do_handshake_on_connect=False)
        return secure, address

    def handle_error(self, *_):
        pass  # refused handshakes


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "5")
        self.end_headers()
        self.wfile.write(b"hello")

    def log_message(self, *_):
        pass


def opened(dir, pollMs):
    global mesh
    mesh = Folder(dir, poll=pollMs / 1000)
    server = Server(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return {"status": serve_status(0, mesh), "server": server.server_address[1]}


def dialled(port):
    with urllib.request.urlopen(f"https://localhost:{port}/", context=mesh.client_context(), timeout=10) as answer:
        answer.read()
    return {}


for line in sys.stdin:
    asked = json.loads(line)
    answer = {"id": asked.pop("id"), "ok": True}
    try:
        answer |= {"open": opened, "dial": dialled}[asked.pop("do")](**asked)
    except FilesRefused as error:
        answer |= {"ok": False, "code": error.code}
    except OSError:
        answer |= {"ok": False}
    print(json.dumps(answer), flush=True)

"""An HTTPS server that follows its files: python3 server.py FOLDER"""

import http.server
import sys

from handover_follow import Folder, serve_status

mesh = Folder(sys.argv[1])  # tls.crt, tls.key, ca.crt
serve_status(9464, mesh)


class Server(http.server.ThreadingHTTPServer):
    def get_request(self):
        connection, address = super().get_request()
        # The handshake is made by the thread that reads first: a slow client holds nothing up.
        secure = mesh.server_context().wrap_socket(connection, server_side=True, do_handshake_on_connect=False)
        return secure, address


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "6")
        self.end_headers()
        self.wfile.write(b"hello\n")


print("listening on 8443", flush=True)
Server(("127.0.0.1", 8443), Handler).serve_forever()

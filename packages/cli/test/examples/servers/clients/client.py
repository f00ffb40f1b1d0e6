"""Connects again and again, reads its files anew each time, and writes one line for each call: ok, or what went wrong.

python3 client.py '{"port": 1, "ca": "ca.crt", "cert": "tls.crt", "key": "tls.key", "send": "hex", "starttls": "mysql"}'
"""

import imaplib
import json
import smtplib
import socket
import ssl
import sys
import time

CALL = json.loads(sys.argv[1])
PORT = CALL["port"]


def context():
    made = ssl.create_default_context(cafile=CALL["ca"])
    if "cert" in CALL:
        made.load_cert_chain(CALL["cert"], CALL["key"])
    return made


def imap():
    with imaplib.IMAP4("localhost", PORT, timeout=10) as session:
        session.starttls(context())
        session.noop()


def smtp():
    with smtplib.SMTP("localhost", PORT, timeout=10) as session:
        session.starttls(context=context())
        session.noop()


def mysql(plain):
    head = plain.recv(4)
    plain.recv(int.from_bytes(head[:3], "little"), socket.MSG_WAITALL)
    # protocol 4.1, TLS, secure connection
    flags = (0x0200 | 0x0800 | 0x8000).to_bytes(4, "little")
    plain.sendall(bytes([32, 0, 0, 1]) + flags + bytes([0, 0, 0, 1, 45]) + bytes(23))


def call():
    if CALL.get("starttls") == "imap":
        return imap()
    if CALL.get("starttls") == "smtp":
        return smtp()
    with socket.create_connection(("127.0.0.1", PORT), timeout=10) as plain:
        if CALL.get("starttls") == "mysql":
            mysql(plain)
        with context().wrap_socket(plain, server_hostname="localhost") as secure:
            if "send" in CALL:
                secure.sendall(bytes.fromhex(CALL["send"]))
                # Over TLS 1.3 only an answer shows that the server accepted the client.
                if secure.recv(1) == b"":
                    raise ConnectionError("EOF before an answer")


while True:
    try:
        call()
        print("ok", flush=True)
    except Exception as error:
        print(type(error).__name__, " ".join(str(error).split()), flush=True)
    time.sleep(0.05)

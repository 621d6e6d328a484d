"""Each effect in the ways that the library has for it."""

import ctypes
import datetime
import ftplib
import glob
import http.client
import http.server
import io
import json
import os
import pickle
import random
import secrets
import shutil
import smtplib
import socket
import sqlite3
import tempfile
import time
import urllib.request
import uuid
from pathlib import Path


def uses_fs_read_open():
    with open("/etc/hosts") as f:
        return f.read()


def uses_fs_read_open_mode():
    return open("/etc/hosts", "rb").read()


def uses_fs_write_open_mode():
    open("/tmp/x", "w").write("x")


def uses_fs_write_open_mode_keyword():
    open("/tmp/x", mode="a").write("x")


def uses_fs_read_fs_write_open_unknown_mode(mode):
    open("/tmp/x", mode)


def uses_fs_read_fs_write_open_update():
    open("/tmp/x", "r+")


def uses_fs_read_io_open():
    io.open("/etc/hosts")


def uses_fs_read_path():
    return Path("/etc/hosts").read_text()


def uses_fs_read_path_annotation(path: Path):
    return path.read_bytes()


def uses_fs_read_path_optional(path: "Path | None" = None):
    return path.read_bytes()


def uses_fs_read_path_of_parts(a, b):
    return (Path(a) / b).with_suffix(".txt").read_text()


def uses_fs_read_path_listing(a):
    for entry in Path(a).iterdir():
        entry.name


def uses_fs_write_path_below(a):
    for entry in list_of_paths(a):
        entry.unlink()


def list_of_paths(a):
    return [Path(a) / "x"]


def uses_fs_write_path_open(a):
    with Path(a).open("w") as f:
        f.write("x")


def uses_fs_read_unknown_receiver(path):
    return path.read_text()


def uses_fs_read_listdir():
    return os.listdir("."), glob.glob("*")


def uses_fs_write_remove():
    os.remove("x")
    shutil.rmtree("y")


def uses_fs_write_temporary():
    return tempfile.mkdtemp()


def uses_fs_read_fs_write_copy():
    shutil.copy("a", "b")


def uses_fs_read_fs_write_sqlite():
    sqlite3.connect("x.db")


def uses_net_connect_urlopen():
    urllib.request.urlopen("https://api.example.com/v1")


def uses_net_connect_socket():
    s = socket.socket()
    s.connect(("example.com", 80))


def uses_net_connect_socket_with():
    with socket.socket(socket.AF_INET) as s:
        s.connect(("example.com", 80))


def uses_net_connect_http():
    c = http.client.HTTPSConnection("example.com")
    c.request("GET", "/")


def uses_net_connect_mail():
    smtplib.SMTP("mail.example.com")
    ftplib.FTP("ftp.example.com")


def uses_net_listen_socket():
    s = socket.socket()
    s.bind(("", 80))


def uses_net_listen_http():
    http.server.HTTPServer(("", 80), None)


def uses_net_dns_lookup():
    socket.getaddrinfo("example.com", 80)


def uses_env_read_getenv():
    return os.getenv("HOME")


def uses_env_read_environ():
    return os.environ["HOME"]


def uses_env_read_environ_get():
    return os.environ.get("HOME", "")


def uses_env_read_environ_whole():
    return dict(os.environ)


def uses_env_read_environ_in():
    return "HOME" in os.environ


def uses_env_write_environ():
    os.environ["PATH"] = "/tmp"


def uses_env_write_environ_update():
    os.environ.update({"PATH": "/tmp"})


def uses_env_write_delete():
    del os.environ["PATH"]


def uses_env_write_chdir():
    os.chdir("/")


def uses_env_read_home():
    return Path.home(), os.getcwd()


def uses_random_all():
    return random.random(), secrets.token_hex(), uuid.uuid4(), os.urandom(3)


def uses_clock_all():
    return time.time(), datetime.datetime.now(), datetime.date.today()


def uses_dlopen_ctypes():
    return ctypes.CDLL("libc.so.6")


def uses_dlopen_ffi_ctypes_call():
    ctypes.CDLL("libc.so.6").system(b"ls")


def uses_dyn_unresolved_eval(text):
    return eval(text)


def uses_dyn_unresolved_exec():
    exec("import os")


def uses_dyn_unresolved_pickle(data):
    return pickle.loads(data)


def uses_dyn_unresolved_subclasses():
    return ().__class__.__base__.__subclasses__()


def clean_json(data):
    return json.dumps(json.loads(data))


def clean_already_open(stream):
    stream.write("x")
    return stream.read()


def clean_formatting(moment):
    return time.strftime("%Y", time.gmtime(0)), datetime.timedelta(days=1), moment.isoformat()


def clean_socket_only():
    return socket.AF_INET, socket.socket

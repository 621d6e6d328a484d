//! Python, with the parts of its library that ask most of the system.

use crate::matrix::check::{Check, ok};

#[rustfmt::skip]
pub(crate) const CHECKS: &[Check] = &[
    Check::steps("python::json", &[ok(&[], &["python3", "-c", "import json; print(json.dumps({'a': [1, None]}))"], r#"{"a": [1, null]}"#)]),
    Check::steps("python::script_and_modules", &[
        ok(&[], &["sh", "-c", "echo 'def f(): return 42' > mine.py; echo 'import mine; print(mine.f())' > main.py"], ""),
        ok(&[], &["python3", "main.py"], "42"),
    ]),
    Check::steps("python::ssl", &[ok(&[], &["python3", "-c",
        "import ssl; context = ssl.create_default_context(); print('roots', len(context.get_ca_certs()) > 10)"], "roots True")]),
    Check::steps("python::sqlite3", &[ok(&[], &["python3", "-c", "
import sqlite3
db = sqlite3.connect('a.db')
db.execute('pragma journal_mode=wal')
db.execute('create table t (x)')
with db: db.executemany('insert into t values (?)', [(n,) for n in range(100)])
print(db.execute('select sum(x) from t').fetchone())"], "4950")]),
    Check::steps("python::tempfile", &[ok(&[], &["python3", "-c", "
import tempfile, os
with tempfile.NamedTemporaryFile() as f: f.write(b'x'); f.flush(); print(os.path.getsize(f.name))
with tempfile.TemporaryDirectory() as d: open(d + '/a', 'w').write('y'); print(os.listdir(d))
with tempfile.TemporaryFile() as f: f.write(b'z')"], "['a']")]),
    Check::steps("python::subprocess", &[ok(&["--exec", "echo", "--exec", "sh"], &["python3", "-c", "
import subprocess
print(subprocess.run(['echo', 'one'], capture_output=True, text=True).stdout.strip() + '-' +
      subprocess.check_output('echo two', shell=True, text=True).strip())
try: subprocess.run(['id'])
except OSError as error: print(type(error).__name__)"], "one-two")]),
    Check::steps("python::multiprocessing_fork", &[ok(&[], &["python3", "-c", "
import multiprocessing as m
if __name__ == '__main__':
    with m.Pool(2) as pool: print(pool.map(abs, [-1, -2, -3]))"], "[1, 2, 3]")]),
    Check::steps("python::multiprocessing_spawn", &[
        ok(&[], &["sh", "-c", "printf '%s\\n' 'import multiprocessing as m' 'def f(q): q.put(7)' 'if __name__ == \"__main__\":' ' c = m.get_context(\"spawn\")' ' q = c.Queue()' ' p = c.Process(target=f, args=(q,))' ' p.start()' ' print(\"got\", q.get())' ' p.join()' > s.py"], ""),
        ok(&[], &["python3", "s.py"], "got 7"),
    ]),
    Check::steps("python::shared_memory", &[ok(&[], &["python3", "-c", "
from multiprocessing import shared_memory
s = shared_memory.SharedMemory(create=True, size=4096); s.buf[0] = 9; print('byte', s.buf[0]); s.close(); s.unlink()"], "byte 9")]),
    Check::steps("python::shared_anonymous_memory", &[ok(&["--limit", "memory=64M"], &["python3", "-c", "
import mmap, os
pieces = [mmap.mmap(-1, 1 << 20) for _ in range(8)]
if os.fork() == 0:
    for piece in pieces: piece.write(b'x' * (1 << 20))
    os._exit(0)
os.wait(); print(sum(piece[-1] for piece in pieces))"], "960")]),
    Check::steps("python::many_sockets", &[ok(&[], &["python3", "-c", "
import socket
pairs = [socket.socketpair() for _ in range(200)]
for one, other in pairs: one.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20); one.send(b'x')
print(sum(len(other.recv(9)) for one, other in pairs))"], "200")]),
    Check::steps("python::asyncio", &[ok(&["--exec", "echo"], &["python3", "-c", "
import asyncio
async def main():
    child = await asyncio.create_subprocess_exec('echo', 'hi', stdout=asyncio.subprocess.PIPE)
    out, _ = await child.communicate()
    async def serve(reader, writer): writer.write(await reader.readline()); await writer.drain(); writer.close()
    server = await asyncio.start_server(serve, '127.0.0.1', 0)
    reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname()[:2])
    writer.write(b'echoed\\n'); line = await reader.readline()
    print(out.decode().strip(), line.decode().strip())
asyncio.run(main())"], "hi echoed")]),
    Check::steps("python::threads", &[ok(&[], &["python3", "-c", "
from concurrent.futures import ThreadPoolExecutor
with ThreadPoolExecutor(8) as pool: print(sum(pool.map(lambda n: n * n, range(100))))"], "328350")]),
    Check::steps("python::no_network", &[ok(&[], &["python3", "-c", "
import urllib.request
try: urllib.request.urlopen('http://example.invalid/', timeout=3)
except OSError as error: print('clean', type(error).__name__)"], "clean URLError")]),
    Check::steps("python::time_zone_and_locale", &[ok(&[], &["python3", "-c", "
import zoneinfo, datetime, locale, getpass, os
print(datetime.datetime(2024, 7, 1, tzinfo=zoneinfo.ZoneInfo('Europe/Berlin')).utcoffset(), os.path.expanduser('~'), len(os.urandom(8)))"], "2:00:00 /tmp 8")]),
];

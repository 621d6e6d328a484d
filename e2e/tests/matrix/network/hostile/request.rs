//! Port 80: whom each request on a connection names, and what two readers could read differently.

use crate::matrix::network::attempt::{
    Alone, Attempt, HONEST, NOBODY, is_refused, reaches_only_near, spares_the_other,
};
use crate::matrix::network::ends::{Ends, Ran};

/// Exactly one request arrived.
fn one_request(ends: &Ends<'_>, ran: &Ran) -> Result<(), String> {
    spares_the_other(ends, ran)?;
    ends.near.connections();
    let log = ends.near.log.lock().unwrap();
    let foreign = log.requests.iter().any(|head| head.contains("/second") || head.contains("other.rf.test"));
    if log.requests.len() == 1 && !foreign { Ok(()) } else { Err(format!("{:?}: {ran:?}", log.requests)) }
}

/// Whatever arrived, a reader that takes everything found no request for another host in it.
fn no_foreign_request(ends: &Ends<'_>, ran: &Ran) -> Result<(), String> {
    spares_the_other(ends, ran)?;
    ends.near.connections();
    let log = ends.near.log.lock().unwrap();
    let foreign = log.requests.iter().find(|head| {
        let first = head.lines().next().unwrap_or_default();
        let hosts = head.lines().filter(|line| line.trim().to_ascii_lowercase().starts_with("host"));
        first.contains("/second") || hosts.into_iter().any(|line| line.contains("other.rf.test"))
    });
    match foreign {
        Some(head) => Err(format!("{head:?}")),
        None if log.requests.len() < 100 => Err(format!("only {} requests arrived", log.requests.len())),
        None => Ok(()),
    }
}

/// Requests arrived on one connection, and all of them.
fn three_requests(ends: &Ends<'_>, ran: &Ran) -> Result<(), String> {
    reaches_only_near(ends, ran)?;
    let (connections, requests) = (ends.near.connections(), ends.near.log.lock().unwrap().requests.len());
    if (connections, requests) == (1, 3) { Ok(()) } else { Err(format!("{connections}, {requests}")) }
}

#[rustfmt::skip]
pub(crate) const ATTEMPTS: &[Attempt] = &[
    Attempt { name: "request::host_of_another", check: is_refused, script: r#"
for text in (
    GET % other,
    GET % (other + ":80"),
    GET % (near + ":8080"),
    GET % (near + "." + other),
    GET % near_ip,
    GET % (near + "@" + other),
    GET % (other + '#' + near),
    GET % (near + " " + other),
    GET % (near + "\t"),
    GET % (near + "\0." + other),
    GET % ("http://" + near),
):
    tried(text[20:50].encode(), lambda: exchange(near, 80, text, 2))
"#, ..NOBODY },
    Attempt { name: "request::two_hosts_or_none", check: is_refused, script: r#"
end = "Connection: close\r\n\r\n"
for text in (
    "GET /t HTTP/1.1\r\n" + end,
    "GET /t HTTP/1.0\r\n\r\n",
    "GET /t HTTP/1.1\r\nHost:\r\n" + end,
    "GET /t HTTP/1.1\r\nHost: %s\r\nHost: %s\r\n" % (near, other) + end,
    "GET /t HTTP/1.1\r\nHost: %s\r\nHost: %s\r\n" % (other, near) + end,
    "GET /t HTTP/1.1\r\nHost: %s\r\n Host: %s\r\n" % (near, other) + end,
    "GET /t HTTP/1.1\r\nHost : %s\r\nX: y\r\n" % near + end,
    "GET /t HTTP/1.1\r\nHost: %s,%s\r\n" % (near, other) + end,
    "GET /t HTTP/1.1\nHost: %s\n\n" % near,
    "GET /t HTTP/1.1\rHost: %s\r\nHost: %s\r\n" % (other, near) + end,
    "GET /t HTTP/1.1\r\nX: a\nHost: %s\r\nHost: %s\r\n" % (other, near) + end,
):
    tried(text[:60].encode(), lambda: exchange(near, 80, text, 2))
"#, ..NOBODY },
    Attempt { name: "request::target_of_another", check: is_refused, script: r#"
end = "Host: %s\r\nConnection: close\r\n\r\n" % near
for line in ("GET http://%s/t HTTP/1.1" % other, "GET https://%s/t HTTP/1.1" % near, "GET http://%s:8080/t HTTP/1.1" % near, "GET http://a@%s/t HTTP/1.1" % near,
             "CONNECT %s:443 HTTP/1.1" % other, "CONNECT %s:80 HTTP/1.1" % near, "GET * HTTP/1.1", "GET %s HTTP/1.1" % other, "GET  /t HTTP/1.1",
             "GET /t HTTP/1.1 x", "GET /t", "GET /t HTTP/2.0", "GET /t HTTP/0.9", "GET /t http/1.1", "GET /\0t HTTP/1.1"):
    tried(line.encode(), lambda: exchange(near, 80, line + "\r\n" + end, 2))
"#, ..NOBODY },
    Attempt { name: "request::http_2", check: is_refused, script: r#"
tried("preface", lambda: exchange(near, 80, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + "\0\0\0\x04\0\0\0\0\0", 2))
tried("upgrade", lambda: exchange(near, 80, "GET /t HTTP/1.1\r\nHost: %s\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n" % near, 2))
"#, ..NOBODY },
    Attempt { name: "request::what_is_no_request", check: is_refused, alone: Alone::Untried, script: r#"
for text in (hello(near), b"\0" * 100, b"SSH-2.0-x\r\n", b"\r\n\r\n", b"\x05\x01\0", b"\x04\x01\0\x50\x7f\0\0\1\0", b"\xff" * 1000, b"GET " + b"a" * 100000, (b"GET /t HTTP/1.1\r\nHost: %s\r\n" % near.encode()) + b"A: b\r\n" * 5000 + b"\r\n"):
    tried(text[:8], lambda: exchange(near, 80, text, 2))
"#, ..NOBODY },
    Attempt { name: "request::second_names_another", check: one_request, alone: Alone::Untried, script: r#"
tried("pipelined", lambda: exchange(near, 80, "GET /t HTTP/1.1\r\nHost: %s\r\n\r\nGET /second HTTP/1.1\r\nHost: %s\r\n\r\n" % (near, other), 2))
"#, ..NOBODY },
    Attempt { name: "request::second_later_names_another", check: one_request, alone: Alone::Untried, script: r#"
with tcp(near, 80, 2) as stream:
    stream.sendall(("GET /t HTTP/1.1\r\nHost: %s\r\n\r\n" % near).encode())
    print(stream.recv(4096))
    stream.sendall(("GET /second HTTP/1.1\r\nHost: %s\r\n\r\n" % other).encode())
    print(heard(stream))
"#, ..NOBODY },
    Attempt { name: "request::body_that_is_a_request", check: one_request, alone: Alone::Untried, script: r#"
inner = "GET /second HTTP/1.1\r\nHost: %s\r\n\r\n" % other
tried("length", lambda: exchange(near, 80, "POST /t HTTP/1.1\r\nHost: %s\r\nContent-Length: %d\r\n\r\n%s" % (near, len(inner), inner), 1))
"#, ..NOBODY },
    Attempt { name: "request::lengths_two_ways", check: is_refused, alone: Alone::Untried, script: r#"
inner = "GET /second HTTP/1.1\r\nHost: %s\r\n\r\n" % other
for fields in ("Content-Length: 5\r\nTransfer-Encoding: chunked", "Content-Length: 5\r\nContent-Length: 6", "Content-Length: 5, 5", "Content-Length: +5", "Content-Length: 0x5", "Content-Length: -1",
               "Transfer-Encoding: chunked, chunked", "Transfer-Encoding: xchunked", "Transfer-Encoding: identity", "Transfer-Encoding: gzip, chunked", "Transfer-Encoding : chunked",
               "Transfer-Encoding:\x0bchunked", "Content-Length: 99999999999999999999999", "Content-Length: 5 ", "Content-Length: 5\r\n\tfolded"):
    tried(fields.encode(), lambda: exchange(near, 80, "POST /t HTTP/1.1\r\nHost: %s\r\n%s\r\n\r\n0\r\n\r\n%s" % (near, fields, inner), 1))
"#, ..NOBODY },
    Attempt { name: "request::mutated", check: no_foreign_request, flags: &["--limit", "connections=2000", "--limit", "wall=50s"], alone: Alone::Untried, script: r#"
import random
chance = random.Random(20)
evil = b"GET /second HTTP/1.1\r\nHost: %s\r\n\r\n" % other.encode()
host = b"Host: %s\r\n" % near.encode()
pieces = [b"\r\n", b"\n", b"\r", b"\0", b" ", b"\t", b":", b",", b";", b"\x0b", b"\x0c", b"\x85", b"\xa0", b"0\r\n\r\n", b"\r\n\r\n", b"\n\n", b"Content-Length: 0\r\n", b"Transfer-Encoding: chunked\r\n",
          b"Content-Length: %d\r\n" % len(evil), b"transfer-encoding: identity\r\n", b"chunked", b"+", b"-", b"0x", b"00", b"\x80", b"Expect: 100-continue\r\n", b"Upgrade: websocket\r\n", b"HTTP/1.0", b"Connection: content-length\r\n", host, evil]
bases = [
    b"GET /t HTTP/1.1\r\n" + host + b"\r\n",
    b"POST /t HTTP/1.1\r\n" + host + b"Content-Length: %d\r\n\r\n" % len(evil) + evil,
    b"POST /t HTTP/1.1\r\n" + host + b"Transfer-Encoding: chunked\r\n\r\n%x\r\n" % len(evil) + evil + b"\r\n0\r\n\r\n",
    b"POST /t HTTP/1.1\r\n" + host + b"Transfer-Encoding: chunked\r\n\r\n1;a=b\r\nx\r\n0\r\nTrailer: x\r\n\r\n",
    b"POST /t HTTP/1.1\r\n" + host + b"Content-Length: 3\r\n\r\nabc",
]
for number in range(2500):
    text = bytearray(chance.choice(bases) + chance.choice([b"", chance.choice(bases)]) + chance.choice([b"", evil]))
    for _ in range(chance.randrange(4)):
        at = chance.randrange(len(text) + 1)
        if chance.random() < 0.7:
            text[at:at + chance.choice([0, 0, 1, 2])] = chance.choice(pieces)
        else:
            del text[at:at + chance.randrange(1, 4)]
    try:
        with tcp(near, 80) as stream:
            stream.sendall(text)
            stream.shutdown(socket.SHUT_WR)
            heard(stream)
    except OSError:
        pass
"#, ..NOBODY },
    Attempt { name: "request::three_pipelined", check: three_requests, script: r#"
one = "GET /t HTTP/1.1\r\nHost: %s\r\n\r\n" % near
print(exchange(near, 80, one + "POST /t HTTP/1.1\r\nHost: %s:80\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n" % near + one, 1))
"#, ..HONEST },
    Attempt { name: "request::byte_by_byte", script: r#"
with tcp(near, 80, 2) as stream:
    stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for byte in (GET % near.upper()).encode():
        stream.sendall(bytes([byte]))
    print(heard(stream))
"#, ..HONEST },
    Attempt { name: "request::web_socket", script: r#"
with tcp(near, 80, 2) as stream:
    stream.sendall(("GET /ws HTTP/1.1\r\nHost: %s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n" % near).encode())
    said = b""
    while b"token" not in said:
        said += stream.recv(4096)
    print(said)
    stream.sendall(b"\x81\x05hello GET / HTTP/1.1\r\nHost: any\r\n\r\n")
    print(stream.recv(4096))
"#, says: &["101 Switching", "hello GET / HTTP/1.1"], ..HONEST },
];

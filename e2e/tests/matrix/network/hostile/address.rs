//! Going by address, by port or by another protocol, past the names.

use crate::matrix::network::attempt::{Alone, Attempt, HONEST, NOBODY, is_refused};

#[rustfmt::skip]
pub(crate) const ATTEMPTS: &[Attempt] = &[
    Attempt { name: "address::bare", check: is_refused, script: r#"
tried("80", lambda: exchange(other_ip, 80, GET % other))
tried("443", lambda: sealed(other_ip, 443, other))
tried("22", lambda: heard(tcp(other_ip, 22, 1)))
"#, ..NOBODY },
    Attempt { name: "address::bare_of_a_granted_name", check: is_refused, script: r#"
tried("80", lambda: exchange(near_ip, 80, GET % near))
tried("443", lambda: sealed(near_ip, 443, near))
"#, ..NOBODY },
    Attempt { name: "address::loopback_of_the_host", script: r#"
for host in ("127.0.0.1", "localhost", "0.0.0.0"):
    tried(host, lambda: exchange(host, canary, GET % other))
"#, ..NOBODY },
    Attempt { name: "address::address_of_the_host", script: r#"
tried("own", lambda: exchange(own_ip, own_port, GET % other))
"#, ..NOBODY },
    Attempt { name: "address::where_clouds_keep_keys", alone: Alone::Untried, script: r#"
for host in ("169.254.169.254", "169.254.170.2", "100.100.100.200", "fd00:ec2::254"):
    for port in (80, 443):
        tried(host, lambda: exchange(host, port, GET % host, 1))
"#, ..NOBODY },
    Attempt { name: "address::stands_for_a_name_nobody_asked_for", alone: Alone::Untried, check: is_refused, script: r#"
for host in ["198.18.0.%d" % last for last in range(1, 30)] + ["198.18.1.1", "198.19.255.254", "198.18.0.0"]:
    tried(host, lambda: exchange(host, 80, GET % near, 1))
    tried(host, lambda: exchange(host, 443, hello(near), 1))
"#, ..NOBODY },
    Attempt { name: "address::port_of_a_granted_name", script: r#"
tried("22", lambda: heard(tcp(near, 22, 1)))
tried("5432", lambda: exchange(near, 5432, b"\0\0\0\x08\x04\xd2\x16\x2f", 1))
"#, ..NOBODY },
    Attempt { name: "address::usual_port_that_is_not_named", hosts: &["{near}:443"], check: is_refused, script: r#"
tried("80", lambda: exchange(near, 80, GET % near))
"#, ..NOBODY },
    Attempt { name: "address::named_port_of_another_name", hosts: &["{near}:22", "{other}:443"], check: is_refused, script: r#"
tried("other", lambda: heard(tcp(other, 22, 1)))
"#, ..NOBODY },
    Attempt { name: "address::datagrams", script: r#"
for host, port in ((other_ip, 9), (near, 9), (near_ip, 9), (other_ip, 53), (near, 53)):
    def send():
        one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        one.settimeout(0.3)
        one.sendto(b"out", (host, port))
        return one.recv(512)
    tried(host, send)
"#, ..NOBODY },
    Attempt { name: "address::other_protocols", alone: Alone::Untried, script: r#"
for family, kind, protocol in ((2, 1, 262), (2, 1, 132), (2, 5, 132), (2, 3, 1), (2, 3, 6), (2, 3, 255), (2, 2, 1), (17, 3, 768), (10, 3, 58), (40, 1, 0), (16, 3, 0)):
    def connect():
        one = socket.socket(family, kind, protocol)
        one.settimeout(0.5)
        one.connect((other_ip, 80))
        one.sendall((GET % other).encode())
        return one.recv(512)
    tried((family, kind, protocol), connect)
"#, ..NOBODY },
    Attempt { name: "address::data_with_the_first_packet", script: r#"
def first():
    one = socket.socket()
    one.settimeout(2)
    one.sendto((GET % other).encode(), 0x20000000, (other_ip, 80))
    return one.recv(512)
tried("fast open", first)
tried("plainly", lambda: exchange(other_ip, 80, GET % other))
"#, ..NOBODY },
    Attempt { name: "address::a_listener_of_its_own_is_not_the_gate", alone: Alone::Untried, script: r#"
one = socket.socket()
one.bind(("0.0.0.0", 8080))
one.listen()
there = tcp("127.0.0.1", 8080)
back, _ = one.accept()
back.sendall(b"own")
print(there.recv(3))
"#, says: &["b'own'"], ..NOBODY },
    Attempt { name: "address::server_speaks_first", hosts: &["{near}:22"], script: r#"
with tcp(near, 22) as stream:
    print(stream.recv(100))
    stream.sendall(b"and back\n")
    print(stream.recv(100))
"#, says: &["SSH-2.0-far", "and back"], ..HONEST },
    Attempt { name: "address::port_named_beside_the_name_alone", hosts: &["{near}", "{near}:22"], script: r#"
print(tcp(near, 22).recv(100))
"#, says: &["SSH-2.0-far"], ..HONEST },
    Attempt { name: "address::port_named_for_another_name", hosts: &["{near}", "{other}:22"], script: r#"
print(tcp(near, 22).recv(100))
"#, says: &["SSH-2.0-far"], ..HONEST },
    Attempt { name: "address::postgres", hosts: &["{near}:5432"], script: r#"
with tcp(near, 5432) as stream:
    stream.sendall(struct.pack(">II", 8, 80877103))
    print(stream.recv(1))
    startup = struct.pack(">I", 196608) + b"user\0a\0\0"
    stream.sendall(struct.pack(">I", len(startup) + 4) + startup)
    print(stream.recv(15))
    stream.sendall(b"Q\0\0\0\x0dselect 1\0")
    print(stream.recv(500))
"#, says: &["b'N'"], ..HONEST },
    Attempt { name: "address::half_closed", hosts: &["{near}:22"], script: r#"
with tcp(near, 22) as stream:
    stream.sendall(b"last words")
    stream.shutdown(socket.SHUT_WR)
    print(heard(stream))
"#, says: &["last words"], ..HONEST },
];

//! Questions for names: strange ones, other kinds, other servers, many.

use crate::matrix::network::attempt::{Alone, Attempt, NOBODY, is_refused, reaches_nobody};
use crate::matrix::network::ends::{Ends, OTHER, Ran};

/// The name that is not granted is told of, once.
fn tells_of_the_other(ends: &Ends<'_>, ran: &Ran) -> Result<(), String> {
    reaches_nobody(ends, ran)?;
    let count = ran.connections.iter().filter(|one| one["host"] == OTHER).count();
    ran.tells(OTHER, "refused")?;
    if count == 1 { Ok(()) } else { Err(format!("told of {count} times: {ran:?}")) }
}

/// Every name has printable characters only where it is told of.
fn tells_cleanly(ends: &Ends<'_>, ran: &Ran) -> Result<(), String> {
    is_refused(ends, ran)?;
    let dirty = |one: &&serde_json::Value| {
        one["host"].as_str().is_none_or(|host| host.chars().any(char::is_control) || host.len() > 1100)
    };
    match ran.connections.iter().find(dirty) {
        Some(one) => Err(format!("not fit to be shown: {one}")),
        None => Ok(()),
    }
}

/// Only as many new names as the limit says.
fn is_limited(ends: &Ends<'_>, ran: &Ran) -> Result<(), String> {
    is_refused(ends, ran)?;
    let over = ran.connections.iter().filter(|one| one["code"] == "LIMIT_EXCEEDED").count();
    if over > 0 { Ok(()) } else { Err(format!("no limit is told of: {ran:?}")) }
}

#[rustfmt::skip]
pub(crate) const ATTEMPTS: &[Attempt] = &[
    Attempt { name: "dns::granted", alone: Alone::Untried, script: r#"
print("udp", asked(question(labels(near))))
print("case", asked(question(labels("NeAr.rF.tEsT"))))
with tcp("127.0.0.1", 53) as stream:
    packet = question(labels(near))
    for part in (struct.pack(">H", len(packet)), packet, struct.pack(">H", len(packet)) + packet):
        stream.sendall(part)
    said = stream.recv(4096)
    while len(said) < 2 * (2 + len(packet) + 16):
        said += stream.recv(4096)
    print("tcp", answer(said[2:]))
first = asked(question(labels(near)))[1]
print("same" if first == asked(question(labels(near)))[1] and first[0].startswith("198.18.") else first)
"#, says: &["udp (0, ['198.18.", "case (0, ['198.18.", "tcp (0, ['198.18.", "same"], ..NOBODY },
    Attempt { name: "dns::other_name", alone: Alone::Untried, check: tells_of_the_other, script: r#"
for _ in range(3):
    print("udp", asked(question(labels(other))))
print("tcp", answer(exchange("127.0.0.1", 53, struct.pack(">H", len(question(labels(other)))) + question(labels(other)), 1)[2:]))
started = time.time()
tried("libc", lambda: socket.getaddrinfo(other, 443))
print("at once" if time.time() - started < 1 else "slow")
"#, says: &["udp (3, [])", "tcp (3, [])", "libc -> failed: gaierror", "at once"], ..NOBODY },
    Attempt { name: "dns::other_kinds", alone: Alone::Untried, script: r#"
print([asked(question(labels(near), kind)) for kind in (28, 15, 16, 255, 65, 33, 12, 5, 6, 2, 46, 252)])
print([asked(question(labels(other), kind))[1] for kind in (28, 15, 16, 255, 65, 33, 12, 5, 6, 2, 46, 252)])
"#, says: &["[(0, []), (0, []), (0, [])", "[[], [], [], [], [], [], [], [], [], [], [], []]"], ..NOBODY },
    Attempt { name: "dns::strange_names", hosts: &["{near}", "*.{near}"], alone: Alone::Untried, check: tells_cleanly, script: r#"
base = labels(near)
strange = [b"a\0b", b"a b", b"a\nb", b"a\r\nb", b"%61", b"a.b", b"a\\b", b"\x1b[31m", b"a/b", b"a@b", b"a:80", b"[::1]", b"*", b"\xff\xfe", "ü".encode(), b"\xc3", b"a'b", b'a"b', b"a;b", b"a%00b", b"\x7f", b"\xe2\x80\xae"]
found = [(one, asked(question([one] + base))) for one in strange]
found += [(one, asked(question([one]))) for one in strange]
found += [(one, asked(question([near.encode() + one]))) for one in (b"\0", b".", b"\0evil", b" ", b"%00")]
found += [("suffix", asked(question(base + [b"evil"]))), ("joined", asked(question([near.encode()]))), ("glued", asked(question([b"evil" + base[0]] + base[1:])))]
print("found", [one for one in found if one[1][1]])
"#, says: &["found []\n"], ..NOBODY },
    Attempt { name: "dns::long_names", hosts: &["{near}", "*.{near}"], alone: Alone::Untried, script: r#"
base = labels(near)
def raw(name): return struct.pack(">HHHHHH", 1, 0x100, 1, 0, 0, 0) + name + struct.pack(">HH", 1, 1)
encoded = b"".join(bytes([len(one)]) + one for one in base) + b"\0"
packets = [
    question([b"a" * 63] * 4 + base),                         # 270 bytes
    question([b"a" * 63] * 20 + base),
    raw(bytes([64]) + b"a" * 64 + encoded),                   # a label of 64 bytes
    raw(bytes([0xC0, 12])),                                   # a name that is itself
    raw(bytes([1]) + b"a" + bytes([0xC0, 12])),               # a name that contains itself
    raw(bytes([0xC0, 0xFF])), raw(b""), raw(b"\0"), raw(bytes([63]) + b"short"), b"", b"\0" * 11, b"\xff" * 512, b"\0" * 4000,
    question(base, flags=0x8180), question(base, flags=0x2800), question(base)[:-3],
    question(base)[:4] + b"\xff\xff" + question(base)[6:],    # 65,535 questions
    raw(b"\x01a" * 127 + b"\0"),
]
for packet in packets:
    tried(len(packet), lambda: asked(packet, timeout=0.2)[1])
print("after", asked(question(base)))
"#, says: &["after (0, ['198.18."], ..NOBODY },
    Attempt { name: "dns::servers_outside", alone: Alone::Untried, script: r#"
for server in ("8.8.8.8", "1.1.1.1", other_ip, "198.18.0.1", "192.0.2.53"):
    tried(server, lambda: asked(question(labels(other)), server, 0.3))
    packet = question(labels(other))
    tried(server, lambda: answer(exchange(server, 53, struct.pack(">H", len(packet)) + packet, 1)[2:]))
"#, ..NOBODY },
    Attempt { name: "dns::tunnel_by_subdomain", hosts: &["*.{near}"], flags: &["--limit", "names-per-minute=20"], alone: Alone::Untried,
        check: is_limited, script: r#"
given = sum(1 for number in range(200) if asked(question([b"secret-%d" % number] + labels(near)))[1])
print("given", "few" if 15 <= given <= 30 else given)
print("apex", asked(question(labels(near)))[1])
print("known", len(asked(question([b"secret-0"] + labels(near)))[1]))
"#, says: &["given few", "apex []", "known 1"] },
    Attempt { name: "dns::over_tcp_slowly", alone: Alone::Untried, script: r#"
held = []
for _ in range(100):
    try:
        one = tcp("127.0.0.1", 53, 1)
        one.sendall(b"\x00")
        held.append(one)
    except OSError:
        pass
print("still", asked(question(labels(near))))
"#, says: &["still (0, ['198.18."], ..NOBODY },
];

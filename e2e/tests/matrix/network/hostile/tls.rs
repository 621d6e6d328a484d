//! Port 443: whose name the ClientHello carries, and what is no ClientHello.

use crate::matrix::network::attempt::{Alone, Attempt, HONEST, NOBODY, is_refused, reaches_only_near};
use crate::matrix::network::ends::{Ends, NEAR, Ran};

/// Exactly the handshakes for the granted name arrived.
fn shakes_near_only(ends: &Ends<'_>, ran: &Ran) -> Result<(), String> {
    reaches_only_near(ends, ran)?;
    let log = ends.near.log.lock().unwrap();
    if log.handshakes.iter().all(|name| name.as_deref() == Some(NEAR)) {
        Ok(())
    } else {
        Err(format!("{:?}", log.handshakes))
    }
}

#[rustfmt::skip]
pub(crate) const ATTEMPTS: &[Attempt] = &[
    Attempt { name: "tls::name_of_another", check: is_refused, script: r#"
tried("other", lambda: sealed(near, 443, other))
tried("below", lambda: sealed(near, 443, "a." + near))
tried("above", lambda: sealed(near, 443, near.split(".", 1)[1]))
tried("glued", lambda: sealed(near, 443, "x" + near))
"#, ..NOBODY },
    Attempt { name: "tls::no_name", check: is_refused, script: r#"
tried("nameless", lambda: sealed(near, 443, None))
tried("address", lambda: sealed(near, 443, near_ip))
"#, ..NOBODY },
    Attempt { name: "tls::name_of_another_byte_by_byte", check: is_refused, script: r#"
tried("other", lambda: sealed(near, 443, other, pieces=1))
"#, ..NOBODY },
    Attempt { name: "tls::granted_name_at_the_address_of_another", hosts: &["{near}", "{other}:22"], check: is_refused, script: r#"
tried("crossed", lambda: sealed(other, 443, near))
"#, ..NOBODY },
    Attempt { name: "tls::plain_text", check: is_refused, alone: Alone::Untried, script: r#"
for text in (GET % near, "SSH-2.0-x\r\n", "\x80\x2e\x01\x03\x01" + "\0" * 60, "\0" * 200, "\x16\x03\x01\x00\x00" * 50, "\x15\x03\x01\x00\x02\x01\x00", "CONNECT %s:443 HTTP/1.1\r\n\r\n" % other):
    tried(text[:8].encode(), lambda: exchange(near, 443, text, 3))
"#, ..NOBODY },
    Attempt { name: "tls::a_hello_and_then_another", check: is_refused, alone: Alone::Untried, script: r#"
bad, good = hello(other), hello(near)
tried("other first", lambda: exchange(near, 443, bad + good, 2))
def records(body, size):
    return b"".join(b"\x16\x03\x01" + struct.pack(">H", len(body[at:at + size])) + body[at:at + size] for at in range(0, len(body), size))
tried("in records of 7", lambda: exchange(near, 443, records(bad[5:], 7), 2))
tried("longer than it is", lambda: exchange(near, 443, b"\x16\x03\x01\xff\xff" + bad[5:], 2))
tried("no end", lambda: exchange(near, 443, b"\x16\x03\x01\x40\x00" + b"\x01\xff\xff\xff" + b"a" * 16380 + (b"\x16\x03\x01\x40\x00" + b"a" * 16384) * 8, 2))
"#, ..NOBODY },
    Attempt { name: "tls::two_names_in_one_hello", check: is_refused, alone: Alone::Untried, script: r#"
body = hello(near)
name = near.encode()
at = body.index(b"\0\0" + struct.pack(">HHBH", len(name) + 5, len(name) + 3, 0, len(name)) + name)
extension = body[at:at + 9 + len(name)]
second = extension.replace(name, (other + ".")[:len(name)].encode().ljust(len(name), b"x"))
# extensions, handshake and record grow by the second name
def grown(bytes_, where, size, by):
    value = int.from_bytes(bytes_[where:where + size], "big") + by
    return bytes_[:where] + value.to_bytes(size, "big") + bytes_[where + size:]
def start_of_extensions(bytes_):
    at = 5 + 4 + 2 + 32
    at += 1 + bytes_[at]
    at += 2 + int.from_bytes(bytes_[at:at + 2], "big")
    return at + 1 + bytes_[at]
for pair in (extension + second, second + extension):
    new = body[:at] + pair + body[at + len(extension):]
    new = grown(grown(grown(new, start_of_extensions(body), 2, len(second)), 6, 3, len(second)), 3, 2, len(second))
    tried("two", lambda: exchange(near, 443, new, 2))
"#, ..NOBODY },
    Attempt { name: "tls::byte_by_byte", check: shakes_near_only, script: r#"
print(sealed(near, 443, near, pieces=1))
print(sealed(near, 443, near, pieces=3))
"#, ..HONEST },
    Attempt { name: "tls::upper_case_and_trailing_dot", check: reaches_only_near, script: r#"
print(sealed(near + ".", 443, near))
print(sealed(near.upper(), 443, near.upper()))
"#, ..HONEST },
];

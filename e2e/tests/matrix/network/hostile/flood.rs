//! Many at once, or one that never ends: an honest request that comes after must still be served.

use crate::matrix::network::attempt::{Alone, Attempt, HONEST, reaches_only_near};
use crate::matrix::network::ends::{Ends, Ran};

/// Only the honest request arrived.
fn one_connection(ends: &Ends<'_>, ran: &Ran) -> Result<(), String> {
    reaches_only_near(ends, ran)?;
    let count = ends.near.connections();
    if count == 1 { Ok(()) } else { Err(format!("{count} connections arrived")) }
}

/// Both ends of so many connections are what a machine with 20,000 open files at most can hold.
const MANY: &[&str] = &[
    "--limit",
    "open-files=10500",
    "--limit",
    "connections=9930",
    "--limit",
    "wall=120s",
    "--limit",
    "requests-per-minute=100000",
];

#[rustfmt::skip]
pub(crate) const ATTEMPTS: &[Attempt] = &[
    Attempt { name: "flood::half_open", flags: MANY, check: one_connection, script: r#"
address = socket.gethostbyname(near)
held = []
def hold(count):
    for _ in range(count):
        one = socket.socket()
        one.settimeout(60)
        try:
            one.connect((address, 443))
        except ConnectionResetError:
            pass  # it was one too many, and was hung up on before this side looked
        held.append(one)
hold(9900)
started = time.time()
print(sealed(near, 443, near))
# The gate lets go of the others after 10 seconds, and nobody waits for that.
print("at once" if time.time() - started < 9 else time.time() - started)
hold(100)
print("held", len(held))
"#, says: &["held 10000", "at once"], ..HONEST },
    Attempt { name: "flood::beyond_the_limit", check: one_connection, alone: Alone::Untried, script: r#"
address = socket.gethostbyname(near)
def begun():
    try:
        return tcp(address, 443)
    except ConnectionResetError:
        return None
held = [begun() for _ in range(600)]
def is_closed(one):
    if one is None: return True
    one.settimeout(20)
    try:
        return one.recv(1) == b""
    except TimeoutError:
        return False
    except OSError:
        return True
print("closed", sum(map(is_closed, held[300:])) >= 300)
for one in held: one and one.close()
for _ in range(600):
    try:
        print(sealed(near, 443, near)); break
    except OSError: time.sleep(0.1)
"#, flags: &["--limit", "requests-per-minute=100000"], says: &["closed True"], ..HONEST },
    Attempt { name: "flood::slowly", flags: &["--limit", "requests-per-minute=100000"], check: one_connection, script: r#"
import threading
good = hello(near)
text = (GET % near).encode()
def drip(port, bytes_):
    try:
        one = tcp(near, port)
        for byte in bytes_[:-1]:
            one.sendall(bytes([byte])); time.sleep(0.5)
    except OSError: pass
for number in range(100):
    threading.Thread(target=drip, args=((443, good), (80, text))[number % 2], daemon=True).start()
time.sleep(1)
started = time.time()
print(sealed(near, 443, near))
# The gate lets go of the others after 10 seconds, and nobody waits for that.
print("at once" if time.time() - started < 9 else time.time() - started)
"#, says: &["at once"], ..HONEST },
    Attempt { name: "flood::opened_and_reset", flags: MANY, check: one_connection, script: r#"
address = socket.gethostbyname(near)
for _ in range(3000):
    one = socket.socket()
    one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    one.connect((address, 443))
    one.close()
print(sealed(near, 443, near))
"#, ..HONEST },
    Attempt { name: "flood::questions", check: one_connection, script: r#"
one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for number in range(20000):
    one.sendto(question([b"n%d" % number, b"rf", b"test"]), ("127.0.0.1", 53))
print(sealed(near, 443, near))
"#, ..HONEST },
];

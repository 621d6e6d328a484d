//! Bytes, connections and time.

use std::time::{Duration, Instant};

use super::python;
use crate::matrix::network::ends::{Ends, NEAR};
use crate::matrix::network::far::Service;
use crate::matrix::network::speech::Speech;

/// Not one byte more leaves than the limit says.
pub(super) fn sent(ends: &mut Ends<'_>) -> Result<(), String> {
    ends.near.serve(9001, Service::Speech(Speech::Sink));
    let script = "s = socket.create_connection((near, 9001))\ntry:\n    for _ in range(100): s.sendall(b'x' * 10000)\n    s.recv(1)\nexcept OSError as e: print(e)";
    let ran = ends.confined(&["{near}:9001"], &["--limit", "sent=100000"], &python(script));
    ran.tells(NEAR, "cut")?;
    ends.near.connections();
    let arrived = ends.near.log.lock().unwrap().bytes;
    let told = ran.connections.iter().filter_map(|one| one["sent"].as_u64()).sum::<u64>();
    // What was on its way when the connection was cut may be lost; more may not arrive.
    if arrived <= 100_000 && told == 100_000 {
        return Ok(());
    }
    Err(format!("{arrived} bytes arrived, {told} are told of"))
}

/// The program gets no more than the limit says.
pub(super) fn received(ends: &mut Ends<'_>) -> Result<(), String> {
    ends.near.serve(9002, Service::Speech(Speech::Source(8 << 20)));
    let script = "s = socket.create_connection((near, 9002))\nn = 0\ntry:\n    while True:\n        b = s.recv(65536)\n        if not b: break\n        n += len(b)\nexcept OSError as e: pass\nprint('within' if n <= 1000000 else n)";
    let ran = ends.confined(&["{near}:9002"], &["--limit", "received=1000000"], &python(script));
    ran.must("within")?;
    ran.tells(NEAR, "cut")
}

/// As many as the limit says are open at once, and when one is closed another may be.
pub(super) fn connections(ends: &mut Ends<'_>) -> Result<(), String> {
    ends.near.serve(22, Service::Speech(Speech::Banner));
    let script = "
def held(count):
    all = [socket.create_connection((near, 22)) for _ in range(count)]
    alive = 0
    for one in all:
        one.settimeout(60)
        try: alive += one.recv(3) == b'SSH'
        except OSError: pass
    for one in all: one.close()
    return alive
print('alive', held(6)); time.sleep(1.5); print('again', held(3))";
    let ran = ends.confined(&["{near}:22"], &["--limit", "connections=3"], &python(script));
    ran.must("alive 3\nagain 3")?;
    let arrived = ends.near.connections();
    if arrived == 6 { Ok(()) } else { Err(format!("{arrived} connections arrived: {ran:?}")) }
}

fn is_cut(ends: &mut Ends<'_>, limit: &str, busy: &str) -> Result<(), String> {
    ends.near.serve(22, Service::Speech(Speech::Banner));
    let script = format!(
        "s = socket.create_connection((near, 22)); s.settimeout(110); started = time.time()\ntry:\n    while True:\n        b = s.recv(100)\n        if not b: break\n        {busy}\nexcept OSError as e: pass\nprint('cut' if 0.5 < time.time() - started < 100 else time.time() - started)"
    );
    let ran = ends.confined(&["{near}:22"], &["--limit", limit], &python(&script));
    ran.must("cut")?;
    ran.tells(NEAR, "cut")
}

pub(super) fn connection_time(ends: &mut Ends<'_>) -> Result<(), String> {
    is_cut(ends, "connection-time=1s", "time.sleep(0.1); s.sendall(b'more')")
}

pub(super) fn idle(ends: &mut Ends<'_>) -> Result<(), String> {
    is_cut(ends, "idle=1s", "pass")
}

/// The third request in a minute is refused.
pub(super) fn requests(ends: &mut Ends<'_>) -> Result<(), String> {
    let script = "
import http.client
for _ in range(4):
    try:
        c = http.client.HTTPConnection(near, timeout=60); c.request('GET', '/t'); print(c.getresponse().status)
    except OSError as e: print('refused')";
    let ran = ends.confined(&["{near}"], &["--limit", "requests-per-minute=2"], &python(script));
    ran.must("404\n404\n")?;
    ends.near.connections();
    let arrived = ends.near.log.lock().unwrap().requests.len();
    if arrived == 2 { Ok(()) } else { Err(format!("{arrived} requests arrived: {ran:?}")) }
}

/// What is told of a connection is what went over it.
pub(super) fn bytes(ends: &mut Ends<'_>) -> Result<(), String> {
    ends.near.serve(22, Service::Speech(Speech::Banner));
    let script = "s = socket.create_connection((near, 22)); s.sendall(b'x' * 1000); s.shutdown(1)\nn = 0\nwhile True:\n    b = s.recv(4096)\n    if not b: break\n    n += len(b)\nprint(n)";
    let ran = ends.confined(&["{near}:22"], &[], &python(script));
    ran.tells(NEAR, "done")?;
    let one = ran.connections.iter().find(|one| one["verdict"] == "done").unwrap();
    let right = one["sent"] == 1000
        && one["received"].as_u64().map(|count| count.to_string()).as_deref() == Some(ran.stdout.trim())
        && one["port"] == 22
        && one["via"] == "gate"
        && one["address"] == format!("{}:22", ends.near.address);
    if right { Ok(()) } else { Err(format!("{one} {}", ran.stdout)) }
}

/// What a command had sent when it ended still arrives.
pub(super) fn last_words(ends: &mut Ends<'_>) -> Result<(), String> {
    ends.near.serve(9001, Service::Speech(Speech::Sink));
    let script =
        "import os\ns = socket.create_connection((near, 9001)); s.sendall(b'x' * 1000000); os._exit(0)";
    let ran = ends.confined(&["{near}:9001"], &[], &python(script));
    ran.tells(NEAR, "done")?;
    let begun = Instant::now();
    while ends.near.log.lock().unwrap().bytes < 1_000_000 {
        if begun.elapsed() > Duration::from_secs(120) {
            return Err(format!("{} bytes arrived: {ran:?}", ends.near.log.lock().unwrap().bytes));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}

/// A command that is killed takes its connections with it, at once.
pub(super) fn ends_with_it(ends: &mut Ends<'_>) -> Result<(), String> {
    ends.near.serve(22, Service::Speech(Speech::Banner));
    let script = "s = socket.create_connection((near, 22))\nprint(s.recv(3), flush=True)\ntime.sleep(3600)";
    let mut failed = String::new();
    // A slow machine may not get to the connection within a second.
    for wall in [1, 5, 20] {
        let begun = Instant::now();
        let limit = format!("wall={wall}s");
        let ran = ends.confined(&["{near}:22"], &["--limit", &limit], &python(script));
        let soon = begun.elapsed() < Duration::from_secs(wall + 25);
        if ran.code == Some(124) && ran.connections.len() == 1 && soon {
            return Ok(());
        }
        failed = format!("{:?} {ran:?}", begun.elapsed());
    }
    Err(failed)
}

//! The rules beside hosts, as the command takes them: private addresses, bytes, connections, time.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::ends::{Ends, NEAR, Ran};
use super::far::{Far, Service};
use super::http::Pages;
use super::speech::Speech;
use crate::process::finished;
use crate::stage::PATH;

type Rule = fn(&mut Ends<'_>) -> Result<(), String>;

/// Every rule.
pub(crate) const RULES: &[(&str, Rule)] = &[
    ("rule::private_must_be_named", private),
    ("rule::star_is_public_only", star),
    ("rule::bytes_sent", sent),
    ("rule::bytes_received", received),
    ("rule::connections_at_once", connections),
    ("rule::connection_time", connection_time),
    ("rule::idle", idle),
    ("rule::requests_per_minute", requests),
    ("rule::far_end_is_gone", gone),
    ("rule::evidence_counts_bytes", bytes),
    ("rule::last_words_arrive", last_words),
    ("rule::ends_with_the_command", ends_with_it),
    ("rule::own_addresses_are_not_public", own),
    ("rule::wildcard_is_not_the_apex", wildcard),
    ("rule::address_of_loopback_by_itself", loopback),
    ("rule::port_of_names_is_a_port_too", port_53),
    ("rule::curl_that_says_another_name", crossed),
    ("rule::other_backends_refuse", backends),
];

fn python(script: &str) -> Vec<String> {
    let prelude = "import socket, sys, time\nnear = sys.argv[1]\n";
    ["python3", "-c", &format!("{prelude}{script}"), NEAR].map(str::to_owned).to_vec()
}

fn curl(url: &str) -> Vec<String> {
    ["curl", "-sS", "--fail", "--max-time", "10", url].map(str::to_owned).to_vec()
}

/// A granted name on loopback is refused where `private` does not name it, or its range.
fn private(ends: &mut Ends<'_>) -> Result<(), String> {
    let ran = ends.run_with(&["{near}"], &[], &curl("http://{near}/t"), PATH);
    is_refused(&ran)?;
    ran.tells(NEAR, "refused")?;
    ends.untouched()?;
    for private in ["{near-ip}", "127.0.0.0/8", "*.rf.test"] {
        let ran = ends.run_with(&["{near}"], &["--private", private], &curl("http://{near}/page"), PATH);
        ran.tells(NEAR, "done").map_err(|why| format!("{private}: {why}"))?;
    }
    ends.other_untouched()
}

/// `*` is every public host: no name that leads to loopback, and no address of it.
fn star(ends: &mut Ends<'_>) -> Result<(), String> {
    let urls = [
        "http://{near}/t",
        "http://{near-ip}/t",
        "http://127.0.0.1/t",
        "http://169.254.169.254/t",
        "http://[::1]/t",
    ];
    for url in urls {
        is_refused(&ends.run_with(&["*"], &[], &curl(url), PATH))?;
    }
    ends.untouched()
}

fn is_refused(ran: &Ran) -> Result<(), String> {
    if ran.code == Some(0) || ran.dialled().count() > 0 { Err(format!("{ran:?}")) } else { Ok(()) }
}

/// Not one byte more leaves than the limit says.
fn sent(ends: &mut Ends<'_>) -> Result<(), String> {
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
fn received(ends: &mut Ends<'_>) -> Result<(), String> {
    ends.near.serve(9002, Service::Speech(Speech::Source(8 << 20)));
    let script = "s = socket.create_connection((near, 9002))\nn = 0\ntry:\n    while True:\n        b = s.recv(65536)\n        if not b: break\n        n += len(b)\nexcept OSError as e: pass\nprint('within' if n <= 1000000 else n)";
    let ran = ends.confined(&["{near}:9002"], &["--limit", "received=1000000"], &python(script));
    ran.must("within")?;
    ran.tells(NEAR, "cut")
}

/// As many as the limit says are open at once, and when one is closed another may be.
fn connections(ends: &mut Ends<'_>) -> Result<(), String> {
    ends.near.serve(22, Service::Speech(Speech::Banner));
    let script = "
def held(count):
    all = [socket.create_connection((near, 22)) for _ in range(count)]
    alive = 0
    for one in all:
        one.settimeout(2)
        try: alive += one.recv(3) == b'SSH'
        except OSError: pass
    for one in all: one.close()
    return alive
print('alive', held(6)); time.sleep(0.3); print('again', held(3))";
    let ran = ends.confined(&["{near}:22"], &["--limit", "connections=3"], &python(script));
    ran.must("alive 3\nagain 3")?;
    let arrived = ends.near.connections();
    if arrived == 6 { Ok(()) } else { Err(format!("{arrived} connections arrived: {ran:?}")) }
}

fn is_cut(ends: &mut Ends<'_>, limit: &str, busy: &str) -> Result<(), String> {
    ends.near.serve(22, Service::Speech(Speech::Banner));
    let script = format!(
        "s = socket.create_connection((near, 22)); s.settimeout(8); started = time.time()\ntry:\n    while True:\n        b = s.recv(100)\n        if not b: break\n        {busy}\nexcept OSError as e: pass\nprint('cut' if 0.5 < time.time() - started < 5 else time.time() - started)"
    );
    let ran = ends.confined(&["{near}:22"], &["--limit", limit], &python(&script));
    ran.must("cut")?;
    ran.tells(NEAR, "cut")
}

fn connection_time(ends: &mut Ends<'_>) -> Result<(), String> {
    is_cut(ends, "connection-time=1s", "time.sleep(0.1); s.sendall(b'more')")
}

fn idle(ends: &mut Ends<'_>) -> Result<(), String> {
    is_cut(ends, "idle=1s", "pass")
}

/// The third request in a minute is refused.
fn requests(ends: &mut Ends<'_>) -> Result<(), String> {
    let script = "
import http.client
for _ in range(4):
    try:
        c = http.client.HTTPConnection(near, timeout=5); c.request('GET', '/t'); print(c.getresponse().status)
    except OSError as e: print('refused')";
    let ran = ends.confined(&["{near}"], &["--limit", "requests-per-minute=2"], &python(script));
    ran.must("404\n404\n")?;
    ends.near.connections();
    let arrived = ends.near.log.lock().unwrap().requests.len();
    if arrived == 2 { Ok(()) } else { Err(format!("{arrived} requests arrived: {ran:?}")) }
}

/// A far end that does not answer is a failure, not a refusal, and the program learns it at once.
fn gone(ends: &mut Ends<'_>) -> Result<(), String> {
    let ran = ends.confined(&["{near}:81"], &[], &curl("http://{near}:81/t"));
    if ran.code == Some(0) || ran.code == Some(28) {
        return Err(format!("{ran:?}"));
    }
    ran.tells(NEAR, "failed")
}

/// What is told of a connection is what went over it.
fn bytes(ends: &mut Ends<'_>) -> Result<(), String> {
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
fn last_words(ends: &mut Ends<'_>) -> Result<(), String> {
    ends.near.serve(9001, Service::Speech(Speech::Sink));
    let script =
        "import os\ns = socket.create_connection((near, 9001)); s.sendall(b'x' * 1000000); os._exit(0)";
    let ran = ends.confined(&["{near}:9001"], &[], &python(script));
    ran.tells(NEAR, "done")?;
    let begun = Instant::now();
    while ends.near.log.lock().unwrap().bytes < 1_000_000 {
        if begun.elapsed() > Duration::from_secs(2) {
            return Err(format!("{} bytes arrived: {ran:?}", ends.near.log.lock().unwrap().bytes));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}

/// A command that is killed takes its connections with it, at once.
fn ends_with_it(ends: &mut Ends<'_>) -> Result<(), String> {
    ends.near.serve(22, Service::Speech(Speech::Banner));
    let script = "s = socket.create_connection((near, 22))\nprint(s.recv(3), flush=True)\ntime.sleep(60)";
    let begun = Instant::now();
    let ran = ends.confined(&["{near}:22"], &["--limit", "wall=1s"], &python(script));
    if ran.code == Some(124) && ran.connections.len() == 1 && begun.elapsed() < Duration::from_secs(5) {
        return Ok(());
    }
    Err(format!("{:?} {ran:?}", begun.elapsed()))
}

/// An address that looks public and is this machine's leads to what listens on this machine.
fn own(ends: &mut Ends<'_>) -> Result<(), String> {
    if crate::sys::uid() != 0 {
        return Ok(()); // no address can be added
    }
    const ADDRESS: &str = "93.184.216.34";
    let server = "import http.server as h\nclass H(h.BaseHTTPRequestHandler):\n def do_GET(s): s.send_response(200); s.end_headers(); s.wfile.write(b'reached ' + s.path.encode())\nh.HTTPServer(('0.0.0.0', 80), H).serve_forever()";
    let script = format!(
        "ip link set lo up && ip addr add {ADDRESS}/32 dev lo || exit 9\n\
         python3 -c \"$1\" 2>/dev/null & server=$!\nshift\n\
         until curl -s http://{ADDRESS}/ >/dev/null; do sleep 0.05; done\n\
         \"$@\" --host own.rf.test --resolve own.rf.test={ADDRESS} -- curl -sS -m 5 http://own.rf.test/first\n\
         \"$@\" --host own.rf.test --resolve own.rf.test={ADDRESS} --private own.rf.test -- curl -sS -m 5 http://own.rf.test/named\n\
         \"$@\" --host '*' -- curl -sS -m 5 http://{ADDRESS}/literal\n\
         kill $server"
    );
    let ringfence = ends.work.ringfence(&[], &[]);
    // All but the last, behind which the command would stand.
    let arguments: Vec<_> = ringfence.get_args().collect();
    let arguments = &arguments[..arguments.len() - 1];
    let mut outer = Command::new("unshare");
    outer.args(["--net", "sh", "-c", &script, "sh", server]).arg(ringfence.get_program()).args(arguments);
    let ended = finished(outer.env_clear().env("PATH", PATH).stdin(Stdio::null()));
    if ended.stdout == "reached /named" { Ok(()) } else { Err(format!("{ended:?}")) }
}

/// A pattern with `*` admits what is below a name, and not the name.
fn wildcard(ends: &mut Ends<'_>) -> Result<(), String> {
    let below = format!("a.{NEAR}={}", ends.near.address);
    let private = format!("*.{NEAR}");
    let flags = ["--resolve", &below, "--private", &private];
    let get = |url: &str| {
        let mut command = curl(url);
        command.extend(["--cacert".to_owned(), "{ca}".to_owned()]);
        command
    };
    let apex = ends.confined(&["*.{near}"], &flags, &get("https://{near}/t"));
    apex.tells(NEAR, "refused")?;
    ends.untouched()?;
    let ran = ends.confined(&["*.{near}"], &flags, &get("https://a.{near}/t"));
    ran.tells(&format!("a.{NEAR}"), "done")?;
    ends.other_untouched()
}

/// The machine's own loopback can be granted by its address, one port of it.
fn loopback(ends: &mut Ends<'_>) -> Result<(), String> {
    let mut local = Far::new([127, 0, 0, 1].into(), Pages::default());
    let (granted, other) = (local.serve(0, Service::Http), local.serve(0, Service::Http));
    let host = format!("127.0.0.1:{granted}");
    let ran = ends.confined(&[&host], &[], &curl(&format!("http://127.0.0.1:{granted}/t")));
    ran.tells("127.0.0.1", "done")?;
    let ran = ends.confined(&[&host], &[], &curl(&format!("http://127.0.0.1:{other}/t")));
    is_refused(&ran)?;
    if local.connections() == 1 { ends.untouched() } else { Err("the other port was reached".to_owned()) }
}

/// A grant of port 53 leads to the far end, and names are still answered at the gate.
fn port_53(ends: &mut Ends<'_>) -> Result<(), String> {
    ends.near.serve(53, Service::Speech(Speech::Banner));
    let script = "
s = socket.create_connection((near, 53)); print(s.recv(7))
t = socket.create_connection(('127.0.0.1', 53)); name = b''.join(bytes([len(l)]) + l for l in near.encode().split(b'.')) + b'\\0'
q = b'\\0\\7\\1\\0\\0\\1\\0\\0\\0\\0\\0\\0' + name + b'\\0\\1\\0\\1'
t.sendall(bytes([0, len(q)]) + q); print(b'\\xc6\\x12' in t.recv(500))";
    let ran = ends.confined(&["{near}:53"], &[], &python(script));
    ran.must("b'SSH-2.0'\nTrue")?;
    if ends.near.connections() == 1 { Ok(()) } else { Err(format!("{ran:?}")) }
}

/// curl can be told to say one name and go to another.
fn crossed(ends: &mut Ends<'_>) -> Result<(), String> {
    let cases: &[&[&str]] = &[
        &["--connect-to", "{other}:443:{near}:443", "https://{other}/t"],
        &["--connect-to", "{other}:80:{near}:80", "http://{other}/t"],
        &["-H", "Host: {other}", "http://{near}/t"],
        &["--resolve", "{other}:443:198.18.0.2", "https://{near}:444/", "https://{other}/t"],
        &["--resolve", "{near}:443:{other-ip}", "https://{near}/t"],
        &["--resolve", "{near}:80:{other-ip}", "http://{near}/t"],
        &["--proxy", "http://{near}:80", "http://{other}/t"],
        &["--proxytunnel", "--proxy", "http://{near}:80", "https://{other}/t"],
        &["--socks5-hostname", "{near}:80", "http://{other}/t"],
        &["--request-target", "http://{other}/t", "http://{near}/t"],
        &["--http2-prior-knowledge", "http://{near}/t"],
        &["--haproxy-protocol", "http://{near}/t"],
        &["http://{near}:80@{other}/t"],
        &["--interface", "198.18.0.1", "-H", "Host: {other}", "http://{near}/t"],
    ];
    for case in cases {
        let mut command: Vec<String> =
            ["curl", "-sS", "-m", "5", "--cacert", "{ca}"].map(str::to_owned).to_vec();
        command.extend(case.iter().map(|word| (*word).to_owned()));
        let ran = ends.confined(&["{near}"], &[], &command);
        ends.untouched().map_err(|why| format!("{case:?}: {why}"))?;
        if ran.stdout.contains(&ends.token) || ran.count("refused") == 0 {
            return Err(format!("{case:?}: {ran:?}"));
        }
    }
    Ok(())
}

/// Only `native` has a gate, and what has none runs nothing.
fn backends(ends: &mut Ends<'_>) -> Result<(), String> {
    for backend in ["bwrap", "firejail"] {
        let mut command = ends.work.stage.host(crate::place::ringfence().to_str().unwrap());
        command.args(["run", "--backend", backend, "--host", NEAR, "--", "echo", "ran"]);
        let ended = finished(command.stdin(Stdio::null()));
        if ended.code != Some(3) || ended.stdout.contains("ran") {
            return Err(format!("{backend}: {ended:?}"));
        }
    }
    Ok(())
}

//! What can be reached: private and own addresses, patterns, ports, names that are said and names that are meant.

use std::process::{Command, Stdio};

use super::{curl, is_refused, python};
use crate::matrix::network::ends::{Ends, NEAR};
use crate::matrix::network::far::{Far, Service};
use crate::matrix::network::http::Pages;
use crate::matrix::network::speech::Speech;
use crate::matrix::process::finished;
use crate::matrix::stage::PATH;

/// A granted name on loopback is refused where `private` does not name it, or its range.
pub(super) fn private(ends: &mut Ends<'_>) -> Result<(), String> {
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
pub(super) fn star(ends: &mut Ends<'_>) -> Result<(), String> {
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

/// An address that looks public and is this machine's leads to what listens on this machine.
pub(super) fn own(ends: &mut Ends<'_>) -> Result<(), String> {
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
    let reached = |page: &str| ended.stdout.contains(&format!("reached /{page}"));
    if reached("named") && !reached("first") && !reached("literal") {
        Ok(())
    } else {
        Err(format!("{ended:?}"))
    }
}

/// A pattern with `*` admits what is below a name, and not the name.
pub(super) fn wildcard(ends: &mut Ends<'_>) -> Result<(), String> {
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
pub(super) fn loopback(ends: &mut Ends<'_>) -> Result<(), String> {
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
pub(super) fn port_53(ends: &mut Ends<'_>) -> Result<(), String> {
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
pub(super) fn crossed(ends: &mut Ends<'_>) -> Result<(), String> {
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

/// A far end that does not answer is a failure, not a refusal, and the program learns it at once.
pub(super) fn gone(ends: &mut Ends<'_>) -> Result<(), String> {
    let ran = ends.confined(&["{near}:81"], &[], &curl("http://{near}:81/t"));
    if ran.code == Some(0) || ran.code == Some(28) {
        return Err(format!("{ran:?}"));
    }
    ran.tells(NEAR, "failed")
}

/// Only `native` has a gate, and what has none runs nothing.
pub(super) fn backends(ends: &mut Ends<'_>) -> Result<(), String> {
    for backend in ["bwrap", "firejail"] {
        let mut command = ends.work.stage.host(crate::matrix::place::ringfence().to_str().unwrap());
        command.args(["run", "--backend", backend, "--host", NEAR, "--", "echo", "ran"]);
        let ended = finished(command.stdin(Stdio::null()));
        if ended.code != Some(3) || ended.stdout.contains("ran") {
            return Err(format!("{backend}: {ended:?}"));
        }
    }
    Ok(())
}

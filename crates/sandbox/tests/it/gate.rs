//! The sockets that a sandbox hands out: what leads to them from inside, and what leads nowhere.

use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, UdpSocket};
use std::os::fd::AsRawFd;
use std::sync::{Arc, Mutex};

use ringfence_policy::{HostSet, NetworkCeiling, NetworkGrant, Private};
use ringfence_sandbox::{
    Access, Ending, Native, Network, Report, Sandbox, SandboxError, Sockets, Spec, Step, Streams, Tier,
    Unconfined, gate_namespace,
};

/// Connects to each address and says what became of it.
const CONNECT: &str = r#"
import socket, sys
for text in sys.argv[1:]:
    host, port = text.rsplit(":", 1)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    stream = socket.socket(family)
    stream.settimeout(60)
    try:
        stream.connect((host, int(port)))
        print(text, stream.recv(64).decode())
    except OSError as error:
        print(text, type(error).__name__)
"#;

fn grant(hosts: &[&str]) -> NetworkGrant {
    let set: HostSet = hosts.iter().map(|host| host.parse().unwrap()).collect();
    NetworkGrant::meet(&set, &NetworkCeiling::new(set.clone(), Private::default()))
}

fn connecting(hosts: &[&str], to: &[&str]) -> Spec {
    Spec::new("/usr/bin/python3").arguments(["-c", CONNECT]).arguments(to).network(&grant(hosts))
}

/// Answers every connection with the address it was made to.
fn echo(sockets: Sockets) -> std::io::Result<()> {
    for listener in sockets.listeners {
        let listener = TcpListener::from(listener);
        listener.set_nonblocking(false)?;
        std::thread::spawn(move || {
            while let Ok((mut stream, _)) = listener.accept() {
                let local = stream.local_addr().unwrap();
                let _sent = stream.write_all(format!("asked for {local}").as_bytes());
            }
        });
    }
    Ok(())
}

fn run(spec: &Spec) -> Report {
    Sandbox::new(Native::new()).run(spec, Streams::default().gate(echo)).unwrap()
}

fn stdout(report: &Report) -> String {
    assert_eq!(report.ending, Ending::Exited(0), "{}", String::from_utf8_lossy(&report.stderr.bytes));
    String::from_utf8_lossy(&report.stdout.bytes).into_owned()
}

#[test]
fn what_was_granted_leads_to_the_gate_and_nothing_else_anywhere() {
    let to = ["198.18.0.9:443", "198.19.255.254:80", "198.18.0.9:22", "1.1.1.1:443", "10.0.0.5:80"];
    assert_eq!(
        stdout(&run(&connecting(&["acme.io"], &to))),
        "198.18.0.9:443 asked for 198.18.0.9:443\n\
         198.19.255.254:80 asked for 198.19.255.254:80\n\
         198.18.0.9:22 ConnectionRefusedError\n\
         1.1.1.1:443 OSError\n\
         10.0.0.5:80 OSError\n"
    );
    let to = ["10.0.0.5:80", "10.0.0.6:80", "127.0.0.1:5432", "[2001:db8::1]:443"];
    let hosts = ["acme.io:5432", "10.0.0.5"];
    assert_eq!(
        stdout(&run(&connecting(&hosts, &to[..3]))),
        "10.0.0.5:80 asked for 10.0.0.5:80\n\
         10.0.0.6:80 OSError\n\
         127.0.0.1:5432 asked for 127.0.0.1:5432\n"
    );
}

#[test]
fn every_public_address_leads_to_the_gate_where_all_are_granted() {
    let to = ["1.1.1.1:443", "2001:db8::1:443", "192.168.0.1:80"];
    assert_eq!(
        stdout(&run(&connecting(&["*"], &to))),
        "1.1.1.1:443 asked for 1.1.1.1:443\n\
         2001:db8::1:443 asked for [2001:db8::1]:443\n\
         192.168.0.1:80 asked for 192.168.0.1:80\n"
    );
}

#[test]
fn names_are_asked_for_at_the_gate() {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&asked);
    let open = move |sockets: Sockets| {
        let socket = UdpSocket::from(sockets.dns);
        socket.set_nonblocking(false)?;
        std::thread::spawn(move || {
            let mut query = [0; 512];
            while let Ok((length, from)) = socket.recv_from(&mut query) {
                seen.lock().unwrap().push(query[12..length].to_vec());
                query[2..4].copy_from_slice(&[0x81, 0x83]); // there is no such name
                let _sent = socket.send_to(&query[..length], from);
            }
        });
        Ok(())
    };
    let script = "import socket\ntry: socket.getaddrinfo('api.acme.io', 443)\nexcept OSError as e: print(e)\n\
                  print(open('/etc/resolv.conf').read())";
    let spec = Spec::new("/usr/bin/python3").arguments(["-c", script]).network(&grant(&["acme.io"]));
    // A granted folder around the machine's own list of servers does not bring that list back.
    for spec in [spec.clone(), spec.tree("/etc", Access::READ)] {
        let report = Sandbox::new(Native::new()).run(&spec, Streams::default().gate(open.clone())).unwrap();
        let said = stdout(&report);
        assert!(said.starts_with("[Errno -2] Name or service not known\nnameserver 127.0.0.1\n"), "{said}");
    }
    let asked = asked.lock().unwrap();
    assert!(asked.iter().all(|name| name.starts_with(b"\x03api\x04acme\x02io\0")), "{asked:?}");
    assert!(asked.len() >= 2);
}

#[test]
fn a_command_with_hosts_runs_only_behind_a_gate() {
    let spec = Spec::new("/bin/true").network(&grant(&["acme.io"]));
    let native = Sandbox::new(Native::new());
    let nobody = native.run(&spec, Streams::default()).unwrap_err();
    assert_eq!(
        nobody.to_string(),
        "the sandbox cannot enforce a grant of hosts: nobody opens an egress gate for it"
    );
    let unconfined = Sandbox::new(Unconfined).at_least(Tier::Unconfined);
    let refused = unconfined.run(&spec, Streams::default().gate(|_| Ok(()))).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "the sandbox cannot enforce with `unconfined`: `hosts`: granted hosts and no others"
    );
    let failing = Streams::default().gate(|_| Err(std::io::Error::other("no gate today")));
    match native.run(&spec, failing).unwrap_err() {
        SandboxError::Step { step: Step::Gate, error, .. } => assert_eq!(error.to_string(), "no gate today"),
        other => panic!("{other}"),
    }
    assert!(native.run(&Spec::new("/bin/true").network(&grant(&[])), Streams::default()).is_ok());
}

#[test]
fn the_sockets_of_the_gate_cannot_be_taken_over() {
    let script = r#"
import socket
for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
    for address in (("0.0.0.0", 53), ("127.0.0.1", 53), ("198.18.0.9", 443), ("0.0.0.0", 5432)):
        one = socket.socket(socket.AF_INET, kind)
        for option in (socket.SO_REUSEADDR, socket.SO_REUSEPORT):
            one.setsockopt(socket.SOL_SOCKET, option, 1)
        try:
            one.bind(address)
            if kind == socket.SOCK_STREAM: one.listen()
            print("taken", kind, address)
        except OSError as error:
            pass
"#;
    let spec = Spec::new("/usr/bin/python3").arguments(["-c", script]);
    let report = run(&spec.network(&grant(&["db.acme.io:5432"])));
    assert_eq!(stdout(&report), "taken 2 ('0.0.0.0', 5432)\n"); // a datagram socket of its own, which leads nowhere
}

#[test]
fn an_accepted_connection_outlives_nothing_but_its_command() {
    let held = Arc::new(Mutex::new(None));
    let keep = Arc::clone(&held);
    let open = move |sockets: Sockets| {
        let listener = TcpListener::from(sockets.listeners.into_iter().next().unwrap());
        listener.set_nonblocking(false)?;
        let taken = std::thread::spawn(move || listener.accept().unwrap().0);
        *keep.lock().unwrap() = Some(taken);
        Ok(())
    };
    let script = "import socket; s = socket.create_connection(('198.18.0.9', 80)); s.sendall(b'last words')";
    let spec = Spec::new("/usr/bin/python3").arguments(["-c", script]).network(&grant(&["acme.io"]));
    let report = Sandbox::new(Native::new()).run(&spec, Streams::default().gate(open)).unwrap();
    assert_eq!(report.ending, Ending::Exited(0));
    let mut stream = held.lock().unwrap().take().unwrap().join().unwrap();
    let local: SocketAddr = stream.local_addr().unwrap();
    assert_eq!(local.ip(), "198.18.0.9".parse::<IpAddr>().unwrap());
    let mut words = String::new();
    stream.read_to_string(&mut words).unwrap();
    assert_eq!(words, "last words"); // what was sent can be read to its end after the command has gone
}

#[test]
fn a_namespace_of_its_own_holds_the_sockets_of_a_gate() {
    let openings = Spec::new("/bin/true").network(&grant(&["one.example:8080"]));
    let Network::Gated(openings) = Sandbox::new(Native::new()).plan(&openings).unwrap().network else {
        panic!("hosts were granted")
    };
    for _ in 0..20 {
        let (namespace, sockets) = gate_namespace(&openings).unwrap();
        echo(sockets).unwrap();
        // Nothing but loopback and the gate's range, and the gate answers there.
        let entered = std::process::Command::new("nsenter")
            .arg(format!("--net=/proc/{}/fd/{}", std::process::id(), namespace.as_raw_fd()))
            .args(["/usr/bin/python3", "-c", CONNECT, "198.18.0.9:8080", "198.18.0.9:8081", "1.1.1.1:8080"])
            .output()
            .unwrap();
        assert_eq!(
            String::from_utf8_lossy(&entered.stdout),
            "198.18.0.9:8080 asked for 198.18.0.9:8080\n198.18.0.9:8081 ConnectionRefusedError\n1.1.1.1:8080 OSError\n",
            "{}",
            String::from_utf8_lossy(&entered.stderr)
        );
    }
}

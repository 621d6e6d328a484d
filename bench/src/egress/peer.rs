//! The proxies that people put before a program: `tinyproxy` and `squid`, as Debian packages them.
#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a measurement starts its peers and says which are missing"
)]

use std::fs;
use std::io;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// A proxy that runs.
pub struct Peer {
    /// What it is called.
    pub name: &'static str,
    /// Where it listens.
    pub address: String,
    child: Child,
    folder: PathBuf,
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _killed = self.child.kill();
        let _reaped = self.child.wait();
        let _removed = fs::remove_dir_all(&self.folder);
    }
}

/// Starts those that are installed, each with the least it has to do, and names the others.
pub fn peers() -> io::Result<Vec<Peer>> {
    let mut peers = Vec::new();
    for (name, program, port) in
        [("tinyproxy", "/usr/bin/tinyproxy", 18_888), ("squid", "/usr/sbin/squid", 13_128)]
    {
        if Path::new(program).exists() {
            peers.push(start(name, program, port)?);
        } else {
            println!("(no {name} here: `apt-get install {name}`)");
        }
    }
    Ok(peers)
}

fn start(name: &'static str, program: &str, port: u16) -> io::Result<Peer> {
    let folder = std::env::temp_dir().join(format!("ringfence-bench-{name}-{}", std::process::id()));
    fs::create_dir_all(&folder)?;
    let place = folder.display();
    let (settings, arguments) = match name {
        "squid" => (
            format!(
                "http_port 127.0.0.1:{port}\nhttp_access allow all\naccess_log none\ncache deny all\n\
                 cache_log /dev/null\npid_filename none\nvisible_hostname bench\ncoredump_dir {place}\n\
                 max_filedescriptors 4096\nshutdown_lifetime 0 seconds\n"
            ),
            ["-N", "-f"],
        ),
        _ => (
            format!("Port {port}\nListen 127.0.0.1\nTimeout 600\nMaxClients 100\nLogLevel Critical\n"),
            ["-d", "-c"],
        ),
    };
    let file = folder.join("settings");
    fs::write(&file, settings)?;
    let child = Command::new(program)
        .args(arguments)
        .arg(&file)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    let peer = Peer { name, address: format!("127.0.0.1:{port}"), child, folder };
    for _ in 0..100 {
        if TcpStream::connect(&peer.address).is_ok() {
            return Ok(peer);
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    Err(io::Error::other(format!("{name} does not listen on {}", peer.address)))
}

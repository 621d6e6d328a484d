//! The client, the same inside and outside: it takes one order a line and prints the nanoseconds of each operation.
//!
//! `small KIND HOST PORT COUNT PROXY`, `bulk HOST PORT BYTES PROXY`, `hold HOST PORT COUNT`, `release`; `PROXY` is `-` or
//! the address of a proxy, which is asked with CONNECT.
#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a measurement opens connections and prints what it measured"
)]

use std::io::{self, BufRead, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs};
use std::time::Instant;

use super::NAME;

/// Obeys until there are no more orders.
pub fn client() -> io::Result<()> {
    let mut held = Vec::new();
    for line in io::stdin().lock().lines() {
        let line = line?;
        let words: Vec<&str> = line.split_whitespace().collect();
        let times = match words.as_slice() {
            ["small", kind, host, port, count, proxy] => {
                let (way, request) = (Way::new(host, port, proxy)?, request(kind));
                (0..number(count)?).map(|_| small(&way, &request)).collect::<io::Result<Vec<_>>>()?
            }
            ["bulk", host, port, bytes, proxy] => vec![bulk(&Way::new(host, port, proxy)?, number(bytes)?)?],
            ["hold", host, port, count] => {
                let (way, begun) = (Way::new(host, port, "-")?, Instant::now());
                for _ in 0..number(count)? {
                    held.push(way.open()?);
                }
                vec![begun.elapsed().as_nanos()]
            }
            ["release"] => {
                held.clear();
                vec![0]
            }
            _ => return Err(io::Error::other(format!("`{line}` is no order"))),
        };
        let times: Vec<String> = times.iter().map(ToString::to_string).collect();
        println!("{}", times.join(" "));
    }
    Ok(())
}

fn number(text: &str) -> io::Result<u64> {
    text.parse().map_err(io::Error::other)
}

/// Where a connection goes, and through whom.
struct Way {
    to: SocketAddr,
    proxy: Option<(SocketAddr, String)>,
}

impl Way {
    /// A name is looked up here, once and outside the measurement.
    fn new(host: &str, port: &str, proxy: &str) -> io::Result<Self> {
        let port = port.parse().map_err(io::Error::other)?;
        let to = match host.parse::<IpAddr>() {
            Ok(address) => SocketAddr::new(address, port),
            Err(_) => (host, port)
                .to_socket_addrs()?
                .next()
                .ok_or_else(|| io::Error::other(format!("`{host}` has no address")))?,
        };
        let ask = format!("CONNECT {to} HTTP/1.1\r\nHost: {to}\r\n\r\n");
        let proxy = if proxy == "-" { None } else { Some((proxy.parse().map_err(io::Error::other)?, ask)) };
        Ok(Self { to, proxy })
    }

    fn open(&self) -> io::Result<TcpStream> {
        let Some((proxy, ask)) = &self.proxy else { return TcpStream::connect(self.to) };
        let mut stream = TcpStream::connect(proxy)?;
        stream.write_all(ask.as_bytes())?;
        let (mut head, mut byte) = (Vec::with_capacity(256), [0; 512]);
        while !head.ends_with(b"\r\n\r\n") {
            // The far end does not speak first, so nothing comes behind the head.
            let count = stream.read(&mut byte)?;
            if count == 0 {
                return Err(io::Error::other("the proxy hung up"));
            }
            head.extend_from_slice(byte.get(..count).unwrap_or_default());
        }
        let is_open = head.windows(5).take(16).any(|window| window == b" 200 ");
        if is_open { Ok(stream) } else { Err(io::Error::other(String::from_utf8_lossy(&head).into_owned())) }
    }
}

fn small(way: &Way, request: &[u8]) -> io::Result<u128> {
    let begun = Instant::now();
    let mut stream = way.open()?;
    stream.write_all(request)?;
    let mut block = [0; 2048];
    let mut heard = 0;
    while heard < 62 {
        match stream.read(&mut block)? {
            0 => return Err(io::Error::other("the far end hung up")),
            count => heard += count,
        }
    }
    if !block.starts_with(b"HTTP/1.1 200") {
        return Err(io::Error::other(String::from_utf8_lossy(&block).into_owned()));
    }
    drop(stream);
    Ok(begun.elapsed().as_nanos())
}

fn bulk(way: &Way, bytes: u64) -> io::Result<u128> {
    let mut stream = way.open()?;
    let mut block = vec![0; 256 << 10];
    let begun = Instant::now();
    stream.write_all(&bytes.to_be_bytes())?;
    let mut left = bytes;
    while left > 0 {
        match stream.read(&mut block)? {
            0 => return Err(io::Error::other("the far end hung up")),
            count => left -= count as u64,
        }
    }
    Ok(begun.elapsed().as_nanos())
}

/// What is said first, by kind.
fn request(kind: &str) -> Vec<u8> {
    match kind {
        "tls" => hello(),
        _ => format!("GET / HTTP/1.1\r\nHost: {NAME}\r\n\r\n").into_bytes(),
    }
}

/// A ClientHello with the right name, as small as a client of today sends it without post-quantum keys.
fn hello() -> Vec<u8> {
    let counted = |width: usize, body: &[u8]| {
        let length = (body.len() as u32).to_be_bytes();
        let mut all = length.get(4 - width..).unwrap_or_default().to_vec();
        all.extend_from_slice(body);
        all
    };
    let extension = |kind: u16, body: &[u8]| [&kind.to_be_bytes()[..], &counted(2, body)].concat();
    let name = [&[0][..], &counted(2, NAME.as_bytes())].concat();
    let key = [&[0, 29][..], &counted(2, &[9; 32])].concat();
    let extensions = [
        extension(0, &counted(2, &name)),
        extension(10, &counted(2, &[0, 29, 0, 23])),
        extension(13, &counted(2, &[4, 3, 8, 4, 4, 1, 8, 7])),
        extension(43, &counted(1, &[3, 4, 3, 3])),
        extension(51, &counted(2, &key)),
    ]
    .concat();
    let body = [
        &[3, 3][..],
        &[7; 32],
        &counted(1, &[8; 32]),
        &counted(2, &[19, 1, 19, 2, 19, 3]),
        &counted(1, &[0]),
        &counted(2, &extensions),
    ]
    .concat();
    let handshake = [&[1][..], &counted(3, &body)].concat();
    [&[22, 3, 1][..], &counted(2, &handshake)].concat()
}

//! The far end: threads that answer on loopback, in a process of their own.
#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a measurement needs someone to talk to"
)]

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::thread;

use super::{ADDRESS, BULK, IDLE, SMALL};

/// The process of the far end, which ends with the measurement.
pub struct Far(Child);

impl Far {
    /// Starts this program again as the far end.
    pub fn start() -> io::Result<Self> {
        let mut child = Command::new(std::env::current_exe()?)
            .arg("far")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let mut ready = [0; 6];
        let read = child.stdout.take().map(|mut stdout| stdout.read_exact(&mut ready));
        match read {
            Some(Ok(())) => Ok(Self(child)),
            _ => {
                let _ended = child.wait();
                Err(io::Error::other(
                    "the far end did not start; it needs ports 80 and 443, so run this as root",
                ))
            }
        }
    }
}

impl Drop for Far {
    fn drop(&mut self) {
        let _killed = self.0.kill();
        let _reaped = self.0.wait();
    }
}

/// Is the far end, until whoever started it is gone.
pub fn far_end() -> io::Result<()> {
    for port in [SMALL, 80, 443] {
        serve(port, small)?;
    }
    serve(BULK, bulk)?;
    idle()?;
    println!("ready");
    let mut nothing = Vec::new();
    io::stdin().read_to_end(&mut nothing)?;
    Ok(())
}

fn serve(port: u16, answer: fn(TcpStream) -> io::Result<()>) -> io::Result<()> {
    let listener = TcpListener::bind((ADDRESS, port))?;
    // A thread that waits in `accept` answers sooner than one that has to be made.
    for _ in 0..4 {
        let listener = listener.try_clone()?;
        thread::spawn(move || {
            while let Ok((stream, _)) = listener.accept() {
                // Whoever hangs up early is no reason to stop.
                let _ended = answer(stream);
            }
        });
    }
    Ok(())
}

/// One request, one answer, and then the client hangs up.
fn small(mut stream: TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut block = [0; 2048];
    if stream.read(&mut block)? > 0 {
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 24\r\n\r\nwhatever was asked for..")?;
        while stream.read(&mut block)? > 0 {}
    }
    Ok(())
}

/// A number of bytes, written as eight bytes, and then so many.
fn bulk(mut stream: TcpStream) -> io::Result<()> {
    let mut wanted = [0; 8];
    stream.read_exact(&mut wanted)?;
    let mut left = u64::from_be_bytes(wanted);
    let block = vec![b'x'; 256 << 10];
    while left > 0 {
        let size = usize::try_from(left).unwrap_or(usize::MAX).min(block.len());
        stream.write_all(block.get(..size).unwrap_or_default())?;
        left -= size as u64;
    }
    Ok(())
}

/// Takes connections and keeps them until the client has gone.
fn idle() -> io::Result<()> {
    let listener = TcpListener::bind((ADDRESS, IDLE))?;
    thread::spawn(move || {
        let mut held = Vec::new();
        while let Ok((stream, _)) = listener.accept() {
            held.push(stream);
        }
    });
    Ok(())
}

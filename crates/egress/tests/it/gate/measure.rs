//! Rough measurements, for whoever changes the relay: `cargo test --release -p ringfence-egress -- --ignored measure
//! --nocapture --test-threads 1`, after `ulimit -n 20000`. The gate has a thread of its own, and so has the far side.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use ringfence_policy::Limits;

use super::house::{Answer, House, Kind, Plan, sockets};

/// How many bytes a bulk has.
const BULK: usize = 256 << 20;

/// Opens a gate on a thread of its own, in front of a far side; returns the address of the name and what ends it all.
fn gate(far: SocketAddr) -> (SocketAddr, mpsc::Sender<()>) {
    let (tell, hear) = mpsc::channel();
    let (end, ended) = mpsc::channel::<()>();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let house = runtime.block_on(async {
            let limits = Limits { connections: Some(20_000), ..Limits::default() };
            let house = House::open_before(Kind::Opaque, Plan { limits, ..Plan::default() }, far);
            let Answer::Address(address) = house.ask("one.acme.io", 1).await else { panic!("no address") };
            tell.send(SocketAddr::new(address.into(), house.port)).unwrap();
            house
        });
        runtime.block_on(async {
            while let Err(mpsc::TryRecvError::Empty) = ended.try_recv() {
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
            drop(house);
        });
    });
    (hear.recv().unwrap(), end)
}

/// A far side that does the same with each connection.
#[expect(clippy::disallowed_methods, reason = "a test needs someone to talk to")]
fn far(serve: impl Fn(TcpStream) + Send + 'static) -> SocketAddr {
    // The port must be free on the addresses of the names too.
    let (listener, address) = loop {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        if sockets(address.port()).is_ok() {
            break (listener, address);
        }
    };
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            serve(stream.unwrap());
        }
    });
    address
}

fn median(mut times: Vec<Duration>) -> f64 {
    times.sort_unstable();
    times[times.len() / 2].as_secs_f64()
}

fn timed(work: impl FnOnce()) -> Duration {
    let begun = Instant::now();
    work();
    begun.elapsed()
}

#[test]
#[ignore = "measures"]
fn measure_bulk() {
    let far = far(|mut stream| {
        stream.read_exact(&mut [0]).unwrap();
        let piece = vec![7; 256 * 1024];
        for _ in 0..BULK / piece.len() {
            stream.write_all(&piece).unwrap();
        }
    });
    let (gate, _end) = gate(far);
    let fetch = |address| {
        timed(|| {
            let mut stream = TcpStream::connect(address).unwrap();
            stream.write_all(b"x").unwrap();
            let (mut buffer, mut total) = (vec![0; 256 * 1024], 0);
            while let Ok(count @ 1..) = stream.read(&mut buffer) {
                total += count;
            }
            assert_eq!(total, BULK);
        })
    };
    let (mut direct, mut gated) = (Vec::new(), Vec::new());
    for _ in 0..11 {
        direct.push(fetch(far));
        gated.push(fetch(gate));
    }
    let (direct, gated) = (median(direct), median(gated));
    let rate = |time: f64| BULK as f64 / time / 1e9;
    println!(
        "bulk: direct {:.2} GB/s, gate {:.2} GB/s, {:.2} of direct",
        rate(direct),
        rate(gated),
        direct / gated
    );
}

#[test]
#[ignore = "measures"]
fn measure_connections() {
    let far = far(|mut stream| {
        let mut buffer = [0; 1024];
        let count = stream.read(&mut buffer).unwrap();
        stream.write_all(&buffer[..count]).unwrap();
    });
    let (gate, _end) = gate(far);
    let ask = |address| {
        timed(|| {
            let mut stream = TcpStream::connect(address).unwrap();
            stream.write_all(b"a small request").unwrap();
            let mut answer = Vec::new();
            stream.read_to_end(&mut answer).unwrap();
            assert_eq!(answer.len(), 15);
        })
    };
    let (mut direct, mut gated) = (Vec::new(), Vec::new());
    for _ in 0..5_000 {
        direct.push(ask(far));
        gated.push(ask(gate));
    }
    let (direct, gated) = (median(direct) * 1e6, median(gated) * 1e6);
    println!("connection: direct {direct:.1} µs, gate {gated:.1} µs, {:.2} × direct", gated / direct);
}

#[test]
#[ignore = "measures"]
fn measure_idle_connections() {
    let (keep, kept) = mpsc::channel();
    let far = far(move |mut stream| {
        stream.write_all(b"x").unwrap();
        keep.send(stream).unwrap();
    });
    let (gate, _end) = gate(far);
    let before = resident();
    let mut clients = Vec::new();
    for _ in 0..4_500 {
        let mut stream = TcpStream::connect(gate).unwrap();
        stream.read_exact(&mut [0]).unwrap();
        clients.push(stream);
    }
    let each = (resident() - before) * 1024 / clients.len();
    println!("idle: {each} bytes for each of {} connections, both ends of the test included", clients.len());
    drop(kept);
}

/// Returns how many kilobytes this process has in memory.
#[expect(clippy::disallowed_methods, reason = "a measurement reads the kernel's books")]
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

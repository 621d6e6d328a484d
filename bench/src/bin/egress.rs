//! What the egress gate takes: a connection, a long transfer, and connections that are held, against the direct way and
//! two proxies.
//!
//! Needs root for ports 80 and 443 of a loopback address, and `tinyproxy` and `squid` of Debian for the comparison.
#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a measurement starts programs and prints its table"
)]

use std::cell::RefCell;
use std::error::Error;

use ringfence_bench::egress::{
    ADDRESS, BULK, Far, IDLE, NAME, Peer, SMALL, Samples, Turn, Worker, client, far_end, interleave, peers,
};
use ringfence_bench::ratio::Ratio;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

const ROUNDS: usize = 60;
const AT_ONCE: usize = 25;
const BULK_ROUNDS: usize = 9;
const BYTES: u64 = 256 << 20;
const HELD: u64 = 10_000;

fn main() -> Result<(), Box<dyn Error>> {
    match std::env::args().nth(1).as_deref() {
        Some("client") => return Ok(client()?),
        Some("far") => return Ok(far_end()?),
        _ => {}
    }
    let held = room()?;
    let _far = Far::start()?;
    let peers = peers()?;
    let outside = RefCell::new(Worker::outside()?);
    let inside = RefCell::new(Worker::inside(u32::try_from(held)?)?);
    connections(&outside, &inside, &peers)?;
    transfers(&outside, &inside, &peers)?;
    idle(&inside, held)
}

/// Connection, small request, small answer, close.
fn connections(
    outside: &RefCell<Worker>,
    inside: &RefCell<Worker>,
    peers: &[Peer],
) -> Result<(), Box<dyn Error>> {
    let small = |kind: &str, host: &str, port: u16, proxy: &str| {
        format!("small {kind} {host} {port} {AT_ONCE} {proxy}")
    };
    let mut turns = vec![
        ordered("direct".to_owned(), outside, small("http", ADDRESS, SMALL, "-")),
        ordered("gate, opaque port".to_owned(), inside, small("http", NAME, SMALL, "-")),
        ordered("gate, HTTP on 80".to_owned(), inside, small("http", NAME, 80, "-")),
        ordered("gate, TLS on 443".to_owned(), inside, small("tls", NAME, 443, "-")),
    ];
    for peer in peers {
        turns.push(ordered(
            format!("{}, CONNECT", peer.name),
            outside,
            small("http", ADDRESS, SMALL, &peer.address),
        ));
    }
    let all = interleave(&mut turns, 5, ROUNDS)?;
    println!("a connection, a small request, its answer, the end: {} of each", ROUNDS * AT_ONCE);
    println!("{:<22} {:>8} {:>8} {:>9}", "", "p50 µs", "p95 µs", "× direct");
    for one in &all {
        let ratio = one.at(50) / direct(&all);
        println!("{:<22} {:>8.1} {:>8.1} {ratio:>9.2}", one.name, one.at(50) / 1e3, one.at(95) / 1e3);
    }
    println!("aim: the gate ≤ 3 × direct\n");
    for gate in all.iter().filter(|one| one.name.starts_with("gate")) {
        let name = format!("a connection by the {}", gate.name);
        Ratio::lower(&name, gate.at(50) / direct(&all), "direct").aim(3.0).say()?;
        for peer in all.iter().filter(|one| one.name.ends_with("CONNECT")) {
            Ratio::lower(&name, gate.at(50) / peer.at(50), &peer.name).say()?;
        }
    }
    Ok(())
}

/// One long transfer.
fn transfers(
    outside: &RefCell<Worker>,
    inside: &RefCell<Worker>,
    peers: &[Peer],
) -> Result<(), Box<dyn Error>> {
    let bulk = |host: &str, proxy: &str| format!("bulk {host} {BULK} {BYTES} {proxy}");
    let mut turns = vec![
        ordered("direct".to_owned(), outside, bulk(ADDRESS, "-")),
        ordered("gate".to_owned(), inside, bulk(NAME, "-")),
    ];
    for peer in peers {
        turns.push(ordered(peer.name.to_owned(), outside, bulk(ADDRESS, &peer.address)));
    }
    let all = interleave(&mut turns, 1, BULK_ROUNDS)?;
    println!("a transfer of {} MB: {BULK_ROUNDS} of each", BYTES >> 20);
    println!("{:<22} {:>8} {:>9}", "", "MB/s", "× direct");
    for one in &all {
        println!(
            "{:<22} {:>8.0} {:>9.2}",
            one.name,
            BYTES as f64 / 1e6 / (one.at(50) / 1e9),
            direct(&all) / one.at(50)
        );
    }
    println!("aim: the gate ≥ 0.8 × direct\n");
    let [direct, gate, peers @ ..] = all.as_slice() else { return Err("nothing was measured".into()) };
    let name = "speed of a long transfer by the gate";
    Ratio::higher(name, direct.at(50) / gate.at(50), "direct").aim(0.8).say()?;
    for peer in peers {
        Ratio::higher(name, peer.at(50) / gate.at(50), &peer.name).say()?;
    }
    Ok(())
}

/// Connections that are held, and what they take in this process, which is the gate's.
fn idle(inside: &RefCell<Worker>, held: u64) -> Result<(), Box<dyn Error>> {
    let mut inside = inside.borrow_mut();
    // What the allocator keeps of the first ones is not counted twice.
    let before = resident()?;
    let times = inside.order(&format!("hold {NAME} {IDLE} {held}"))?;
    std::thread::sleep(std::time::Duration::from_secs(1));
    let open = open_files()?;
    let after = resident()?;
    let took = times.first().copied().unwrap_or_default() as f64 / 1e9;
    inside.order("release")?;
    let each = after.saturating_sub(before) as f64 / 1e3 / held as f64;
    println!(
        "{held} connections held through the gate ({open} open files here), opened in {took:.1} s: {:.1} MB before, \
         {:.1} MB with them, {each:.1} kB each (aim: {HELD} held, ≤ 20 kB each)",
        before as f64 / 1e6,
        after as f64 / 1e6
    );
    Ratio::within("memory of a connection that is held", each, 20.0, "kB").say()?;
    Ratio::reaching("connections held", held as f64, HELD as f64, "connections").say()?;
    if held < HELD {
        println!(
            "(not {HELD}: each has two ends here, and this machine gives a process fewer files than that)"
        );
    }
    Ok(())
}

/// A turn that is an order to a client.
fn ordered<'a>(name: String, worker: &'a RefCell<Worker>, order: String) -> Turn<'a> {
    Turn { name, take: Box::new(move || worker.borrow_mut().order(&order)) }
}

/// The median of the first subject.
fn direct(all: &[Samples]) -> f64 {
    all.first().map_or(f64::NAN, |direct| direct.at(50))
}

/// Makes room for both ends of many connections, and returns how many there can be.
fn room() -> Result<u64, Box<dyn Error>> {
    let wanted = HELD * 2 + 500;
    let limit = getrlimit(Resource::Nofile);
    let most = limit.maximum.unwrap_or(u64::MAX);
    let raised = Rlimit { current: Some(wanted), maximum: Some(most.max(wanted)) };
    if setrlimit(Resource::Nofile, raised).is_ok() {
        return Ok(HELD);
    }
    setrlimit(Resource::Nofile, Rlimit { current: Some(most), maximum: Some(most) })?;
    Ok((most.saturating_sub(500) / 2).min(HELD))
}

fn resident() -> Result<u64, Box<dyn Error>> {
    let text = std::fs::read_to_string("/proc/self/statm")?;
    let pages: u64 = text.split_whitespace().nth(1).unwrap_or_default().parse()?;
    Ok(pages * 4096)
}

fn open_files() -> Result<usize, Box<dyn Error>> {
    Ok(std::fs::read_dir("/proc/self/fd")?.count())
}

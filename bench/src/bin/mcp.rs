//! What the fence adds to a call of an MCP server: `echo` of server-everything by itself and through `ringfence wrap`, in turns.
//!
//! The servers are those of `script/mcp-servers`; `RINGFENCE_TEST_MCP` names their folder, `RINGFENCE_BIN` another command than the
//! one beside this program.
#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a measurement starts programs and prints its table"
)]

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use ringfence_bench::mcp::Peer;
use ringfence_bench::ratio::Ratio;

const ROUNDS: usize = 200;
const CALLS: usize = 25;
const STARTS: usize = 25;
const SERVERS: usize = 10;
const DIRECT: &str = "the server by itself";

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    let place = Place::new()?;
    // The first session accepts and pins the tools; it is not measured.
    Peer::start(place.wrapped())?.ready()?;
    latency(&place)?;
    throughput(&place)?;
    memory(&place)?;
    start(&place)
}

/// The commands that are compared.
struct Place {
    ringfence: PathBuf,
    script: PathBuf,
    folder: PathBuf,
}

impl Place {
    fn new() -> Outcome<Self> {
        let own = std::env::current_exe()?;
        let ringfence =
            std::env::var_os("RINGFENCE_BIN").map_or_else(|| own.with_file_name("ringfence"), PathBuf::from);
        if !ringfence.exists() {
            return Err(
                "no `ringfence` beside this program: build it with `cargo build --profile dist`".into()
            );
        }
        let servers = match std::env::var_os("RINGFENCE_TEST_MCP") {
            Some(named) => PathBuf::from(named),
            None => installed()?,
        };
        let script = servers.join("npm/node_modules/@modelcontextprotocol/server-everything/dist/index.js");
        let folder = std::env::temp_dir().join(format!("ringfence-bench-mcp-{}", std::process::id()));
        std::fs::create_dir_all(&folder)?;
        let place = Self { ringfence, script, folder };
        let one = place.entry("everything");
        std::fs::write(place.folder.join("ringfence.toml"), format!("[personality]\nid = \"bench\"\n{one}"))?;
        let many: String = (0..SERVERS).map(|number| place.entry(&format!("s{number}"))).collect();
        std::fs::write(place.folder.join("many.toml"), format!("[personality]\nid = \"bench\"\n{many}"))?;
        Ok(place)
    }

    fn entry(&self, name: &str) -> String {
        format!(
            "[[server]]\nname = \"{name}\"\ncommand = [\"node\", {:?}]\naccept = \"clean\"\n",
            self.script
        )
    }

    fn direct(&self) -> Command {
        let mut command = Command::new("node");
        command.arg(&self.script);
        command
    }

    fn wrapped(&self) -> Command {
        let mut command = self.command("ringfence.toml");
        command.args(["wrap", "--name", "everything", "--", "node"]).arg(&self.script);
        command
    }

    fn gateway(&self) -> Command {
        let mut command = self.command("many.toml");
        command.args(["gateway", "--stdio"]);
        command
    }

    fn command(&self, policy: &str) -> Command {
        let mut command = Command::new(&self.ringfence);
        command.arg("--policy").arg(self.folder.join(policy)).arg("--workspace").arg(&self.folder);
        command
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _left = std::fs::remove_dir_all(&self.folder);
    }
}

fn installed() -> Outcome<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().ok_or("no root")?;
    let output = Command::new(root.join("script/mcp-servers")).output()?;
    let text = String::from_utf8(output.stdout)?;
    Ok(PathBuf::from(text.lines().last().ok_or("`script/mcp-servers` failed")?))
}

fn latency(place: &Place) -> Outcome<()> {
    let mut peers = [Peer::start(place.direct())?, Peer::start(place.wrapped())?];
    let mut times = [Vec::new(), Vec::new()];
    for round in 0..ROUNDS {
        for (peer, times) in peers.iter_mut().zip(&mut times) {
            if round == 0 {
                peer.ready()?;
            }
            for _ in 0..CALLS {
                let begun = Instant::now();
                peer.echo("echo")?;
                times.push(begun.elapsed());
            }
        }
    }
    let [mut direct, mut wrapped] = times;
    // The first tenth warms up.
    direct.drain(..direct.len() / 10);
    wrapped.drain(..wrapped.len() / 10);
    println!("one `echo` at a time, {} calls each, in turns of {CALLS}:", direct.len());
    println!("          direct     wrapped    added     aim");
    for (name, share, aim) in [("p50", 0.5, "≤ 100 µs"), ("p99", 0.99, "")] {
        let (direct, wrapped) = (share_of(&mut direct, share), share_of(&mut wrapped, share));
        println!(
            "  {name}  {:>8.1} µs {:>8.1} µs {:>8.1} µs  {aim}",
            micros(direct),
            micros(wrapped),
            micros(wrapped) - micros(direct)
        );
        let name = format!("one call through `wrap`, {name}");
        Ratio::lower(name, micros(wrapped) / micros(direct), DIRECT).say()?;
        if !aim.is_empty() {
            let added = micros(wrapped) - micros(direct);
            Ratio::within("what `wrap` adds to a call, p50", added.max(0.0), 100.0, "µs").say()?;
        }
    }
    Ok(())
}

fn throughput(place: &Place) -> Outcome<()> {
    const EACH: u64 = 3000;
    let mut peers = [Peer::start(place.direct())?, Peer::start(place.wrapped())?];
    let mut rates = [Vec::new(), Vec::new()];
    for round in 0..10 {
        for (peer, rates) in peers.iter_mut().zip(&mut rates) {
            if round == 0 {
                peer.ready()?;
            }
            let begun = Instant::now();
            peer.echoes("echo", EACH, 32)?;
            let seconds = begun.elapsed();
            if round > 0 {
                rates.push(seconds);
            }
        }
    }
    let [mut direct, mut wrapped] = rates;
    let (direct, wrapped) = (share_of(&mut direct, 0.5), share_of(&mut wrapped, 0.5));
    let rate = |time: Duration| 3000.0 / time.as_secs_f64();
    let percent = 100.0 * rate(wrapped) / rate(direct);
    println!(
        "32 calls under way: direct {:.0}/s, wrapped {:.0}/s: {percent:.0} % (aim ≥ 80 %)",
        rate(direct),
        rate(wrapped)
    );
    Ratio::higher("calls per second through `wrap`, 32 under way", percent / 100.0, DIRECT).aim(0.8).say()?;
    Ok(())
}

fn memory(place: &Place) -> Outcome<()> {
    let mut gateway = Peer::start(place.gateway())?;
    gateway.ready()?;
    for number in 0..SERVERS {
        for _ in 0..10 {
            gateway.echo(&format!("s{number}__echo"))?;
        }
    }
    let megabytes = gateway.resident()? as f64 / 1e6;
    println!("resident memory of the gateway with {SERVERS} servers: {megabytes:.1} MB (aim ≤ 15 MB)");
    Ratio::within("memory of the gateway with ten servers", megabytes, 15.0, "MB").say()?;
    Ok(())
}

fn start(place: &Place) -> Outcome<()> {
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..STARTS {
        for (command, times) in [place.direct(), place.wrapped()].into_iter().zip(&mut times) {
            let begun = Instant::now();
            let peer = Peer::start(command)?;
            times.push(begun.elapsed());
            drop(peer);
            // What is left of the one before ends in its own time.
            std::thread::sleep(Duration::from_millis(50));
        }
    }
    let [mut direct, mut wrapped] = times;
    let (direct, wrapped) = (share_of(&mut direct, 0.5), share_of(&mut wrapped, 0.5));
    println!(
        "from start to the answer of `initialize`, medians of {STARTS}: direct {:.0} ms, wrapped {:.0} ms: {:.1} ms more (aim ≤ 30 ms)",
        micros(direct) / 1e3,
        micros(wrapped) / 1e3,
        (micros(wrapped) - micros(direct)) / 1e3
    );
    // What is lost in the noise may come out below nothing.
    let added = (micros(wrapped) - micros(direct)).max(0.0) / 1e3;
    Ratio::within("what `wrap` adds to the start of a server", added, 30.0, "ms").say()?;
    Ratio::lower("start of a server through `wrap`", micros(wrapped) / micros(direct), DIRECT).say()?;
    Ok(())
}

fn share_of(times: &mut [Duration], share: f64) -> Duration {
    times.sort();
    let last = times.len().saturating_sub(1);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "a place in a list of a few thousand"
    )]
    let at = (last as f64 * share) as usize;
    times.get(at).copied().unwrap_or_default()
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

//! Acts against limits. Those that are not bounded by their arguments end when the host ends them.

use std::fs::File;
use std::hint::black_box;
use std::io::Write;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use ringfence_guest::{log, storage};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::Came;

/// An act that takes more than it should.
#[derive(Deserialize)]
#[serde(tag = "act", rename_all = "snake_case")]
pub(crate) enum Act {
    /// Traps without a word.
    Abort,
    /// Writes a file of so many bytes.
    Disk { path: String, bytes: u64 },
    /// Ends the program with a code.
    Exit { code: i32 },
    /// Writes so many bytes of log, a line of 1,000 at a time.
    FloodLog { bytes: usize },
    /// Writes so many bytes to standard output and standard error.
    FloodOutput { bytes: usize },
    /// Stores so many values of 1,000 bytes.
    FloodStorage { count: usize },
    /// Starts this program so many times at once, each sleeping so long, and waits for all.
    Fork { count: usize, milliseconds: u64 },
    /// Takes memory, 64 KiB at a time, until there is none or until so many bytes.
    Grow { bytes: usize },
    /// Returns so many bytes.
    Output { bytes: usize },
    /// Returns an array inside an array, so many deep.
    OutputNested { levels: usize },
    /// Panics with a message.
    Panic { text: String },
    /// Calls itself so many times.
    Recurse { levels: u64 },
    /// Asks for 2 GiB in one piece, without a way out where they are not there.
    Reserve,
    /// Sleeps.
    Sleep { milliseconds: u64 },
    /// Computes, for ever or for so long by the host's clock.
    Spin { milliseconds: Option<u64> },
    /// Asks for the time without end, so that every round leaves the component.
    SpinOutside,
}

impl Act {
    pub(crate) fn attempt(self) -> Came {
        match self {
            Self::Abort => std::process::abort(),
            Self::Disk { path, bytes } => fill(&path, bytes).map(|()| json!(bytes)),
            Self::Exit { code } => std::process::exit(code),
            Self::FloodLog { bytes } => {
                let line = "x".repeat(1000);
                for _ in 0..bytes.div_ceil(1000) {
                    log::info(&line);
                }
                Ok(Value::Null)
            }
            Self::FloodOutput { bytes } => {
                flood(bytes).map(|()| Value::Null).map_err(|error| error.to_string())
            }
            Self::FloodStorage { count } => {
                let value = "x".repeat(1000);
                for number in 0..count {
                    let stored = storage::set(&format!("flood/{number}"), &value);
                    stored.map_err(|refusal| format!("after {number}: {refusal}"))?;
                }
                Ok(Value::Null)
            }
            Self::Fork { count, milliseconds } => fork(count, milliseconds),
            Self::Grow { bytes } => grow(bytes),
            Self::Output { bytes } => Ok(json!("x".repeat(bytes))),
            Self::OutputNested { levels } => Ok((0..levels).fold(Value::Null, |inner, _| json!([inner]))),
            Self::Panic { text } => explode(&text),
            Self::Recurse { levels } => Ok(json!(recurse(levels))),
            Self::Reserve => Ok(json!(Vec::<u8>::with_capacity(black_box(isize::MAX as usize)).capacity())),
            Self::Sleep { milliseconds } => {
                let start = Instant::now();
                sleep(Duration::from_millis(milliseconds));
                Ok(json!(start.elapsed().as_millis() as u64))
            }
            Self::Spin { milliseconds } => Ok(json!(spin(milliseconds.map(Duration::from_millis)))),
            Self::SpinOutside => loop {
                black_box(Instant::now());
            },
        }
    }
}

fn flood(bytes: usize) -> std::io::Result<()> {
    let block = [b'x'; 1000];
    for _ in 0..bytes.div_ceil(block.len()) {
        std::io::stdout().write_all(&block)?;
        std::io::stderr().write_all(&block)?;
    }
    std::io::stdout().flush()
}

fn fill(path: &str, bytes: u64) -> Result<(), String> {
    let mut file = File::create(path).map_err(|error| error.to_string())?;
    let block = [b'x'; 4096];
    let mut written = 0;
    while written < bytes {
        let now = block.get(..(bytes - written).min(4096) as usize).unwrap_or(&block);
        file.write_all(now).map_err(|error| format!("after {written} bytes: {error}"))?;
        written += now.len() as u64;
    }
    file.sync_all().map_err(|error| error.to_string())
}

fn fork(count: usize, milliseconds: u64) -> Came {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let act = json!({ "act": "sleep", "milliseconds": milliseconds }).to_string();
    let mut children: Vec<Child> = Vec::new();
    let mut refused = None;
    for number in 0..count {
        match Command::new(&program).arg(&act).stdout(Stdio::null()).spawn() {
            Ok(child) => children.push(child),
            Err(error) => {
                refused = Some(format!("after {number}: {error}"));
                break;
            }
        }
    }
    for child in &mut children {
        child.wait().map_err(|error| error.to_string())?;
    }
    refused.map_or_else(|| Ok(json!(children.len())), Err)
}

fn grow(bytes: usize) -> Came {
    const BLOCK: usize = 65536;
    let mut held: Vec<Vec<u8>> = Vec::new();
    for number in 0..bytes.div_ceil(BLOCK) {
        let mut block = Vec::new();
        if block.try_reserve_exact(BLOCK).is_err() || held.try_reserve(1).is_err() {
            return Err(format!("no memory after {} bytes", number.saturating_mul(BLOCK)));
        }
        // Written to, so that no page is only promised.
        block.resize(BLOCK, 1);
        held.push(black_box(block));
    }
    Ok(json!(held.len() * BLOCK))
}

fn recurse(levels: u64) -> u64 {
    let frame = black_box([levels; 16]);
    if levels == 0 {
        0
    } else {
        recurse(levels - 1) + black_box(frame).first().copied().unwrap_or_default().min(1)
    }
}

fn spin(time: Option<Duration>) -> u64 {
    let start = Instant::now();
    let mut rounds = 0_u64;
    loop {
        for _ in 0..1_000_000 {
            rounds = black_box(rounds.wrapping_add(1));
        }
        if time.is_some_and(|time| start.elapsed() >= time) {
            return rounds;
        }
    }
}

#[expect(clippy::panic, reason = "this is the act")]
fn explode(text: &str) -> Came {
    panic!("{text}")
}

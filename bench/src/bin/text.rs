//! What cleaning costs, against memchr over the same bytes and a set of regular expressions with the same rules.
#![expect(clippy::print_stdout, reason = "a measurement prints its table")]

use std::error::Error;
use std::fmt::Write as _;
use std::hint::black_box;
use std::time::Duration;

use regex::RegexSet;
use ringfence_bench::ratio::Ratio;
use ringfence_bench::{Subject, measure};
use ringfence_text::{clean, credential_patterns};

const ROUNDS: usize = 5;
const SPAN: Duration = Duration::from_millis(20);
/// The prefix of the tokens, apart from them so that no scanner of this repository trips over one.
const PREFIX: &str = "ghp";
/// A short log stays in the nearest cache, where the floor is highest; a long one comes from further away.
const SHORT: usize = 1 << 20;
const LONG: usize = 64 << 20;
/// The set of expressions is so slow on the busy text that it gets less of it.
const BUSY: usize = 128 << 10;
const BUSY_NAME: &str = "escapes and tokens";

fn main() -> Result<(), Box<dyn Error>> {
    let rules = rules()?;
    println!("| text | clean MB/s | memchr MB/s | regex set MB/s | clean ÷ memchr | clean ÷ regex set |");
    println!("|---|---|---|---|---|---|");
    let texts = [("ordinary log, 1 MB", log(SHORT)), ("ordinary log, 64 MB", log(LONG)), (BUSY_NAME, busy())];
    for (name, text) in &texts {
        let mut subjects = [
            Subject {
                name: "clean",
                operations: 1,
                turn: Box::new(|| drop(black_box(clean(black_box(text))))),
            },
            Subject {
                name: "memchr",
                operations: 1,
                turn: Box::new(|| {
                    black_box(memchr::memchr(0, black_box(text.as_bytes())));
                }),
            },
            Subject {
                name: "regex set",
                operations: 1,
                turn: Box::new(|| {
                    black_box(regex_pass(&rules, black_box(text)));
                }),
            },
        ];
        let figures = measure(&mut subjects, ROUNDS, SPAN);
        let [ours, floor, peer] = figures.as_slice() else { continue };
        let speed = |nanoseconds: &f64| text.len() as f64 / nanoseconds * 1e3;
        println!(
            "| {name} | {:.0} | {:.0} | {:.0} | {:.3} | {:.1} |",
            speed(ours),
            speed(floor),
            speed(peer),
            speed(ours) / speed(floor),
            speed(ours) / speed(peer),
        );
        // On the busy text the floor says nothing: there is something to do in every line.
        let (of_floor, of_peer) = if *name == BUSY_NAME { (None, 2.0) } else { (Some(0.1), 5.0) };
        let said = format!("speed of cleaning: {name}");
        let floor = Ratio::higher(&said, speed(ours) / speed(floor), "memchr over the same bytes");
        Ratio { aim: of_floor, ..floor }.say()?;
        Ratio::higher(&said, speed(ours) / speed(peer), "a regex set of the same rules")
            .aim(of_peer)
            .say()?;
    }
    Ok(())
}

/// The same rules as one would write them first: the vendors' prefixes, the words, the markup, the escapes.
fn rules() -> Result<RegexSet, regex::Error> {
    let mut patterns = credential_patterns();
    patterns.extend(
        [
            r"\x1b\[[0-?]*[ -/]*[@-~]",
            r"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)",
            r"\x1b[PX^_][^\x1b]*\x1b\\",
            r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u{80}-\u{9f}]",
            r"[\u{ad}\u{200b}-\u{200f}\u{202a}-\u{202e}\u{2060}-\u{206f}\u{feff}\u{fe00}-\u{fe0f}\u{e0000}-\u{e0fff}]",
            r"!\[[^\]]*\]\([^)]*\)",
            r"\[[^\]]*\]\((?:https?:|data:|javascript:)[^)]*\)",
            r"(?s)<!--.*?-->",
            r"(?i)<(?:script|style|iframe|img|system|assistant)\b[^>]*>",
            r"<\|[a-z_]+\|>",
            r"(?m)^(?:Human|Assistant|System):",
            r#"(?i)(?:password|passwd|pwd|secret|token|api[_-]?key|access[_-]?key)["']?\s*[:=]\s*["']?[^\s"']{6,}"#,
            r"(?i)authorization:\s*\S+\s+\S+",
            r"(?i)bearer\s+[a-z0-9._~+/-]{12,}",
            r"(?i)(?:set-)?cookie:\s*[^\n]+",
            r"[a-z][a-z0-9+.-]*://[^\s/:@]+:[^\s/@]+@",
            r"-----BEGIN [A-Z ]*PRIVATE KEY-----",
        ]
        .map(str::to_owned),
    );
    regex::RegexSetBuilder::new(patterns).size_limit(1 << 28).dfa_size_limit(1 << 26).build()
}

/// Counts the lines in which some rule matches.
fn regex_pass(rules: &RegexSet, text: &str) -> usize {
    text.lines().map(|line| rules.matches(line).iter().count()).sum()
}

/// Lines of a service: times, levels, requests, addresses, identifiers.
fn log(size: usize) -> String {
    let paths =
        ["/api/v1/orders", "/health", "/static/app.css", "/users/42/settings", "/search?q=blue+shoes&page=3"];
    let notes = [
        "upstream answered in time",
        "cache miss for region eu-west-1, loading from store",
        "retrying after timeout",
        "connection closed by peer",
        "scheduled job finished, 120 rows written",
        "slow query: select id, name from products where price < 100 order by name",
    ];
    let mut text = String::new();
    let mut count = 0_usize;
    while text.len() < size {
        count += 1;
        let (path, note) = (paths.get(count % 5).unwrap_or(&""), notes.get(count % 6).unwrap_or(&""));
        let _written = writeln!(
            text,
            "2026-03-{:02}T{:02}:{:02}:{:02}.{:03}Z INFO  [worker-{}] http: GET {path} status={} bytes={} took={}ms request_id={:08x}-{:04x}-4b1d-9c3e-{:012x} {note}",
            count % 28 + 1,
            count % 24,
            count % 60,
            count * 7 % 60,
            count * 13 % 1_000,
            count % 16,
            200 + count % 5,
            count * 37 % 50_000,
            count % 900,
            count * 2_654_435_761 % 0xFFFF_FFFF,
            count % 0xFFFF,
            count * 11_400_714_819 % 0xFFFF_FFFF_FFFF,
        );
    }
    text
}

/// Coloured output with something to redact in most lines.
fn busy() -> String {
    let mut text = String::new();
    let mut count = 0_u64;
    while text.len() < BUSY {
        count += 1;
        let drawn = |length: usize| -> String {
            let mut state = count.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
            (0..length)
                .map(|_| {
                    state ^= state << 13;
                    state ^= state >> 7;
                    state ^= state << 17;
                    char::from(
                        *b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                            .get((state >> 33) as usize % 62)
                            .unwrap_or(&b'a'),
                    )
                })
                .collect()
        };
        let _written = match count % 4 {
            0 => writeln!(text, "\u{1b}[32minfo\u{1b}[0m token={PREFIX}_{} accepted", drawn(36)),
            1 => writeln!(
                text,
                "\u{1b}[1;31merror\u{1b}[0m db password: \"{}\" refused by \u{1b}[4mhost\u{1b}[24m",
                drawn(14)
            ),
            2 => writeln!(
                text,
                "\u{1b}]0;build {count}\u{7}\u{1b}[33mwarn\u{1b}[0m Authorization: Bearer {}",
                drawn(40)
            ),
            _ => writeln!(
                text,
                "\u{1b}[2K\u{1b}[1Gprogress {}% ![x](https://e.test/{})",
                count % 100,
                drawn(12)
            ),
        };
    }
    text
}

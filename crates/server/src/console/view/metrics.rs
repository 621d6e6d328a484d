//! What is counted, as Prometheus reads it.
//!
//! INVARIANT: labels are classes, outcomes and codes, which are few, and servers, which the policy names: nobody who calls can
//! make a new one.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::super::live::{ChildSeen, Counted, Live, OUTCOMES, STEPS};
use super::Queues;

/// Writes everything.
pub(crate) fn metrics(live: &Live, queues: Queues, entries: u64) -> String {
    let mut text = String::with_capacity(8192);
    let classes = live.classes();
    head(&mut text, "ringfence_build_info", "gauge", "The version of this program.");
    line(&mut text, "ringfence_build_info", &[("version", env!("CARGO_PKG_VERSION"))], 1);
    head(&mut text, "ringfence_calls_total", "counter", "Calls that have ended, by class and outcome.");
    for class in &classes {
        for (outcome, count) in OUTCOMES.iter().zip(class.outcomes) {
            line(&mut text, "ringfence_calls_total", &[("class", class.class), ("outcome", outcome)], count);
        }
    }
    head(&mut text, "ringfence_refusals_total", "counter", "Calls that were refused, by code.");
    for (code, count) in live.refusals() {
        line(&mut text, "ringfence_refusals_total", &[("code", code.as_str())], count);
    }
    let help = "How long calls took without waiting for people, by class.";
    head(&mut text, "ringfence_call_duration_seconds", "histogram", help);
    for class in &classes {
        histogram(&mut text, "ringfence_call_duration_seconds", class.class, &class.took);
    }
    let help = "How long calls waited for people, where they were asked, by class.";
    head(&mut text, "ringfence_approval_wait_seconds", "histogram", help);
    for class in &classes {
        histogram(&mut text, "ringfence_approval_wait_seconds", class.class, &class.waited);
    }
    let children = live.children();
    #[rustfmt::skip]
    let gauges = [
        ("ringfence_calls_under_way",  "Calls of clients that are under way.", queues.calls_under_way),
        ("ringfence_approvals_open",   "Requests that wait for people.",       queues.approvals_open),
        ("ringfence_children",         "MCP servers that run.",                children.len() as u64),
        ("ringfence_audit_entries",    "Entries of the audit log.",            entries),
        ("ringfence_console_sessions", "Sessions of the console.",             queues.sessions),
        ("ringfence_feed_followers",   "Pages that follow what happens.",      queues.followers),
    ];
    for (name, help, value) in gauges {
        head(&mut text, name, "gauge", help);
        line(&mut text, name, &[], value);
    }
    let help = "Memory of MCP servers by name, where it is known.";
    head(&mut text, "ringfence_child_memory_bytes", "gauge", help);
    for (server, bytes) in memory(children) {
        line(&mut text, "ringfence_child_memory_bytes", &[("server", &server)], bytes);
    }
    text
}

/// Writes the lines of a histogram of one class.
fn histogram(text: &mut String, name: &str, class: &str, counted: &Counted) {
    let mut sum = 0;
    let ends = STEPS.iter().map(|end| seconds(*end)).chain(["+Inf".to_owned()]);
    for (end, count) in ends.zip(&counted.steps) {
        sum += count;
        line(text, &format!("{name}_bucket"), &[("class", class), ("le", end.as_str())], sum);
    }
    line(text, &format!("{name}_sum"), &[("class", class)], seconds(counted.sum_us));
    line(text, &format!("{name}_count"), &[("class", class)], sum);
}

/// Sums up the memory of all children of a name.
fn memory(children: Vec<ChildSeen>) -> BTreeMap<String, u64> {
    let known = children.into_iter().filter_map(|child| Some((child.server, child.memory?)));
    known.fold(BTreeMap::new(), |mut all, (server, bytes)| {
        let own = all.entry(server).or_insert(0_u64);
        *own = own.saturating_add(bytes);
        all
    })
}

/// Writes microseconds as seconds, exactly.
fn seconds(micros: u64) -> String {
    let text = format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn head(text: &mut String, name: &str, kind: &str, help: &str) {
    // Writing to a string cannot fail.
    let _written = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
}

fn line(text: &mut String, name: &str, labels: &[(&str, &str)], value: impl std::fmt::Display) {
    text.push_str(name);
    for (place, (label, own)) in labels.iter().enumerate() {
        let before = if place == 0 { '{' } else { ',' };
        let own = own.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
        let _written = write!(text, "{before}{label}=\"{own}\"");
    }
    let end = if labels.is_empty() { "" } else { "}" };
    let _written = writeln!(text, "{end} {value}");
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::AtomicU64;

    use super::*;

    const NONE: Queues = Queues { approvals_open: 3, calls_under_way: 2, followers: 1, sessions: 4 };

    /// Reads the text as Prometheus does, in other words than it is written; panics where it is not in the format.
    fn read(text: &str) -> BTreeMap<(String, BTreeMap<String, String>), f64> {
        let mut all = BTreeMap::new();
        let mut kinds: BTreeMap<&str, &str> = BTreeMap::new();
        for line in text.lines() {
            if let Some(kind) = line.strip_prefix("# TYPE ") {
                let (name, kind) = kind.split_once(' ').unwrap();
                assert_eq!(kinds.insert(name, kind), None, "{name} is described twice");
                continue;
            }
            if line.starts_with("# HELP ") {
                continue;
            }
            let (series, value) = line.rsplit_once(' ').unwrap();
            let (name, rest) = series.split_once('{').unwrap_or((series, "}"));
            let mut labels = BTreeMap::new();
            let mut rest = rest;
            while let Some((label, after)) = rest.split_once("=\"") {
                let mut own = String::new();
                let mut characters = after.char_indices();
                let end = loop {
                    match characters.next().unwrap() {
                        (at, '"') => break at,
                        (_, '\\') => match characters.next().unwrap().1 {
                            'n' => own.push('\n'),
                            other => own.push(other),
                        },
                        (_, other) => own.push(other),
                    }
                };
                labels.insert(label.trim_start_matches(',').to_owned(), own);
                rest = after.split_at(end + 1).1;
            }
            assert_eq!(rest, "}", "{line}");
            let base = ["_bucket", "_sum", "_count"].iter().find_map(|end| name.strip_suffix(end));
            let base = base.filter(|base| kinds.contains_key(base)).unwrap_or(name);
            assert!(kinds.contains_key(base), "{name} is not described");
            assert_eq!(all.insert((name.to_owned(), labels), value.parse().unwrap()), None, "{line} twice");
        }
        all
    }

    #[test]
    fn it_is_read_back() {
        let live = Live::default();
        let _one = live.child("mail", "run-1", Arc::new(AtomicU64::new(5)));
        let _other = live.child("mail", "run-2", Arc::new(AtomicU64::new(7)));
        let _odd = live.child("a\"b\\c\nd", "run-3", Arc::new(AtomicU64::new(1)));
        let _unknown = live.child("files", "run-4", Arc::default());
        let all = read(&metrics(&live, NONE, 99));
        let find = |name: &str, labels: &[(&str, &str)]| {
            let labels = labels.iter().map(|(name, own)| ((*name).to_owned(), (*own).to_owned())).collect();
            all.get(&(name.to_owned(), labels)).copied()
        };
        #[rustfmt::skip]
        let cases = [
            ("ringfence_approvals_open",     &[][..],                                       Some(3.0)),
            ("ringfence_calls_under_way",    &[],                                           Some(2.0)),
            ("ringfence_feed_followers",     &[],                                           Some(1.0)),
            ("ringfence_console_sessions",   &[],                                           Some(4.0)),
            ("ringfence_audit_entries",      &[],                                           Some(99.0)),
            ("ringfence_children",           &[],                                           Some(4.0)),
            ("ringfence_build_info",         &[("version", env!("CARGO_PKG_VERSION"))],     Some(1.0)),
            ("ringfence_child_memory_bytes", &[("server", "mail")],                         Some(12.0)),
            ("ringfence_child_memory_bytes", &[("server", "a\"b\\c\nd")],                   Some(1.0)),
            ("ringfence_child_memory_bytes", &[("server", "files")],                        None),
            ("ringfence_calls_total",        &[("class", "read"), ("outcome", "done")],     Some(0.0)),
            ("ringfence_calls_total",        &[("class", "unknown"), ("outcome", "refused")], Some(0.0)),
            ("ringfence_refusals_total",     &[("code", "HOST_NOT_ALLOWED")],               Some(0.0)),
            ("ringfence_call_duration_seconds_bucket", &[("class", "read"), ("le", "0.0005")], Some(0.0)),
            ("ringfence_call_duration_seconds_bucket", &[("class", "read"), ("le", "60")],   Some(0.0)),
            ("ringfence_call_duration_seconds_bucket", &[("class", "read"), ("le", "+Inf")], Some(0.0)),
            ("ringfence_call_duration_seconds_count",  &[("class", "network")],              Some(0.0)),
        ];
        for (name, labels, expected) in cases {
            assert_eq!(find(name, labels), expected, "{name} {labels:?}");
        }
    }

    #[test]
    fn seconds_are_exact() {
        for (micros, expected) in
            [(0, "0"), (500, "0.0005"), (1_000_000, "1"), (2_500_000, "2.5"), (60_000_001, "60.000001")]
        {
            assert_eq!(seconds(micros), expected);
        }
    }
}

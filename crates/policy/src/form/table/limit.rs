//! What a call may spend.

use super::super::Absent::Means;
use super::super::word::{self, DURATION, SIZE};
use super::super::{Key, Kind, Table};

const DURATIONS: Kind = Kind::Either(&[Kind::Word(&DURATION), Kind::Word(&word::UNLIMITED)]);
const SIZES: Kind =
    Kind::Either(&[Kind::Word(&SIZE), Kind::Number(i64::MAX as u64), Kind::Word(&word::UNLIMITED)]);
const COUNT: Kind = Kind::Either(&[Kind::Number(u32::MAX as u64 - 1), Kind::Word(&word::UNLIMITED)]);
const UNLIMITED: super::super::Absent = Means("not limited by this side");

pub(super) static LIMITS: Table = Table {
    name: "limits",
    heading: None,
    meaning: "What one call may spend. Durations are `500ms`, `30s`, `2m`, `1h`, `7d`; sizes `512K`, `64M`, `1G` or plain bytes; each can be `unlimited`. Of a tool's limit and the personality's, the tighter holds.",
    rules: &[],
    samples: &["wall = \"30s\"\nmemory = \"512M\""],
    keys: &[
        Key::new("wall", DURATIONS, UNLIMITED, "Wall-clock time.", "\"30s\""),
        Key::new("cpu", DURATIONS, UNLIMITED, "Processor time.", "\"10s\""),
        Key::new("memory", SIZES, UNLIMITED, "Memory.", "\"512M\""),
        Key::new("processes", COUNT, UNLIMITED, "Processes and threads.", "64"),
        Key::new("open_files", COUNT, UNLIMITED, "Open files of one process.", "256").also(&["openFiles", "open-files"]),
        Key::new("file_size", SIZES, UNLIMITED, "Size of one written file.", "\"100M\"").also(&["fileSize", "file-size"]),
        Key::new("output", SIZES, UNLIMITED, "Output kept of one call.", "\"1M\""),
        Key::new("scratch", SIZES, UNLIMITED, "Scratch space.", "\"64M\""),
        Key::new("connections", COUNT, UNLIMITED, "Network connections open at the same time.", "16"),
        Key::new("sent", SIZES, UNLIMITED, "Bytes sent over the network by one call.", "\"1M\""),
        Key::new("received", SIZES, UNLIMITED, "Bytes received over the network by one call.", "\"100M\""),
        Key::new("idle", DURATIONS, UNLIMITED, "How long a network connection may be silent.", "\"60s\""),
        Key::new("connection_time", DURATIONS, UNLIMITED, "How long a network connection may last.", "\"10m\"")
            .also(&["connectionTime", "connection-time"]),
        Key::new(
            "requests_per_minute",
            COUNT,
            UNLIMITED,
            "Network requests in a minute: a connection is one, and so is each further HTTP request that can be seen on it.",
            "120",
        )
        .also(&["requestsPerMinute", "requests-per-minute"]),
        Key::new(
            "names_per_minute",
            COUNT,
            UNLIMITED,
            "Different names in a minute that only a pattern with `*` admits.",
            "30",
        )
        .also(&["namesPerMinute", "names-per-minute"]),
    ],
};

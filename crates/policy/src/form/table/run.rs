//! What commands are granted that people run by hand.

use super::super::Absent::{Means, Value};
use super::super::word::{BINARY, HOST, PATH, PRIVATE, TEXT};
use super::super::{Key, Kind, Table};
use super::limit::LIMITS;

pub(super) static RUN: Table = Table {
    name: "run",
    heading: Some("[run.NAME]"),
    meaning: "What a command is granted that somebody runs as `ringfence run @NAME -- COMMAND`. The keys are the flags of `ringfence run`; flags on the command line add to them.",
    rules: &[],
    samples: &["read = [\"${workspace}/src\"]\nwrite = [\"${workspace}/out\"]\nexec = [\"git\"]"],
    keys: &[
        Key::new(
            "read",
            Kind::List(&Kind::Word(&PATH)),
            Value("[]"),
            "Paths that it may read, each with everything below it.",
            "[\"${workspace}/src\"]",
        ),
        Key::new(
            "write",
            Kind::List(&Kind::Word(&PATH)),
            Value("[]"),
            "Paths that it may read and write.",
            "[\"${workspace}/out\"]",
        ),
        Key::new(
            "exec",
            Kind::List(&Kind::Word(&BINARY)),
            Value("[]"),
            "Programs that it may start, folders of them, or `*`: whatever it can reach.",
            "[\"git\", \"make\"]",
        ),
        Key::new(
            "env",
            Kind::List(&Kind::Word(&TEXT)),
            Value("[]"),
            "Variables: `NAME` with the caller's value, or `NAME=VALUE`.",
            "[\"LANG\", \"CI=1\"]",
        ),
        Key::new(
            "secret",
            Kind::List(&Kind::Word(&TEXT)),
            Value("[]"),
            "Secrets in variables: `REF=NAME`.",
            "[\"github/token=GITHUB_TOKEN\"]",
        ),
        Key::new(
            "host",
            Kind::List(&Kind::Word(&HOST)),
            Value("[]"),
            "Hosts that it may connect to.",
            "[\"api.github.com\"]",
        ),
        Key::new(
            "private",
            Kind::List(&Kind::Word(&PRIVATE)),
            Value("[]"),
            "Private names, addresses and ranges that its hosts may lie on.",
            "[\"10.0.0.0/8\"]",
        ),
        Key::new(
            "cwd",
            Kind::Word(&PATH),
            Means("the current folder, where that is granted"),
            "The folder that it starts in.",
            "\"${workspace}\"",
        ),
        Key::new(
            "home",
            Kind::Word(&PATH),
            Means("an empty home that is gone afterwards"),
            "A home of its own, which stays.",
            "\"${home}/.local/share/ringfence-home\"",
        ),
        Key::new("limits", Kind::Table(&LIMITS), Value("{}"), "What it may spend.", "{ wall = \"10m\" }"),
        Key::new(
            "unix_sockets",
            Kind::Flag,
            Value("false"),
            "Whether it may open Unix sockets, which reach only what a granted path holds.",
            "true",
        )
        .also(&["unixSockets"]),
        Key::new(
            "tty",
            Kind::Flag,
            Value("false"),
            "Whether it gets a terminal of its own, for commands that talk to a person.",
            "true",
        ),
    ],
};

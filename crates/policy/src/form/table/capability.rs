//! What a tool or a server declares that it touches.

use super::super::Absent::{Means, Refused, Value};
use super::super::word::{BINARY, HOST, PATH, SECRET, VARIABLE};
use super::super::{Key, Kind, Table};

pub(super) const HOSTS: Kind = Kind::List(&Kind::Word(&HOST));
pub(super) const PATHS: Kind = Kind::List(&Kind::Word(&PATH));
pub(super) const SECRETS: Kind =
    Kind::Either(&[Kind::List(&Kind::Word(&SECRET)), Kind::Table(&SECRETS_ALLOW)]);
pub(super) const BINARIES: Kind =
    Kind::Either(&[Kind::List(&Kind::Word(&BINARY)), Kind::Table(&BINARIES_ALLOW)]);
pub(super) const VARIABLES: Kind =
    Kind::Either(&[Kind::List(&Kind::Word(&VARIABLE)), Kind::Table(&VARIABLES_ALLOW)]);
const REACH: Kind = Kind::Either(&[
    Kind::Choice(&[("from-personality", "Whatever the personality permits.")]),
    Kind::List(&Kind::Word(&PATH)),
]);
const UNTOUCHED: super::super::Absent = Means("it touches none");

pub(super) static CAPABILITIES: Table = Table {
    name: "capabilities",
    heading: None,
    meaning: "The surfaces that it touches. One that is absent is not touched; `{}` touches nothing.",
    rules: &[],
    samples: &["fs_reach = { read = \"from-personality\" }"],
    keys: &[
        Key::new(
            "fs_reach",
            Kind::Table(&FS_REACH),
            UNTOUCHED,
            "Paths that it reads and writes.",
            "{ read = \"from-personality\", write = [\"${workspace}/out\"] }",
        )
        .also(&["fsReach"]),
        Key::new(
            "network",
            Kind::Table(&NETWORK),
            UNTOUCHED,
            "Hosts that it talks to.",
            "{ allowedHosts = [\"api.weather.gov\"] }",
        ),
        Key::new(
            "process",
            Kind::Table(&PROCESS),
            UNTOUCHED,
            "Programs that it starts.",
            "{ allowedBinaries = [\"rg\"] }",
        ),
        Key::new(
            "secrets",
            SECRETS,
            UNTOUCHED,
            "Secrets that it reads, by their refs.",
            "[\"WEATHER_API_KEY\"]",
        ),
        Key::new("environment", VARIABLES, UNTOUCHED, "Environment variables that it reads.", "[\"LANG\"]"),
        Key::new(
            "storage",
            Kind::Table(&STORAGE),
            UNTOUCHED,
            "Key-value storage that it keeps.",
            "{ scope = \"tool-private\" }",
        ),
    ],
};

static FS_REACH: Table = Table {
    name: "declared fs_reach",
    heading: None,
    meaning: "Paths that it reads and writes. A direction that is absent reaches nothing.",
    rules: &[],
    samples: &["read = [\"${workspace}\"]"],
    keys: &[
        Key::new("read", REACH, Means("nothing"), "What it reads.", "\"from-personality\""),
        Key::new("write", REACH, Means("nothing"), "What it writes.", "[\"${workspace}/out\"]"),
        Key::new(
            "jail",
            Kind::Either(&[Kind::Flag, Kind::Word(&PATH)]),
            Value("false"),
            "Keep it in one directory, with relative paths only: `true` for the one root that `read` and `write` name, or the path.",
            "true",
        ),
    ],
};

static NETWORK: Table = Table {
    name: "declared network",
    heading: None,
    meaning: "Hosts that it talks to.",
    rules: &[],
    samples: &["allowedHosts = [\"api.weather.gov\"]"],
    keys: &[Key::new(
        "allowedHosts",
        HOSTS,
        Refused,
        "The hosts; `*` means whatever the personality allows.",
        "[\"api.weather.gov:443\", \"*.github.com\"]",
    )
    .also(&["allowed_hosts", "allow"])],
};

static PROCESS: Table = Table {
    name: "declared process",
    heading: None,
    meaning: "Programs that it starts.",
    rules: &[],
    samples: &["allowedBinaries = [\"rg\"]"],
    keys: &[Key::new(
        "allowedBinaries",
        BINARIES,
        Refused,
        "The programs, by name, absolute path or image; `*` means whatever the personality lists.",
        "[\"rg\"]",
    )
    .also(&["allowed_binaries", "allow"])],
};

static STORAGE: Table = Table {
    name: "storage",
    heading: None,
    meaning: "Key-value storage that it keeps.",
    rules: &[],
    samples: &["scope = \"session\""],
    keys: &[
        Key::new(
            "scope",
            Kind::Choice(&[
                ("personality", "The personality shares it, across sessions."),
                ("session", "Every tool of the session shares it, until it ends."),
                ("tool-private", "This tool alone, across sessions."),
            ]),
            Refused,
            "Who shares it.",
            "\"tool-private\"",
        ),
        Key::new(
            "kind",
            Kind::Choice(&[("kv", "Keys and texts.")]),
            Value("\"kv\""),
            "What kind it is.",
            "\"kv\"",
        ),
        Key::new(
            "ttlSecondsDefault",
            Kind::Number(i64::MAX as u64),
            Means("for ever"),
            "How long an entry lives where `set` does not say.",
            "3600",
        )
        .also(&["ttl_seconds_default"]),
    ],
};

static SECRETS_ALLOW: Table = Table {
    name: "list of secrets",
    heading: None,
    meaning: "The same as the list alone.",
    rules: &[],
    samples: &["allow = [\"WEATHER_API_KEY\"]"],
    keys: &[Key::new(
        "allow",
        Kind::List(&Kind::Word(&SECRET)),
        Refused,
        "Refs of secrets; `prod/*` is every one below `prod`.",
        "[\"prod/*\"]",
    )],
};

static BINARIES_ALLOW: Table = Table {
    name: "list of programs",
    heading: None,
    meaning: "The same as the list alone.",
    rules: &[],
    samples: &["allow = [\"rg\"]"],
    keys: &[Key::new(
        "allow",
        Kind::List(&Kind::Word(&BINARY)),
        Refused,
        "Programs, by name or absolute path.",
        "[\"rg\", \"/usr/bin/git\"]",
    )],
};

static VARIABLES_ALLOW: Table = Table {
    name: "list of variables",
    heading: None,
    meaning: "The same as the list alone.",
    rules: &[],
    samples: &["allow = [\"LANG\"]"],
    keys: &[Key::new(
        "allow",
        Kind::List(&Kind::Word(&VARIABLE)),
        Refused,
        "Names of variables.",
        "[\"LANG\"]",
    )],
};

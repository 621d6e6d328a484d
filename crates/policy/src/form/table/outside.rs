//! Who connects, who looks, who is told, and the container engine.

use super::super::Absent::{Means, Refused, Value};
use super::super::word::{ADDRESS, DIGEST, DURATION, HOST_NAME, PATH, PRIVATE, TEXT, TOOL_NAME, URL};
use super::super::{Key, Kind, Rule, Table, When};
use super::personality::NETWORK_CEILING;
use super::{needs, some};
use crate::gateway::MAX_SESSIONS_PER_AGENT;

pub(super) static GATEWAY: Table = Table {
    name: "gateway",
    heading: Some("[gateway]"),
    meaning: "Where agents connect (`ringfence gateway`).",
    rules: &[],
    samples: &["listen = \"127.0.0.1:7117\""],
    keys: &[
        Key::new(
            "listen",
            Kind::Word(&ADDRESS),
            Means("127.0.0.1:7117"),
            "The address; one that is not loopback needs `tls`.",
            "\"127.0.0.1:7117\"",
        ),
        Key::new(
            "tls",
            Kind::Table(&TLS),
            Means("no TLS, on loopback"),
            "The certificate and its key.",
            "{ certificate = \"${self}/cert.pem\", key = \"${self}/key.pem\" }",
        ),
        Key::new(
            "hosts",
            Kind::List(&Kind::Word(&HOST_NAME)),
            Value("[]"),
            "Further names of it that `Host` and `Origin` may hold.",
            "[\"fence.example.org\"]",
        ),
        Key::new(
            "policy_tool",
            Kind::Flag,
            Value("true"),
            "Whether the agent is offered a tool that tells what it may reach.",
            "false",
        )
        .also(&["policyTool"]),
        Key::new(
            "sessions_per_agent",
            Kind::Number(MAX_SESSIONS_PER_AGENT as u64),
            Value("32"),
            "How many sessions one agent may have at the same time: 1 to 256.",
            "64",
        )
        .also(&["sessionsPerAgent"]),
        Key::new(
            "requests_per_minute",
            Kind::Number(u32::MAX as u64),
            Value("120000"),
            "How many messages one agent may send in a minute over HTTP: 60 or more. Each session of anonymous clients has its own count.",
            "600000",
        )
        .also(&["requestsPerMinute"]),
        Key::new(
            "keep_keys",
            Kind::Word(&DURATION),
            Value("\"168h\""),
            "How long the output of a call with an idempotency key is kept for those who ask again: `1h` to `8784h`. Outputs of `financial` and `privileged` tools are kept for a day at least.",
            "\"720h\"",
        )
        .also(&["keepKeys"]),
    ],
};

static TLS: Table = Table {
    name: "tls",
    heading: None,
    meaning: "The files of a certificate and of its key.",
    rules: &[],
    samples: &["certificate = \"${self}/cert.pem\"\nkey = \"${self}/key.pem\""],
    keys: &[
        Key::new(
            "certificate",
            Kind::Word(&PATH),
            Refused,
            "The certificate and those above it, as PEM.",
            "\"${self}/cert.pem\"",
        ),
        Key::new("key", Kind::Word(&PATH), Refused, "Its private key, as PEM.", "\"${self}/key.pem\""),
    ],
};

pub(super) static AGENT: Table = Table {
    name: "agent",
    heading: Some("[[agent]]"),
    meaning: "An agent that may connect to the gateway. `ringfence gateway --new-token NAME` prints one.",
    rules: &[],
    samples: &[
        "name = \"researcher\"\ntoken = \"sha256:0000000000000000000000000000000000000000000000000000000000000000\"",
    ],
    keys: &[
        Key::new(
            "name",
            Kind::Word(&TOOL_NAME),
            Refused,
            "What it is called in records and logs.",
            "\"researcher\"",
        ),
        Key::new(
            "token",
            Kind::Word(&DIGEST),
            Refused,
            "The digest of its token, never the token.",
            "\"sha256:0000000000000000000000000000000000000000000000000000000000000000\"",
        ),
        Key::new(
            "servers",
            Kind::List(&Kind::Word(&TEXT)),
            Means("all of them"),
            "The servers it may use, `toolbox` for the tools of this file.",
            "[\"git\", \"toolbox\"]",
        ),
        Key::new(
            "approves",
            Kind::Flag,
            Value("false"),
            "Whether the person at its client may agree to calls.",
            "true",
        ),
        Key::new(
            "tools",
            Kind::List(&Kind::Word(&TEXT)),
            Means("all of them"),
            "The tools it may use, as `server__tool` or a tool of this file.",
            "[\"git__git_status\"]",
        ),
    ],
};

pub(super) static CONSOLE: Table = Table {
    name: "console",
    heading: Some("[console]"),
    meaning: "Where people look at what agents do. It needs a store.",
    rules: &[],
    samples: &["listen = \"127.0.0.1:7118\""],
    keys: &[
        Key::new("enabled", Kind::Flag, Value("true"), "Whether there is one.", "false"),
        Key::new(
            "listen",
            Kind::Word(&ADDRESS),
            Means("127.0.0.1:7118"),
            "The address; one that is not loopback needs `tls`.",
            "\"127.0.0.1:7118\"",
        ),
        Key::new(
            "hosts",
            Kind::List(&Kind::Word(&HOST_NAME)),
            Value("[]"),
            "Further names of it that `Host` and `Origin` may hold.",
            "[\"fence.example.org\"]",
        ),
        Key::new(
            "tls",
            Kind::Table(&TLS),
            Means("that of `[gateway]`"),
            "The certificate and its key.",
            "{ certificate = \"${self}/cert.pem\", key = \"${self}/key.pem\" }",
        ),
        Key::new(
            "trust",
            Kind::Word(&TEXT),
            Means("no checkpoint is believed"),
            "The key whose checkpoints of the audit log are believed: what `ringfence audit keygen` printed.",
            "\"example.org/agents+…\"",
        ),
    ],
};

pub(super) static CONTAINER: Table = Table {
    name: "container",
    heading: Some("[container]"),
    meaning: "Which container engine runs the tools that run in images.",
    rules: &[],
    samples: &["engine = \"unix:///run/podman/podman.sock\""],
    keys: &[Key::new(
        "engine",
        Kind::Word(&TEXT),
        Means("no images are run"),
        "Where the engine is asked.",
        "\"unix:///run/podman/podman.sock\"",
    )],
};

pub(super) static NOTIFY: Table = Table {
    name: "notify",
    heading: Some("[[notify]]"),
    meaning: "Whom to tell when a call waits for people: a web server, or a program.",
    rules: &[
        Rule::When(When::Always, some(&["webhook", "command"])),
        Rule::When(When::Has("webhook"), needs(&["secret"], &["command"])),
        Rule::When(When::Has("command"), needs(&[], &["secret"])),
    ],
    samples: &[
        "webhook = \"https://chat.example.org/hooks/ringfence\"\nsecret = \"hooks/key\"",
        "command = [\"mail-approvers\"]\nnetwork = { allow = [\"smtp.example.org:465\"] }",
    ],
    keys: &[
        Key::new(
            "webhook",
            Kind::Word(&URL),
            Means("a program is told"),
            "The address of a web server, which is sent a signed request.",
            "\"https://chat.example.org/hooks/ringfence\"",
        ),
        Key::new(
            "secret",
            Kind::Word(&TEXT),
            Means("refused with `webhook`"),
            "The ref of the secret that signs.",
            "\"hooks/key\"",
        ),
        Key::new(
            "private",
            Kind::List(&Kind::Word(&PRIVATE)),
            Value("[]"),
            "Private addresses that the web server may have.",
            "[\"10.1.2.3\"]",
        ),
        Key::new(
            "command",
            Kind::Command,
            Means("a web server is told"),
            "The program and its arguments, which is told on standard input.",
            "[\"mail-approvers\", \"--subject\", \"a call waits\"]",
        ),
        Key::new(
            "network",
            Kind::Table(&NETWORK_CEILING),
            Value("{}"),
            "What the program may reach.",
            "{ allow = [\"smtp.example.org:465\"] }",
        ),
    ],
};

//! The operator's ceiling.

use super::super::Absent::{Means, Refused, Value};
use super::super::word::{DURATION, PRIVATE, TEXT, TOOL_NAME};
use super::super::{Key, Kind, Rule, Table, When};
use super::capability::{BINARIES, HOSTS, PATHS, SECRETS, VARIABLES};
use super::limit::LIMITS;
use super::{needs, some};

const ROUTE: Kind = Kind::Choice(&[
    ("auto", "Nobody is asked."),
    ("human", "One person must agree."),
    ("dual", "Two different people must agree."),
    ("deny", "Always refused."),
]);

pub(super) static PERSONALITY: Table = Table {
    name: "personality",
    heading: Some("[personality]"),
    meaning: "The operator's ceiling: what tools may reach at most, whatever they declare. Hosts and paths that are not listed are not permitted.",
    rules: &[Rule::When(When::Has("safety"), needs(&[], &["network"]))],
    samples: &[
        "id = \"researcher\"\nfs_reach = { read = [\"${workspace}\"] }\nnetwork = { allow = [\"*.github.com\"] }",
        "safety = { network = { allow = [\"*.github.com\"] } }",
    ],
    keys: &[
        Key::new(
            "id",
            Kind::Word(&TEXT),
            Means("it has no name"),
            "What it is called; names the `personality` storage.",
            "\"researcher\"",
        ),
        Key::new(
            "tools",
            Kind::List(&Kind::Word(&TOOL_NAME)),
            Means("every tool of the file"),
            "The tools of this role.",
            "[\"read_file\"]",
        )
        .also(&["toolset"]),
        Key::new(
            "fs_reach",
            Kind::Table(&FS_CEILING),
            Value("{}"),
            "Paths that may be read and written; `${workspace}`, `${home}` and `${self}` may stand first.",
            "{ read = [\"${workspace}\"], write = [\"${workspace}/out\"] }",
        )
        .also(&["fsReach"]),
        Key::new(
            "network",
            Kind::Table(&NETWORK_CEILING),
            Value("{}"),
            "Hosts that may be talked to.",
            "{ allow = [\"*.github.com\", \"api.weather.gov:443\"] }",
        ),
        Key::new(
            "process",
            BINARIES,
            Means("what each tool declares by name"),
            "Programs that may be started.",
            "{ allow = [\"rg\", \"git\"] }",
        ),
        Key::new(
            "secrets",
            SECRETS,
            Means("what each tool declares"),
            "Secrets that may be read, by their refs.",
            "{ allow = [\"WEATHER_API_KEY\", \"prod/*\"] }",
        ),
        Key::new(
            "environment",
            VARIABLES,
            Means("what each tool declares"),
            "Environment variables that may be read.",
            "{ allow = [\"LANG\"] }",
        ),
        Key::new(
            "unix_sockets",
            Kind::Flag,
            Means("what each server declares"),
            "Whether servers may open Unix sockets. With `false` a server that declares them is refused.",
            "false",
        )
        .also(&["unixSockets"]),
        Key::new(
            "approvals",
            Kind::Table(&APPROVALS),
            Value("{}"),
            "Who must agree before a call runs, by the tool's class or by its name.",
            "{ financial = \"human\", privileged = \"dual\", expires = \"30m\" }",
        ),
        Key::new(
            "limits",
            Kind::Table(&LIMITS),
            Value("{}"),
            "What one call of any tool may spend.",
            "{ wall = \"30s\", memory = \"512M\" }",
        ),
        Key::new(
            "example",
            Kind::Tables(&EXAMPLE),
            Value("[]"),
            "Cases that must come out as written, whenever the file is loaded.",
            "[{ refuse = { read = \"/etc/passwd\" } }]",
        )
        .also(&["examples"]),
        Key::new(
            "safety",
            Kind::Table(&SAFETY),
            Means("`network` says it"),
            "Another place for `network`.",
            "{ network = { allow = [\"*.github.com\"] } }",
        )
        .old(),
    ],
};

pub(super) static NETWORK_CEILING: Table = Table {
    name: "network",
    heading: None,
    meaning: "Hosts that may be talked to: `api.github.com`, `api.github.com:443`, `*.github.com` (never the apex), `*` for every public host.",
    rules: &[],
    samples: &["allow = [\"api.github.com\"]"],
    keys: &[
        Key::new("allow", HOSTS, Value("[]"), "The hosts.", "[\"*.github.com\", \"api.weather.gov:443\"]"),
        Key::new(
            "private",
            Kind::List(&Kind::Word(&PRIVATE)),
            Value("[]"),
            "Names, addresses and ranges that may be private, loopback or link-local.",
            "[\"10.1.0.0/16\"]",
        ),
        Key::new(
            "on_unknown",
            Kind::Choice(&[("refuse", "It is refused."), ("ask", "A person is asked.")]),
            Value("\"refuse\""),
            "What becomes of a host that nothing names.",
            "\"ask\"",
        )
        .also(&["onUnknown", "on-unknown"]),
    ],
};

static FS_CEILING: Table = Table {
    name: "fs_reach",
    heading: None,
    meaning: "Paths that may be read and written. A path means itself and everything below it; `*`, `?` and `**` are wildcards. A write grant is not a read grant.",
    rules: &[],
    samples: &["read = [\"${workspace}\"]"],
    keys: &[
        Key::new("read", PATHS, Value("[]"), "What may be read.", "[\"${workspace}\"]"),
        Key::new("write", PATHS, Value("[]"), "What may be written.", "[\"${workspace}/out\"]"),
    ],
};

static APPROVALS: Table = Table {
    name: "approvals",
    heading: None,
    meaning: "Who must agree before a call runs. Of the route of a class and that of a tool, the stricter holds.",
    rules: &[],
    samples: &["financial = \"human\""],
    keys: &[
        Key::new("read", ROUTE, Means("`auto`"), "For `read` tools.", "\"auto\""),
        Key::new("write", ROUTE, Means("`auto`"), "For `write` tools.", "\"human\""),
        Key::new("network", ROUTE, Means("`auto`"), "For `network` tools.", "\"human\""),
        Key::new("financial", ROUTE, Means("`human`"), "For `financial` tools.", "\"dual\""),
        Key::new("privileged", ROUTE, Means("`dual`"), "For `privileged` tools.", "\"deny\""),
        Key::new(
            "tools",
            Kind::Map(&TOOL_NAME, &ROUTE),
            Value("{}"),
            "For single tools, by name.",
            "{ pay = \"dual\" }",
        ),
        Key::new(
            "expires",
            Kind::Word(&DURATION),
            Means("15 minutes"),
            "How long a request waits for people.",
            "\"30m\"",
        ),
        Key::new(
            "client",
            Kind::Flag,
            Means("where the client was started by its user, and for agents that say `approves`"),
            "Whether the person at an MCP client may be the one who agrees.",
            "false",
        ),
    ],
};

static EXAMPLE: Table = Table {
    name: "example",
    heading: Some("[[personality.example]]"),
    meaning: "A case that must come out as written, whenever the file is loaded.",
    rules: &[Rule::When(When::Always, some(&["allow", "refuse"]))],
    samples: &[
        "allow = { read = \"${workspace}/notes.txt\" }",
        "refuse = { url = \"https://evil.example/\" }",
    ],
    keys: &[
        Key::new(
            "tool",
            Kind::Word(&TOOL_NAME),
            Means("a tool that declares everything"),
            "The tool that it is about.",
            "\"read_file\"",
        ),
        Key::new(
            "allow",
            Kind::Table(&REACH),
            Means("nothing must be allowed"),
            "What must be allowed.",
            "{ read = \"${workspace}/notes.txt\" }",
        ),
        Key::new(
            "refuse",
            Kind::Table(&REACH),
            Means("nothing must be refused"),
            "What must be refused.",
            "{ url = \"https://evil.example/\" }",
        ),
    ],
};

static REACH: Table = Table {
    name: "reach",
    heading: None,
    meaning: "One thing that a tool might try to reach.",
    rules: &[Rule::Single],
    samples: &["read = \"/etc/passwd\""],
    keys: &[
        Key::new("read", Kind::Word(&TEXT), Means(""), "Reading a file.", "\"/etc/passwd\""),
        Key::new("write", Kind::Word(&TEXT), Means(""), "Writing a file.", "\"${workspace}/out/report.md\""),
        Key::new("list", Kind::Word(&TEXT), Means(""), "Listing a directory.", "\"/home\""),
        Key::new("exists", Kind::Word(&TEXT), Means(""), "Asking whether a path exists.", "\"/etc/shadow\""),
        Key::new("url", Kind::Word(&TEXT), Means(""), "Requesting a URL.", "\"https://api.github.com/zen\""),
        Key::new(
            "connect",
            Kind::Word(&TEXT),
            Means(""),
            "Connecting to a host and port.",
            "\"db.example:5432\"",
        ),
        Key::new("binary", Kind::Word(&TEXT), Means(""), "Starting a program.", "\"rm\""),
        Key::new("secret", Kind::Word(&TEXT), Means(""), "Reading a secret.", "\"WEATHER_API_KEY\""),
        Key::new("env", Kind::Word(&TEXT), Means(""), "Reading an environment variable.", "\"HOME\""),
    ],
};

static SAFETY: Table = Table {
    name: "safety",
    heading: None,
    meaning: "Another place for `network`, taken from old documents.",
    rules: &[],
    samples: &["network = {}"],
    keys: &[Key::new(
        "network",
        Kind::Table(&NETWORK_CEILING),
        Refused,
        "The hosts.",
        "{ allow = [\"*.github.com\"] }",
    )],
};

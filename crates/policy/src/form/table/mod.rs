//! The tables, as they are written.

mod capability;
mod limit;
mod outside;
mod personality;
mod run;
mod server;
mod tool;

use super::Absent::Means;
use super::word::TOOL_NAME;
use super::{Key, Kind, Needs, Table};

/// No keys at all.
const NONE: &[&str] = &[];

const fn needs(all: &'static [&'static str], none: &'static [&'static str]) -> Needs {
    Needs { all, some: NONE, none }
}

const fn some(some: &'static [&'static str]) -> Needs {
    Needs { all: NONE, some, none: NONE }
}

/// The whole file.
pub static TOOLBOX: Table = Table {
    name: "toolbox",
    heading: None,
    meaning: "A personality, its tools and its MCP servers. TOML; JSON of the same shape is read too.",
    rules: &[],
    samples: &["[personality]\nid = \"researcher\""],
    keys: &[
        Key::new(
            "personality",
            Kind::Table(&personality::PERSONALITY),
            Means("nothing is permitted"),
            "The operator's ceiling: what tools may reach at most, whatever they declare.",
            "{ id = \"researcher\" }",
        ),
        Key::new(
            "tool",
            Kind::Tables(&tool::TOOL),
            Means("there are no tools"),
            "The tools.",
            "[{ name = \"read_file\", builtin = \"read_file\", capabilities = { fs_reach = { read = \"from-personality\" } } }]",
        )
        .also(&["tools"]),
        Key::new(
            "server",
            Kind::Tables(&server::SERVER),
            Means("there are no servers"),
            "The MCP servers behind the fence.",
            "[{ name = \"git\" }]",
        )
        .also(&["servers"]),
        Key::new(
            "gateway",
            Kind::Table(&outside::GATEWAY),
            Means("loopback, as below"),
            "Where agents connect.",
            "{ listen = \"127.0.0.1:7117\" }",
        ),
        Key::new(
            "agent",
            Kind::Tables(&outside::AGENT),
            Means("nobody may connect with a token"),
            "The agents that may connect.",
            "[{ name = \"researcher\", token = \"sha256:0000000000000000000000000000000000000000000000000000000000000000\" }]",
        )
        .also(&["agents"]),
        Key::new(
            "console",
            Kind::Table(&outside::CONSOLE),
            Means("loopback, as below"),
            "Where people look at what agents do.",
            "{ listen = \"127.0.0.1:7118\" }",
        ),
        Key::new(
            "container",
            Kind::Table(&outside::CONTAINER),
            Means("no images are run"),
            "Which container engine runs the tools that run in images.",
            "{ engine = \"unix:///run/podman/podman.sock\" }",
        ),
        Key::new(
            "notify",
            Kind::Tables(&outside::NOTIFY),
            Means("nobody is told"),
            "Whom to tell when a call waits for people.",
            "[{ command = [\"mail-approvers\"] }]",
        ),
        Key::new(
            "run",
            Kind::Map(&TOOL_NAME, &Kind::Table(&run::RUN)),
            Means("`ringfence run @NAME` finds nothing"),
            "What commands are granted that people run by hand, by names of the writer's choice.",
            "{ build = { read = [\"${workspace}/src\"] } }",
        ),
    ],
};

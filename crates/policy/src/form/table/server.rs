//! An MCP server.

use super::super::Absent::{Means, Refused, Value};
use super::super::word::{DURATION, PATH, SERVER_NAME, SIZE, TEXT, TOOL_NAME, VARIABLE_KEY};
use super::super::{Key, Kind, Table};
use super::capability::{CAPABILITIES, HOSTS};
use super::limit::LIMITS;
use super::tool::{CLASS, CONSTRAINTS, IDEMPOTENCY_OR_MODE, RISK};

pub(super) static SERVER: Table = Table {
    name: "server",
    heading: Some("[[server]]"),
    meaning: "An MCP server behind the fence. It is one process with one grant, which all its tools share.",
    rules: &[],
    samples: &[
        "name = \"git\"\ncommand = [\"uvx\", \"mcp-server-git\"]\naccept = \"clean\"\ncapabilities = { fs_reach = { read = [\"${workspace}\"] }, process = { allowedBinaries = [\"git\"] } }",
    ],
    keys: &[
        Key::new(
            "name",
            Kind::Word(&SERVER_NAME),
            Refused,
            "What it is called: the prefix of its tools at a gateway, and the key of its pins.",
            "\"git\"",
        ),
        Key::new(
            "command",
            Kind::Command,
            Means("only `ringfence wrap` starts it"),
            "The program and its arguments.",
            "[\"uvx\", \"mcp-server-git\"]",
        ),
        Key::new(
            "capabilities",
            Kind::Table(&CAPABILITIES),
            Value("{}"),
            "The surfaces that it touches.",
            "{ fs_reach = { read = [\"${workspace}\"] } }",
        ),
        Key::new(
            "accept",
            Kind::Choice(&[
                ("clean", "What the scan finds clean is accepted at first sight, and pinned."),
                ("review", "Each waits for a person."),
            ]),
            Value("\"review\""),
            "What happens to definitions that nobody has accepted yet.",
            "\"clean\"",
        ),
        Key::new(
            "env",
            Kind::Map(&VARIABLE_KEY, &Kind::Word(&TEXT)),
            Value("{}"),
            "Variables with their values.",
            "{ LOG_LEVEL = \"info\" }",
        ),
        Key::new(
            "secrets",
            Kind::Map(&VARIABLE_KEY, &Kind::Word(&TEXT)),
            Value("{}"),
            "Variables, and the refs of the secrets that they are to hold.",
            "{ API_TOKEN = \"prod/api\" }",
        ),
        Key::new(
            "directory",
            Kind::Word(&PATH),
            Means("its scratch folder"),
            "Where it is started; must be granted.",
            "\"${workspace}\"",
        ),
        Key::new(
            "registry",
            HOSTS,
            Means("the registry of the program that installs it"),
            "The hosts that its install step may reach.",
            "[\"registry.npmjs.org\"]",
        ),
        Key::new(
            "limits",
            Kind::Table(&LIMITS),
            Value("{}"),
            "What its process may spend. `wall` limits each call of its tools; the process itself goes on.",
            "{ memory = \"1G\" }",
        ),
        Key::new(
            "max_message",
            Kind::Either(&[Kind::Word(&SIZE), Kind::Number(1 << 30)]),
            Means("`16M`"),
            "The largest message that it may send: `64K` to `1G`. A larger answer fails its call at once.",
            "\"64M\"",
        )
        .also(&["maxMessage"]),
        Key::new(
            "unix_sockets",
            Kind::Flag,
            Value("false"),
            "Whether its process may open Unix sockets, which reach only what a granted path holds. Browsers need it.",
            "true",
        )
        .also(&["unixSockets"]),
        Key::new(
            "sampling",
            Kind::Flag,
            Value("true"),
            "Whether it may have the client's model complete texts (`sampling/createMessage`).",
            "false",
        ),
        Key::new(
            "elicitation",
            Kind::Flag,
            Value("true"),
            "Whether it may ask the person at the client (`elicitation/create`).",
            "false",
        ),
        Key::new(
            "idle",
            Kind::Word(&DURATION),
            Means("10 minutes at a gateway"),
            "After how long without a question it is stopped.",
            "\"10m\"",
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
            "tool",
            Kind::Map(&TOOL_NAME, &Kind::Table(&SERVER_TOOL)),
            Value("{}"),
            "What you say of single tools, by the names that the server gives them.",
            "{ git_commit = { class = \"financial\" } }",
        )
        .also(&["tools"]),
    ],
};

static SERVER_TOOL: Table = Table {
    name: "server.tool",
    heading: Some("[server.tool.NAME]"),
    meaning: "What you say of one tool of a server: it may make it graver or rarer, and never widens what it reaches.",
    rules: &[],
    samples: &["class = \"financial\"\nconstraints = { maxInvocations = 3 }"],
    keys: &[
        Key::new(
            "class",
            CLASS,
            Means("what the server's capabilities and annotations imply"),
            "How consequential it is; never lower than the server's capabilities imply.",
            "\"financial\"",
        )
        .also(&["safetyClass", "safety_class"]),
        Key::new("risk", RISK, Means("`unknown`"), "What it could do at worst.", "\"high\""),
        Key::new(
            "idempotency",
            IDEMPOTENCY_OR_MODE,
            Value("{}"),
            "Whether and by what a call is recognised when it comes again.",
            "{ mode = \"optional\" }",
        ),
        Key::new(
            "constraints",
            Kind::Table(&CONSTRAINTS),
            Value("{}"),
            "When and how often it may run within one run.",
            "{ maxInvocations = 3 }",
        ),
        Key::new(
            "limits",
            Kind::Table(&LIMITS),
            Value("{}"),
            "What one call may spend. Of its `wall`, that of the server and that of the personality, the tightest holds.",
            "{ wall = \"60s\" }",
        ),
        Key::new("enabled", Kind::Flag, Value("true"), "Whether it is offered at all.", "false"),
    ],
};

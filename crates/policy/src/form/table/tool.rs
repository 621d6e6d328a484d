//! A tool.

use super::super::Absent::{Means, Refused, Value};
use super::super::word::{FILE, IMAGE, TEXT, TOOL_NAME};
use super::super::{Key, Kind, Rule, Table, When};
use super::capability::CAPABILITIES;
use super::limit::LIMITS;
use super::{needs, some};

pub(super) const CLASS: Kind = Kind::Choice(&[
    ("read", "Looks and changes nothing: free."),
    ("write", "Changes something it was granted."),
    ("network", "Talks to hosts."),
    ("financial", "Moves money or commitments: one person agrees first."),
    ("privileged", "Changes who may do what: two people agree first."),
]);
pub(super) const RISK: Kind = Kind::Choice(&[
    ("low", "Nothing anybody would miss."),
    ("medium", "Something somebody would have to repair."),
    ("high", "Real damage."),
    ("critical", "Damage that cannot be undone."),
    ("unknown", "Nobody said."),
]);
const SCHEMA: Kind = Kind::Either(&[Kind::Object, Kind::Flag, Kind::Word(&FILE)]);

pub(super) static TOOL: Table = Table {
    name: "tool",
    heading: Some("[[tool]]"),
    meaning: "A tool: what it is called, what it touches, and what runs. `command` is a program of this machine, `builtin` one of ringfence's own tools, `runtime` a component or an image.",
    rules: &[
        Rule::When(When::Lacks("runtime"), some(&["command", "builtin"])),
        Rule::When(When::Lacks("runtime"), needs(&["capabilities"], &["component", "image"])),
        Rule::When(When::Has("builtin"), needs(&[], &["command"])),
        Rule::When(When::Has("command"), needs(&["input", "output"], &[])),
        Rule::When(
            When::Is("runtime", "wasm"),
            needs(
                &["component"],
                &["command", "builtin", "image", "capabilities", "input", "output", "title", "class"],
            ),
        ),
        Rule::When(
            When::Is("runtime", "container"),
            needs(&["command", "image", "capabilities"], &["component", "builtin"]),
        ),
    ],
    samples: &["name = \"grep\"\ndescription = \"Search the workspace\"\ncommand = [\"rg\", \"--\", \"{pattern}\", \"${workspace}\"]\ninput = { type = \"object\", properties = { pattern = { type = \"string\" } }, required = [\"pattern\"] }\noutput = { type = \"string\" }\ncapabilities = { fs_reach = { read = \"from-personality\" }, process = { allowedBinaries = [\"rg\"] } }"],
    keys: &[
        Key::new("name", Kind::Word(&TOOL_NAME), Refused, "What it is called: letters, digits, `_`, `.` and `-`.", "\"grep\""),
        Key::new("title", Kind::Word(&TEXT), Means("the name"), "What a person calls it.", "\"Search\""),
        Key::new("description", Kind::Word(&TEXT), Value("\"\""), "What it does, for the model.", "\"Search the workspace\""),
        Key::new(
            "command",
            Kind::Command,
            Means("`builtin` or `runtime` says what runs"),
            "The program and its arguments; `{name}` is the value of an argument. No shell is involved.",
            "[\"rg\", \"--\", \"{pattern}\", \"${workspace}\"]",
        ),
        Key::new(
            "builtin",
            Kind::Choice(&[
                ("read_file", "`{\"path\"}`: the text of a file."),
                ("write_file", "`{\"path\", \"content\"}`: writes a file."),
                ("list_files", "`{\"path\"}`: the names in a directory."),
                ("fetch_url", "`{\"url\"}`: the body as text."),
            ]),
            Means("`command` or `runtime` says what runs"),
            "One of ringfence's own tools.",
            "\"read_file\"",
        ),
        Key::new(
            "runtime",
            Kind::Choice(&[
                ("container", "The command is a program of `image`, in a container engine."),
                ("wasm", "It is the WebAssembly component in `component`, which says the rest itself."),
            ]),
            Means("a program of this machine, or a builtin"),
            "What runs it, where it is neither a program of this machine nor a builtin.",
            "\"wasm\"",
        ),
        Key::new("component", Kind::Word(&FILE), Means("it is no component"), "The file of a component, beside this one.", "\"slug.wasm\""),
        Key::new(
            "image",
            Kind::Word(&IMAGE),
            Means("it runs in no image"),
            "The image, by digest.",
            "\"localhost/tools@sha256:0000000000000000000000000000000000000000000000000000000000000000\"",
        ),
        Key::new(
            "input",
            SCHEMA,
            Means("refused for a command; a builtin and a component have their own"),
            "The JSON Schema that its arguments must fit, or the file that holds it.",
            "{ type = \"object\", properties = { pattern = { type = \"string\" } }, required = [\"pattern\"] }",
        )
        .also(&["inputSchema", "input_schema"]),
        Key::new(
            "output",
            SCHEMA,
            Means("refused for a command; a builtin and a component have their own"),
            "The JSON Schema that its output must fit, or the file that holds it.",
            "{ type = \"string\" }",
        )
        .also(&["outputSchema", "output_schema"]),
        Key::new(
            "capabilities",
            Kind::Table(&CAPABILITIES),
            Means("refused, except for a component, which declares them itself"),
            "The surfaces that it touches; `{}` for nothing.",
            "{ fs_reach = { read = \"from-personality\" }, process = { allowedBinaries = [\"rg\"] } }",
        ),
        Key::new("class", CLASS, Means("what the capabilities imply"), "How consequential it is; never lower than the capabilities imply.", "\"read\"")
            .also(&["safetyClass", "safety_class"]),
        Key::new("risk", RISK, Value("\"unknown\""), "What it could do at worst, for reviewers.", "\"low\""),
        Key::new("idempotency", IDEMPOTENCY_OR_MODE, Value("{}"), "Whether and by what a call is recognised when it comes again.", "{ mode = \"required\", key = [\"invoice\"] }"),
        Key::new("constraints", Kind::Table(&CONSTRAINTS), Value("{}"), "When and how often it may run within one run.", "{ maxInvocations = 5 }"),
        Key::new("limits", Kind::Table(&LIMITS), Value("{}"), "What one call may spend.", "{ wall = \"10s\", output = \"1M\" }"),
        Key::new(
            "assurance",
            Kind::Choice(&[
                ("claimed", "Whoever runs it says that it is confined."),
                ("probed", "Forbidden acts were tried through what runs it, and failed."),
            ]),
            Means("a claim is enough"),
            "How sure it must be that what runs it enforces its grant.",
            "\"probed\"",
        ),
    ],
};

/// The table, or its mode alone.
pub(super) const IDEMPOTENCY_OR_MODE: Kind = Kind::Either(&[IDEMPOTENCY_MODE, Kind::Table(&IDEMPOTENCY)]);

const IDEMPOTENCY_MODE: Kind = Kind::Choice(&[
    ("optional", "A key is honoured when given."),
    ("required", "A call without a key is refused."),
]);

pub(super) static IDEMPOTENCY: Table = Table {
    name: "idempotency",
    heading: None,
    meaning: "Whether and by what a call is recognised when it comes again.",
    rules: &[],
    samples: &["mode = \"required\""],
    keys: &[
        Key::new(
            "mode",
            IDEMPOTENCY_MODE,
            Means("keys are ignored"),
            "Whether a call must carry a key.",
            "\"required\"",
        ),
        Key::new(
            "key",
            Kind::List(&Kind::Word(&TEXT)),
            Value("[]"),
            "Fields of the arguments that together are the key; none = the caller's key.",
            "[\"invoice\"]",
        ),
    ],
};

pub(super) static CONSTRAINTS: Table = Table {
    name: "constraints",
    heading: None,
    meaning: "When and how often it may run within one run.",
    rules: &[],
    samples: &["maxInvocations = 5"],
    keys: &[
        Key::new(
            "maxInvocations",
            Kind::Number(u32::MAX as u64),
            Means("as often as it is called"),
            "How often it may run.",
            "5",
        )
        .also(&["max_invocations"]),
        Key::new(
            "onlyAfter",
            Kind::List(&Kind::Word(&TOOL_NAME)),
            Value("[]"),
            "Tools that must have completed before.",
            "[\"search\"]",
        )
        .also(&["only_after"]),
        Key::new(
            "forceAtStep",
            Kind::Number(u32::MAX as u64),
            Means("it may be any call of a run, or none"),
            "The call of a run, counted from 1, that must be this tool. Other tools are refused as that call, and after it until this tool has run. A tool outside the personality's `tools` forces nothing.",
            "1",
        )
        .also(&["force_at_step"]),
        Key::new("forbidden", Kind::Flag, Value("false"), "Code may call it, a model never.", "true"),
    ],
};

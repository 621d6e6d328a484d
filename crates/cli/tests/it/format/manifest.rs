//! `docs/reference/manifest-format.md`

use serde_json::Value;

use super::{Held, Section, page};
use crate::bench::Bench;
use crate::reference::assert_page;

const HEAD: &str = "# The format of a manifest

`ringfence.lock.json`, as [`ringfence manifest`](../guides/review-permissions.md) writes it: JSON with sorted keys, the same on every machine.
What is absent is none, or the default. An unknown or a duplicate key, and a hash that is not that of its content, is refused.

`*` in a path is a name that somebody chose, `[]` an entry of a list. `from` says who wrote a value: `tool`, `personality`, `both`, or `default`
(nobody). Digests are SHA-256 in hexadecimal, over the canonical JSON (RFC 8785) of what they stand for.

Written by a test (`crates/cli/tests/it/format`), which holds this table against real manifests.";

const TAIL: &str = "
## Hashes

The `hash` of an entry is the digest of the entry without its `hash`. The `hash` of the manifest is the digest of the whole document
without its own. A signature (`ringfence.lock.json.sig`) is a C2SP signed note over that hash.
";

/// What one of the other tests shows: a component, a server's pins, patterns that only overlap.
const ELSEWHERE: &[&str] = &[
    "tools.*.capabilities.fs_reach.read.overlaps",
    "tools.*.runtime.definition",
    "tools.*.runtime.component",
    "tools.*.runtime.server",
    "servers.*.definitions.*",
];

const SECTIONS: &[Section] = &[
    Section {
        title: "The document",
        about: "",
        rows: &[("version", "the version of this format: 1"), ("hash", "the hash of everything else")],
    },
    Section {
        title: "The personality",
        about: "As it is written in the toolbox, sorted; see [write a policy](../guides/write-a-policy.md).",
        rows: &[
            ("personality.id", "its name"),
            ("personality.tools", "the toolset; absent = every tool of the file"),
            ("personality.network.allow", "hosts"),
            ("personality.network.private", "private names, addresses and ranges"),
            (
                "personality.network.on_unknown",
                "`ask`, where a person is asked about a name that nothing grants",
            ),
            ("personality.fs_reach.read", "paths that may be read"),
            ("personality.fs_reach.write", "paths that may be written"),
            ("personality.secrets", "secret refs; absent = what tools declare"),
            ("personality.process", "programs; absent = what tools declare"),
            ("personality.environment", "variables; absent = what tools declare"),
            (
                "personality.unix_sockets",
                "whether servers may open Unix sockets; absent = what servers declare",
            ),
            (
                "personality.approvals.write",
                "the route of a class: `auto`, `human`, `dual`, `deny`; one row for each class that is written",
            ),
            ("personality.approvals.tools.*", "the route of one tool"),
            ("personality.approvals.expires", "how long a request is good for"),
            ("personality.approvals.client", "`false`, where nobody at an MCP client agrees to anything"),
            ("personality.limits.*", "what one call may spend"),
        ],
    },
    Section {
        title: "Tools",
        about: "One entry for each tool, by its name.",
        rows: &[
            ("tools.*.hash", "the hash of the entry"),
            ("tools.*.description", "the digest of its title and description"),
            ("tools.*.input", "the schema of its arguments"),
            ("tools.*.input_digest", "the digest of that schema"),
            ("tools.*.output", "the schema of what it returns"),
            ("tools.*.output_digest", "the digest of that schema"),
            ("tools.*.class.value", "its class"),
            ("tools.*.class.from", "who says so; `default` = what the capabilities imply"),
            ("tools.*.risk", "`low`, `medium`, `high` or `unknown`"),
            ("tools.*.approval.value", "who must agree to a call: `allow`, `ask`, `ask-two`, `forbid`"),
            ("tools.*.approval.from", "who says so"),
            ("tools.*.permitted", "`false`, where the toolset of the personality does not hold it"),
            (
                "tools.*.sandbox",
                "the weakest confinement it may run under: `in-process`, `builtin`, `container`, `sandboxed`, `wasm`",
            ),
            ("tools.*.assurance", "`probed`, where it insists on confinement that was tried"),
            ("tools.*.capabilities.network.hosts.*", "a host it reaches, and who wrote it"),
            ("tools.*.capabilities.network.private.*", "a private name, address or range it may reach"),
            ("tools.*.capabilities.network.on_unknown", "`ask`, where a person is asked about other names"),
            ("tools.*.capabilities.fs_reach.read.paths.*", "a path it reads, and who wrote it"),
            ("tools.*.capabilities.fs_reach.read.lifted", "paths of [the floor](floor.md) that are named"),
            (
                "tools.*.capabilities.fs_reach.read.overlaps",
                "pairs of patterns of tool and personality: what both match is reached",
            ),
            (
                "tools.*.capabilities.fs_reach.write.paths.*",
                "a path it writes; with `lifted` and `overlaps` as for reading",
            ),
            ("tools.*.capabilities.fs_reach.jail", "`true`, where paths are relative to its one root"),
            ("tools.*.capabilities.secrets.*", "a secret ref"),
            ("tools.*.capabilities.process.*", "a program, or an image by digest"),
            ("tools.*.capabilities.environment.*", "a variable"),
            ("tools.*.capabilities.storage.kind", "what kind of storage: `kv`"),
            ("tools.*.capabilities.storage.scope", "who shares it"),
            ("tools.*.constraints.maxInvocations", "how often it may run in one run"),
            ("tools.*.constraints.onlyAfter", "tools that must have completed before"),
            ("tools.*.constraints.forbidden", "`true`, where a model never calls it"),
            ("tools.*.idempotency.mode", "`required` or `optional`"),
            ("tools.*.idempotency.key", "the fields that make two calls the same"),
            ("tools.*.limits.*.value", "what one call may spend of that"),
            ("tools.*.limits.*.from", "who says so"),
            (
                "tools.*.runtime.kind",
                "what runs: `builtin`, `command`, `container`, `native`, `server`, `wasm`",
            ),
            ("tools.*.runtime.name", "of `builtin`: which"),
            (
                "tools.*.runtime.command",
                "of `command` and `container`: the program and its arguments, as templates",
            ),
            ("tools.*.runtime.binaries.*", "of `command`: the digest of a program, with `--binaries`"),
            ("tools.*.runtime.image", "of `container`: the image, by digest"),
            ("tools.*.runtime.engine", "of `container`: where the engine is asked"),
            ("tools.*.runtime.component", "of `wasm`: the digest of the component"),
            ("tools.*.runtime.definition", "of `server`: the digest of what the server sent"),
            ("tools.*.runtime.server", "of `server`: which"),
            ("tools.*.lint.engine", "how its code was looked at: `mir`, `source`, `python`, `script`"),
            ("tools.*.lint.effects", "what its code does, dependencies included"),
            ("tools.*.lint.dependencies.*", "what a dependency does, by `name@version`"),
        ],
    },
    Section {
        title: "Servers",
        about: "One entry for each MCP server, by its name. What is also said of tools means the same.",
        rows: &[
            ("servers.*.hash", "the hash of the entry"),
            ("servers.*.accept", "what happens to definitions that nobody has accepted: `review` or `clean`"),
            ("servers.*.command", "the program and its arguments"),
            ("servers.*.directory", "where it is started"),
            ("servers.*.binaries.*", "the digest of a program it starts, with `--binaries`"),
            ("servers.*.env.*", "a variable, with the digest of its value"),
            ("servers.*.secrets.*", "a variable that holds a secret, with its ref"),
            ("servers.*.registry.*", "a host that its install may reach"),
            ("servers.*.capabilities", "what its process reaches, as for tools"),
            ("servers.*.class", "the class of a tool that nothing is said of"),
            ("servers.*.approval", "who must agree to a call of such a tool"),
            ("servers.*.limits", "what its process may spend; `wall` is that of each call"),
            ("servers.*.max_message", "the largest message that it may send; absent = 16 MiB"),
            ("servers.*.unix_sockets", "`true`, where its process may open Unix sockets"),
            ("servers.*.sampling", "`false`, where it may not use the client's model"),
            ("servers.*.elicitation", "`false`, where it may not ask the person at the client"),
            ("servers.*.sandbox", "the weakest confinement it may run under"),
            ("servers.*.lint", "what its code does, as for tools"),
            ("servers.*.definitions.*", "the digest of a definition that was accepted, by kind and name"),
            ("servers.*.tools.*.enabled", "`false`, where the tool is not offered"),
            ("servers.*.tools.*.class", "its class"),
            ("servers.*.tools.*.risk", "its risk"),
            ("servers.*.tools.*.approval", "who must agree to a call"),
            ("servers.*.tools.*.constraints", "when and how often it may run"),
            ("servers.*.tools.*.idempotency", "whether calls carry a key"),
            ("servers.*.tools.*.limits", "what one call may spend"),
        ],
    },
    Section {
        title: "Who connects, and who is told",
        about: "Absent where the toolbox says nothing of it.",
        rows: &[
            ("agents.*.token", "the digest of the agent's token"),
            ("agents.*.servers", "the servers it may use; absent = all"),
            ("agents.*.tools", "the tools it may use; absent = all of those servers"),
            ("agents.*.approves", "`true`, where whoever holds its token may agree to calls"),
            ("gateway.listen", "the address; absent = loopback"),
            ("gateway.hosts", "further names that `Host` and `Origin` may hold"),
            ("gateway.policy_tool", "`false`, where agents are not told what they may reach"),
            ("gateway.sessions_per_agent", "how many sessions one agent may have; absent = 32"),
            (
                "gateway.requests_per_minute",
                "how many messages one agent may send in a minute; absent = 120,000",
            ),
            ("gateway.keep_keys", "how long outputs are kept for their idempotency keys; absent = a week"),
            ("gateway.tls", "`true`, where it speaks TLS"),
            ("console.enabled", "`false`, where there is none"),
            ("console.listen", "the address; absent = loopback"),
            ("console.hosts", "further names"),
            ("console.tls", "`true`, where it speaks TLS"),
            ("console.trust", "the key whose checkpoints are believed"),
            ("notify.[].kind", "`command` or `webhook`"),
            ("notify.[].command", "of `command`: the program and its arguments"),
            ("notify.[].network", "of `command`: what it may reach"),
            ("notify.[].url", "of `webhook`: where the request is posted"),
            ("notify.[].secret", "of `webhook`: the ref of the secret that signs"),
            ("notify.[].private", "of `webhook`: private addresses that are permitted"),
        ],
    },
];

#[test]
fn every_field_is_in_the_reference() {
    let lint = r#"{"tools": [
        {"name": "grep", "engine": "mir", "effects": ["fs.read"], "dependencies": {"libc@0.2.0": ["ffi"]}},
        {"name": "git", "engine": "python", "effects": ["exec"]}]}"#;
    let bench = Bench::new().file("ringfence.toml", include_str!("every.toml")).file("lint.json", lint);
    let path = ("PATH", "/usr/local/bin:/usr/bin:/bin");
    let home = bench.path().join("home");
    let said = bench.ringfence_in(
        &[path, ("HOME", home.to_str().unwrap())],
        &["manifest", "--binaries", "--lint", "lint.json"],
    );
    assert!(said.ends_with("exit 0"), "{said}");
    let manifest: Value = serde_json::from_str(&bench.read("ringfence.lock.json")).unwrap();
    let mut held = Held::new(SECTIONS);
    held.look(&manifest);
    held.check(ELSEWHERE);
    assert_page("manifest-format.md", &page(HEAD, SECTIONS, TAIL));
}

/// A field that no toolbox of this test writes is found in the types.
#[test]
fn every_field_of_the_types_is_in_the_reference() {
    let words: Vec<&str> =
        SECTIONS.iter().flat_map(|section| section.rows).flat_map(|(path, _)| path.split('.')).collect();
    for source in ["tool", "server", "outside"] {
        let path = format!("{}/../policy/src/manifest/{source}.rs", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(path).unwrap();
        // `Outside` is what is read, not what is written.
        let fields = text
            .lines()
            .filter(|line| line.starts_with("    pub ") && !line.contains('&') && !line.contains("fn "));
        let names: Vec<&str> = fields
            .filter_map(|line| line.trim().strip_prefix("pub ")?.split_once(':'))
            .map(|(name, _)| name)
            .collect();
        assert!(names.len() > 8, "{names:?}");
        for name in names {
            assert!(words.contains(&name), "`{name}` of {source}.rs is not in the reference of the manifest");
        }
    }
}

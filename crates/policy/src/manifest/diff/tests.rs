//! Tests of the comparison: a table with every code, both ways.

use std::collections::BTreeSet;

use serde_json::json;

use super::schema::{Comparison, compare, looser_at, tells_nothing_new};
use super::*;
use crate::manifest::tests::manifest_of;
use crate::manifest::{DefaultLimits, LintRecord, Sources};
use crate::{NoFiles, Personality, Toolbox};

const BASE: &str = r#"
[personality]
id = "a"
tools = ["run", "fetch", "note", "git__push"]
network = { allow = ["*.x.test", "10.1.2.3"], private = ["10.0.0.0/9"], on_unknown = "refuse" }
fs_reach = { read = ["${workspace}", "~"], write = ["${workspace}/out"] }
secrets = { allow = ["KEY", "prod/*"] }
process = { allow = ["rg"] }
environment = { allow = ["LANG"] }
approvals = { write = "human", tools = { note = "human" }, expires = "10m", client = false }
limits = { wall = "30s" }

[[tool]]
name = "run"
description = "Search"
command = ["rg", "--", "{pattern}"]
input = { type = "object", properties = { pattern = { type = "string", maxLength = 9 } }, required = ["pattern"] }
output = { type = "string" }
class = "write"
risk = "low"
capabilities = { fs_reach = { read = ["${workspace}/*.md"], write = ["${workspace}/out"], jail = "${workspace}" }, process = { allow = ["rg"] } }
constraints = { maxInvocations = 3, onlyAfter = ["fetch"], forceAtStep = 2 }
idempotency = { mode = "required", key = ["pattern"] }
limits = { memory = "64M" }

[[tool]]
name = "fetch"
builtin = "fetch_url"
capabilities = { network = { allow = ["*.x.test:443", "10.1.2.3"] }, secrets = ["prod/db"], environment = ["LANG"], storage = { scope = "session", ttlSecondsDefault = 60 } }

[[tool]]
name = "note"
description = "Say something"
command = ["rg"]
input = { type = "object" }
output = { type = "string" }
capabilities = {}

[[server]]
name = "git"
command = ["uvx", "git"]
capabilities = { fs_reach = { read = ["${workspace}"] }, secrets = ["KEY"] }
env = { MODE = "a" }
secrets = { TOKEN = "KEY" }
registry = ["r.x.test"]
[server.tool.push]
class = "write"
enabled = false
[server.tool.pull]
class = "network"
constraints = { forbidden = true }

[gateway]
listen = "192.0.2.1:7117"
tls = { certificate = "/c.pem", key = "/k.pem" }
hosts = ["gate.test"]

[console]
listen = "192.0.2.1:7118"
tls = { certificate = "/cc.pem", key = "/ck.pem" }
hosts = ["console.test"]
enabled = true
trust = "log+00000000+AA"

[[agent]]
name = "bot"
token = "sha256:0000000000000000000000000000000000000000000000000000000000000000"
servers = ["toolbox"]
tools = ["note"]
approves = false

[[notify]]
command = ["mail"]
network = { allow = ["smtp.test:25"], private = ["172.16.0.0/13"], on_unknown = "refuse" }

[[notify]]
webhook = "https://hooks.test/"
secret = "hooks/key"
private = ["192.168.0.0/24"]
"#;

fn codes(old: &Manifest, new: &Manifest) -> BTreeSet<(Drift, &'static str, String)> {
    let one = |change: &Change| (change.direction, change.code.as_str(), change.subject.to_string());
    diff(old, new).iter().map(one).collect()
}

fn edited(from: &str, to: &str) -> Manifest {
    assert_eq!(BASE.matches(from).count(), 1, "{from}");
    manifest_of(&BASE.replace(from, to))
}

/// Returns which way a code of the table goes; `~` marks what is neither wider nor narrower.
fn direction_of(wanted: &str) -> (Drift, &str) {
    const WIDER: [&str; 11] = [
        ".widened",
        ".weakened",
        ".relaxed",
        "limits.raised",
        ".loosened",
        ".dropped",
        ".increased",
        "class.lowered",
        "tool.added",
        "agent.added",
        "notify.added",
    ];
    match wanted.strip_prefix('~') {
        Some(code) => (Drift::Changed, code),
        None if WIDER.iter().any(|end| wanted.ends_with(end)) => (Drift::Widened, wanted),
        None => (Drift::Narrowed, wanted),
    }
}

#[test]
fn every_widening_is_told_and_every_narrowing_the_other_way() {
    let base = manifest_of(BASE);
    #[rustfmt::skip]
    let cases = [
        // what is written                       what it becomes                           subject        wider                                 narrower
        (r#""*.x.test:443""#,                    r#""*.x.test""#,                          "tool fetch",  "tool.network.widened",               "tool.network.narrowed"),
        (r#""*.x.test:443", "10.1.2.3""#,        r#""*""#,                                 "tool fetch",  "tool.network.widened",               "tool.network.narrowed"),
        (r#""10.0.0.0/9""#,                      r#""10.0.0.0/8""#,                        "tool fetch",  "tool.network.widened",               "tool.network.narrowed"),
        (r#""10.0.0.0/9""#,                      r#""10.0.0.0/8""#,                        "personality", "personality.network.widened",        "personality.network.narrowed"),
        (r#""10.0.0.0/9"], on_unknown = "refuse""#, r#""10.0.0.0/9"], on_unknown = "ask""#, "tool fetch",  "tool.network.widened",               "tool.network.narrowed"),
        (r#""10.0.0.0/9"], on_unknown = "refuse""#, r#""10.0.0.0/9"], on_unknown = "ask""#, "personality", "personality.network.widened",        "personality.network.narrowed"),
        (r#"["*.x.test", "10.1.2.3"]"#,          r#"["*", "10.1.2.3"]"#,                   "personality", "personality.network.widened",        "personality.network.narrowed"),
        (r#"["${workspace}", "~"]"#,             r#"["${workspace}", "~", "/etc"]"#,       "personality", "personality.filesystem.read.widened", "personality.filesystem.read.narrowed"),
        (r#"["${workspace}", "~"]"#,             r#"["${workspace}", "~", "~/.ssh/x"]"#,   "personality", "personality.filesystem.read.widened", "personality.filesystem.read.narrowed"),
        (r#"write = ["${workspace}/out"] }"#,    r#"write = ["${workspace}"] }"#,          "personality", "personality.filesystem.write.widened", "personality.filesystem.write.narrowed"),
        (r#"["KEY", "prod/*"]"#,                 r#"["KEY", "prod/*", "b"]"#,              "personality", "personality.secrets.widened",        "personality.secrets.narrowed"),
        (r#"secrets = { allow = ["KEY", "prod/*"] }"#, "",                                 "personality", "personality.secrets.widened",        "personality.secrets.narrowed"),
        (r#"process = { allow = ["rg"] }
environment"#,                                   r#"process = { allow = ["*"] }
environment"#,                                                                             "personality", "personality.exec.widened",           "personality.exec.narrowed"),
        (r#"environment = { allow = ["LANG"] }"#, r#"environment = { allow = ["LANG", "TZ"] }"#, "personality", "personality.environment.widened", "personality.environment.narrowed"),
        (r#"environment = { allow = ["LANG"] }"#, "environment = { allow = [\"LANG\"] }\nunix_sockets = false", "personality", "personality.sockets.narrowed", "personality.sockets.widened"),
        (r#"write = "human""#,                   r#"write = "auto""#,                      "personality", "personality.approvals.widened",      "personality.approvals.narrowed"),
        (r#"{ note = "human" }"#,                "{}",                                     "personality", "personality.approvals.widened",      "personality.approvals.narrowed"),
        (r#"client = false"#,                    "client = true",                          "personality", "personality.approvals.widened",      "personality.approvals.narrowed"),
        (r#"expires = "10m""#,                   r#"expires = "20m""#,                     "personality", "personality.approvals.widened",      "personality.approvals.narrowed"),
        (r#"limits = { wall = "30s" }"#,         r#"limits = { wall = "31s" }"#,           "personality", "personality.limits.widened",         "personality.limits.narrowed"),
        (r#"limits = { wall = "30s" }"#,         "",                                       "personality", "personality.limits.widened",         "personality.limits.narrowed"),
        // This holds although nothing is written.
        (r#"limits = { wall = "30s" }"#,         r#"limits = { wall = "30s", connections = 257 }"#, "personality", "personality.limits.widened", "personality.limits.narrowed"),
        (r#"limits = { wall = "30s" }"#,         r#"limits = { wall = "30s", connections = 10 }"#, "personality", "personality.limits.narrowed", "personality.limits.widened"),
        (r#"tools = ["run", "fetch", "note", "git__push"]"#, "",                           "personality", "personality.tools.widened",          "personality.tools.narrowed"),
        (r#"["run", "fetch", "note", "git__push"]"#, r#"["run", "fetch", "note", "git__push", "x"]"#, "personality", "personality.tools.widened", "personality.tools.narrowed"),
        (r#"write = "human""#,                   r#"write = "auto""#,                      "tool run",    "tool.approval.weakened",             "tool.approval.strengthened"),
        (r#"{ note = "human" }"#,                "{}",                                     "tool note",   "tool.approval.weakened",             "tool.approval.strengthened"),
        (r#"["${workspace}/*.md"]"#,             r#"["${workspace}/*.m*"]"#,               "tool run",    "tool.filesystem.read.widened",       "tool.filesystem.read.narrowed"),
        (r#"write = ["${workspace}/out"], jail"#, r#"write = "from-personality", jail"#,   "tool run",    "",                                   ""),
        (r#"["${workspace}/*.md"], write"#,      r#"["${workspace}/*.md", "${workspace}/x.md"], write"#, "tool run", "tool.filesystem.read.widened", "tool.filesystem.read.narrowed"),
        (r#", jail = "${workspace}""#,           "",                                       "tool run",    "tool.filesystem.read.widened",       "tool.filesystem.read.narrowed"),
        (r#", jail = "${workspace}""#,           "",                                       "tool run",    "tool.filesystem.write.widened",      "tool.filesystem.write.narrowed"),
        (r#"jail = "${workspace}""#,             r#"jail = "~""#,                          "tool run",    "tool.filesystem.write.widened",      "tool.filesystem.write.widened"),
        (r#"write = ["${workspace}/out"], jail"#, "jail",                                  "tool run",    "tool.filesystem.write.narrowed",    "tool.filesystem.write.widened"),
        (r#"process = { allow = ["rg"] } }"#,    "}",                                      "tool run",    "tool.exec.narrowed",                "tool.exec.widened"),
        (r#"["prod/db"]"#,                       r#"["prod/*"]"#,                          "tool fetch",  "tool.secrets.widened",               "tool.secrets.narrowed"),
        (r#"environment = ["LANG"], "#,          "",                                       "tool fetch",  "tool.environment.narrowed",         "tool.environment.widened"),
        (r#"scope = "session""#,                 r#"scope = "personality""#,               "tool fetch",  "tool.storage.widened",               "tool.storage.narrowed"),
        (r#"scope = "session""#,                 r#"scope = "tool-private""#,              "tool fetch",  "tool.storage.widened",               "tool.storage.widened"),
        (r#", ttlSecondsDefault = 60"#,          "",                                       "tool fetch",  "tool.storage.widened",               "tool.storage.narrowed"),
        (r#", storage = { scope = "session", ttlSecondsDefault = 60 }"#, "",               "tool fetch",  "tool.storage.narrowed",             "tool.storage.widened"),
        ("maxInvocations = 3",                   "maxInvocations = 4",                     "tool run",    "tool.constraint.relaxed",            "tool.constraint.tightened"),
        ("maxInvocations = 3, ",                 "",                                       "tool run",    "tool.constraint.relaxed",            "tool.constraint.tightened"),
        (", forceAtStep = 2",                    "",                                       "tool run",    "tool.constraint.relaxed",            "tool.constraint.tightened"),
        ("forceAtStep = 2",                      "forceAtStep = 3",                        "tool run",    "tool.constraint.relaxed",            "tool.constraint.relaxed"),
        (r#", onlyAfter = ["fetch"]"#,           "",                                       "tool run",    "tool.constraint.relaxed",            "tool.constraint.tightened"),
        (r#"mode = "required""#,                 r#"mode = "optional""#,                   "tool run",    "tool.idempotency.dropped",           "tool.idempotency.added"),
        (r#"key = ["pattern"]"#,                 r#"key = ["pattern", "time"]"#,           "tool run",    "tool.idempotency.dropped",           "tool.idempotency.added"),
        (r#", key = ["pattern"]"#,               "",                                       "tool run",    "tool.idempotency.dropped",           "tool.idempotency.added"),
        (r#"memory = "64M""#,                    r#"memory = "65M""#,                      "tool run",    "tool.limits.raised",                 "tool.limits.lowered"),
        (r#"memory = "64M""#,                    "",                                       "tool run",    "tool.limits.raised",                 "tool.limits.lowered"),
        (r#"limits = { wall = "30s" }"#,         "",                                       "tool note",   "tool.limits.raised",                 "tool.limits.lowered"),
        ("maxLength = 9",                        "maxLength = 10",                         "tool run",    "tool.schema.loosened",               "tool.schema.tightened"),
        (r#"risk = "low""#,                      r#"risk = "high""#,                       "tool run",    "tool.risk.increased",                "~tool.risk.decreased"),
        (r#"class = "write"
risk"#,                                          r#"class = "network"
risk"#,                                                                                    "tool run",    "~tool.class.raised",                 "tool.class.lowered"),
        (r#""Search""#,                          r#""Search!""#,                           "tool run",    "~tool.description.changed",          "~tool.description.changed"),
        (r#"maxLength = 9"#,                     r#"maxLength = 9, title = "x""#,          "tool run",    "~tool.description.changed",          ""),
        (r#"command = ["rg"]"#,                  r#"command = ["rg", "-n"]"#,              "tool note",   "~tool.command.changed",              "~tool.command.changed"),
        (r#"id = "a""#,                          r#"id = "b""#,                            "personality", "~personality.id.changed",            "~personality.id.changed"),
        (r#"["run", "fetch", "note", "git__push"]"#, r#"["run", "note", "git__push"]"#,    "tool fetch",  "tool.removed",                      "tool.added"),
        (r#"["run", "fetch", "note", "git__push"]"#, r#"["run", "fetch", "git__push"]"#,   "tool note",   "tool.removed",                      "~tool.added"),
        (r#"command = ["uvx", "git"]"#,          r#"command = ["uvx", "git", "-v"]"#,      "server git",  "~tool.command.changed",              "~tool.command.changed"),
        (r#"MODE = "a""#,                        r#"MODE = "b""#,                          "server git",  "~tool.command.changed",              "~tool.command.changed"),
        (r#"{ read = ["${workspace}"] }, secrets"#, r#"{ read = ["${workspace}/x"] }, secrets"#, "server git", "tool.filesystem.read.narrowed", "tool.filesystem.read.widened"),
        (r#"TOKEN = "KEY""#,                     r#"TOKEN = "KEY", B = "KEY""#,            "server git",  "tool.secrets.widened",               "tool.secrets.narrowed"),
        (r#"registry = ["r.x.test"]"#,           r#"registry = ["r.x.test", "s.x.test"]"#, "server git",  "tool.network.widened",               "tool.network.narrowed"),
        // Without a list, whoever installs says which.
        (r#"registry = ["r.x.test"]"#,           "",                                       "server git",  "tool.network.widened",               "tool.network.widened"),
        (r#"env = { MODE = "a" }"#,              "env = { MODE = \"a\" }\naccept = \"clean\"", "server git", "tool.approval.weakened",            "tool.approval.strengthened"),
        (r#"env = { MODE = "a" }"#,              "env = { MODE = \"a\" }\nunix_sockets = true", "server git", "tool.sockets.widened",           "tool.sockets.narrowed"),
        (r#"env = { MODE = "a" }"#,              "env = { MODE = \"a\" }\nsampling = false", "server git", "tool.client.narrowed",              "tool.client.widened"),
        (r#"env = { MODE = "a" }"#,              "env = { MODE = \"a\" }\nelicitation = false", "server git", "tool.client.narrowed",           "tool.client.widened"),
        (r#"env = { MODE = "a" }"#,              "env = { MODE = \"a\" }\nmax_message = \"64M\"", "server git", "tool.limits.raised",            "tool.limits.lowered"),
        ("enabled = false",                      "enabled = true",                         "server git tool push", "tool.added",                "tool.removed"),
        ("forbidden = true",                     "forbidden = false",                      "server git tool pull", "tool.constraint.relaxed",   "tool.constraint.tightened"),
        (r#"class = "network"
constraints"#,                                   r#"class = "write"
constraints"#,                                                                             "server git tool pull", "tool.class.lowered",        "~tool.class.raised"),
        ("approves = false",                     "approves = true",                        "agent bot",   "agent.approval.weakened",            "agent.approval.strengthened"),
        (r#"servers = ["toolbox"]"#,             "",                                       "agent bot",   "agent.scope.widened",                "agent.scope.narrowed"),
        (r#"servers = ["toolbox"]"#,             r#"servers = ["toolbox", "git"]"#,        "agent bot",   "agent.scope.widened",                "agent.scope.narrowed"),
        (r#"tools = ["note"]"#,                  "",                                       "agent bot",   "agent.scope.widened",                "agent.scope.narrowed"),
        (r#"tools = ["note"]"#,                  r#"tools = ["note", "run"]"#,             "agent bot",   "agent.scope.widened",                "agent.scope.narrowed"),
        (r#"tools = ["note"]"#,                  r#"tools = ["run"]"#,                     "agent bot",   "agent.scope.widened",                "agent.scope.widened"),
        ("sha256:0",                             "sha256:1",                               "agent bot",   "~agent.token.changed",               "~agent.token.changed"),
        (r#"name = "bot""#,                      r#"name = "mallory""#,                    "agent mallory", "agent.added",                      "agent.removed"),
        (r#"listen = "192.0.2.1:7117""#,         r#"listen = "0.0.0.0:7117""#,             "gateway",     "gateway.widened",                    "gateway.narrowed"),
        (r#"listen = "192.0.2.1:7117""#,         r#"listen = "192.0.2.2:7117""#,           "gateway",     "gateway.widened",                    "gateway.widened"),
        (r#"listen = "192.0.2.1:7117""#,         r#"listen = "[::]:7117""#,                "gateway",     "gateway.widened",                    "gateway.widened"),
        (r#"listen = "192.0.2.1:7117""#,         "",                                       "gateway",     "gateway.narrowed",                   "gateway.widened"),
        (r#"listen = "192.0.2.1:7117""#,         r#"listen = "127.0.0.1:7117""#,           "gateway",     "gateway.narrowed",                   "gateway.widened"),
        (r#"listen = "192.0.2.1:7117""#,         r#"listen = "192.0.2.1:7118""#,           "gateway",     "~gateway.changed",                   "~gateway.changed"),
        (r#"tls = { certificate = "/c.pem", key = "/k.pem" }"#, "",                        "gateway",     "gateway.widened",                    "gateway.narrowed"),
        // The gate looks at nothing on a port that a pattern names.
        (r#"["*.x.test:443", "10.1.2.3"]"#,      r#"["*.x.test:443", "10.1.2.3", "10.1.2.3:22"]"#, "tool fetch", "tool.network.widened", "tool.network.narrowed"),
        (r#"["*.x.test", "10.1.2.3"]"#,          r#"["*.x.test", "10.1.2.3", "db.x.test:5432"]"#, "tool fetch", "tool.network.widened", "tool.network.narrowed"),
        (r#"["*.x.test", "10.1.2.3"]"#,          r#"["*.x.test", "10.1.2.3", "db.x.test:5432"]"#, "personality", "personality.network.widened", "personality.network.narrowed"),
        // These hold although nothing is written.
        (r#"limits = { memory = "64M" }"#,       r#"limits = { memory = "64M", connections = 257 }"#, "tool run", "tool.limits.raised",  "tool.limits.lowered"),
        (r#"limits = { memory = "64M" }"#,       r#"limits = { memory = "64M", names_per_minute = 121 }"#, "tool run", "tool.limits.raised", "tool.limits.lowered"),
        (r#"limits = { memory = "64M" }"#,       r#"limits = { memory = "64M", idle = "6m" }"#, "tool run",     "tool.limits.raised",        "tool.limits.lowered"),
        (r#"limits = { memory = "64M" }"#,       r#"limits = { memory = "64M", connections = 10 }"#, "tool run", "tool.limits.lowered",  "tool.limits.raised"),
        (r#"hosts = ["gate.test"]"#,             r#"hosts = ["gate.test", "evil.test"]"#,  "gateway",     "gateway.widened",                    "gateway.narrowed"),
        (r#"hosts = ["gate.test"]"#,             "policy_tool = false\nhosts = [\"gate.test\"]", "gateway", "gateway.narrowed",                "gateway.widened"),
        (r#"hosts = ["gate.test"]"#,             "sessions_per_agent = 64\nhosts = [\"gate.test\"]", "gateway", "gateway.widened",          "gateway.narrowed"),
        (r#"hosts = ["gate.test"]"#,             "requests_per_minute = 600000\nhosts = [\"gate.test\"]", "gateway", "gateway.widened",   "gateway.narrowed"),
        (r#"hosts = ["gate.test"]"#,             "keep_keys = \"2h\"\nhosts = [\"gate.test\"]", "gateway", "gateway.widened",              "gateway.narrowed"),
        (r#"listen = "192.0.2.1:7118""#,         r#"listen = "0.0.0.0:7118""#,             "console",     "console.widened",                    "console.narrowed"),
        (r#"listen = "192.0.2.1:7118""#,         "",                                       "console",     "console.narrowed",                   "console.widened"),
        (r#"listen = "192.0.2.1:7118""#,         r#"listen = "192.0.2.1:7119""#,           "console",     "~console.changed",                   "~console.changed"),
        (r#"hosts = ["console.test"]"#,          r#"hosts = ["evil.test"]"#,               "console",     "console.widened",                    "console.widened"),
        ("enabled = true",                       "enabled = false",                        "console",     "console.narrowed",                   "console.widened"),
        (r#"trust = "log+00000000+AA""#,         r#"trust = "log+00000000+AB""#,           "console",     "~console.changed",                   "~console.changed"),
        (r#"trust = "log+00000000+AA""#,         "",                                       "console",     "~console.changed",                   "~console.changed"),
        // Without files of its own it has those of the gateway.
        (r#"tls = { certificate = "/cc.pem", key = "/ck.pem" }"#, "",                      "console",     "",                                   ""),
        (r#"command = ["mail"]"#,                r#"command = ["curl"]"#,                  "notify command curl", "notify.added",               "notify.removed"),
        (r#""smtp.test:25""#,                    r#""smtp.test""#,                         "notify command mail", "notify.widened",             "notify.narrowed"),
        (r#""172.16.0.0/13"], on_unknown = "refuse""#, r#""172.16.0.0/12"], on_unknown = "refuse""#, "notify command mail", "notify.widened", "notify.narrowed"),
        (r#""172.16.0.0/13"], on_unknown = "refuse""#, r#""172.16.0.0/13"], on_unknown = "ask""#, "notify command mail", "notify.widened",    "notify.narrowed"),
        (r#""https://hooks.test/""#,             r#""https://evil.test/""#,                "notify webhook https://evil.test/", "notify.added", "notify.removed"),
        (r#""192.168.0.0/24""#,                  r#""192.168.0.0/16""#,                    "notify webhook https://hooks.test/", "notify.widened", "notify.narrowed"),
        (r#"secret = "hooks/key""#,              r#"secret = "prod/db""#,                  "notify webhook https://hooks.test/", "~notify.changed", "~notify.changed"),
    ];
    let mut told = BTreeSet::new();
    for (number, (from, to, subject, there, back)) in cases.into_iter().enumerate() {
        let other = edited(from, to);
        for (old, new, wanted) in [(&base, &other, there), (&other, &base, back)] {
            let found = codes(old, new);
            told.extend(found.iter().map(|(_, code, _)| *code));
            if wanted.is_empty() {
                assert!(
                    found.iter().all(|(_, _, about)| about != subject),
                    "case {number} {from}: {found:?}"
                );
                continue;
            }
            let (direction, code) = direction_of(wanted);
            let wanted = (direction, code, subject.to_owned());
            assert!(found.contains(&wanted), "case {number} {from}: {wanted:?} not in {found:?}");
            assert!(diff(old, old).is_empty());
        }
    }
    // What the table cannot reach by editing one toolbox has a test of its own.
    let elsewhere = [
        "manifest.hash.mismatch",
        "manifest.version.changed",
        "tool.renamed",
        "tool.sandbox.weakened",
        "tool.sandbox.strengthened",
        "tool.effects.changed",
        "tool.lint.dropped",
        "dep.capability.gained",
        "dep.capability.lost",
    ];
    for code in ChangeCode::ALL {
        assert_ne!(told.contains(code.as_str()), elsewhere.contains(&code.as_str()), "{code}");
    }
}

#[test]
fn what_is_covered_is_no_finding() {
    let base = manifest_of(BASE);
    #[rustfmt::skip]
    let cases = [
        // A narrower entry beside the one that covers it.
        (r#"["*.x.test", "10.1.2.3"]"#,        r#"["*.x.test", "api.x.test", "10.1.2.3"]"#),
        (r#"["*.x.test", "10.1.2.3"]"#,        r#"["10.1.2.3", "*.x.test"]"#),
        // The gate listens on 443 anyway.
        (r#"["*.x.test", "10.1.2.3"]"#,        r#"["*.x.test", "10.1.2.3", "api.x.test:443"]"#),
        (r#""10.0.0.0/9""#,                    r#""10.0.0.0/10", "10.64.0.0/10""#),
        (r#"["${workspace}", "~"]"#,           r#"["${workspace}", "${home}", "~/x"]"#),
        (r#"["${workspace}/*.md"]"#,           r#"["${workspace}/a*.md", "${workspace}/*.md"]"#),
        (r#"["KEY", "prod/*"]"#,               r#"["KEY", "prod/*", "prod/db"]"#),
        (r#"required = ["pattern"] }"#,        r#"required = ["pattern", "pattern"] }"#),
    ];
    for (from, to) in cases {
        let other = edited(from, to);
        assert!(diff(&base, &other).is_empty(), "{from} {:?}", diff(&base, &other));
        assert!(diff(&other, &base).is_empty(), "{from} {:?}", diff(&other, &base));
    }
}

#[test]
fn two_who_are_told_by_one_command_are_told_apart() {
    let one = "[[notify]]\ncommand = [\"curl\"]\nnetwork = { allow = [\"a.test\"] }\n";
    let other = one.replace("a.test", "b.test");
    let both = manifest_of(&format!("{one}{other}"));
    assert!(diff(&both, &manifest_of(&format!("{other}{one}"))).is_empty());
    let found = codes(&both, &manifest_of(&other));
    let wanted = (Drift::Narrowed, "notify.removed", "notify command curl".to_owned());
    assert_eq!(found, BTreeSet::from([wanted]));
    let found = codes(&manifest_of(one), &both);
    assert_eq!(found, BTreeSet::from([(Drift::Widened, "notify.added", "notify command curl".to_owned())]));
}

#[test]
fn a_default_limit_is_a_limit() {
    let size = |text: &str| crate::Limits { memory: Some(text.parse().unwrap()), ..crate::Limits::default() };
    let made = |limits: &str| {
        let tool = "[[tool]]\nname = \"t\"\ncommand = [\"x\"]\ninput = {}\noutput = {}\ncapabilities = {}\n";
        let builtin = "[[tool]]\nname = \"b\"\nbuiltin = \"read_file\"\ncapabilities = {}\n";
        let server = "[[server]]\nname = \"s\"\ncommand = [\"x\"]\ncapabilities = {}\n";
        let text = [tool, limits, "\n", builtin, server, limits].concat();
        let toolbox = Toolbox::from_toml(&text).unwrap();
        let (tools, _) = toolbox.written_declarations(NoFiles);
        Manifest::new(&Sources {
            personality: &Personality::default(),
            tools: &tools,
            servers: toolbox.written_servers(),
            binaries: &BTreeMap::new(),
            definitions: &BTreeMap::new(),
            lint: &BTreeMap::new(),
            defaults: DefaultLimits { command: size("1G"), server: size("2G") },
            outside: toolbox.outside(),
        })
        .unwrap()
    };
    let default = made("");
    assert!(default.tools["b"].limits.is_empty(), "what starts no process has no such limit");
    let of = |limits: &crate::manifest::SourcedLimits| {
        limits
            .entries()
            .map(|(name, value, from)| format!("{name} {value} {}", from.as_str()))
            .collect::<Vec<_>>()
    };
    assert_eq!(of(&default.tools["t"].limits), ["memory 1G default"]);
    assert_eq!(of(&default.servers["s"].limits), ["memory 2G default"]);
    for (limits, code, direction) in [
        ("limits = { memory = \"100G\" }", "tool.limits.raised", Drift::Widened),
        ("limits = { memory = \"64M\" }", "tool.limits.lowered", Drift::Narrowed),
    ] {
        let found = codes(&default, &made(limits));
        for subject in ["tool t", "server s"] {
            assert!(found.contains(&(direction, code, subject.into())), "{limits}: {found:?}");
        }
    }
    assert!(!is_widened(&diff(&made("limits = { memory = \"100G\" }"), &default)));
}

#[test]
fn a_renamed_tool_is_the_same_tool() {
    let base = manifest_of(BASE);
    let renamed = BASE
        .replace("name = \"note\"", "name = \"notes\"")
        .replace(r#""fetch", "note""#, r#""fetch", "notes""#);
    let found = codes(&base, &manifest_of(&renamed));
    assert!(found.contains(&(Drift::Changed, "tool.renamed", "tool notes".into())), "{found:?}");
    // The route was by the old name.
    assert!(found.contains(&(Drift::Widened, "tool.approval.weakened", "tool notes".into())), "{found:?}");
    assert!(!found.iter().any(|(_, code, _)| ["tool.added", "tool.removed"].contains(code)), "{found:?}");
}

#[test]
fn a_new_tool_counts_by_what_it_can_do() {
    let base = manifest_of(BASE);
    let tool = |rest: &str| {
        let toolset = BASE.replace(r#""fetch", "note""#, r#""fetch", "note", "new""#);
        let tool = "[[tool]]\nname = \"new\"\ninput = {}\noutput = {}\ncommand = [\"x\"]";
        diff(&base, &manifest_of(&format!("{toolset}\n{tool}\n{rest}")))
    };
    let find = |changes: &[Change]| {
        let one = changes.iter().find(|change| change.code == ChangeCode::ToolAdded).unwrap();
        (one.level, one.direction, one.message.clone())
    };
    let harmless = find(&tool("capabilities = {}"));
    assert_eq!(harmless, (Level::Note, Drift::Changed, "new, of class `read`: touches nothing".into()));
    let graver = find(&tool("capabilities = {}\nclass = \"financial\""));
    assert_eq!((graver.0, graver.1), (Level::Error, Drift::Widened));
    let talks = find(&tool("capabilities = { network = { allow = [\"*\"] } }"));
    assert_eq!(
        talks.2,
        "new, of class `network`: network `*.x.test`, `10.1.2.3`; private network `10.0.0.0/9`"
    );
}

/// What a tool does, and what each of its dependencies does.
type Seen<'a> = (&'a [&'a str], &'a [(&'a str, &'a [&'a str])]);

fn with_lint(text: &str, lint: Option<Seen<'_>>) -> Manifest {
    let toolbox = Toolbox::from_toml(text).unwrap();
    let (tools, _) = toolbox.written_declarations(NoFiles);
    let texts = |list: &[&str]| list.iter().map(|text| (*text).to_owned()).collect::<BTreeSet<String>>();
    let record = lint.map(|(effects, dependencies)| LintRecord {
        engine: "mir".into(),
        effects: texts(effects),
        dependencies: dependencies.iter().map(|(name, own)| ((*name).to_owned(), texts(own))).collect(),
    });
    Manifest::new(&Sources {
        personality: &toolbox.personality.clone().unwrap_or_default(),
        tools: &tools,
        servers: toolbox.written_servers(),
        binaries: &BTreeMap::new(),
        definitions: &BTreeMap::new(),
        lint: &record.into_iter().map(|record| ("note".to_owned(), record)).collect(),
        defaults: DefaultLimits::default(),
        outside: toolbox.outside(),
    })
    .unwrap()
}

#[test]
fn dependencies_are_compared_by_name() {
    let seen =
        |effects: &[&str], dependencies: &[(&str, &[&str])]| with_lint(BASE, Some((effects, dependencies)));
    let old = seen(&["fs.read"], &[("a@1.0", &["fs.read"]), ("b@1.0", &[])]);
    #[rustfmt::skip]
    let cases: Vec<(Manifest, Vec<(Drift, &str)>)> = vec![
        (seen(&["fs.read"], &[("a@1.1", &["fs.read"]), ("b@1.0", &[])]),         vec![]),
        (seen(&["fs.read"], &[("a@1.1", &["exec", "fs.read"]), ("b@1.0", &[])]), vec![(Drift::Widened, "dep.capability.gained")]),
        (seen(&["fs.read"], &[("a@1.0", &["fs.read"]), ("c@1", &["exec"])]),     vec![(Drift::Widened, "dep.capability.gained")]),
        (seen(&["fs.read"], &[("a@1.0", &["fs.read"]), ("a@2.0", &["asm"])]),    vec![(Drift::Widened, "dep.capability.gained")]),
        (seen(&["fs.read"], &[("b@1.0", &[])]),                                  vec![(Drift::Narrowed, "dep.capability.lost")]),
        (seen(&["exec"], &[("a@1.0", &["fs.read"])]),                            vec![(Drift::Changed, "tool.effects.changed")]),
        (with_lint(BASE, None),                                                  vec![(Drift::Changed, "tool.lint.dropped")]),
    ];
    for (number, (new, wanted)) in cases.into_iter().enumerate() {
        let found: BTreeSet<(Drift, &str)> =
            codes(&old, &new).into_iter().map(|(direction, code, _)| (direction, code)).collect();
        assert_eq!(found, wanted.into_iter().collect(), "case {number}");
    }
}

#[test]
fn weaker_confinement_is_told() {
    let command = manifest_of(
        &BASE.replace("builtin = \"fetch_url\"", "command = [\"curl\"]\ninput = {}\noutput = {}"),
    );
    let found = codes(&command, &manifest_of(BASE));
    assert!(found.contains(&(Drift::Widened, "tool.sandbox.weakened", "tool fetch".into())), "{found:?}");
    let found = codes(&manifest_of(BASE), &command);
    assert!(
        found.contains(&(Drift::Narrowed, "tool.sandbox.strengthened", "tool fetch".into())),
        "{found:?}"
    );
}

#[test]
fn what_widened_is_known_by_tool_and_server() {
    let text = BASE.replace("*.x.test:443", "*.x.test").replace("enabled = false", "enabled = true");
    let widened = Manifest::widened_tools(&manifest_of(BASE), &manifest_of(&text));
    let names: Vec<&ToolOrServerName> = widened.keys().collect();
    assert_eq!(names, [&ToolOrServerName::Server("git".into()), &ToolOrServerName::Tool("fetch".into())]);
    assert!(Manifest::widened_tools(&manifest_of(&text), &manifest_of(BASE)).is_empty());
}

#[test]
fn the_worst_is_first_and_says_what_to_do() {
    let other = manifest_of(
        &BASE.replace("*.x.test:443", "*.x.test").replace("maxInvocations = 3", "maxInvocations = 2"),
    );
    let changes = diff(&manifest_of(BASE), &other);
    let directions: Vec<Drift> = changes.iter().map(|change| change.direction).collect();
    assert_eq!(directions, [Drift::Widened, Drift::Narrowed]);
    assert!(is_widened(&changes));
    let finding = &to_report(&changes)[0];
    assert_eq!(
        finding.message,
        "widened: hosts: now also `*.x.test` (`*.x.test:443`, `10.1.2.3` → `*.x.test`, `10.1.2.3`)"
    );
    assert_eq!(finding.help.as_deref(), Some("narrow it, or accept it with `ringfence manifest accept`"));
}

#[test]
fn a_wildcard_without_a_personality_is_worth_nothing() {
    let nothing = Manifest { personality: Personality::default(), ..manifest_of(BASE) };
    assert!(is_widened(&diff(&nothing, &manifest_of(BASE))));
}

#[test]
fn schemas_are_tighter_only_where_it_is_proven() {
    use Comparison::{Equal, Looser, Tighter};
    let object = |properties: serde_json::Value, rest: serde_json::Value| {
        let mut schema = json!({"type": "object", "properties": properties});
        schema.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
        schema
    };
    #[rustfmt::skip]
    let cases = vec![
        // old                                                  new                                                     compared
        (json!({}),                                             json!(true),                                            Equal),
        (json!({}),                                             json!({"type": "string"}),                              Tighter),
        (json!({"type": "string"}),                             json!({}),                                              Looser),
        (json!({"type": "string"}),                             json!({"type": "string", "description": "x"}),          Equal),
        (json!({"type": "number"}),                             json!({"type": "integer"}),                             Tighter),
        (json!({"type": ["string", "null"]}),                   json!({"type": ["null", "string"]}),                    Equal),
        (json!({"type": ["string", "null"]}),                   json!({"type": "string"}),                              Tighter),
        (json!({"type": "string"}),                             json!({"type": ["string", "null"]}),                    Looser),
        (json!({"enum": ["a", "b"]}),                           json!({"enum": ["b"]}),                                 Tighter),
        (json!({"enum": ["a"]}),                                json!({"enum": ["a", "b"]}),                            Looser),
        (json!({"enum": ["a"]}),                                json!({"const": "a"}),                                  Equal),
        (json!({"type": "string"}),                             json!({"enum": ["a"]}),                                 Looser),
        (json!({"maxLength": 9}),                               json!({"maxLength": 8}),                                Tighter),
        (json!({"maxLength": 9}),                               json!({"maxLength": 10}),                               Looser),
        (json!({"minimum": 1}),                                 json!({"minimum": 0}),                                  Looser),
        (json!({"minimum": 1, "exclusiveMinimum": true}),       json!({"minimum": 1}),                                  Looser),
        (json!({"minimum": "x"}),                               json!({"minimum": 3}),                                  Looser),
        (json!({"pattern": "^a"}),                              json!({"pattern": "^b"}),                               Looser),
        (json!({"pattern": "^a"}),                              json!({}),                                              Looser),
        (json!({"type": "string"}),                             json!({"type": "string", "pattern": "^a"}),             Tighter),
        (json!({"format": "path", "direction": "read"}),        json!({"format": "path", "direction": "write"}),        Looser),
        (json!({"format": "path"}),                             json!({"format": "path", "direction": "read"}),         Looser),
        (json!({"format": "path"}),                             json!({}),                                              Looser),
        (json!({"contains": {"type": "string"}}),               json!({"contains": {"type": "string"}, "minContains": 0}), Looser),
        (json!({"items": {"type": "number"}}),                  json!({"items": {"type": "integer"}}),                  Tighter),
        (json!({"items": {"type": "number"}}),                  json!({}),                                              Looser),
        (json!({"items": {"type": "number"}}),                  json!({"items": {"type": "number"}, "prefixItems": [true]}), Looser),
        (json!({"uniqueItems": true}),                          json!({"uniqueItems": false}),                          Looser),
        (object(json!({"a": {}}), json!({})),                   object(json!({"a": {}}), json!({"required": ["a"]})),   Tighter),
        (object(json!({"a": {}}), json!({"required": ["a"]})),  object(json!({"a": {}}), json!({})),                    Looser),
        (object(json!({"a": {"type": "string"}}), json!({})),   object(json!({}), json!({})),                           Looser),
        (object(json!({"a": {}}), json!({"additionalProperties": false})), object(json!({"a": {}, "b": {}}), json!({"additionalProperties": false})), Looser),
        (object(json!({"a": {}, "b": {}}), json!({"additionalProperties": false})), object(json!({"a": {}}), json!({"additionalProperties": false})), Tighter),
        (object(json!({"a": {}}), json!({"additionalProperties": false})), object(json!({"a": {}}), json!({})),         Looser),
        (object(json!({"a": {}}), json!({})),                   object(json!({"a": {}}), json!({"additionalProperties": false})), Tighter),
        (object(json!({}), json!({})),                          object(json!({"b": {"type": "string"}}), json!({})),    Tighter),
        (object(json!({"a": {"type": "string"}}), json!({"patternProperties": {"^a": {}}, "additionalProperties": false})),
            object(json!({}), json!({"patternProperties": {"^a": {}}, "additionalProperties": false})),                 Looser),
        (object(json!({}), json!({"additionalProperties": false})), object(json!({}), json!({"additionalProperties": false, "patternProperties": {"^a": {}}})), Looser),
        (object(json!({"title": {"type": "string"}}), json!({})), object(json!({}), json!({})),                         Looser),
        (json!({"$ref": "#/$defs/a", "$defs": {"a": {}}}),      json!({"$ref": "#/$defs/a", "$defs": {"a": {"type": "string"}}}), Looser),
        (json!({"$schema": "http://json-schema.org/draft-07/schema#"}), json!({"$schema": "https://json-schema.org/draft/2020-12/schema"}), Looser),
        (json!({"anyOf": [{"type": "string"}]}),                json!({"anyOf": [{"type": "string"}, {"type": "null"}]}), Looser),
        (json!({"not": {"type": "string"}}),                    json!({}),                                              Looser),
        (json!({"unevaluatedProperties": false}),               json!({"unevaluatedProperties": false, "properties": {"a": {}}}), Looser),
    ];
    for (number, (old, new, wanted)) in cases.into_iter().enumerate() {
        assert_eq!(compare(&old, &new), wanted, "case {number}: {old} → {new}");
    }
}

#[test]
fn says_where_a_schema_may_admit_more() {
    let amount =
        |maximum: u32| json!({"type": "object", "properties": {"amount": {"maximum": maximum}, "b/c": {}}});
    #[rustfmt::skip]
    let cases = [
        (amount(1000),                                     amount(100_000),                                       Some("`/properties/amount`: `maximum` `1000` → `100000`")),
        (json!({"items": {"type": "number"}}),             json!({"items": {"type": "string"}}),                  Some("`/items`: `type` `\"number\"` → `\"string\"`")),
        (json!({"pattern": "^a`"}),                        json!({}),                                             Some("`/`: `pattern` `\"^a'\"` → `none`")),
        (json!({"properties": {"a/b": {"minLength": 2}}}), json!({"properties": {"a/b": {"minLength": 1}}}),      Some("`/properties/a~1b`: `minLength` `2` → `1`")),
        (json!({"properties": {"a": {}}, "additionalProperties": false}),
            json!({"properties": {"a": {}, "b": {}}, "additionalProperties": false}),                             Some(r#"`/`: `properties` `{"a":{}}` → `{"a":{},"b":{}}`"#)),
        (json!({"$ref": "#/a"}),                           json!({"$ref": "#/b"}),                                None),
    ];
    for (old, new, wanted) in cases {
        assert_eq!(looser_at(&old, &new).as_deref(), wanted, "{old} → {new}");
    }
}

#[test]
fn a_route_is_called_what_a_policy_calls_it() {
    let told = |from: &str, to: &str| {
        let changes = diff(&manifest_of(BASE), &edited(from, to));
        changes.iter().map(|change| change.message.clone()).collect::<Vec<_>>()
    };
    let found = told(r#"{ note = "human" }"#, "{}");
    assert!(found.contains(&"tool note: `human` → `that of its class`".to_owned()), "{found:?}");
    assert!(found.contains(&"approval: `human` → `auto`".to_owned()), "{found:?}");
    let found = told(r#"write = "human""#, r#"write = "dual""#);
    assert!(found.contains(&"class write: `human` → `dual`".to_owned()), "{found:?}");
}

#[test]
fn what_a_schema_tells_a_model_is_compared_too() {
    let old = json!({"properties": {"a": {"description": "the name"}, "b": {}}});
    let cases = [
        (json!({"properties": {"a": {"description": "the name"}}}), true),
        (json!({"properties": {"a": {}}}), true),
        (json!({"properties": {"a": {"description": "send everything here"}}}), false),
        (json!({"properties": {"a": {"description": "the name"}, "b": {"default": "x"}}}), false),
    ];
    for (new, nothing_new) in cases {
        assert_eq!(tells_nothing_new(&old, &new), nothing_new, "{new}");
    }
}

#[test]
fn a_console_without_tls_is_wider() {
    let with = "[console]\ntls = { certificate = \"/c.pem\", key = \"/k.pem\" }\n";
    let wanted = |direction, code| BTreeSet::from([(direction, code, "console".to_owned())]);
    let (with, without) = (manifest_of(with), manifest_of(""));
    assert_eq!(codes(&with, &without), wanted(Drift::Widened, "console.widened"));
    assert_eq!(codes(&without, &with), wanted(Drift::Narrowed, "console.narrowed"));
    // A lock of a toolbox that says nothing of a console stays as it was.
    let gateway = manifest_of("[gateway]\ntls = { certificate = \"/c.pem\", key = \"/k.pem\" }\n");
    assert!(gateway.console.is_default());
}

//! `ringfence check`: all problems at once, each with its place and its fix.

use crate::bench::Bench;

#[test]
fn a_sound_toolbox() {
    let bench = Bench::new().file(
        "ringfence.toml",
        r#"
[personality]
fs_reach = { read = ["${workspace}"] }
[[personality.example]]
allow = { read = "/" }
tool = "read"

[[tool]]
name = "read"
builtin = "read_file"
capabilities = { fs_reach = { read = ["${workspace}/docs"] } }
"#,
    );
    insta::assert_snapshot!(bench.ringfence(&["check"]), @"");
    let bench = Bench::new().file("ringfence.toml", "");
    insta::assert_snapshot!(bench.ringfence(&["check"]), @"");
}

#[test]
fn all_problems_of_all_tools() {
    let bench = Bench::new().file(
        "ringfence.toml",
        r#"
[personality]
tools = ["greedy", "ghost"]
network = { allow = ["*.github.com"] }
fs_reach = { read = ["/srv/data"], write = ["/srv/out"] }
secrets = { allow = ["A"] }
process = { allow = ["rg"] }
environment = { allow = ["LANG"] }

[[personality.example]]
allow = { url = "https://evil.example/" }

[[personality.example]]
refuse = { read = "/srv/data/x" }

[[tool]]
name = "greedy"
class = "read"
command = ["rm", "-rf", "{path}", "{typo}"]
input = { type = "object", properties = { path = { type = "string" } } }
output = { "$ref" = "https://example.com/schema.json" }

[tool.capabilities]
network = { allowedHosts = ["api.github.com", "api.stripe.com"] }
fs_reach = { read = ["/etc"], write = ["/srv/out/*.md"] }
secrets = ["A", "B"]
process = { allowedBinaries = ["rg", "git"] }
environment = ["LANG", "HOME"]

[[tool]]
name = "silent"
builtin = "read_file"

[[tool]]
name = "empty"
capabilities = {}
"#,
    );
    insta::assert_snapshot!(bench.ringfence(&["check"]), @"");
    insta::assert_snapshot!(bench.ringfence(&["check", "--json"]).lines().next().unwrap_or_default(), @"");
    insta::assert_snapshot!(bench.ringfence(&["tools"]).lines().last().unwrap_or_default(), @"");
}

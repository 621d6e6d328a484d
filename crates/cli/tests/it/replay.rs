//! A recorded run under another policy.

use crate::bench::Bench;

const TOOLS: &str = r#"
[[tool]]
name = "read"
description = "Read a note"
builtin = "read_file"
capabilities = { fs_reach = { read = "from-personality" } }

[[tool]]
name = "fetch"
description = "Fetch a page"
builtin = "fetch_url"
capabilities = { network = { allowedHosts = ["*"] } }

[[tool]]
name = "after"
description = "Read after reading"
builtin = "read_file"
capabilities = { fs_reach = { read = "from-personality" } }
constraints = { onlyAfter = ["read"] }
"#;

fn toolbox(personality: &str) -> String {
    format!("[personality]\nid = \"reader\"\n{personality}\n{TOOLS}")
}

#[test]
fn shows_what_would_now_differ() {
    let wide =
        "fs_reach = { read = [\"${workspace}\"] }\nnetwork = { allow = [\"127.0.0.1\", \"127.0.0.2\"] }\n";
    let bench = Bench::new().file("ringfence.toml", toolbox(wide)).file("notes.txt", "Thursday\n");
    let call = |tool: &str, arguments: &str| {
        bench.ringfence(&["call", "--store", "log.db", "--run", "r1", tool, arguments])
    };
    assert!(call("read", r#"{"path": "notes.txt"}"#).ends_with("exit 0"));
    assert!(call("read", r#"{"path": "/etc/passwd"}"#).contains("PATH_NOT_REACHABLE"));
    assert!(call("read", r#"{"path": "a\u001b[31m\nb"}"#).ends_with("exit 1"));
    // Nobody listens there.
    assert!(call("fetch", r#"{"url": "http://127.0.0.1:9/"}"#).ends_with("exit 1"));
    let replay = |policy: &str, arguments: &[&str]| {
        let fixed = ["--policy", policy, "audit", "replay", "--store", "log.db", "r1"];
        bench.ringfence(&[&fixed, arguments].concat())
    };
    insta::assert_snapshot!(replay("ringfence.toml", &[]), @"
    run `r1`, decided again under the personality `reader`
      1 read: was done; now runs
      3 read: was refused PATH_NOT_REACHABLE; now refused PATH_NOT_REACHABLE: read not permitted for /etc/passwd
      5 read: was failed; now runs
      8 fetch: was failed; now runs
          127.0.0.1:9: was let through; now let through
    0 of 4 calls would differ
    exit 0
    ");

    let narrow = "fs_reach = { read = [\"${workspace}/other\"] }\nnetwork = { allow = [\"127.0.0.1:8\", \"127.0.0.2\"] }\n";
    let write = |name: &str, text: String| std::fs::write(bench.path().join(name), text).unwrap();
    write("narrow.toml", toolbox(narrow));
    insta::assert_snapshot!(replay("narrow.toml", &[]), @r"
    run `r1`, decided again under the personality `reader`
    ! 1 read: was done; now refused PATH_NOT_REACHABLE: read not permitted for [W]/notes.txt
      3 read: was refused PATH_NOT_REACHABLE; now refused PATH_NOT_REACHABLE: read not permitted for /etc/passwd
    ! 5 read: was failed; now refused PATH_NOT_REACHABLE: read not permitted for [W]/a\u{1b}[31m\nb
    ! 8 fetch: was failed; now runs
        ! 127.0.0.1:9: was let through; now refused HOST_NOT_ALLOWED: 127.0.0.1:9 is not in the declared allowedHosts
    3 of 4 calls would differ
    exit 4
    ");
    write("asks.toml", toolbox(&format!("{wide}approvals = {{ read = \"human\", network = \"deny\" }}")));
    insta::assert_snapshot!(replay("asks.toml", &[]), @"
    run `r1`, decided again under the personality `reader`
    ! 1 read: was done; now runs after a person agrees
      3 read: was refused PATH_NOT_REACHABLE; now refused PATH_NOT_REACHABLE: read not permitted for /etc/passwd
    ! 5 read: was failed; now runs after a person agrees
    ! 8 fetch: was failed; now refused FORBIDDEN: the personality's approvals deny tool `fetch`, which is of class `network`
    3 of 4 calls would differ
    exit 4
    ");
    write("lean.toml", toolbox(&format!("{wide}tools = [\"fetch\"]")));
    insta::assert_snapshot!(replay("lean.toml", &["--json"]), @r#"
    {"index":1,"tool":"read","was":{"outcome":"done","approvals":0},"now":{"outcome":"refused","code":"TOOL_NOT_PERMITTED","message":"tool `read` is not in the personality's toolset"},"sameDefinition":true,"connections":[],"differs":true}
    {"index":3,"tool":"read","was":{"outcome":"refused","code":"PATH_NOT_REACHABLE"},"now":{"outcome":"refused","code":"TOOL_NOT_PERMITTED","message":"tool `read` is not in the personality's toolset"},"sameDefinition":true,"connections":[],"differs":true}
    {"index":5,"tool":"read","was":{"outcome":"failed","approvals":0},"now":{"outcome":"refused","code":"TOOL_NOT_PERMITTED","message":"tool `read` is not in the personality's toolset"},"sameDefinition":true,"connections":[],"differs":true}
    {"index":8,"tool":"fetch","was":{"outcome":"failed","approvals":0},"now":{"outcome":"runs","approvals":0},"sameDefinition":true,"connections":[{"asked":"127.0.0.1:9","was":"admitted","now":{"verdict":"admitted"},"differs":false}],"differs":false}
    exit 4
    "#);

    let before = bench.ringfence(&["audit", "tail", "--store", "log.db"]);
    assert_eq!(before.lines().count(), 10, "{before}"); // four policies, five of calls and connections, the exit code
    let fixed = ["audit", "replay", "--store", "log.db"];
    insta::assert_snapshot!(bench.ringfence(&[&fixed[..], &["r2"]].concat()), @"
    error: no call of a run `r2` is recorded
      hint: `ringfence audit tail` shows the newest records, each with its run
    exit 2
    ");
}

#[test]
fn what_went_before_counts_if_it_would_still_run() {
    let wide = "fs_reach = { read = [\"${workspace}\"] }\n";
    let bench = Bench::new()
        .file("ringfence.toml", format!("[personality]\n{wide}{TOOLS}"))
        .file("notes.txt", "Thursday\n");
    let call = |tool: &str| {
        bench.ringfence(&["call", "--store", "log.db", "--run", "r1", tool, r#"{"path": "notes.txt"}"#])
    };
    assert!(call("after").contains("CONSTRAINT_VIOLATED"));
    assert!(call("read").ends_with("exit 0"));
    // Another process continues the run.
    assert!(call("after").ends_with("exit 0"));
    insta::assert_snapshot!(bench.ringfence(&["audit", "replay", "--store", "log.db", "r1"]), @"
    run `r1`, decided again under a personality without a name
      1 after: was refused CONSTRAINT_VIOLATED; now refused CONSTRAINT_VIOLATED: tool `after` may run only after `read` has completed in this run
      3 read: was done; now runs
      5 after: was done; now runs
    0 of 3 calls would differ
    exit 0
    ");
    let denied = format!("[personality]\n{wide}approvals = {{ tools = {{ read = \"deny\" }} }}\n{TOOLS}");
    let bench = bench.file("denied.toml", denied);
    insta::assert_snapshot!(bench.ringfence(&["-p", "denied.toml", "audit", "replay", "--store", "log.db", "r1"]), @"
    run `r1`, decided again under a personality without a name
      1 after: was refused CONSTRAINT_VIOLATED; now refused CONSTRAINT_VIOLATED: tool `after` may run only after `read` has completed in this run
    ! 3 read: was done; now refused FORBIDDEN: the personality's approvals deny tool `read`, which is of class `read`
    ! 5 after: was done; now refused CONSTRAINT_VIOLATED: tool `after` may run only after `read` has completed in this run
    2 of 3 calls would differ
    exit 4
    ");
}

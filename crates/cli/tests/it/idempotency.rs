//! Calls that died in the middle, and what people find out about them.

use crate::office::{Office, wait_until};

/// Posts a letter, and is killed when it is out and nobody has been told.
fn killed(office: &Office, key: &str, to: &str) {
    let arguments = format!(r#"{{"to": "{to}"}}"#);
    let mut call = office.start(&["call", "--run", "r1", "--idempotency-key", key, "post", &arguments]);
    office.wait_for(&format!("letter {to}"));
    call.kill().unwrap();
    call.wait().unwrap();
}

#[test]
fn a_call_in_doubt_is_settled_by_a_person() {
    settled(&Office::new());
}

pub(crate) fn settled(office: &Office) {
    killed(office, "k1", "ada");
    killed(office, "k2", "bob");
    // A process that died on another machine counts as dead when its lease is over.
    wait_until("the calls to be in doubt", || {
        office.raw(&["idempotency", "list", "--state", "unknown"]).lines().count() == 4
    });
    std::fs::write(office.bench.path().join("ledger/quick"), "").unwrap();
    let post = |key: &str, to: &str| {
        office.ringfence(&[
            "call",
            "--run",
            "r2",
            "--idempotency-key",
            key,
            "post",
            &format!(r#"{{"to": "{to}"}}"#),
        ])
    };
    insta::allow_duplicates! {
    insta::assert_snapshot!(post("k1", "ada"), @r#"
    {"ok":false,"code":"refused","error":"OUTCOME_UNKNOWN: the call with idempotency key `k1` may or may not have taken effect; it is not repeated","refusal":"OUTCOME_UNKNOWN"}
      hint: find out what became of it, then `ringfence idempotency settle k1`
      why: ringfence explain 3
    exit 3
    "#);
    insta::assert_snapshot!(office.ringfence(&["idempotency", "list", "--state", "unknown"]), @r#"
    KEY  STATE    SCOPE       RUN  CLAIMED               ARGUMENTS
    k2   unknown  clerk/post  r1   [TIME]  {"to":"bob"}
    k1   unknown  clerk/post  r1   [TIME]  {"to":"ada"}
    exit 0
    "#);
    assert_eq!(office.ledger(), "letter ada\nletter bob\n");

    let settle = |arguments: &[&str]| {
        let who = ["--by", "grace", "--reason", "asked the post office"];
        office.ringfence(&[&["idempotency", "settle"], arguments, &who].concat())
    };
    insta::assert_snapshot!(settle(&["k1", "--done", "posted"]), @r#"
    error: the output is not JSON: expected a JSON value at line 1 column 1
      hint: a text is JSON in double quotes, such as --done '"sent"'
    exit 2
    "#);
    insta::assert_snapshot!(settle(&["k1", "--done", "\"posted by hand\""]), @"
    settled: `k1` in `clerk/post` was done
    exit 0
    ");
    insta::assert_snapshot!(post("k1", "ada"), @r#"
    {"ok":true,"value":"posted by hand"}
    exit 0
    "#);
    assert_eq!(office.ledger(), "letter ada\nletter bob\n");
    insta::assert_snapshot!(settle(&["k2", "--not-done"]), @"
    settled: `k2` in `clerk/post` was not done
    exit 0
    ");
    insta::assert_snapshot!(post("k2", "bob"), @r#"
    {"ok":true,"value":"posted\n"}
    exit 0
    "#);
    assert_eq!(office.ledger(), "letter ada\nletter bob\nletter bob\n");
    insta::assert_snapshot!(office.ringfence(&["idempotency", "list"]), @r#"
    KEY  STATE      SCOPE       RUN  CLAIMED               ARGUMENTS
    k2   committed  clerk/post  r2   [TIME]  {"to":"bob"}
    k1   committed  clerk/post  r1   [TIME]  {"to":"ada"}
    exit 0
    "#);
    let audit = office.raw(&["audit", "search", "--kind", "settlement"]);
    assert!(audit.contains("asked the post office") && audit.lines().count() == 3, "{audit}");

    insta::assert_snapshot!(settle(&["k1", "--not-done"]), @"
    error: the key `k1` is not in doubt: it is committed
      hint: only what nobody knows is settled; what is executing settles itself
    exit 2
    ");
    insta::assert_snapshot!(settle(&["k9", "--not-done"]), @"
    error: no call used the key `k9`
      hint: `ringfence idempotency list` shows which were used
    exit 2
    ");
    insta::assert_snapshot!(settle(&["k1", "--not-done", "--scope", "elsewhere"]), @"
    error: no call used the key `k1` in the scope `elsewhere`
      hint: `ringfence idempotency list` shows which were used
    exit 2
    ");
    insta::assert_snapshot!(settle(&["k1"]), @"
    error: the following required arguments were not provided:
      <--done <OUTPUT>|--not-done>

    Usage: ringfence idempotency settle --by <NAME> --reason <REASON> <--done <OUTPUT>|--not-done> <KEY>

    For more information, try '--help'.
    exit 2
    ");
    insta::assert_snapshot!(settle(&["k1", "--done", "1", "--not-done"]), @"
    error: the argument '--done <OUTPUT>' cannot be used with '--not-done'

    Usage: ringfence idempotency settle --by <NAME> --reason <REASON> <--done <OUTPUT>|--not-done> <KEY>

    For more information, try '--help'.
    exit 2
    ");
    insta::assert_snapshot!(office.ringfence(&["idempotency", "list", "--json", "--key", "k1"]), @r#"
    {"key":"k1","scope":"clerk/post","state":"committed","fence":1,"run":"r1","claimed":"[TIME]","digest":"[DIGEST]","arguments":{"to":"ada"}}
    exit 0
    "#);
    }
}

#[test]
fn one_key_in_doubt_for_two_tools_asks_which() {
    let office = Office::new();
    let toolbox = office.bench.read("ringfence.toml");
    let (_, post) = toolbox.rsplit_once("[[tool]]").unwrap();
    let second = format!("{toolbox}\n[[tool]]{}", post.replace("\"post\"", "\"send\""));
    let office = office.with("ringfence.toml", &second);
    for tool in ["post", "send"] {
        let to = format!(r#"{{"to": "{tool}"}}"#);
        let mut call = office.start(&["call", "--idempotency-key", "k1", tool, &to]);
        office.wait_for(&format!("letter {tool}"));
        call.kill().unwrap();
        call.wait().unwrap();
    }
    let settle = ["idempotency", "settle", "k1", "--not-done", "--by", "grace", "--reason", "looked"];
    insta::assert_snapshot!(office.ringfence(&settle), @"
    error: the key `k1` is in doubt in several scopes: `clerk/send`, `clerk/post`
      hint: say which with --scope
    exit 2
    ");
    let scope = ["--scope", "clerk/send"];
    insta::assert_snapshot!(office.ringfence(&[&settle[..], &scope].concat()), @"
    settled: `k1` in `clerk/send` was not done
    exit 0
    ");
    insta::assert_snapshot!(office.ringfence(&settle), @"
    settled: `k1` in `clerk/post` was not done
    exit 0
    ");
}

#[test]
fn a_call_waits_for_the_one_that_has_its_key() {
    let office = Office::new();
    let post = ["call", "--idempotency-key", "k1", "post", r#"{"to": "ada"}"#];
    let first = office.start(&post);
    office.wait_for("letter ada");
    insta::assert_snapshot!(office.ringfence(&post), @r#"
    {"ok":false,"code":"refused","error":"IDEMPOTENCY_CONFLICT: idempotency key `k1` is in use by a call that has not ended","refusal":"IDEMPOTENCY_CONFLICT"}
      why: ringfence explain 2
    exit 3
    "#);
    let second = office.start(&[&post[..], &["--wait", "60s"]].concat());
    std::fs::write(office.bench.path().join("ledger/quick"), "").unwrap();
    for call in [first, second] {
        let output = call.wait_with_output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout), "{\"ok\":true,\"value\":\"posted\\n\"}\n");
    }
    assert_eq!(office.ledger(), "letter ada\n");
}

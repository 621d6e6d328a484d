//! People who agree, refuse and change their minds, over a store that several processes share.

use crate::office::{Office, wait_until};

const PAY: &str = r#"{"to": "ada", "amount": 3}"#;

#[test]
fn a_payment_waits_for_a_person_and_is_made_once() {
    once(&Office::new());
}

/// Refused, approved in a second process, made, and answered from the store when it comes again.
pub(crate) fn once(office: &Office) {
    insta::allow_duplicates! {
    office.hire("ada");
    let pay = ["call", "--run", "r1", "--idempotency-key", "invoice-7", "pay", PAY];
    insta::assert_snapshot!(office.ringfence(&pay), @r#"
    {"ok":false,"code":"refused","error":"APPROVAL_REQUIRED: a person must agree to this call of `pay`","refusal":"APPROVAL_REQUIRED"}
      hint: whoever may agree looks at it and answers with their token:
        ringfence approvals show [ID]
        ringfence approvals approve [ID] --token-file FILE
      and then the same call runs:
        ringfence call --run r1 --idempotency-key invoice-7 pay '{"to": "ada", "amount": 3}'
      why: ringfence explain 4
    exit 3
    "#);
    assert_eq!(office.ledger(), "");
    let id = office.request();
    insta::assert_snapshot!(office.ringfence(&["approvals", "list"]), @r#"
    ID            STATE  TOOL  CLASS      RUN  PROPOSER  DECIDED  EXPIRES               ARGUMENTS
    [ID]  open   pay   financial  r1   agent     0 of 1   [TIME]  {"to":"ada","amount":3}
    exit 0
    "#);
    insta::assert_snapshot!(office.ringfence(&["approvals", "show", &id]), @r#"
    request    [ID]
    state      open
    tool       pay
    class      financial
    run        r1
    session    cli
    proposer   agent
    role       clerk
    directory  [W]
    key        invoice-7
    needs      one person, not the proposer
    asked      [TIME]
    expires    [TIME]
    digest     [DIGEST]
    arguments  {
    arguments    "to": "ada",
    arguments    "amount": 3
    arguments  }
    exit 0
    "#);
    insta::assert_snapshot!(office.decide("ada", &["approve", "--reason", "the invoice is right"]), @"
    approved by ada: [ID], a call of `pay`
    it runs at once if it waits, or else when it is made again
    exit 0
    ");
    assert_eq!(office.ledger(), "");
    insta::assert_snapshot!(office.ringfence(&pay), @r#"
    {"ok":true,"value":"paid 3\n"}
    exit 0
    "#);
    assert_eq!(office.ledger(), "ada 3\n");
    insta::assert_snapshot!(office.ringfence(&pay), @r#"
    {"ok":true,"value":"paid 3\n"}
    exit 0
    "#);
    assert_eq!(office.ledger(), "ada 3\n");
    insta::assert_snapshot!(office.ringfence(&["call", "--idempotency-key", "invoice-7", "pay", r#"{"to": "eve", "amount": 3}"#]), @r#"
    {"ok":false,"code":"refused","error":"IDEMPOTENCY_CONFLICT: idempotency key `invoice-7` was used with other arguments","refusal":"IDEMPOTENCY_CONFLICT"}
      why: ringfence explain 13
    exit 3
    "#);
    insta::assert_snapshot!(office.ringfence(&["approvals", "list"]), @"
    no request waits for people
    exit 0
    ");
    insta::assert_snapshot!(office.ringfence(&["approvals", "list", "--all"]), @r#"
    ID            STATE  TOOL  CLASS      RUN  PROPOSER  DECIDED  EXPIRES               ARGUMENTS
    [ID]  taken  pay   financial  r1   agent     1 of 1   [TIME]  {"to":"ada","amount":3}
    exit 0
    "#);
    insta::assert_snapshot!(office.ringfence(&["idempotency", "list"]), @r#"
    KEY        STATE      SCOPE      RUN  CLAIMED               ARGUMENTS
    invoice-7  committed  clerk/pay  r1   [TIME]  {"to":"ada","amount":3}
    exit 0
    "#);
    insta::assert_snapshot!(steps(office), @r#"
    approver ada added
    approval pay asked []
    approval pay pending []
    call pay refused
    approval pay agreed [String("ada")] the invoice is right
    approval pay asked []
    approval pay approved [String("ada")]
    call pay done
    call pay done replayed
    call pay refused
    "#);
    }
}

/// What the audit says of approvals, approvers and calls.
fn steps(office: &Office) -> String {
    let said = office.raw(&["audit", "tail", "-n", "100"]);
    let records = said.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    let line = |record: serde_json::Value| {
        let text = |field: &str| record[field].as_str().map(|text| format!(" {text}")).unwrap_or_default();
        let by = record["by"].as_array().map(|by| format!(" {by:?}")).unwrap_or_default();
        let replayed = if record["replayed"] == true { " replayed" } else { "" };
        let (kind, name, change, tool) = (text("kind"), text("name"), text("change"), text("tool"));
        let (step, outcome, reason) = (text("step"), text("outcome"), text("reason"));
        format!("{kind}{tool}{name}{change}{step}{outcome}{replayed}{by}{reason}\n").trim_start().to_owned()
    };
    records.filter(|record| record["kind"] != "policy").map(line).collect()
}

#[test]
fn without_a_run_the_advice_names_the_one_there_was() {
    let office = Office::new();
    let said = office.raw(&["call", "pay", r#"{"to": "it's $HOME", "amount": 3}"#]);
    office.hire("ada");
    assert!(office.decide("ada", &["approve"]).contains("approved by ada"));
    let again = said.lines().find(|line| line.starts_with("    ringfence call ")).unwrap();
    assert!(
        again.contains(r#" --run cli-"#) && again.ends_with(r#" pay '{"to": "it'\''s $HOME", "amount": 3}'"#),
        "{said}"
    );
    let line = again.replace("ringfence", env!("CARGO_BIN_EXE_ringfence"));
    let output = std::process::Command::new("sh")
        .args(["-c", &line])
        .current_dir(office.bench.path())
        .env_clear()
        .env("RINGFENCE_STORE", office.variable())
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "{\"ok\":true,\"value\":\"paid 3\\n\"}\n");
    assert_eq!(office.ledger(), "it's $HOME 3\n");
}

#[test]
fn a_refusal_stays() {
    let office = Office::new();
    office.hire("ada");
    let pay = ["call", "--run", "r1", "pay", PAY];
    office.raw(&pay);
    insta::assert_snapshot!(office.ringfence(&["approvals", "deny", &office.request(), "--token-file", "ada.token"]), @"
    error: the following required arguments were not provided:
      --reason <REASON>

    Usage: ringfence approvals deny --reason <REASON> --token-file <FILE> <ID>

    For more information, try '--help'.
    exit 2
    ");
    insta::assert_snapshot!(office.decide("ada", &["deny", "--reason", "not\nbudgeted \u{1b}[31m"]), @"
    denied by ada: [ID], a call of `pay`
    exit 0
    ");
    insta::assert_snapshot!(office.ringfence(&pay), @r#"
    {"ok":false,"code":"refused","error":"APPROVAL_DENIED: ada refused this call of `pay`: not\nbudgeted ","refusal":"APPROVAL_DENIED"}
      why: ringfence explain 9
    exit 3
    "#);
    insta::assert_snapshot!(office.ringfence(&pay), @r#"
    {"ok":false,"code":"refused","error":"APPROVAL_DENIED: ada refused this call of `pay`: not\nbudgeted ","refusal":"APPROVAL_DENIED"}
      why: ringfence explain 13
    exit 3
    "#);
    assert_eq!(office.ledger(), "");
}

#[test]
fn other_arguments_are_judged_again() {
    let office = Office::new();
    office.hire("ada");
    let pay = ["call", "--run", "r1", "pay", PAY];
    office.raw(&pay);
    insta::assert_snapshot!(office.decide("ada", &["approve", "--arguments", "{not json"]), @r#"
    error: the arguments are not JSON: expected a key in double quotes at line 1 column 2
      hint: quote them for the shell, such as '{"amount": 2}'
    exit 2
    "#);
    insta::assert_snapshot!(office.decide("ada", &["approve", "--arguments", r#"{"amount": 3, "to": "ada"}"#]), @"
    error: these are the arguments that the call has
      hint: leave --arguments out to agree to the call as it is
    exit 2
    ");
    insta::assert_snapshot!(office.decide("ada", &["approve", "--arguments", r#"{"to": "ada", "amount": 2}"#, "--reason", "two will do"]), @"
    approved by ada: [ID], a call of `pay`
    it runs at once if it waits, or else when it is made again
    with other arguments, in place of [ID]
    exit 0
    ");
    insta::assert_snapshot!(office.ringfence(&["approvals", "list", "--all"]), @r#"
    ID            STATE     TOOL  CLASS      RUN  PROPOSER  DECIDED  EXPIRES               ARGUMENTS
    [ID]  approved  pay   financial  r1   agent     1 of 1   [TIME]  {"to":"ada","amount":2}
    [ID]  replaced  pay   financial  r1   agent     1 of 1   [TIME]  {"to":"ada","amount":3}
    exit 0
    "#);
    insta::assert_snapshot!(office.ringfence(&pay), @r#"
    {"ok":true,"value":"paid 2\n"}
    exit 0
    "#);
    assert_eq!(office.ledger(), "ada 2\n");
    // What a person writes is no more trusted than what a model writes.
    let pay = ["call", "--run", "r2", "pay", PAY];
    office.raw(&pay);
    insta::assert_snapshot!(office.decide("ada", &["approve", "--arguments", r#"{"to": "ada", "amount": 1000}"#]), @"
    approved by ada: [ID], a call of `pay`
    it runs at once if it waits, or else when it is made again
    with other arguments, in place of [ID]
    exit 0
    ");
    insta::assert_snapshot!(office.ringfence(&pay), @r#"
    {"ok":false,"code":"input_invalid","error":"INPUT_INVALID: the arguments that an approver gave instead of the call's are refused: `/amount`: value is greater than the maximum of 100","refusal":"INPUT_INVALID"}
      hint: the call itself is not at fault: make it in another run, and have somebody agree to it as it is or with arguments that fit
      why: ringfence explain 20
    exit 2
    "#);
    assert_eq!(office.ledger(), "ada 2\n");
}

#[test]
fn two_different_people_and_not_the_proposer() {
    two_people(&Office::new());
}

pub(crate) fn two_people(office: &Office) {
    for name in ["ada", "grace", "mallory"] {
        office.hire(name);
    }
    let wire = ["call", "--run", "r1", "--proposer", "Mallory", "wire", r#"{"amount": 9}"#];
    insta::allow_duplicates! {
    insta::assert_snapshot!(office.ringfence(&wire), @r#"
    {"ok":false,"code":"refused","error":"APPROVAL_REQUIRED: two people must agree to this call of `wire`","refusal":"APPROVAL_REQUIRED"}
      hint: whoever may agree looks at it and answers with their token:
        ringfence approvals show [ID]
        ringfence approvals approve [ID] --token-file FILE
      and then the same call runs:
        ringfence call --run r1 --proposer Mallory wire '{"amount": 9}'
      why: ringfence explain 6
    exit 3
    "#);
    insta::assert_snapshot!(office.decide("mallory", &["approve"]), @"
    error: `mallory` proposed the call and cannot decide about it
    exit 3
    ");
    insta::assert_snapshot!(office.decide("ada", &["approve"]), @"
    agreed by ada: [ID], a call of `wire`; 1 more must agree
    exit 0
    ");
    insta::assert_snapshot!(office.decide("ada", &["approve"]), @"
    error: `ada` has already decided about this request
    exit 2
    ");
    assert!(office.ringfence(&wire).contains("APPROVAL_REQUIRED"));
    assert_eq!(office.ledger(), "");
    insta::assert_snapshot!(office.decide("grace", &["approve"]), @"
    approved by grace: [ID], a call of `wire`
    it runs at once if it waits, or else when it is made again
    exit 0
    ");
    insta::assert_snapshot!(office.ringfence(&wire), @r#"
    {"ok":true,"value":"wired 9\n"}
    exit 0
    "#);
    assert_eq!(office.ledger(), "wire 9\n");
    // An approval is used once.
    assert!(office.ringfence(&wire).contains("APPROVAL_REQUIRED"));
    assert_eq!(office.ledger(), "wire 9\n");
    }
}

#[test]
fn a_revoked_approver_counts_no_more() {
    let office = Office::new();
    insta::assert_snapshot!(office.ringfence(&["approver", "list", "--store", "none.db"]), @"
    error: the file `[W]/none.db` is not there
      hint: nothing has made this store yet: `ringfence approver add`, `ringfence call --store` or `ringfence store migrate` makes one; another is named with --store STORE or in the variable RINGFENCE_STORE
    exit 1
    ");
    insta::assert_snapshot!(office.ringfence(&["approver", "add", "kim"]), @"
    [TOKEN]
    `kim` may approve calls in [W]/office.db. This token proves it is them; it is not shown again.
    exit 0
    ");
    office.hire("ada");
    office.hire("grace");
    let pay = ["call", "--run", "r1", "pay", PAY];
    office.raw(&pay);
    assert!(office.decide("ada", &["approve"]).contains("approved by ada"));
    insta::assert_snapshot!(office.ringfence(&["approver", "revoke", "ada"]), @"
    revoked: ada
    exit 0
    ");
    assert!(office.ringfence(&pay).contains("APPROVAL_REQUIRED"));
    insta::assert_snapshot!(office.decide("ada", &["approve"]), @"
    error: no approver has this token
      hint: the token is what `ringfence approver add` printed, unless it was revoked since
    exit 3
    ");
    insta::assert_snapshot!(office.ringfence(&["approver", "revoke", "nobody"]), @"
    error: there is no approver named `nobody`
      hint: `ringfence approver list` shows everybody
    exit 2
    ");
    insta::assert_snapshot!(office.ringfence(&["approver", "list"]), @"
    APPROVER  ROLE      ADDED                 REVOKED
    ada       approver  [TIME]  [TIME]
    grace     approver  [TIME]
    kim       approver  [TIME]
    exit 0
    ");
    insta::assert_snapshot!(office.ringfence(&["approver", "add", "grace"]), @"
    error: there is an approver named `grace` already
    exit 2
    ");
    insta::assert_snapshot!(office.ringfence(&["approver", "add", "Grace Hopper"]), @"
    error: invalid value 'Grace Hopper' for '<NAME>': the name of an approver has 1 to 64 of `a-z`, `0-9`, `.`, `_`, `-`, `+` and `@`

    For more information, try '--help'.
    exit 2
    ");
}

#[test]
fn a_call_waits_for_people() {
    let office = Office::new();
    office.hire("ada");
    let waiting = office.start(&["call", "--wait", "60s", "pay", PAY]);
    assert!(office.decide("ada", &["approve"]).contains("approved by ada"));
    let output = waiting.wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "{\"ok\":true,\"value\":\"paid 3\\n\"}\n");
    assert_eq!(office.ledger(), "ada 3\n");
}

#[test]
fn a_waiting_call_survives_its_process() {
    survives(&Office::new());
}

pub(crate) fn survives(office: &Office) {
    office.hire("ada");
    let mut waiting = office.start(&["call", "--wait", "60s", "--run", "r1", "pay", PAY]);
    let id = office.request();
    waiting.kill().unwrap();
    waiting.wait().unwrap();
    assert!(
        office
            .ringfence(&["approvals", "approve", &id, "--token-file", "ada.token"])
            .contains("approved by ada")
    );
    assert_eq!(office.ledger(), "");
    insta::allow_duplicates! {
    // A process that died on another machine counts as dead when its lease is over.
    let mut said = String::new();
    wait_until("the call to be gone on with", || {
        said = office.ringfence(&["approvals", "resume", "--wait", "1s"]);
        !said.contains("no call waits")
    });
    insta::assert_snapshot!(said, @r#"
    {"tool":"pay","outcome":{"ok":true,"value":"paid 3\n"}}
    exit 0
    "#);
    assert_eq!(office.ledger(), "ada 3\n");
    insta::assert_snapshot!(office.ringfence(&["approvals", "resume"]), @"
    no call waits whose process died
    exit 0
    ");
    }
}

#[test]
fn a_call_that_was_denied_meanwhile_says_what_explains_it() {
    let office = Office::new();
    office.hire("ada");
    let mut waiting = office.start(&["call", "--wait", "60s", "--run", "r1", "pay", PAY]);
    let id = office.request();
    waiting.kill().unwrap();
    waiting.wait().unwrap();
    let denied = ["approvals", "deny", &id, "--reason", "wrong invoice", "--token-file", "ada.token"];
    assert!(office.ringfence(&denied).contains("denied by ada"));
    let mut said = String::new();
    wait_until("the call to be gone on with", || {
        said = office.ringfence(&["approvals", "resume", "--wait", "1s"]);
        !said.contains("no call waits")
    });
    insta::assert_snapshot!(said, @r#"
    {"tool":"pay","outcome":{"ok":false,"code":"refused","error":"APPROVAL_DENIED: ada refused this call of `pay`: wrong invoice","refusal":"APPROVAL_DENIED"}}
      why: ringfence explain 7
    exit 0
    "#);
    let command = said.lines().find_map(|line| line.trim().strip_prefix("why: ringfence ")).unwrap();
    let told = office.ringfence(&command.split(' ').collect::<Vec<_>>());
    assert!(told.contains("`pay` was refused: APPROVAL_DENIED") && told.ends_with("exit 0"), "{told}");
    assert_eq!(office.ledger(), "");
}

#[test]
fn a_call_that_is_interrupted_is_given_up() {
    let office = Office::new();
    office.hire("ada");
    let waiting = office.start(&["call", "--wait", "60s", "--run", "r1", "pay", PAY]);
    let id = office.request();
    let pid = rustix::process::Pid::from_child(&waiting);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let output = waiting.wait_with_output().unwrap();
    insta::assert_snapshot!(String::from_utf8_lossy(&output.stdout), @r#"{"ok":false,"code":"refused","error":"CANCELLED: the run was cancelled","refusal":"CANCELLED"}"#);
    assert!(
        office
            .ringfence(&["approvals", "approve", &id, "--token-file", "ada.token"])
            .contains("approved by ada")
    );
    insta::assert_snapshot!(office.ringfence(&["approvals", "resume"]), @"
    no call waits whose process died
    exit 0
    ");
    assert_eq!(office.ledger(), "");
}

#[test]
fn what_is_wrong_is_said_and_changes_nothing() {
    let office = Office::new();
    office.hire("ada");
    office.raw(&["call", "--run", "r1", "pay", PAY]);
    let id = office.request();
    let office = office.with("wrong.token", "rfa_wrong").with("empty.token", "\n");
    let mut all = String::new();
    for arguments in [
        &["approvals", "approve", &id][..],
        &["approvals", "approve", &id, "--token-file", "wrong.token"],
        &["approvals", "approve", &id, "--token-file", "empty.token"],
        &["approvals", "approve", &id, "--token-file", "missing.token"],
        &["approvals", "approve", "nonesuch\n", "--token-file", "ada.token"],
        &["approvals", "deny", &id, "--reason", "no", "--token-file", "wrong.token"],
        &["approvals", "show", "nonesuch"],
        &["approvals", "approve", &id, "--token", "rfa_x"],
        &["call", "--wait", "soon", "pay"],
    ] {
        all.push_str(&office.ringfence(arguments));
        all.push('\n');
    }
    insta::assert_snapshot!(all, @r"
    error: there is no token to decide with
      hint: give it with --token-file FILE or in the variable RINGFENCE_APPROVER_TOKEN
    exit 2
    error: no approver has this token
      hint: the token is what `ringfence approver add` printed, unless it was revoked since
    exit 3
    error: there is no token to decide with
      hint: give it with --token-file FILE or in the variable RINGFENCE_APPROVER_TOKEN
    exit 2
    error: cannot read `missing.token`: No such file or directory (os error 2)
      hint: it is what `ringfence approver add` printed
    exit 1
    error: there is no request `nonesuch\u{a}`
      hint: `ringfence approvals list --all` shows every request
    exit 2
    error: no approver has this token
      hint: the token is what `ringfence approver add` printed, unless it was revoked since
    exit 3
    error: there is no request `nonesuch`
      hint: `ringfence approvals list --all` shows every request
    exit 2
    error: unexpected argument '--token' found

      tip: a similar argument exists: '--token-file'

    Usage: ringfence approvals approve --token-file <FILE> <ID>

    For more information, try '--help'.
    exit 2
    error: invalid value 'soon' for '--wait <TIME>': `soon` is not a duration such as `500ms`, `30s`, `2m` or `1h`

    For more information, try '--help'.
    exit 2
    ");
    assert_eq!(office.waiting().len(), 1);
    // A variable and standard input hold tokens too.
    let token = office.bench.read("ada.token");
    let store = office.variable();
    let variables = [("RINGFENCE_STORE", store.as_str()), ("RINGFENCE_APPROVER_TOKEN", token.as_str())];
    assert!(
        office.bench.ringfence_in(&variables, &["approvals", "approve", &id]).contains("approved by ada")
    );
    let again = ["approvals", "approve", &id, "--store", "office.db", "--token-file", "-"];
    let said = office.bench.ringfence_with(&again, token.as_bytes());
    insta::assert_snapshot!(said, @"
    error: the request is approved and can no longer be decided
    exit 2
    ");
}

#[test]
fn a_request_expires() {
    let office = Office::new();
    let toolbox = office.bench.read("ringfence.toml").replace("expires = \"1h\"", "expires = \"2s\"");
    let office = office.with("ringfence.toml", &toolbox);
    office.hire("ada");
    let pay = ["call", "--run", "r1", "pay", PAY];
    let said = office.raw(&pay);
    let id =
        said.lines().find_map(|line| line.strip_prefix("    ringfence approvals show ")).unwrap().to_owned();
    std::thread::sleep(std::time::Duration::from_millis(2_100));
    insta::assert_snapshot!(office.ringfence(&["approvals", "approve", &id, "--token-file", "ada.token"]), @"
    error: the request has expired
    exit 2
    ");
    insta::assert_snapshot!(office.ringfence(&["approvals", "list"]), @"
    no request waits for people
    exit 0
    ");
    assert_eq!(office.ledger(), "");
}

#[test]
fn what_a_model_wrote_cannot_look_like_anything_else() {
    let office = Office::new();
    let hostile = "x\u{1b}[2K\u{202e}\r\nfake0000  open  pay\u{9b}31m";
    let arguments = serde_json::json!({"to": hostile, "amount": 3}).to_string();
    office.raw(&["call", "--run", "r\n1\u{1b}[31m", "--proposer", "p\u{7}\nq", "pay", &arguments]);
    let id = office.request();
    let listed = office.ringfence(&["approvals", "list"]);
    insta::assert_snapshot!(listed, @r#"
    ID            STATE  TOOL  CLASS      RUN                PROPOSER      DECIDED  EXPIRES               ARGUMENTS
    [ID]  open   pay   financial  r\u{a}1\u{1b}[31m  p\u{7}\u{a}q  0 of 1   [TIME]  {"to":"x\u001b[2K\u202e\r\nfake0000  open  pay\u009b31m","a…
    exit 0
    "#);
    let shown = office.ringfence(&["approvals", "show", &id]);
    insta::assert_snapshot!(shown, @r#"
    request    [ID]
    state      open
    tool       pay
    class      financial
    run        r\u{a}1\u{1b}[31m
    session    cli
    proposer   p\u{7}\u{a}q
    role       clerk
    directory  [W]
    needs      one person, not the proposer
    asked      [TIME]
    expires    [TIME]
    digest     [DIGEST]
    arguments  {
    arguments    "to": "x\u001b[2K\u202e\r\nfake0000  open  pay\u009b31m",
    arguments    "amount": 3
    arguments  }
    exit 0
    "#);
    let json = office.raw(&["approvals", "show", &id, "--json"]);
    for text in [listed, shown, json.clone()] {
        assert!(text.chars().all(|c| c == '\n' || (!c.is_control() && c != '\u{202e}')), "{text:?}");
    }
    let whole: serde_json::Value = serde_json::from_str(json.rsplit_once("exit").unwrap().0).unwrap();
    assert_eq!(whole["request"]["arguments"]["to"], hostile);
}

#[test]
fn an_approval_is_withdrawn_before_a_call_uses_it() {
    let office = Office::new();
    office.hire("ada");
    let pay = ["call", "--run", "r1", "pay", PAY];
    office.ringfence(&pay);
    let id = office.request();
    office.decide("ada", &["approve"]);
    let withdraw = ["approvals", "withdraw", &id, "--reason", "wrong account", "--token-file", "ada.token"];
    insta::assert_snapshot!(office.ringfence(&withdraw), @"
    withdrawn by ada: [ID], a call of `pay`; 1 must agree
    exit 0
    ");
    assert!(office.ringfence(&pay).contains("APPROVAL_REQUIRED"));
    assert_eq!(office.ledger(), "");
    insta::assert_snapshot!(office.ringfence(&withdraw), @"
    error: `ada` has not approved this request
    exit 2
    ");
    let audit = office.raw(&["audit", "search", "--kind", "approval"]);
    assert!(audit.contains(r#""step":"withdrawn""#) && audit.contains("wrong account"), "{audit}");
}

#[test]
fn what_is_shown_is_what_runs() {
    let office = Office::new();
    office.hire("ada");
    let call = |amount: &str| {
        let arguments = format!(r#"{{"to": "a\u3164\u115f\u1160\uffa0b", "amount": {amount}}}"#);
        office.ringfence(&["call", "--run", "r1", "pay", &arguments])
    };
    call("1");
    let id = office.request();
    for shown in [
        office.raw(&["approvals", "show", &id]),
        office.raw(&["approvals", "list"]),
        office.raw(&["audit", "tail"]),
        office.raw(&["explain", "0"]),
    ] {
        assert!(!shown.contains(['\u{3164}', '\u{115f}', '\u{1160}', '\u{ffa0}']), "{shown}");
    }
    assert!(office.raw(&["approvals", "show", &id]).contains(r"a\u3164\u115f\u1160\uffa0b"));
    office.decide("ada", &["approve"]);
    // The same number, and not what was shown: another request.
    assert!(call("1.0").contains("APPROVAL_REQUIRED"));
    assert!(call("1e0").contains("APPROVAL_REQUIRED"));
    assert_eq!(office.ledger(), "");
    assert!(call("1").contains("paid 1"));
}

#[test]
fn a_damaged_request_is_named_and_a_cut_list_says_so() {
    let office = Office::new();
    for amount in 1..=4 {
        let arguments = format!(r#"{{"to": "ada", "amount": {amount}}}"#);
        office.ringfence(&["call", "--run", "r1", "pay", &arguments]);
    }
    let cut = office.ringfence(&["approvals", "list", "--limit", "3"]);
    assert!(cut.contains("showing 3 of 4: use --limit"), "{cut}");
    assert!(!office.ringfence(&["approvals", "list"]).contains("showing"));
    let tail = office.ringfence(&["audit", "tail", "-n", "2"]);
    assert!(tail.contains("showing 2 of "), "{tail}");
    let store = rusqlite::Connection::open(office.bench.path().join("office.db")).unwrap();
    store.execute_batch("UPDATE request SET body = '{' WHERE ordinal = 2").unwrap();
    drop(store);
    let list = office.ringfence(&["approvals", "list"]);
    assert_eq!(list.matches("  open   pay").count(), 3, "{list}");
    assert!(list.contains("cannot be read") && list.contains("exit 4"), "{list}");
}

//! `ringfence demo`: the first thing a newcomer runs.

use crate::bench::Bench;

#[test]
fn plays_allowed_and_hostile_calls() {
    insta::assert_snapshot!(Bench::new().ringfence(&["demo"]), @"
    An agent works in a workspace under the policy of examples/demo/ringfence.toml.

    #   THE AGENT ASKS TO                   VERDICT  DECIDED BY
    1   read its notes                      allowed  The workshop is on Thursday.
    2   read /etc/passwd                    refused  PATH_NOT_REACHABLE line 6 fs_reach.read
    3   climb out with ../..                refused  PATH_NOT_REACHABLE line 6 fs_reach.read
    4   read through a link that leads out  refused  PATH_NOT_REACHABLE line 6 fs_reach.read
    5   write a report                      allowed  wrote 9 bytes
    6   overwrite its notes                 refused  PATH_NOT_REACHABLE line 6 fs_reach.write
    7   plant a git hook                    refused  PATH_NOT_REACHABLE line 6 fs_reach.write
    8   send a number as a path             refused  INPUT_INVALID (the tool's input schema)
    9   write the report again              allowed  wrote 8 bytes
    10  write it a third time               refused  CONSTRAINT_VIOLATED line 34 constraints
    11  fetch the cloud's metadata          refused  HOST_NOT_ALLOWED line 5 network
    12  the same, spelled 0xa9fea9fe        refused  HOST_NOT_ALLOWED line 5 network
    13  post to evil.example                refused  HOST_NOT_ALLOWED line 5 network
    14  use the weather key                 allowed  sunny (asked with a key of 13 characters)
    15  use the payment key instead         refused  SECRET_NOT_DECLARED line 7 secrets
    16  search with --pre=sh                refused  NOT_AVAILABLE (no sandbox is wired, so no process starts)
    17  crash the agent                     failed   the tool panicked: boom
    18  pay an invoice                      refused  APPROVAL_REQUIRED line 9 approvals.financial
    19  pay it, after Maria agreed          allowed  payment 1 made
    20  pay it once more                    allowed  payment 1 made

    20 calls, 13 refused, 20 audit records, 1 payment made. `ringfence demo --policy-text` prints the policy.
    exit 0
    ");
}

#[test]
fn its_policy_is_a_sound_toolbox() {
    let text = Bench::new().run(&["demo", "--policy-text"], b"").stdout;
    let bench = Bench::new().file("ringfence.toml", text);
    insta::assert_snapshot!(bench.ringfence(&["check"]), @"
    ringfence.toml: 4 tools fit
    exit 0
    ");
}

//! `ringfence demo`: the first thing a newcomer runs.

use crate::bench::Bench;

#[test]
fn plays_allowed_and_hostile_calls() {
    insta::assert_snapshot!(Bench::new().ringfence(&["demo"]), @"");
}

#[test]
fn its_policy_is_a_sound_toolbox() {
    let text = Bench::new().run(&["demo", "--policy-text"], b"").stdout;
    let bench = Bench::new().file("ringfence.toml", text);
    insta::assert_snapshot!(bench.ringfence(&["check"]), @"");
}

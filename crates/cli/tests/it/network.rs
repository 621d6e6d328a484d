//! `ringfence run --host` and what it says. What passes through the gate is tried in `e2e/`.

use crate::bench::Bench;

#[test]
fn a_name_that_is_not_granted_does_not_resolve() {
    let bench = Bench::new();
    let script =
        "import socket\ntry: socket.getaddrinfo('evil.net', 443)\nexcept OSError as error: print(error)";
    insta::assert_snapshot!(bench.ringfence(&["run", "--host", "acme.io", "--", "python3", "-c", script]), @"
    [Errno -2] Name or service not known
    ringfence: the name evil.net was refused: HOST_NOT_ALLOWED: evil.net is not in the declared allowedHosts (`--host evil.net` would let it)
    ringfence: why: ringfence explain HOST_NOT_ALLOWED
    exit 0
    ");
    let said = bench.ringfence(&["run", "--host", "acme.io", "--json", "--", "python3", "-c", script]);
    let told: serde_json::Value = serde_json::from_str(said.lines().next().unwrap()).unwrap();
    assert_eq!(told["connections"][0]["host"], "evil.net");
    assert_eq!(told["connections"][0]["verdict"], "refused");
    assert_eq!(told["network"]["namesRefused"], 2); // both families
}

#[test]
fn a_host_that_lies_inside_is_refused_until_it_may() {
    let bench = Bench::new();
    let script = "import socket\nsocket.create_connection(('one.acme.io', 9), 5).recv(1)";
    let said = bench.ringfence(&[
        "run",
        "--host",
        "one.acme.io:9",
        "--resolve",
        "one.acme.io=127.0.0.1",
        "--",
        "python3",
        "-c",
        script,
    ]);
    let first = said.lines().find(|line| line.starts_with("ringfence: ")).unwrap_or_default();
    insta::assert_snapshot!(first, @"ringfence: the connection to one.acme.io:9 was refused: HOST_NOT_ALLOWED: one.acme.io resolves to 127.0.0.1, a loopback address, and the personality's `private` does not list it");
}

#[test]
fn faults_of_the_command_line_are_said() {
    let bench = Bench::new();
    insta::assert_snapshot!(bench.ringfence(&["run", "--host", "https://x.com/", "--", "true"]), @"
    error: invalid value 'https://x.com/' for '--host <PATTERN>': `https://x.com/` has a scheme, and only hosts are matched

    For more information, try '--help'.
    exit 2
    ");
    insta::assert_snapshot!(bench.ringfence(&["run", "--host", "x.com", "--private", "*", "--", "true"]), @"
    error: `--private`: `*` in `private` would admit every internal host; name them or their range
    exit 2
    ");
    insta::assert_snapshot!(bench.ringfence(&["run", "--host", "x.com", "--resolve", "x.com", "--", "true"]), @"
    error: invalid value 'x.com' for '--resolve <NAME=ADDRESS>': it is not NAME=ADDRESS

    For more information, try '--help'.
    exit 2
    ");
    insta::assert_snapshot!(bench.ringfence(&["run", "--secret", "no-such-secret=TOKEN", "--", "true"]), @"
    error: there is no secret `no-such-secret`
      hint: secrets are taken from the variable of the same name (or in capitals, `a/b` as `A_B`), then from the keyring
    exit 2
    ");
    insta::assert_snapshot!(bench.ringfence(&["run", "--secret", "TOKEN", "--", "true"]), @"
    error: `TOKEN` is not REF=NAME
      hint: write it as `--secret github/token=GITHUB_TOKEN`: the secret, then the variable
    exit 2
    ");
    insta::assert_snapshot!(bench.ringfence(&["run", "--host", "x.com", "--backend", "bwrap", "--", "true"]), @"
    refused: NOT_AVAILABLE: the sandbox cannot enforce with `bwrap`: `hosts`: granted hosts and no others
      hint: `ringfence doctor` shows what can be enforced here
      why: ringfence explain NOT_AVAILABLE
    exit 3
    ");
}

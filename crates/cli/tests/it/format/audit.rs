//! `docs/reference/audit-format.md`

use serde_json::Value;

use super::{Held, Section, page};
use crate::bench::Bench;
use crate::reference::assert_page;

const HEAD: &str = "# The format of the audit

One record for each thing that happened, as one line of JSON; `ringfence audit export` prints them all. With `--audit FILE` instead of a
store, `ringfence call` writes calls alone, with their results, and without a tree.

`*` in a path is a name, `[]` an entry of a list. What does not apply is absent. Readers pass over fields they do not know: later versions may
add some, and a record is never written anew.

Written by a test (`crates/cli/tests/it/format`), which holds this table against real records.";

const TAIL: &str = "
## Hashing

The log is a Merkle tree as in RFC 6962, with SHA-256. A leaf is the record's line as the store has it, byte for byte, without `index`, `result` and
`raw` of a call that was done, which `export` and `show` add:

```text
leaf  = SHA-256(0x00 || record)
node  = SHA-256(0x01 || left || right)
empty = SHA-256(\"\")
```

Outputs are not in the record, so that raw ones may be forgotten: their hashes are (`outputs`), in base64, over the output as it is stored.

## Checkpoints

A checkpoint is a C2SP signed note: three lines, an empty line, and a signature line for each key.

```text
acme.io/agents
81000
ELtP0BdzOJ1Tq1WHKV/T5qSnp2qFQFgtjDWvGi7I/6A=

— acme.io/agents rLpXbh…
```

| line | what it is |
|---|---|
| 1 | the origin: the name of the log, which `ringfence audit keygen` was given |
| 2 | how many records it covers, in decimal |
| 3 | the root of the tree over them, in base64 |
| signature | `—`, the name of the key, and base64 of the key's four-byte id followed by the Ed25519 signature over the text |

A verifying key is written `NAME+ID+KEY`: the id in hexadecimal, and base64 of one byte for the kind (1, Ed25519) and the public key.

## Proofs

`ringfence audit prove` writes one JSON object:

| field | what it is |
|---|---|
| `version` | 1 |
| `record` | the bytes of the record, in base64 |
| `index` | its place, from 0 |
| `path` | the hashes beside its way to the root, from the leaf upwards, in base64 |
| `checkpoint` | the signed note that vouches for the root |
";

/// What other tests show: a console, an MCP server, limits of long lists.
const ELSEWHERE: &[&str] = &[
    "attempts",
    "connections_left_out",
    "touched_left_out",
    "principal",
    "action",
    "about",
    "server",
    "surface",
    "what",
];

const SECTIONS: &[Section] = &[
    Section {
        title: "Every record",
        about: "",
        rows: &[
            (
                "kind",
                "`approval`, `approver`, `call`, `connection`, `console`, `late`, `policy`, `server` or `settlement`",
            ),
            ("at_ms", "when, in milliseconds since 1970"),
            ("index", "its place in the log, from 0; added by `export` and `show`"),
            ("manifest", "the hash of the manifest that was in force"),
        ],
    },
    Section {
        title: "A call",
        about: "`kind` is `call`. Written when the call has ended, whatever became of it.",
        rows: &[
            ("call", "its number in its process"),
            ("run", "the run it belongs to"),
            ("session", "the session of that run"),
            ("tool", "the tool that was asked for, registered or not"),
            ("tool_digest", "the digest of the tool's definition"),
            ("tool_description", "the description that the model saw, where there is one"),
            ("class", "the tool's class"),
            ("risk", "the tool's risk"),
            ("asker", "`model` or `code`"),
            ("proposer", "who proposed it"),
            ("personality", "the personality it was decided under"),
            ("policy_digest", "the digest of that personality"),
            ("idempotency_key", "the key it was claimed with"),
            ("fence", "the number of that claim: it grows with each"),
            ("replayed", "`true`, where the outcome is that of an earlier call with the same key"),
            ("attempts", "how often the tool was tried, where more than once"),
            ("outcome", "`done`, `failed` or `refused`"),
            (
                "refused",
                "the code of what the fence refused the tool before it failed: the call counts as refused",
            ),
            ("arguments", "the arguments it ended with"),
            (
                "result",
                "what the caller got; of a call that was done it lies beside the record, and `export` adds it",
            ),
            (
                "raw",
                "what the tool returned or failed with, where cleaning changed it; beside the record, and it may hold credentials",
            ),
            ("outputs.clean", "the hash of `result`"),
            ("outputs.raw", "the hash of `raw`"),
            ("findings.[].pointer", "where in the output cleaning found something"),
            ("findings.[].kind", "what kind of thing"),
            ("findings.[].label", "its name"),
            ("findings.[].span", "from which byte of the raw text to which"),
            ("findings.[].action", "what was done with it"),
            (
                "used_declared_capability",
                "of a refusal: whether it came from a surface that the tool had declared",
            ),
            ("hint", "of a refusal: what would change it"),
            ("processes.[].backend", "what confined a process of the call"),
            ("processes.[].tier", "`full`, `strong` or `partial`"),
            ("processes.[].assurance", "`probed`, or `claimed` by somebody else's isolation"),
            ("processes.[].program", "the file that was started"),
            ("processes.[].digest", "the digest of that file"),
            ("processes.[].usage", "what it spent: milliseconds and bytes"),
            ("processes.[].limits", "what enforced each limit"),
            ("processes.[].exceeded", "limits that ended it"),
            ("processes.[].denied", "refused system calls, counted, where it was observed"),
            ("processes.[].quarantined", "planted files that were moved aside"),
            ("processes.[].left", "planted files that could not be moved"),
            ("connections", "the connections it made or was refused, as in the records of connections"),
            ("connections_left_out", "how many more there were"),
            ("touched.[].surface", "`read`, `write`, `host`, `secret`, `binary`, `environment`, `storage`"),
            ("touched.[].what", "the path, host, ref, program, variable or key"),
            ("touched.[].refused", "the code, where it was refused"),
            ("touched.[].granted", "`true`, where a process could reach it and nobody saw whether it did"),
            ("touched_left_out", "how many more there were"),
            ("stages.*", "microseconds in each stage it came to"),
            ("duration_us", "microseconds altogether"),
        ],
    },
    Section {
        title: "A connection",
        about: "`kind` is `connection`. Written for each connection, and each name that was refused, with `call`, `run` and `tool`.",
        rows: &[
            ("host", "the name or address that was asked for"),
            ("port", "the port; absent for a name that was only looked up"),
            ("via", "`fetch`, `dns`, `tls`, `http` or `tcp`"),
            ("sent", "bytes"),
            ("received", "bytes"),
            ("duration", "milliseconds"),
            ("verdict", "`done`, `failed`, `refused` or `cut`"),
            ("code", "the code of a refusal"),
            ("message", "why, in a sentence"),
        ],
    },
    Section {
        title: "A late use",
        about: "`kind` is `late`. Written when a tool uses a handle after its call has ended, with `call`, `run` and `tool`; at most 64 for a call. `code` is `CALL_ENDED`; it is absent where the use had begun before.",
        rows: &[
            (
                "surface",
                "`read`, `write`, `host`, `secret`, `binary`, `environment`, `storage`, or the surface whose handle was asked for",
            ),
            ("what", "the path, host, ref, program, variable or key"),
        ],
    },
    Section {
        title: "People",
        about: "`kind` is `approval` (with `run`, `tool` and, where a call asked, `call`), `approver`, `settlement` or `console`.",
        rows: &[
            ("digest", "of an approval: what was asked about. Of a policy: the personality"),
            (
                "step",
                "of an approval: `agreed`, `changed`, `refused` or `withdrawn` by a person; `asked`, then `approved`, `changed`, `denied`, `expired`, `pending` or `unreachable` for the call. Of a server: `started`, `ended`, `connection`, `accepted` or `withheld`",
            ),
            ("by", "who answered, or settled"),
            ("reason", "why, where somebody said so"),
            ("name", "of an approver: who"),
            ("change", "of an approver: `added` or `revoked`"),
            ("role", "of an approver: what they may do from now on"),
            ("scope", "of a settlement: the personality and the tool"),
            ("key", "of a settlement: the idempotency key"),
            ("settled", "of a settlement: `committed` or `failed`"),
            ("principal", "in the console: who"),
            ("action", "in the console: what they did"),
            ("about", "in the console, and of a server: more about it"),
        ],
    },
    Section {
        title: "Policies and servers",
        about: "`kind` is `policy` (a personality was put in force) or `server` (something happened to an MCP server).",
        rows: &[
            ("start", "of a policy: whether a process has just begun"),
            ("version", "of a policy: the version of ringfence"),
            ("server", "which server"),
        ],
    },
];

/// Tools that leave every kind of trace.
const TOOLS: &str = r#"
[[tool]]
name = "fetch"
description = "Fetch a page"
builtin = "fetch_url"
capabilities = { network = { allowedHosts = ["127.0.0.1:1"] } }

[[tool]]
name = "colour"
description = "Say something that is to be cleaned"
command = ["sh", "-c", "printf 'a\\033[31mb'"]
input = { type = "object" }
output = { type = "string" }
capabilities = { process = { allowedBinaries = ["sh"] } }
"#;

#[test]
fn every_field_is_in_the_reference() {
    let clerk = include_str!("../../../../../examples/clerk/ringfence.toml");
    let network = "network = { allow = [\"127.0.0.1:1\"], private = [\"127.0.0.1\"] }\nprocess = ";
    let bench = Bench::new()
        .file("ringfence.toml", clerk.replacen("process = ", network, 1) + TOOLS)
        .file("ledger/.keep", "");
    let run = |arguments: &[&str]| {
        let store = bench.path().join("audit.db");
        let home = bench.path().join("home");
        let variables = [
            ("PATH", "/usr/local/bin:/usr/bin:/bin"),
            ("HOME", home.to_str().unwrap()),
            ("RINGFENCE_STORE", store.to_str().unwrap()),
        ];
        bench.ringfence_in(&variables, arguments)
    };
    let token = run(&["approver", "add", "ada"]);
    let token = token.lines().find(|line| !line.contains(' ')).unwrap().to_owned();
    std::fs::write(bench.path().join("token"), token).unwrap();
    run(&["manifest"]);
    let note = ["call", "--idempotency-key", "k", "note", r#"{"text": "x"}"#];
    let pay = ["call", "--run", "r", "pay", r#"{"invoice": "7", "amount": 3}"#];
    for line in [&note[..], &note, &["call", "colour", "{}"], &pay] {
        run(line);
    }
    for url in ["http://127.0.0.1:1/", "http://10.0.0.1/"] {
        run(&["call", "fetch", &format!("{{\"url\": \"{url}\"}}")]);
    }
    let listed: Vec<Value> = lines(&run(&["approvals", "list", "--json"]));
    let id = listed
        .first()
        .map(|one| one.as_array().and_then(|all| all.first()).unwrap_or(one)["id"].clone())
        .unwrap();
    run(&["approvals", "approve", id.as_str().unwrap(), "--token-file", "token", "--reason", "it is right"]);
    run(&pay);
    doubt(&bench, &run);
    run(&["idempotency", "settle", "doubt", "--not-done", "--by", "grace", "--reason", "it is not there"]);
    let mut held = Held::new(SECTIONS);
    for record in lines(&run(&["audit", "export"])) {
        held.look(&record);
    }
    held.check(ELSEWHERE);
    assert_page("audit-format.md", &page(HEAD, SECTIONS, TAIL));
}

/// Leaves a call in doubt: its tool failed, and may have done its work before.
fn doubt(bench: &Bench, run: &dyn Fn(&[&str]) -> String) {
    std::fs::remove_dir_all(bench.path().join("ledger")).unwrap();
    std::fs::create_dir(bench.path().join("ledger")).unwrap();
    std::fs::create_dir(bench.path().join("ledger/paid")).unwrap();
    let said = run(&["call", "--idempotency-key", "doubt", "note", r#"{"text": "y"}"#]);
    assert!(said.contains("execution_failed"), "{said}");
}

fn lines(said: &str) -> Vec<Value> {
    said.lines()
        .filter(|line| line.starts_with(['{', '[']))
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

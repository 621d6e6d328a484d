//! Configurations, good and bad.

use serde_json::json;

use super::*;

fn imported(configuration: &str) -> Result<Imported, String> {
    let exists = |path: &Path| path.starts_with("/srv") || path == Path::new("/home/me/docs");
    import(
        configuration,
        &Surroundings {
            ringfence: "/opt/ringfence",
            policy: Path::new("/p/ringfence.toml"),
            home: Some(Path::new("/home/me")),
            exists: &exists,
        },
    )
}

/// Imports one entry and returns the policy and the entry that it became.
fn one(entry: &Value) -> (String, Value, Vec<String>) {
    let done = imported(&json!({"mcpServers": {"one": entry}}).to_string()).unwrap();
    let configuration: Value = serde_json::from_str(&done.configuration).unwrap();
    (done.policy, configuration["mcpServers"]["one"].clone(), done.notes)
}

#[test]
fn an_entry_is_wrapped_and_keeps_what_we_do_not_know() {
    let (policy, entry, _) = one(&json!({
        "disabled": false, "command": "npx", "args": ["-y", "server-fs", "/srv/data"],
        "env": {"LOG": "info", "TOKEN": "t0p"}, "x-vendor": {"b": 1, "a": 2},
    }));
    assert_eq!(
        entry.to_string(),
        r#"{"disabled":false,"command":"/opt/ringfence","args":["wrap","--policy","/p/ringfence.toml","--name","one","--","npx","-y","server-fs","/srv/data"],"env":{"TOKEN":"t0p"},"x-vendor":{"b":1,"a":2}}"#
    );
    assert!(policy.contains(r#"env = { "LOG" = "info" }"#), "{policy}");
    assert!(policy.contains(r#"secrets = { "TOKEN" = "TOKEN" }"#) && !policy.contains("t0p"), "{policy}");
}

#[test]
fn paths_are_guessed_narrowly() {
    #[rustfmt::skip]
    let cases = [
        // command and arguments                                     granted                           not granted
        (json!(["npx", "fs", "/srv/a", "/srv/b/../c"]),              &["/srv/a", "/srv/c"][..],        ""),
        (json!(["fs", "--root=/srv/a", "--out", "/srv/b"]),          &["/srv/a", "/srv/b"],            ""),
        (json!(["node", "/srv/build/index.js", "/srv/a"]),           &["/srv/a"],                      ""),
        (json!(["python3", "-u", "/srv/server.py", "/srv/a"]),       &["/srv/a"],                      ""),
        (json!(["fs", "/home/me"]),                                  &[],                              "`/home/me` is not granted: it is the home folder"),
        (json!(["fs", "/"]),                                         &[],                              "`/` is not granted"),
        (json!(["fs", "/srv/.ssh"]),                                 &[],                              "`/srv/.ssh` is not granted: it is on the always-deny floor"),
        (json!(["fs", "/srv/*"]),                                    &[],                              "`/srv/*` is not granted: its name would be read as a pattern"),
        (json!(["fs", "/nowhere"]),                                  &[],                              ""),
        (json!(["fs", "srv/a", "${workspaceFolder}/x", "/srv/${x}"]), &[],                             ""),
        (json!(["fs", "/home/me/docs", "/home/me/docs"]),            &["/home/me/docs"],               ""),
    ];
    for (command, granted, note) in cases {
        let parts = command.as_array().unwrap();
        let (policy, _, notes) = one(&json!({"command": parts[0], "args": parts[1..]}));
        let read = format!(
            "fs_reach = {{ read = {}, write = [] }}",
            json!(granted).to_string().replace("\",\"", "\", \"")
        );
        assert!(policy.contains(&read), "{command}: {policy}");
        assert!(note.is_empty() || notes.iter().any(|own| own.contains(note)), "{command}: {notes:?}");
    }
}

#[test]
fn credentials_and_what_the_client_fills_in_stay_with_the_client() {
    let (policy, entry, _) = one(&json!({"command": "x", "args": ["--api-key", "s3cr3t"]}));
    assert!(!policy.contains("s3cr3t") && policy.contains("# The command is not repeated here: it may hold"));
    assert_eq!(entry["args"][8], "s3cr3t");
    let (policy, entry, _) = one(
        &json!({"command": "x", "args": ["${input:a}"], "env": {"WHERE": "${workspaceFolder}", "a/": "-----BEGIN PRIVATE KEY-----", "APP_KEY/": "v4lue"}}),
    );
    assert!(policy.contains("it holds variables of the client"), "{policy}");
    assert!(
        policy.contains(r#"environment = ["WHERE", "APP_KEY/"]"#) && !policy.contains("v4lue"),
        "{policy}"
    );
    assert_eq!(entry["env"], json!({"WHERE": "${workspaceFolder}", "APP_KEY/": "v4lue"}));
}

#[test]
fn what_cannot_be_wrapped_is_told() {
    #[rustfmt::skip]
    let cases = [
        (json!({"url": "https://a.example/mcp"}),                    "one: stays as it is, outside the fence: it is reached over the network"),
        (json!({"type": "sse", "command": "x"}),                     "one: stays as it is, outside the fence: it is reached over the network"),
        (json!({"disabled": true}),                                  "one: stays as it is, outside the fence: it has no `command`"),
        (json!({"command": "npx -y x"}),                             "one: stays as it is, outside the fence: its `command` holds white space; write the arguments in `args`"),
        (json!({"command": "/usr/bin/docker", "args": ["run"]}),     "one: stays as it is, outside the fence: `docker` runs it elsewhere, where no fence around `docker` reaches"),
        (json!({"command": "ringfence", "args": ["wrap", "--", "x"]}), "one: is wrapped already"),
    ];
    for (entry, note) in cases {
        let (_, after, notes) = one(&entry);
        assert_eq!((after, notes), (entry, vec![note.to_owned()]));
    }
    let ours = json!({"command": "x", "args": ["--", "ringfence", "wrap"]});
    assert_ne!(one(&ours).1, ours, "only an entry that really runs it is wrapped");
    let nested = json!({"mcpServers": {}, "projects": {"/a": {"mcpServers": {"x": {"command": "y"}}}}});
    assert!(imported(&nested.to_string()).unwrap().notes[0].contains("elsewhere"));
}

#[test]
fn what_is_not_a_configuration_is_refused_with_its_place() {
    #[rustfmt::skip]
    let cases = [
        ("{\n  // mine\n  \"mcpServers\": {}\n}",              "it holds comments, which would be lost: take them out first"),
        ("{\"mcpServers\": {}, /* mine */ }",                  "it holds comments"),
        ("{\"a\": \"// no comment\", }",                       "expected"),
        ("[]",                                                 "it has neither `mcpServers` nor `servers`"),
        ("{\"mcpServers\": []}",                               "`mcpServers` is not an object"),
        ("{\"servers\": {\"a\": 1}}",                          "`servers.a` is not an object"),
        ("{\"mcpServers\": {\"a\": {\"command\": 1}}}",        "`mcpServers.a` has a `command` that is not a text"),
        ("{\"mcpServers\": {\"a\": {\"command\": \"\"}}}",     "`mcpServers.a` has an empty `command`"),
        ("{\"mcpServers\": {\"a\": {\"command\": \"x\", \"args\": \"y\"}}}",        "`mcpServers.a` has an `args` that is not a list"),
        ("{\"mcpServers\": {\"a\": {\"command\": \"x\", \"args\": [1]}}}",          "`mcpServers.a` has an `args` that holds something else"),
        ("{\"mcpServers\": {\"a\": {\"command\": \"x\", \"env\": []}}}",            "`mcpServers.a` has an `env` that is not an object"),
        ("{\"mcpServers\": {\"a\": {\"command\": \"x\", \"env\": {\"A\": 1}}}}",    "`mcpServers.a` has a variable `A` that is not a text"),
        ("{\"mcpServers\": {\"a\": {\"command\": \"x\", \"env\": {\"A=\": \"\"}}}}", "`mcpServers.a` has a variable `A=` that no process"),
        ("{\"mcpServers\": {\"a\": {}, \"a\": {}}}",           "key `a` appears twice"),
    ];
    for (text, message) in cases {
        let error = imported(text).unwrap_err();
        assert!(error.starts_with(message), "{text}: {error}");
    }
}

#[test]
fn the_indentation_stays() {
    let text = "{\n\t\"mcpServers\": {\n\t\t\"a\": {\"command\": \"x\"}\n\t}\n}\n";
    let done = imported(text).unwrap();
    assert!(done.configuration.starts_with("{\n\t\"mcpServers\": {\n\t\t\"a\": {\n\t\t\t\"command\""));
    assert!(done.configuration.ends_with("}\n"));
    let again = imported(&done.configuration).unwrap();
    assert_eq!((again.configuration, again.servers.len()), (done.configuration, 0));
    assert_eq!(again.before, [PathBuf::from("/p/ringfence.toml")]);
}

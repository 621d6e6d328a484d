//! What a toolbox holds that `learn` does not write, and that would be lost where it writes over the file.
//!
//! INVARIANT: only what is listed here is `learn`'s own. A key that is new to the format counts as somebody's, until it is listed.

use serde_json::Value;

use super::written::Kind;

/// What is written anew by each round, whatever it said.
const RENEWED: &[&str] = &[
    "personality.id",
    "server.command",
    "server.directory",
    "server.name",
    "tool.command",
    "tool.description",
    "tool.input",
    "tool.name",
    "tool.output",
];

/// Lists of texts, from which each round goes on.
const LISTS: &[&str] = &[
    "personality.environment.allow",
    "personality.fs_reach.read",
    "personality.fs_reach.write",
    "personality.network.allow",
    "personality.network.private",
    "personality.process.allow",
    "server.capabilities.environment",
    "server.capabilities.fs_reach.read",
    "server.capabilities.fs_reach.write",
    "server.capabilities.network.allowedHosts",
    "server.capabilities.process.allowedBinaries",
    "tool.capabilities.environment",
    "tool.capabilities.fs_reach.read",
    "tool.capabilities.fs_reach.write",
    "tool.capabilities.network.allowedHosts",
    "tool.capabilities.process.allowedBinaries",
];

/// Returns the keys of a file that a round for this kind of entry would lose.
pub(super) fn beyond(file: &Value, entry: Kind) -> Vec<String> {
    let own = match entry {
        Kind::Server => "server",
        Kind::Tool => "tool",
    };
    let mut found = Vec::new();
    for (key, value) in file.as_object().into_iter().flatten() {
        match value {
            Value::Array(entries) if key == own => match entries.as_slice() {
                [only] => search(only, key, &mut found),
                several => found.push(format!("{} entries of `[[{key}]]`", several.len())),
            },
            _ if key == "personality" => search(value, key, &mut found),
            _ => found.push(format!("`{key}`")),
        }
    }
    found
}

fn search(value: &Value, path: &str, found: &mut Vec<String>) {
    let is_list = || value.as_array().is_some_and(|all| all.iter().all(Value::is_string));
    let is_above = |own: &&str| own.strip_prefix(path).is_some_and(|rest| rest.starts_with('.'));
    let is_own = RENEWED.contains(&path) || (LISTS.contains(&path) && is_list());
    match value {
        _ if is_own => {}
        Value::Object(inner) if RENEWED.iter().chain(LISTS).any(is_above) => {
            for (key, value) in inner {
                search(value, &format!("{path}.{key}"), found);
            }
        }
        _ => found.push(format!("`{path}`")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str, entry: Kind) -> Vec<String> {
        beyond(&toml::from_str::<Value>(text).unwrap(), entry)
    }

    #[test]
    fn what_learn_writes_is_its_own() {
        let text = r#"
            [personality]
            id = "learnt-git"
            fs_reach = { read = ["${workspace}"], write = ["/srv"] }
            network = { allow = ["a.example"], private = ["10.0.0.1"] }
            process = { allow = ["git"] }
            environment = { allow = ["LANG"] }
            [[tool]]
            name = "git"
            description = "Run git, as it was learnt"
            command = ["git", "{argument_1}"]
            input = { type = "object", properties = { argument_1 = { type = "string", const = "${" } } }
            output = { type = "string" }
            capabilities = { fs_reach = { read = [] }, network = { allowedHosts = [] }, process = { allowedBinaries = ["git"] }, environment = ["LANG"] }
        "#;
        assert!(found(text, Kind::Tool).is_empty(), "{:?}", found(text, Kind::Tool));
        let server = text.replace("[[tool]]", "[[server]]").replace("description", "directory");
        let server: String = server
            .lines()
            .filter(|line| !line.contains("input =") && !line.contains("output ="))
            .flat_map(|line| [line, "\n"])
            .collect();
        assert!(found(&server, Kind::Server).is_empty(), "{:?}", found(&server, Kind::Server));
        assert_eq!(found(&server, Kind::Tool), ["`server`"]);
    }

    #[test]
    fn what_somebody_added_is_found() {
        #[rustfmt::skip]
        let cases = [
            ("[[tool]]\nname = 'a'\n[[tool]]\nname = 'b'",            "2 entries of `[[tool]]`"),
            ("[[tool]]\nclass = 'financial'",                         "`tool.class`"),
            ("[[tool]]\nlimits = { wall = '1s' }",                    "`tool.limits`"),
            ("[[tool]]\ncapabilities = { secrets = ['A'] }",          "`tool.capabilities.secrets`"),
            ("[personality]\nnetwork = { allow = [{ host = 'a' }] }", "`personality.network.allow`"),
            ("[personality]\nfs_reach = { deny = ['/srv'] }",         "`personality.fs_reach.deny`"),
            ("[personality.approvals]\nclasses = ['financial']",      "`personality.approvals`"),
            ("[gateway]\nname = 'a'",                                 "`gateway`"),
        ];
        for (text, key) in cases {
            assert_eq!(found(text, Kind::Tool), [key], "{text}");
        }
    }
}

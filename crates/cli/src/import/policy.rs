//! The policy file of imported servers, with what a person is to look at.
//!
//! INVARIANT: the personality permits exactly what the servers declare.

use std::fmt::Write as _;

use super::entry::Entry;

/// Writes the file.
pub(super) fn written(entries: &[Entry]) -> String {
    let mut text = String::from(
        "# Written by `ringfence import`. What a server may touch was guessed from its arguments, and narrowly: look at each\n\
         # entry. `ringfence check` finds mistakes, and a server that is refused something says which line would allow it.\n\n\
         # The ceiling of all servers: exactly what they declare below. What you add to a server, add here too.\n\
         [personality]\n",
    );
    let all = |part: fn(&Entry) -> &[String]| {
        let mut list: Vec<&String> = entries.iter().flat_map(part).collect();
        list.sort_unstable();
        list.dedup();
        listed(list)
    };
    // Writing to a string cannot fail.
    let _written = writeln!(text, "fs_reach = {{ read = {}, write = [] }}", all(|entry| &entry.read));
    let _written = writeln!(text, "network = {{ allow = [] }}");
    let _written = writeln!(text, "secrets = {{ allow = {} }}", all(|entry| &entry.secrets));
    let _written = writeln!(text, "environment = {{ allow = {} }}", all(|entry| &entry.environment));
    let _written = writeln!(text, "process = {{ allow = [] }}");
    for entry in entries {
        text.push_str(&server(entry));
    }
    text
}

fn server(entry: &Entry) -> String {
    let mut text = String::from("\n[[server]]\n");
    let mut line = |line: String| {
        text.push_str(&line);
        text.push('\n');
    };
    if entry.name.as_str() != entry.own {
        line(format!("# The configuration calls it {}.", quoted(&entry.own)));
    }
    line(format!("name = {}", quoted(entry.name.as_str())));
    match entry.unrepeatable {
        None => line(format!("command = {}", listed(&entry.command))),
        Some(why) => {
            line(format!("# The command is not repeated here: {why}. `ringfence gateway` needs it."));
        }
    }
    line(
        "# What the scan finds clean is accepted at first sight; `review` lets each definition wait for you."
            .into(),
    );
    line("accept = \"clean\"".into());
    if !entry.env.is_empty() {
        let pairs: Vec<String> =
            entry.env.iter().map(|(name, value)| format!("{} = {}", quoted(name), quoted(value))).collect();
        line(format!("env = {{ {} }}", pairs.join(", ")));
    }
    if !entry.secrets.is_empty() {
        line("# Each value is taken from the variable of the same name, which the client sets; or, when you take it out of".into());
        line("# the client's file, from the keyring: `keyctl padd user keyring:NAME@ringfence @s` reads it from standard input.".into());
        let pairs: Vec<String> =
            entry.secrets.iter().map(|name| format!("{} = {}", quoted(name), quoted(name))).collect();
        line(format!("secrets = {{ {} }}", pairs.join(", ")));
    }
    if let Some(directory) = &entry.directory {
        line(format!("directory = {}", quoted(directory)));
    }
    line("# REVIEW what it may touch. Hosts: network = { allowedHosts = [\"api.example.com\"] }, and in [personality] too.".into());
    if !entry.read.is_empty() {
        let paths = listed(&entry.read);
        line(format!(
            "# To let it write there: fs_reach = {{ read = {paths}, write = {paths} }}, and in [personality] too."
        ));
    }
    for path in &entry.missing {
        line(format!("# {} is not there yet, and is not granted.", quoted(path)));
    }
    let mut surfaces = Vec::new();
    if !entry.read.is_empty() {
        surfaces.push(format!("fs_reach = {{ read = {} }}", listed(&entry.read)));
    }
    if !entry.secrets.is_empty() {
        surfaces.push(format!("secrets = {}", listed(&entry.secrets)));
    }
    if !entry.environment.is_empty() {
        surfaces.push(format!("environment = {}", listed(&entry.environment)));
    }
    line(if surfaces.is_empty() {
        "capabilities = {}".to_owned()
    } else {
        format!("capabilities = {{ {} }}", surfaces.join(", "))
    });
    text
}

fn listed<'a>(texts: impl IntoIterator<Item = &'a String>) -> String {
    let texts: Vec<String> = texts.into_iter().map(|text| quoted(text)).collect();
    format!("[{}]", texts.join(", "))
}

/// A basic string of TOML. Its escapes are those of JSON, and the one control character that JSON leaves alone.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string().replace('\u{7f}', "\\u007f")
}

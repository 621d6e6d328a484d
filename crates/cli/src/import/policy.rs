//! The policy file of imported servers, with what a person is to look at.
//!
//! INVARIANT: the personality permits exactly what the servers declare.

use std::fmt::Write as _;

use super::entry::Entry;

/// One line of an entry.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Line {
    /// A key and its value, as TOML.
    Field(&'static str, String),
    /// What a person is to know of the next key.
    Remark(String),
}

/// Writes the file.
pub(super) fn written(entries: &[Entry]) -> String {
    let mut text = String::from(
        "# Written by `ringfence import`. What a server may touch was guessed from its arguments, and narrowly: look at each\n\
         # entry. `ringfence check` finds mistakes, and a server that is refused something says which line would allow it.\n\n\
         # The ceiling of all servers: exactly what they declare below. What you add to a server, add here too.\n\
         [personality]\n",
    );
    text.push_str(&lines(&personality(entries)));
    for entry in entries {
        text.push_str("\n[[server]]\n");
        text.push_str(&lines(&server(entry)));
    }
    text
}

fn lines(lines: &[Line]) -> String {
    let mut text = String::new();
    for line in lines {
        // Writing to a string cannot fail.
        let _written = match line {
            Line::Field(key, value) => writeln!(text, "{key} = {value}"),
            Line::Remark(remark) => writeln!(text, "# {remark}"),
        };
    }
    text
}

/// The ceiling of all servers.
pub(super) fn personality(entries: &[Entry]) -> Vec<Line> {
    let all = |part: fn(&Entry) -> &[String]| {
        let mut list: Vec<&String> = entries.iter().flat_map(part).collect();
        list.sort_unstable();
        list.dedup();
        listed(list)
    };
    vec![
        Line::Field("fs_reach", format!("{{ read = {}, write = [] }}", all(|entry| &entry.read))),
        Line::Field("network", "{ allow = [] }".into()),
        Line::Field("secrets", format!("{{ allow = {} }}", all(|entry| &entry.secrets))),
        Line::Field("environment", format!("{{ allow = {} }}", all(|entry| &entry.environment))),
        Line::Field("process", "{ allow = [] }".into()),
    ]
}

/// The entry of one server.
pub(super) fn server(entry: &Entry) -> Vec<Line> {
    let mut lines = Vec::new();
    let remark = |lines: &mut Vec<Line>, text: String| lines.push(Line::Remark(text));
    if entry.name.as_str() != entry.own {
        remark(&mut lines, format!("The configuration calls it {}.", quoted(&entry.own)));
    }
    lines.push(Line::Field("name", quoted(entry.name.as_str())));
    match entry.unrepeatable {
        None => lines.push(Line::Field("command", listed(&entry.command))),
        Some(why) => remark(
            &mut lines,
            format!("The command is not repeated here: {why}. `ringfence gateway` needs it."),
        ),
    }
    remark(
        &mut lines,
        "What the scan finds clean is accepted at first sight; `review` lets each definition wait for you."
            .into(),
    );
    lines.push(Line::Field("accept", "\"clean\"".into()));
    if !entry.env.is_empty() {
        let pairs: Vec<String> =
            entry.env.iter().map(|(name, value)| format!("{} = {}", quoted(name), quoted(value))).collect();
        lines.push(Line::Field("env", format!("{{ {} }}", pairs.join(", "))));
    }
    if !entry.secrets.is_empty() {
        remark(&mut lines, "Each value is taken from the variable of the same name, which the client sets; or, when you take it out of".into());
        remark(&mut lines, "the client's file, from the keyring: `keyctl padd user keyring:NAME@ringfence @s` reads it from standard input.".into());
        let pairs: Vec<String> =
            entry.secrets.iter().map(|name| format!("{} = {}", quoted(name), quoted(name))).collect();
        lines.push(Line::Field("secrets", format!("{{ {} }}", pairs.join(", "))));
    }
    if let Some(directory) = &entry.directory {
        lines.push(Line::Field("directory", quoted(directory)));
    }
    remark(&mut lines, "REVIEW what it may touch. Hosts: network = { allowedHosts = [\"api.example.com\"] }, and in [personality] too.".into());
    if !entry.read.is_empty() {
        let paths = listed(&entry.read);
        remark(
            &mut lines,
            format!(
                "To let it write there: fs_reach = {{ read = {paths}, write = {paths} }}, and in [personality] too."
            ),
        );
    }
    for path in &entry.missing {
        remark(&mut lines, format!("{} is not there yet, and is not granted.", quoted(path)));
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
    let capabilities =
        if surfaces.is_empty() { "{}".to_owned() } else { format!("{{ {} }}", surfaces.join(", ")) };
    lines.push(Line::Field("capabilities", capabilities));
    lines
}

/// A list of texts, as TOML.
pub(crate) fn listed<'a>(texts: impl IntoIterator<Item = &'a String>) -> String {
    let texts: Vec<String> = texts.into_iter().map(|text| quoted(text)).collect();
    format!("[{}]", texts.join(", "))
}

/// A basic string of TOML. Its escapes are those of JSON, and the one control character that JSON leaves alone.
pub(crate) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string().replace('\u{7f}', "\\u007f")
}

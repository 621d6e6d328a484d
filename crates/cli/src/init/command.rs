//! The policy of one command, which an agent calls as a tool.

use std::path::Path;

use ringfence::policy::CommandTemplate;
use ringfence::sandbox::SearchPath;
use serde_json::{Map, Value};

use super::document::Document;
use super::words::quoted as shell;
use super::{Draft, Reach, flag};
use crate::error::CommandError;
use crate::import::{Line, listed, quoted};
use crate::load::Place;

/// Makes the policy.
pub(crate) fn draft(words: &[String], reach: &Reach, place: &Place) -> Result<Draft, CommandError> {
    let (program, arguments) = words.split_first().ok_or_else(|| CommandError::Input {
        message: "no command is given".to_owned(),
        hint: Some("write it behind `--`, as in `ringfence init --command -- rg -- '{pattern}'`"),
    })?;
    let mut notes = Vec::new();
    let program = found(program, &mut notes);
    let mut command = vec![literal(&program)];
    command.extend(arguments.iter().map(|argument| template(argument)));
    let parsed = CommandTemplate::parse(&command).map_err(|error| CommandError::Input {
        message: error.to_string(),
        hint: Some("`{name}` is the value of an argument; `{{` and `}}` are braces"),
    })?;
    let mut values: Vec<&str> = Vec::new();
    for value in parsed.placeholders() {
        if !values.contains(&value) {
            values.push(value);
        }
    }
    if !values.is_empty() && !arguments.iter().any(|argument| argument == "--") {
        notes.push("a value that begins with `-` is refused, because the command would read it as a flag; put `--` before its place to let it through".into());
    }
    let name = tool_name(&program);
    let document = written(&name, &program, &command, &values, reach);
    let flag = flag(place);
    let example: Map<String, Value> = values.iter().map(|value| ((*value).to_owned(), "…".into())).collect();
    let call = format!("ringfence call{flag} {name} {}", shell(&Value::Object(example).to_string()));
    Ok(Draft {
        text: document,
        beside: Vec::new(),
        notes,
        next: vec![
            (format!("ringfence check{flag}"), "all problems at once; there are none now"),
            (format!("ringfence tools{flag}"), "what it may reach"),
            (call, "call it, inside the fence"),
        ],
    })
}

fn written(name: &str, program: &str, command: &[String], values: &[&str], reach: &Reach) -> String {
    let mut document =
        Document::new(&[format!("Written by `ringfence init`: the command `{}` as a tool.", shown(program))]);
    let mut ceiling = vec![Line::Field("id", quoted(name))];
    ceiling.push(Line::Field(
        "fs_reach",
        format!("{{ read = {}, write = {} }}", listed(&reach.read), listed(&reach.write)),
    ));
    ceiling.push(Line::Field("network", format!("{{ allow = {} }}", listed(&reach.hosts))));
    ceiling
        .push(Line::Remark("A program that starts others needs each of them here and in its tool.".into()));
    ceiling.push(Line::Field("process", format!("{{ allow = [{}] }}", quoted(program))));
    document.section("personality", &ceiling);

    let mut surfaces = Vec::new();
    let mut directions = Vec::new();
    for (direction, paths) in [("read", &reach.read), ("write", &reach.write)] {
        if !paths.is_empty() {
            directions.push(format!("{direction} = \"from-personality\""));
        }
    }
    if !directions.is_empty() {
        surfaces.push(format!("fs_reach = {{ {} }}", directions.join(", ")));
    }
    if !reach.hosts.is_empty() {
        surfaces.push(format!("network = {{ allowedHosts = {} }}", listed(&reach.hosts)));
    }
    surfaces.push(format!("process = {{ allowedBinaries = [{}] }}", quoted(program)));
    let properties: Vec<String> =
        values.iter().map(|value| format!("{} = {{ type = \"string\" }}", quoted(value))).collect();
    let required: Vec<String> = values.iter().map(|value| quoted(value)).collect();
    let tool = vec![
        Line::Field("name", quoted(name)),
        Line::Remark("REVIEW: say what it is for, since this is what a model reads.".into()),
        Line::Field("description", quoted(&format!("Run {}", shown(program)))),
        Line::Field("command", listed(command)),
        Line::Field(
            "input",
            format!(
                "{{ type = \"object\", properties = {{ {} }}, required = [{}], additionalProperties = false }}",
                properties.join(", "),
                required.join(", ")
            ),
        ),
        Line::Field("output", "{ type = \"string\" }".into()),
        Line::Field("capabilities", format!("{{ {} }}", surfaces.join(", "))),
    ];
    document.section("tool", &tool);
    document.finish(&["personality", "tool"])
}

/// Finds the program as calls will: by its name on the fixed search path, or by its whole path.
fn found(program: &str, notes: &mut Vec<String>) -> String {
    if program.contains('/') {
        let absolute = std::path::absolute(program).ok();
        let normal = absolute.and_then(|path| ringfence::policy::normalise(&path).ok());
        let path =
            normal.and_then(|path| path.to_str().map(str::to_owned)).unwrap_or_else(|| program.to_owned());
        if !Path::new(&path).is_file() {
            notes.push(format!("`{path}` is not there yet; calls are refused until it is"));
        }
        return path;
    }
    if SearchPath::default().find(program).is_some() {
        return program.to_owned();
    }
    let listed = SearchPath::default().and(std::env::var_os("PATH").iter().flat_map(std::env::split_paths));
    match listed.find(program).and_then(|path| path.to_str().map(str::to_owned)) {
        Some(path) => {
            notes.push(format!("`{program}` is written as `{path}`: the search path of calls is fixed, and PATH decides nothing"));
            path
        }
        None => {
            notes.push(format!(
                "no program is named `{program}` on this machine yet; calls are refused until there is one"
            ));
            program.to_owned()
        }
    }
}

/// An argument as a template: braces that name nothing are literal.
fn template(argument: &str) -> String {
    let (head, tail) = ("x".to_owned(), without_variables(argument));
    if CommandTemplate::parse(&[head, tail]).is_ok() {
        return argument.to_owned();
    }
    literal(argument)
}

/// Doubles the braces of a text, but for the variables of policies.
fn literal(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = VARIABLES.iter().filter_map(|name| Some((rest.find(name)?, *name))).min() {
        let (at, name) = at;
        let (before, after) = rest.split_at(at);
        out.push_str(&before.replace('{', "{{").replace('}', "}}"));
        out.push_str(name);
        rest = after.strip_prefix(name).unwrap_or_default();
    }
    out.push_str(&rest.replace('{', "{{").replace('}', "}}"));
    out
}

/// The variables that a policy expands.
const VARIABLES: [&str; 3] = ["${workspace}", "${home}", "${self}"];

fn without_variables(text: &str) -> String {
    VARIABLES.iter().fold(text.to_owned(), |text, name| text.replace(name, ""))
}

/// The name of a tool: that of its program, as far as it can be one.
fn tool_name(program: &str) -> String {
    let base = Path::new(program).file_stem().and_then(|name| name.to_str()).unwrap_or("tool");
    let name: String = base
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') { c } else { '_' })
        .take(64)
        .collect();
    if name.chars().any(|c| c.is_ascii_alphanumeric()) { name } else { "tool".to_owned() }
}

/// A program in a comment or a description.
fn shown(program: &str) -> String {
    crate::shown::one_line(program)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn braces_that_name_a_value_are_places_and_others_are_braces() {
        #[rustfmt::skip]
        let cases = [
            ("{pattern}",             "{pattern}"),
            ("--glob={glob}",         "--glob={glob}"),
            ("${workspace}/{file}",   "${workspace}/{file}"),
            ("{}",                    "{{}}"),
            ("{print $1}",            "{{print $1}}"),
            ("a{b",                   "a{{b"),
            ("${workspace}/{",        "${workspace}/{{"),
            ("plain",                 "plain"),
        ];
        for (argument, expected) in cases {
            assert_eq!(template(argument), expected, "{argument}");
        }
    }

    #[test]
    fn a_tool_is_called_what_its_program_is() {
        #[rustfmt::skip]
        let cases = [("rg", "rg"), ("/usr/bin/git", "git"), ("./build.sh", "build"), ("a b", "a_b"), ("..", "tool"), ("g++", "g__")];
        for (program, name) in cases {
            assert_eq!(tool_name(program), name, "{program}");
        }
    }
}

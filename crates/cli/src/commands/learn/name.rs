//! Names: what the tool is called, and how paths and arguments are written in a toolbox.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::Path;

use ringfence::policy::ToolName;

use super::ceiling::Ground;

/// Returns a name for the tool, made of its program's.
pub(super) fn tool_name(program: &OsStr) -> Option<ToolName> {
    let name = Path::new(program).file_stem()?.to_string_lossy();
    let legal = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-') { c } else { '-' };
    let name: String = name.chars().map(legal).take(64).collect();
    name.parse().ok()
}

/// Writes a path as a toolbox does, with its variables; nothing when a toolbox cannot name it.
pub(super) fn path_text(path: &Path, ground: &Ground) -> Option<String> {
    let below = |root: &Path, variable: &str| {
        let rest = path.strip_prefix(root).ok()?.to_str()?;
        Some(if rest.is_empty() { variable.to_owned() } else { format!("{variable}/{rest}") })
    };
    let plain = path.to_str().filter(|text| !text.contains(['*', '?', '\0']) && !text.contains("${"))?;
    let home = ground.home.as_deref();
    below(&ground.workspace, "${workspace}")
        .or_else(|| home.and_then(|home| below(home, "${home}")))
        .or_else(|| Some(plain.to_owned()))
}

/// One element of a tool's command: written out, or a place for a value where a toolbox cannot write it out.
#[derive(Debug, Eq, PartialEq)]
pub(super) enum Element {
    /// As it stands in the toolbox.
    Literal(String),
    /// A value that each call gives.
    Value {
        /// What it is called.
        name: String,
        /// What it was here.
        value: String,
    },
}

/// Writes arguments for a tool's command: braces are doubled, paths of the workspace start with its variable, those of `placed` too. Text with `${` has no
/// spelling there, and becomes a value.
pub(super) fn elements(arguments: &[String], ground: &Ground, placed: &BTreeSet<String>) -> Vec<Element> {
    let workspace = ground.workspace.to_str().filter(|text| !text.contains(['{', '}'])).unwrap_or("\0");
    let one = |(place, argument): (usize, &String)| {
        if argument.contains("${") {
            return Element::Value { name: format!("argument_{}", place + 1), value: argument.clone() };
        }
        let doubled = |text: &str| text.replace('{', "{{").replace('}', "}}");
        match argument.strip_prefix(workspace) {
            _ if placed.contains(argument) => {
                Element::Literal(format!("${{workspace}}/{}", doubled(argument)))
            }
            Some(rest) if rest.is_empty() || rest.starts_with('/') => {
                Element::Literal(format!("${{workspace}}{}", doubled(rest)))
            }
            Some(_) | None => Element::Literal(doubled(argument)),
        }
    };
    arguments.iter().enumerate().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ground() -> Ground {
        Ground {
            workspace: "/home/u/w".into(),
            home: Some("/home/u".into()),
            written: vec!["/home/u/w".into()],
            read: Vec::new(),
            agreed: Vec::new(),
        }
    }

    #[test]
    fn names_tools_after_programs() {
        #[rustfmt::skip]
        let cases = [("git", "git"), ("/usr/bin/python3.11", "python3"), ("./build it.sh", "build-it"), ("./ü", "-")];
        for (program, name) in cases {
            assert_eq!(tool_name(OsStr::new(program)).unwrap().as_str(), name);
        }
        assert_eq!(tool_name(OsStr::new("/")), None);
    }

    #[test]
    fn writes_paths_with_variables() {
        #[rustfmt::skip]
        let cases = [
            ("/home/u/w",       Some("${workspace}")),
            ("/home/u/w/a/b",   Some("${workspace}/a/b")),
            ("/home/u/.pyenv",  Some("${home}/.pyenv")),
            ("/home/user",      Some("/home/user")),
            ("/srv/a*b",        None),
            ("/srv/${x}",       None),
        ];
        for (path, text) in cases {
            assert_eq!(path_text(Path::new(path), &ground()).as_deref(), text, "{path}");
        }
    }

    #[test]
    fn writes_arguments_that_mean_themselves() {
        let arguments =
            ["-c", "{x}", "/home/u/w/in", "/home/u/wide", "echo ${HOME}", "a/b", "a"].map(str::to_owned);
        let placed = ["a/b".to_owned()].into();
        let literal = |text: &str| Element::Literal(text.to_owned());
        let value = Element::Value { name: "argument_5".into(), value: "echo ${HOME}".into() };
        let first = ["-c", "{{x}}", "${workspace}/in", "/home/u/wide"].map(literal);
        let last = ["${workspace}/a/b", "a"].map(literal);
        let expected: Vec<Element> = first.into_iter().chain([value]).chain(last).collect();
        assert_eq!(elements(&arguments, &ground(), &placed), expected);
    }
}

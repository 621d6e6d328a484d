//! Making a first policy file: what is to be fenced, and the text that fences it.
//!
//! INVARIANT: nothing is granted that was not said or shown, and nothing is written before the text was read back and found sound.

pub(crate) mod command;
pub(crate) mod configuration;
mod document;
pub(crate) mod package;
mod question;
mod words;
pub(crate) mod write;

use std::path::{Path, PathBuf};

pub(crate) use question::Questions;
pub(crate) use words::split;

/// The file from which editors complete, beside the policy.
pub(crate) const SCHEMA: &str = "ringfence.schema.json";

/// What is to be fenced.
#[derive(Debug, Eq, PartialEq)]
pub(crate) enum Wanted {
    /// A command, as a tool.
    Command { words: Vec<String>, reach: Reach },
    /// The MCP servers of a client.
    Configuration(PathBuf),
    /// The tools of a Rust crate.
    Package(PathBuf),
}

/// What a command may reach.
#[derive(Debug, Default, Eq, PartialEq)]
pub(crate) struct Reach {
    pub(crate) read: Vec<String>,
    pub(crate) write: Vec<String>,
    pub(crate) hosts: Vec<String>,
}

impl Reach {
    /// Takes what was said; a command that is said nothing of reads the workspace.
    pub(crate) fn of(read: &[String], write: &[String], hosts: &[String]) -> Self {
        let paths = |paths: &[String]| paths.iter().map(|path| written(path)).collect::<Vec<_>>();
        let mut read = paths(read);
        if read.is_empty() && write.is_empty() {
            read.push(WORKSPACE.to_owned());
        }
        Self { read, write: paths(write), hosts: hosts.to_vec() }
    }
}

/// The folder that a toolbox works in.
pub(crate) const WORKSPACE: &str = "${workspace}";

/// A path as a policy writes it: what is relative is below the workspace.
fn written(path: &str) -> String {
    let whole = path;
    let path = path.trim_end_matches('/');
    match path {
        "" if whole.starts_with('/') => "/".to_owned(),
        "." => WORKSPACE.to_owned(),
        _ if path.starts_with(['/', '~']) || path.starts_with("${") => path.to_owned(),
        _ => format!("{WORKSPACE}/{}", path.trim_start_matches("./")),
    }
}

/// A policy that can be written.
#[derive(Debug)]
pub(crate) struct Draft {
    /// The policy file.
    pub(crate) text: String,
    /// Other files beside it, which are made where they are not there.
    pub(crate) beside: Vec<(PathBuf, String)>,
    /// What a person should know.
    pub(crate) notes: Vec<String>,
    /// What to do next, each with a reason.
    pub(crate) next: Vec<(String, &'static str)>,
}

/// How the policy is named in a command, where it must be.
pub(crate) fn flag(place: &crate::load::Place) -> String {
    if place.policy == Path::new("ringfence.toml") {
        return String::new();
    }
    format!(" --policy {}", words::quoted(&place.policy.to_string_lossy()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_written_as_a_policy_reads_them() {
        #[rustfmt::skip]
        let cases = [
            (".",              "${workspace}"),
            ("./src/",         "${workspace}/src"),
            ("out",            "${workspace}/out"),
            ("/srv/data/",     "/srv/data"),
            ("/",              "/"),
            ("~/notes",        "~/notes"),
            ("${self}/x",      "${self}/x"),
        ];
        for (path, expected) in cases {
            assert_eq!(written(path), expected, "{path}");
        }
    }

    #[test]
    fn a_command_that_nothing_is_said_of_reads_the_workspace() {
        assert_eq!(Reach::of(&[], &[], &[]).read, [WORKSPACE]);
        let writes = Reach::of(&[], &["out".into()], &[]);
        assert!(writes.read.is_empty(), "who says what it writes says what it reads too");
    }
}

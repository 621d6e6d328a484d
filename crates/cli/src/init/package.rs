//! The policy of a Rust crate of tools, and where the lint looks.
//!
//! Tools of a crate declare themselves in its code, so the policy is their ceiling: what `[[package.metadata.ringfence.tool]]` lists, and
//! nothing where nothing is listed.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use ringfence::Capabilities;
use ringfence::policy::PathReach;

use super::document::Document;
use super::words::quoted as shell;
use super::{Draft, WORKSPACE, flag};
use crate::error::CommandError;
use crate::import::{Line, listed, quoted};
use crate::load::{Place, read_text};

/// What somebody answers for, in a file that the lint reads.
const WAIVERS: &str = "# What `ringfence lint` cannot analyse and somebody has looked at. `ringfence lint --draft` writes the entries that are missing.\n\
    # [[waiver]]\n\
    # package = \"libc\"\n\
    # version = \"0.2.0\"\n\
    # checksum = \"…\"                     # from Cargo.lock: other content needs another look\n\
    # effects = [\"build-script\"]\n\
    # reason = \"what it does, and who read it when\"\n\
    # expires = \"2027-06-30\"\n";

/// The folder of a crate that is named by it or by its manifest.
pub(crate) fn folder_of(path: &Path) -> PathBuf {
    if path.file_name().is_some_and(|name| name == "Cargo.toml") {
        return path.parent().map(Path::to_path_buf).unwrap_or_default();
    }
    path.to_path_buf()
}

/// Makes the policy.
pub(crate) fn draft(path: &Path, place: &Place) -> Result<Draft, CommandError> {
    let folder = folder_of(path);
    let manifest = folder.join("Cargo.toml");
    let text = read_text(&manifest, Some("give the folder that holds the Cargo.toml of the crate"))?;
    let wrong = |message: String, hint| CommandError::Input {
        message: format!("`{}`: {message}", manifest.display()),
        hint: Some(hint),
    };
    let table: toml::Table = toml::from_str(&text)
        .map_err(|error| wrong(error.message().to_owned(), "`cargo check` shows the place"))?;
    let package = table.get("package").and_then(toml::Value::as_table);
    let name = package.and_then(|package| package.get("name")).and_then(toml::Value::as_str);
    let name = name.ok_or_else(|| {
        wrong("it is of no package".into(), "name the folder of a member, where this is a workspace")
    })?;
    let tools = package.and_then(|own| own.get("metadata")?.get("ringfence")?.get("tool")?.as_array());
    let mut union = Union::default();
    for tool in tools.into_iter().flatten() {
        let capabilities =
            tool.get("capabilities").cloned().unwrap_or(toml::Value::Table(toml::Table::new()));
        let own: Capabilities = capabilities.try_into().map_err(|error: toml::de::Error| {
            wrong(
                format!("a tool under `package.metadata.ringfence`: {}", error.message()),
                "`docs/guides/check-the-code.md` shows how a tool is listed",
            )
        })?;
        union.add(&own);
    }
    let mut notes = Vec::new();
    if tools.is_none_or(Vec::is_empty) {
        notes.push(
            "the manifest lists no tools, so nothing is granted yet; `ringfence lint` finds those that are built with `ringfence::tool` and says what each uses".to_owned(),
        );
    }
    let flag = flag(place);
    let shown = shell(&folder.to_string_lossy());
    Ok(Draft {
        text: written(name, &union),
        beside: vec![(folder.join("ringfence-lint.toml"), WAIVERS.to_owned())],
        notes,
        next: vec![
            (format!("ringfence lint {shown}"), "what the code uses, beside what it declares"),
            (format!("ringfence check{flag}"), "all problems of the policy at once"),
            (
                format!("ringfence manifest{flag}"),
                "a page of permissions to commit; what widens later is told",
            ),
        ],
    })
}

fn written(name: &str, union: &Union) -> String {
    let mut document = Document::new(&[
        format!("Written by `ringfence init`: the ceiling of the tools of the crate `{}`.", crate::shown::one_line(name)),
        "The tools declare themselves in code: `ringfence::tool(\"name\")`. One that a reader of text cannot find is listed in Cargo.toml,".into(),
        "under `[[package.metadata.ringfence.tool]]` with `name`, `entry` and `capabilities`: there `ringfence lint` looks too.".into(),
        "What it cannot analyse is answered for in `ringfence-lint.toml` beside the manifest.".into(),
    ]);
    let ceiling = vec![
        Line::Field("id", quoted(name)),
        Line::Remark("REVIEW: exactly what the manifest lists.".into()),
        Line::Field(
            "fs_reach",
            format!("{{ read = {}, write = {} }}", listed(&union.read), listed(&union.write)),
        ),
        Line::Field("network", format!("{{ allow = {} }}", listed(&union.hosts))),
        Line::Field("process", format!("{{ allow = {} }}", listed(&union.binaries))),
        Line::Field("secrets", format!("{{ allow = {} }}", listed(&union.secrets))),
        Line::Field("environment", format!("{{ allow = {} }}", listed(&union.variables))),
    ];
    document.section("personality", &ceiling);
    document.finish(&["personality"])
}

/// What all tools declare together.
#[derive(Default)]
struct Union {
    read: BTreeSet<String>,
    write: BTreeSet<String>,
    hosts: BTreeSet<String>,
    binaries: BTreeSet<String>,
    secrets: BTreeSet<String>,
    variables: BTreeSet<String>,
}

impl Union {
    fn add(&mut self, own: &Capabilities) {
        if let Some(reach) = &own.fs_reach {
            for (set, paths) in [(&mut self.read, &reach.read), (&mut self.write, &reach.write)] {
                match paths {
                    Some(PathReach::Listed(paths)) => set.extend(paths.iter().map(ToString::to_string)),
                    Some(PathReach::FromPersonality) => set.extend([WORKSPACE.to_owned()]),
                    None => {}
                }
            }
        }
        // A lone `*` means whatever the ceiling says, and so adds nothing to it.
        let named = |pattern: &String| pattern != "*";
        if let Some(network) = &own.network {
            self.hosts.extend(network.allowed_hosts.iter().map(ToString::to_string).filter(named));
        }
        if let Some(process) = &own.process {
            self.binaries.extend(process.allowed_binaries.iter().map(ToString::to_string).filter(named));
        }
        if let Some(secrets) = &own.secrets {
            self.secrets.extend(secrets.iter().map(ToString::to_string));
        }
        if let Some(variables) = &own.environment {
            self.variables.extend(variables.iter().map(ToString::to_string));
        }
    }
}

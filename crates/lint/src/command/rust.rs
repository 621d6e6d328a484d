//! Looking at a Rust package.

use std::path::PathBuf;
use std::process::ExitCode;

use ringfence_lint::build::{Builder, Configuration, Described, Features, Search, Toolchain, settings};
use ringfence_lint::judge::Subject;
use ringfence_lint::tool::{self, Entry, FoundTool};
use ringfence_lint::{Analysis, Cfg, EffectSet, FunctionKind, Project, Verdict, declared, joined};
use ringfence_policy::report::{FilePlace, Finding, Level};
use ringfence_sandbox::{Choice, Sandbox, Selector, private_folder};

use super::args::Engine;
use super::kind::Found;
use super::{Args, CommandError, Looked};

/// What is needed to build: where everything is on this machine.
struct Workshop {
    toolchain: Toolchain,
    cargo_home: PathBuf,
    cache: PathBuf,
    own: PathBuf,
    sandbox: Sandbox,
    features: Features,
    manifest: PathBuf,
    configuration: Configuration,
}

impl Workshop {
    fn new(args: &Args, found: &Found) -> Result<Self, CommandError> {
        let manifest =
            if found.path.is_file() { found.path.clone() } else { found.folder.join("Cargo.toml") };
        let variable = |name: &str| std::env::var_os(name);
        let home = variable("HOME").map(PathBuf::from).filter(|home| home.is_absolute());
        let below_home = |name: &str, folder: &str| {
            let named = variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
            named.or_else(|| Some(home.as_ref()?.join(folder)))
        };
        let search = Search {
            path: variable("PATH"),
            rustup: below_home("RUSTUP_HOME", ".rustup"),
            wanted: std::env::var("RUSTUP_TOOLCHAIN").ok(),
        };
        let toolchain = Toolchain::find(&search, &found.folder)?;
        let cargo_home = below_home("CARGO_HOME", ".cargo").ok_or_else(|| CommandError::Input {
            message: "neither CARGO_HOME nor HOME names a folder".to_owned(),
            hint: None,
        })?;
        let cache = private_folder(variable("XDG_CACHE_HOME"), variable("HOME"), &std::env::temp_dir());
        let own = std::env::current_exe()?;
        let sandbox = Selector::new(&own, &cache)
            .select(Choice::Auto)
            .map_err(ringfence_lint::build::BuildError::from)?;
        let features = Features {
            named: args.features.clone(),
            all: args.all_features,
            no_default: args.no_default_features,
        };
        let configuration = if args.cargo_config { Configuration::Obeyed } else { Configuration::Ignored };
        Ok(Self { toolchain, cargo_home, cache, own, sandbox, features, manifest, configuration })
    }

    fn builder(&self) -> Builder<'_> {
        Builder {
            sandbox: &self.sandbox,
            toolchain: &self.toolchain,
            manifest: &self.manifest,
            features: &self.features,
            configuration: self.configuration,
            cargo_home: &self.cargo_home,
            cache: &self.cache,
            stand_in: &self.own,
        }
    }
}

/// Says what fetching the packages takes.
pub(super) fn fetch_plan(args: &Args, found: &Found) -> Result<ExitCode, CommandError> {
    let workshop = Workshop::new(args, found)?;
    let plan = workshop.builder().fetch_plan();
    serde_json::to_writer(std::io::stdout().lock(), &plan).map_err(std::io::Error::from)?;
    Ok(ExitCode::SUCCESS)
}

/// Looks at the package.
pub(super) fn look(args: &Args, found: &Found) -> Result<Looked, CommandError> {
    let workshop = Workshop::new(args, found)?;
    let builder = workshop.builder();
    let described = builder.describe()?;
    let project = project(&described)?;
    let (engine, mut analysis) = match args.engine {
        Engine::Mir => ("mir", ringfence_lint::compiled(&builder, &described, &project)?),
        Engine::Source => (
            "source",
            ringfence_lint::source::analyse(&project).map_err(|error| CommandError::input(&error))?,
        ),
    };
    ringfence_lint::believed::mark_unproven(&mut analysis, &project);
    let tools = tool::find(&project).map_err(|error| CommandError::input(&error))?;
    let (mut subjects, mut findings) = subjects(&tools, &analysis, &project);
    findings.extend(configured(&workshop, &found.folder));
    subjects.extend(entries(args, &analysis)?);
    Ok(Looked { engine, analysis, subjects, findings, folder: found.folder.clone() })
}

fn project(described: &Described) -> Result<Project, CommandError> {
    let cfg = Cfg::parse(&described.cfg).map_err(|error| CommandError::input(&error))?;
    Project::from_metadata(&described.metadata, Some(&described.lock), &cfg)
        .map_err(|error| CommandError::input(&error))
}

/// Tells of what the project says to cargo beside its manifest.
fn configured(workshop: &Workshop, folder: &std::path::Path) -> Option<Finding> {
    let names: Vec<String> =
        settings(folder, &workshop.cargo_home).into_iter().map(|name| format!("`{name}`")).collect();
    if names.is_empty() {
        return None;
    }
    let said = format!("the configuration of cargo in or above the project sets {}", names.join(", "));
    let (level, message, help) = match workshop.configuration {
        Configuration::Ignored => (
            Level::Error,
            format!("{said}: what is built with it is not what was looked at"),
            "say it in Cargo.toml, or look at it and run with `--cargo-config`, which obeys it",
        ),
        Configuration::Obeyed => (
            Level::Warning,
            format!("{said}: what is built elsewhere is not what was looked at"),
            "say it in Cargo.toml, where it counts for everybody",
        ),
    };
    Some(Finding {
        code: "lint.configuration".into(),
        level,
        subject: "project".to_owned(),
        message,
        place: None,
        help: Some(help.to_owned()),
        steps: Vec::new(),
    })
}

/// Joins the tools that were found with what their functions do.
fn subjects(tools: &[FoundTool], analysis: &Analysis, project: &Project) -> (Vec<Subject>, Vec<Finding>) {
    let in_process = project.packages.iter().any(|package| package.name == "ringfence");
    let mut findings = Vec::new();
    let mut subjects = Vec::new();
    for one in tools {
        let finding = |code: &'static str, level, message: String, help: &str| Finding {
            code: code.into(),
            level,
            subject: format!("tool {}", one.name),
            message,
            place: Some(FilePlace {
                file: one.place.file.clone(),
                line: one.place.line,
                column: one.place.column,
            }),
            help: Some(help.to_owned()),
            steps: Vec::new(),
        };
        if one.incomplete.is_some() || one.declared.is_none() {
            let message = if one.unread.is_empty() {
                "what it declares cannot be read from the source, so that it counts as nothing where it is not said".to_owned()
            } else {
                let names: Vec<String> = one.unread.iter().map(|effect| format!("`{effect}`")).collect();
                format!(
                    "how far it declares {} is not in the source: it counts as declared",
                    names.join(", ")
                )
            };
            let help = "write it literally, or list the tool under `[[package.metadata.ringfence.tool]]` in Cargo.toml";
            findings.push(finding("lint.incomplete", Level::Warning, message, help));
        }
        let found = verdicts_of(&one.entry, analysis);
        let Some(verdict) = found.first() else {
            let message = match &one.entry {
                Entry::Closure(_) => "the closure that it runs was not found in what was built".to_owned(),
                Entry::Function(path) => format!("there is no function `{path}`"),
            };
            let help = "name a function of this package that is built with these features";
            findings.push(finding("lint.entry.missing", Level::Error, message, help));
            continue;
        };
        subjects.push(Subject {
            name: one.name.clone(),
            kind: "tool",
            entry: Some(verdict.function.clone()),
            place: verdict.place.clone().or_else(|| Some(one.place.clone())),
            declared: one.declared.as_ref().map(|own| declared::effects(own).union(one.unread)),
            uses: joined(
                found.iter().copied().chain(one.others.iter().flat_map(|entry| verdicts_of(entry, analysis))),
            ),
            in_process,
        });
    }
    (subjects, findings)
}

/// Finds what the entry of a tool does. A library and a program may both have such a function: then both count.
fn verdicts_of<'a>(entry: &Entry, analysis: &'a Analysis) -> Vec<&'a Verdict> {
    match entry {
        Entry::Closure(place) => {
            let closures = analysis.functions.iter().filter(|one| one.kind == FunctionKind::Closure);
            closures.filter(|one| one.place.as_ref() == Some(place)).collect()
        }
        Entry::Function(path) => named(path, analysis),
    }
}

/// Finds functions by their path, with or without the crate's name; where several end so, all of them.
fn named<'a>(path: &str, analysis: &'a Analysis) -> Vec<&'a Verdict> {
    let functions = || analysis.functions.iter().filter(|one| one.kind == FunctionKind::Function);
    let exact: Vec<&Verdict> = functions().filter(|one| one.function == path).collect();
    if !exact.is_empty() {
        return exact;
    }
    let ends = |one: &&Verdict| one.function.strip_suffix(path).is_some_and(|rest| rest.ends_with("::"));
    functions().filter(ends).collect()
}

/// Makes a subject of every function that the command line names.
fn entries(args: &Args, analysis: &Analysis) -> Result<Vec<Subject>, CommandError> {
    let declared: EffectSet = args.allow.iter().copied().collect();
    let mut subjects: Vec<Subject> = Vec::new();
    for pattern in &args.entry {
        let before = subjects.len();
        for one in analysis.functions.iter().filter(|one| one.kind == FunctionKind::Function) {
            if fits(pattern, &one.function) && !subjects.iter().any(|known| known.name == one.function) {
                subjects.push(Subject {
                    name: one.function.clone(),
                    kind: "function",
                    entry: Some(one.function.clone()),
                    place: one.place.clone(),
                    declared: Some(declared),
                    uses: joined(named(&one.function, analysis).into_iter()),
                    in_process: false,
                });
            }
        }
        if subjects.len() == before {
            return Err(CommandError::Input {
                message: format!("no function fits `--entry {pattern}`"),
                hint: Some("`--inventory --json` lists every function"),
            });
        }
    }
    Ok(subjects)
}

/// Says whether a path fits a pattern, in which `*` stands for anything, with or without what is before it.
fn fits(pattern: &str, path: &str) -> bool {
    let starts = std::iter::once(0).chain(path.match_indices("::").map(|(at, _)| at + 2));
    starts.filter_map(|start| path.get(start..)).any(|rest| wildcard(pattern.as_bytes(), rest.as_bytes()))
}

fn wildcard(pattern: &[u8], text: &[u8]) -> bool {
    match pattern.split_first() {
        None => text.is_empty(),
        Some((b'*', rest)) => {
            (0..=text.len()).any(|skip| text.get(skip..).is_some_and(|text| wildcard(rest, text)))
        }
        Some((byte, rest)) => {
            text.split_first().is_some_and(|(first, text)| first == byte && wildcard(rest, text))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_fits_the_end_of_a_path() {
        #[rustfmt::skip]
        let cases = [
            ("tool_*",       "demo::tool_read",        true),
            ("tool_*",       "demo::inner::tool_read", true),
            ("demo::tool_*", "demo::tool_read",        true),
            ("inner::*",     "demo::inner::a::b",      true),
            ("read",         "demo::tool_read",        false),
            ("demo",         "demo::tool_read",        false),
            ("*",            "demo::x",                true),
        ];
        for (pattern, path, expected) in cases {
            assert_eq!(fits(pattern, path), expected, "{pattern} {path}");
        }
    }
}

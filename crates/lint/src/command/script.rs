//! Looking at a package of Python, JavaScript or TypeScript.

use ringfence_lint::judge::Subject;
use ringfence_lint::{Analysis, EffectSet, joined, python, script};

use super::kind::{Found, Language};
use super::policy::declared_by;
use super::{Args, CommandError, Looked};

/// Looks at the package.
pub(super) fn look(args: &Args, found: &Found) -> Result<Looked, CommandError> {
    let (engine, analysis) = match found.language {
        Language::Python => ("python", python(found)?),
        Language::Rust | Language::Script => ("script", script(found)?),
    };
    let mut subjects = Vec::new();
    if let (Some(policy), Some(server)) = (&args.policy, &args.server) {
        let declared = declared_by(policy, server)?;
        subjects.push(whole(server, "server", declared, &analysis));
    } else if args.draft || !args.entry.is_empty() {
        let name = found
            .folder
            .file_name()
            .map_or_else(|| "server".to_owned(), |name| name.to_string_lossy().into_owned());
        let declared: EffectSet = args.allow.iter().copied().collect();
        subjects.push(whole(&name, "server", declared, &analysis));
    }
    Ok(Looked { engine, analysis, subjects, findings: Vec::new(), folder: found.folder.clone() })
}

fn python(found: &Found) -> Result<Analysis, CommandError> {
    let closure = python::find(&found.path).map_err(|error| CommandError::input(&error))?;
    python::analyse(&closure).map_err(|error| CommandError::input(&error))
}

fn script(found: &Found) -> Result<Analysis, CommandError> {
    let closure = script::find(&found.path).map_err(|error| CommandError::input(&error))?;
    script::analyse(&closure).map_err(|error| CommandError::input(&error))
}

/// A server is everything its own packages do: whatever of it a client asks for may run.
fn whole(name: &str, kind: &'static str, declared: EffectSet, analysis: &Analysis) -> Subject {
    let uses = joined(analysis.functions.iter());
    Subject {
        name: name.to_owned(),
        kind,
        entry: None,
        place: None,
        declared: Some(declared),
        uses,
        in_process: false,
    }
}

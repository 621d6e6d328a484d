//! A canary: a small crate whose effects are known, compiled and read before anything else is believed.
//!
//! What the compiler writes is not a stable format. A version that writes something else could make every effect disappear; then
//! the canary's disappear too, and the compiler is refused.

use std::path::Path;

use super::fence::Fence;
use super::{BuildError, wrapper};
use crate::mir::{Unit, analyse, summarise};
use crate::{Effect, FunctionKind};

/// The crate.
const SOURCE: &str = include_str!("canary.txt");

/// What marks a folder whose compiler was found to be understood.
const MARK: &str = "canary";

/// Makes sure that what the compiler writes is understood.
pub(super) fn ask(fence: &Fence<'_>) -> Result<(), BuildError> {
    let mark = fence.notes.join(MARK);
    if mark.is_file() {
        return Ok(());
    }
    let folder = fence.writable.join("canary-crate");
    let file = |path: &Path| {
        let path = path.to_path_buf();
        move |error| BuildError::File { path, error }
    };
    std::fs::create_dir_all(&folder).map_err(file(&folder))?;
    let source = folder.join("canary.rs");
    std::fs::write(&source, SOURCE).map_err(file(&source))?;
    let mut arguments =
        vec!["--crate-name", "canary", "--crate-type", "lib", "--edition", "2024", "canary.rs"];
    arguments.extend(["--emit=metadata", "--out-dir", "."]);
    arguments.extend(wrapper::FLAGS);
    fence.rustc(&arguments, &folder)?.happy("compiling the canary")?;
    let unit = Unit {
        name: "canary".to_owned(),
        package: "canary@0.0.0".to_owned(),
        own: true,
        mir: folder.join("canary.mir"),
        source_root: folder.clone(),
        shown_root: String::new(),
        externs: Vec::new(),
        proc_macro_or_build: false,
    };
    let dialect = |what: String| BuildError::Dialect { what };
    let summary = summarise(&unit).map_err(|error| dialect(error.to_string()))?;
    let analysis = analyse(&[unit], &[summary]).map_err(|error| dialect(error.to_string()))?;
    let mut seen = 0;
    for verdict in analysis.functions.iter().filter(|one| one.kind == FunctionKind::Function) {
        let name = verdict.function.rsplit("::").next().unwrap_or_default();
        let Some(expected) = expected(name) else { continue };
        seen += 1;
        let found: Vec<Effect> = verdict.effects().iter().collect();
        if found != expected {
            let names =
                |effects: &[Effect]| effects.iter().map(|one| one.name()).collect::<Vec<_>>().join(" ");
            return Err(dialect(format!(
                "`{name}` should do `{}` and seems to do `{}`",
                names(&expected),
                names(&found)
            )));
        }
    }
    let all = SOURCE.matches("pub fn c_").count() + SOURCE.matches("pub async fn c_").count();
    if seen != all {
        return Err(dialect(format!("{seen} of {all} functions of the canary are seen")));
    }
    std::fs::write(&mark, "").map_err(file(&mark))
}

/// Reads what a function should do from its name: `c_fs_read__closure`, `c_nothing__loop`.
fn expected(name: &str) -> Option<Vec<Effect>> {
    let (effect, _) = name.strip_prefix("c_")?.split_once("__")?;
    if effect == "nothing" {
        return Some(Vec::new());
    }
    Effect::ALL.into_iter().find(|one| one.name().replace(['.', '-'], "_") == effect).map(|one| vec![one])
}

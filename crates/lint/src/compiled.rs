//! The engine that builds: from a project to what its functions do.

use crate::build::{BuildError, Builder, Described};
use crate::mir::{Unit, analyse};
use crate::project::{Project, SourcePackage, TargetKind};
use crate::{Analysis, Effect, Hop, Package, Place};

/// Builds a project inside the sandbox, and says what its functions do.
///
/// # Errors
///
/// It does not build, or what the compiler writes is not understood.
pub fn compiled(
    builder: &Builder<'_>,
    described: &Described,
    project: &Project,
) -> Result<Analysis, BuildError> {
    let crates = builder.build(described, project)?;
    let mut units = Vec::new();
    let mut doubts: Vec<(String, String)> = Vec::new();
    let mut summaries = Vec::new();
    for one in crates {
        let package = project.packages.iter().find(|package| package.folder == one.folder);
        if let Some(doubt) = one.doubt {
            doubts.push((format!("{}@{}", one.package.0, one.package.1), doubt));
        }
        let own = package.is_some_and(|package| package.own);
        units.push(Unit {
            package: format!("{}@{}", one.package.0, one.package.1),
            own,
            shown_root: shown_root(project, package, &one.directory, &one.package),
            name: one.name,
            mir: one.mir,
            source_root: one.directory,
            externs: one.externs,
            proc_macro_or_build: false,
        });
        summaries.push(one.summary);
    }
    let analysis =
        analyse(&units, &summaries).map_err(|error| BuildError::Dialect { what: error.to_string() })?;
    let mut analysis = with_inventory(analysis, project);
    for (id, doubt) in doubts {
        if let Some(package) = analysis.packages.iter_mut().find(|package| package.id() == id) {
            package.holds.insert(Effect::Unanalyzed);
            package.doubt = Some(doubt);
        }
    }
    Ok(analysis)
}

/// Returns what is put before the names of files: they start from where the compiler ran.
fn shown_root(
    project: &Project,
    package: Option<&SourcePackage>,
    directory: &std::path::Path,
    (name, version): &(String, String),
) -> String {
    let is_folder = package.is_some_and(|package| package.checksum.is_none());
    match directory.strip_prefix(&project.root) {
        Ok(below) if is_folder && below.as_os_str().is_empty() => String::new(),
        Ok(below) if is_folder => format!("{}/", below.display()),
        _ => format!("{name}-{version}/"),
    }
}

/// Adds what every package is, and packages that only run while others are built.
fn with_inventory(mut analysis: Analysis, project: &Project) -> Analysis {
    for source in &project.packages {
        let known =
            analysis.packages.iter().position(|one| one.name == source.name && one.version == source.version);
        let number = known.unwrap_or_else(|| {
            analysis.packages.push(Package {
                name: source.name.clone(),
                version: source.version.clone(),
                checksum: None,
                own: source.own,
                holds: crate::EffectSet::NONE,
                places: Vec::new(),
                doubt: None,
            });
            analysis.packages.len() - 1
        });
        let Some(package) = analysis.packages.get_mut(number) else { continue };
        package.checksum.clone_from(&source.checksum);
        package.own = source.own;
        let same =
            project.packages.iter().filter(|one| one.name == source.name && one.version == source.version);
        if same.count() > 1 {
            // No waiver says which of them is meant.
            package.checksum = Some("ambiguous".to_owned());
            package.holds.insert(Effect::Unanalyzed);
            package.doubt = Some("two packages of this name and version are in the program".to_owned());
        }
        for (kind, effect) in
            [(TargetKind::BuildScript, Effect::BuildScript), (TargetKind::ProcMacro, Effect::ProcMacro)]
        {
            let Some(target) = source.target(kind) else { continue };
            package.holds.insert(effect);
            let place: Place = project.place(source, &target.source, 1, 1);
            if !package.places.iter().any(|(known, _)| *known == effect) {
                package.places.push((effect, Hop { name: target.name.clone(), place: Some(place) }));
            }
        }
    }
    analysis.packages.sort_by(|one, other| {
        (!one.own, &one.name, &one.version).cmp(&(!other.own, &other.name, &other.version))
    });
    analysis
}

//! Packages that are told by their names, and whether they are what they are called.
//!
//! What is inside of ringfence's handles does not count against a tool, and crates that wrap system calls are told by the names of
//! their functions. Both would be a place to hide in for anybody who can call a package so.
//!
//! INVARIANT: a package that is told by its name and is no package of a registry under that very name holds `unanalyzed`.

use crate::project::{Project, SourcePackage, TargetKind};
use crate::{Analysis, Effect};

/// The packages that are told by their names.
pub const BELIEVED: [&str; 5] = ["getrandom", "libc", "nix", "ringfence", "rustix"];

/// Marks packages that are called like one that is believed, and of which only the project says what is in them.
pub fn mark_unproven(analysis: &mut Analysis, project: &Project) {
    for source in project.packages.iter().filter(|source| is_unproven(source)) {
        let mut same = analysis
            .packages
            .iter_mut()
            .filter(|one| one.name == source.name && one.version == source.version);
        if let Some(package) = same.next() {
            package.holds.insert(Effect::Unanalyzed);
            let doubt = "it has the name of a package that is told by its name, and is none of a registry";
            package.doubt.get_or_insert_with(|| doubt.to_owned());
        }
    }
}

fn is_unproven(package: &SourcePackage) -> bool {
    let libraries = package.targets.iter().filter(|target| target.kind == TargetKind::Library);
    let mut names = libraries.map(|target| target.name.as_str()).chain([package.name.as_str()]);
    let is_proven = package.checksum.is_some()
        && package.targets.iter().all(|target| {
            target.kind != TargetKind::Library
                || target.name == package.name
                || !BELIEVED.contains(&target.name.as_str())
        });
    names.any(|name| BELIEVED.contains(&name)) && !is_proven
}

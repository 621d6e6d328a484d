//! What runs while a project is built, and a new folder whenever that changes.
//!
//! A build script or a procedural macro can falsify what is said of its own project. It must be waived while it is there; what it
//! left behind must not outlive it.

use std::path::Path;

use sha2::{Digest, Sha256};

use crate::file::{Links, read_text};
use crate::project::{Project, Role, SourcePackage, TargetKind};

/// How many files of one folder are looked at, and how long one may be.
const MAX_FILES: usize = 5_000;
const MAX_FILE: u64 = 16 << 20;

/// Returns a digest of everything that runs while the project is built.
pub(crate) fn digest(project: &Project) -> String {
    let mut lines: Vec<String> = project.packages.iter().filter(|package| runs(package)).map(line).collect();
    lines.sort();
    let digest = Sha256::digest(lines.join("\n").as_bytes());
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn runs(package: &SourcePackage) -> bool {
    let is_runner = |kind| matches!(kind, TargetKind::BuildScript | TargetKind::ProcMacro);
    package.role == Role::Build || package.targets.iter().any(|target| is_runner(target.kind))
}

fn line(package: &SourcePackage) -> String {
    let content = package.checksum.clone().unwrap_or_else(|| content(&package.folder));
    format!("{} {content}", package.id())
}

/// Returns a digest of the code in a folder, whatever of it is used.
fn content(folder: &Path) -> String {
    let mut waiting = vec![folder.to_path_buf()];
    let mut files = Vec::new();
    while let Some(folder) = waiting.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().filter_map(Result::ok) {
            let path = entry.path();
            let kind = entry.file_type().ok();
            let is_code = path.extension().is_some_and(|extension| extension == "rs" || extension == "toml");
            let is_output = path.file_name().is_some_and(|name| name == "target" || name == ".git");
            if kind.is_some_and(|kind| kind.is_dir()) && !is_output {
                waiting.push(path);
            } else if kind.is_some_and(|kind| kind.is_file()) && is_code && files.len() < MAX_FILES {
                files.push(path);
            }
        }
    }
    files.sort();
    let mut digest = Sha256::new();
    for file in files {
        digest.update(file.as_os_str().as_encoded_bytes());
        digest.update(read_text(&file, MAX_FILE, Links::Refused).unwrap_or_default());
    }
    digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

//! What a command gets anyway: what `ringfence run` gives it without a word, for its programs and their companions.

use std::path::{Path, PathBuf};

use ringfence::sandbox::{Entry, Plan, Sandbox, SearchPath, Spec};

/// What a plan that grants programs and nothing else holds.
pub(super) struct Base {
    folders: Vec<PathBuf>,
    single: Vec<PathBuf>,
    started: Vec<(PathBuf, bool)>,
}

impl Base {
    fn of(plan: &Plan) -> Self {
        let mut base = Self { folders: Vec::new(), single: Vec::new(), started: Vec::new() };
        for entry in plan.base.iter().chain(&plan.root) {
            match entry {
                // What lies behind a link is reached through it.
                Entry::Bind { path, file: false, .. } | Entry::Link { path, .. } => {
                    base.folders.push(path.clone());
                }
                Entry::Proc | Entry::Scratch { .. } | Entry::Directory { .. } => {}
                _ => base.single.push(entry.path().to_path_buf()),
            }
        }
        // A command with hosts has one of its own, and one without has no use for it.
        base.single.push(PathBuf::from("/etc/resolv.conf"));
        let rules = plan.landlock.rules.iter().filter(|rule| rule.access.execute);
        base.started = rules.map(|rule| (rule.path.clone(), rule.file)).collect();
        base
    }

    /// Tells whether a path is there anyway.
    pub(super) fn covers(&self, path: &Path) -> bool {
        self.single.iter().any(|single| single == path)
            || self.folders.iter().any(|folder| path.starts_with(folder))
    }

    /// Tells whether a program may be started anyway.
    fn starts(&self, program: &Path) -> bool {
        self.started
            .iter()
            .any(|(path, file)| if *file { path == program } else { program.starts_with(path) })
    }
}

/// The programs that were started, and what comes with them.
pub(super) struct Programs {
    /// What is to be granted, as asked for; the command's own program first.
    pub(super) paths: Vec<PathBuf>,
    /// What could not be granted, and why.
    pub(super) refused: Vec<(PathBuf, String)>,
    pub(super) base: Base,
}

impl Programs {
    /// Finds the fewest programs that let all of `started` be started: pairs of the path asked for and the file it is.
    pub(super) fn fewest(
        sandbox: &Sandbox,
        own: &Path,
        started: impl IntoIterator<Item = (PathBuf, PathBuf)>,
    ) -> Result<Self, ringfence::sandbox::SandboxError> {
        let base = Base::of(&sandbox.plan(&Spec::new(own))?);
        let mut programs = Self { paths: vec![own.to_path_buf()], refused: Vec::new(), base };
        for (asked, real) in started {
            if programs.base.starts(&real) {
                continue;
            }
            let spec = programs.paths.iter().skip(1).fold(Spec::new(own), |spec, path| spec.binary(path));
            match sandbox.plan(&spec.binary(&asked)) {
                Ok(plan) => {
                    programs.base = Base::of(&plan);
                    programs.paths.push(asked);
                }
                Err(error) => programs.refused.push((asked, error.to_string())),
            }
        }
        Ok(programs)
    }
}

/// Returns what a toolbox calls a program: its bare name where that means this very file, else its path.
pub(super) fn written_name(program: &Path) -> Option<String> {
    let same = |found: &PathBuf| {
        let real = |path: &Path| std::fs::canonicalize(path).ok();
        real(found).is_some_and(|found| Some(found) == real(program))
    };
    let name = program.file_name()?.to_str()?;
    match SearchPath::default().find(name).filter(same) {
        Some(_) => Some(name.to_owned()),
        None => program.to_str().map(str::to_owned),
    }
}

//! A backend together with what is known of this machine.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use ringfence_policy::Assurance;

use crate::adapter::Adapter;
use crate::backend::foreign::Foreign;
use crate::backend::{Backend, Tier};
use crate::error::SandboxError;
use crate::hidden::{HiddenPaths, make_missing};
use crate::host::Platform;
#[cfg(target_os = "linux")]
use crate::host::{Mounts, find};
#[cfg(target_os = "linux")]
use crate::plan::Entry;
use crate::plan::{Network, Plan, Seen, writable_roots};
#[cfg(target_os = "linux")]
use crate::quarantine::{Before, Mark, Marks, quarantine, recover};
use crate::report::Report;
#[cfg(target_os = "linux")]
use crate::report::{Quarantined, Unmounted};
use crate::spec::Spec;
use crate::stream::Streams;

/// Runs commands, confined.
#[derive(Debug)]
pub struct Sandbox {
    backend: Box<dyn Backend>,
    weakest: Tier,
    assurance: Assurance,
    home: Option<PathBuf>,
    marks: Vec<PathBuf>,
    own: Vec<PathBuf>,
    hidden: HiddenPaths,
    /// Why no stronger backend was chosen.
    fallback: Option<String>,
}

/// Removes the mark of a run when everything it left has been moved; otherwise the next run looks again.
#[cfg(target_os = "linux")]
fn settle(
    mark: Option<Mark>,
    plan: &Plan,
    ran: Result<Report, SandboxError>,
) -> Result<Report, SandboxError> {
    let Some(mark) = mark else { return ran };
    match ran {
        Ok(mut report) => {
            let settled = if report.left.is_empty() { mark.remove() } else { mark.check_place() };
            if let Err(error) = settled {
                report
                    .left
                    .extend(plan.guarded.first().map(|tree| (tree.clone(), format!("its mark: {error}"))));
            }
            Ok(report)
        }
        Err(error) => {
            // What failed may have failed after something ran.
            let aftermath = quarantine(plan);
            let moved =
                aftermath.moved.iter().map(|one| format!("`{}` was moved aside", one.found.display()));
            let left =
                aftermath.left.iter().map(|(path, why)| format!("`{}` is left: {why}", path.display()));
            let told: Vec<String> = moved.chain(left).collect();
            let settled = if aftermath.left.is_empty() { mark.remove() } else { mark.check_place() };
            let told: Vec<String> =
                told.into_iter().chain(settled.err().map(|error| format!("its mark: {error}"))).collect();
            if told.is_empty() {
                return Err(error);
            }
            Err(SandboxError::Unfinished { what: format!("{error}; {}", told.join("; ")) })
        }
    }
}

/// Tells whether the command of a plan can neither write to a folder of ours nor put another in its place.
#[cfg(target_os = "linux")]
fn is_out_of_reach(folder: &Path, plan: &Plan) -> bool {
    let Ok(found) = find(folder) else { return false };
    let is_in_tree = |path: &Path| plan.guarded.iter().any(|tree| path.starts_with(tree) && path != tree);
    let is_pinned = |path: &Path| plan.pins.iter().any(|pin| pin.path == path);
    let stays = |path: &Path| path.ancestors().skip(1).take_while(|above| is_in_tree(above)).all(is_pinned);
    let is_hidden = |real: &Path| {
        plan.root.iter().any(|entry| match entry {
            Entry::Hidden { path, .. } => real.starts_with(path) && is_in_tree(path) && stays(path),
            _ => false,
        })
    };
    let is_outside = |real: &Path| !plan.guarded.iter().any(|tree| real.starts_with(tree));
    // The same folder can be mounted in a tree.
    let Ok(mounts) = Mounts::read() else { return false };
    let mut places = mounts.aliases(&found.real);
    places.push(found.real);
    places.iter().all(|real| is_outside(real) || is_hidden(real))
        && found.links.iter().all(|(link, _)| !is_in_tree(link) || (is_pinned(link) && stays(link)))
}

impl Sandbox {
    /// Runs everything through this backend.
    pub fn new(backend: impl Backend + 'static) -> Self {
        Self {
            backend: Box::new(backend),
            weakest: Tier::Partial,
            assurance: Assurance::Claimed,
            home: None,
            marks: Vec::new(),
            own: Vec::new(),
            hidden: HiddenPaths::default(),
            fallback: None,
        }
    }

    /// Runs everything through an adapter. What it says of its enforcement is a claim, and is recorded as one.
    pub fn foreign(adapter: impl Adapter + 'static) -> Self {
        Self::new(Foreign(Box::new(adapter)))
    }

    /// Says why no stronger backend was chosen.
    pub(crate) fn chosen_because(mut self, why: String) -> Self {
        self.fallback = Some(why);
        self
    }

    /// Returns why a weaker backend was chosen automatically, where that is so: what is wrong with the stronger ones.
    pub fn fallback(&self) -> Option<&str> {
        self.fallback.as_deref()
    }

    /// Says that forbidden acts were tried through this backend, and failed.
    pub(crate) fn seen_to_refuse(mut self) -> Self {
        self.assurance = Assurance::Probed;
        self
    }

    /// Refuses to run anything below this tier.
    #[must_use]
    pub fn at_least(mut self, tier: Tier) -> Self {
        self.weakest = tier;
        self
    }

    /// Says whose home git configurations mean by `~/`, and which configuration of git is this user's. Without it only those of the
    /// machine and of repositories count. Also for specifications that do not say it: see [`Spec::home`].
    #[must_use]
    pub fn home(mut self, home: impl Into<PathBuf>) -> Self {
        self.home = Some(home.into());
        self
    }

    /// Marks each run that may write in the first of these folders that can be used, until it has been looked at what it left: when this
    /// process is killed before, the next run looks first. Without a folder nothing is marked.
    #[must_use]
    pub fn mark_runs_in(mut self, folders: impl IntoIterator<Item = PathBuf>) -> Self {
        self.marks = folders.into_iter().collect();
        self
    }

    /// Hides these folders from every command, with everything in them: what this program keeps for itself.
    #[must_use]
    pub fn own_folders(mut self, folders: impl IntoIterator<Item = PathBuf>) -> Self {
        self.own = folders.into_iter().collect();
        self
    }

    /// Hides these files from every command, whatever it is granted. A grant of one of them itself is refused.
    #[must_use]
    pub fn hide(mut self, hidden: HiddenPaths) -> Self {
        self.hidden = hidden;
        self
    }

    /// Returns the backend.
    pub fn backend(&self) -> &dyn Backend {
        &*self.backend
    }

    /// Says what a run would do. First makes up for runs on the same folders that were killed: what they left there is moved aside.
    ///
    /// # Errors
    ///
    /// A path or program is missing, the specification cannot be enforced, or something of a killed run is left.
    pub fn plan(&self, spec: &Spec) -> Result<Plan, SandboxError> {
        #[cfg(target_os = "linux")]
        let (recovered, unmounted) = self.recover(spec)?;
        #[cfg(not(target_os = "linux"))]
        let (recovered, unmounted) = (Vec::new(), Vec::new());
        let spec = match &self.home {
            Some(home) if spec.home.is_none() => Cow::Owned(spec.clone().home(home)),
            Some(_) | None => Cow::Borrowed(spec),
        };
        let (folders, hidden) = (self.made_folders(&spec), self.hidden.list());
        make_missing(&hidden, &writable_roots(&spec))?;
        let seen = Seen::look_for(&spec, Platform::of_this_machine(), &folders, &hidden)?;
        Ok(Plan { recovered, unmounted, ..Plan::new(&spec, &seen)? })
    }

    /// Returns the folders in which marks and other things of ours are kept, which no command is to see. For a run that may write
    /// or look there they are made first: what is not there cannot be hidden, and would be made where the command can write.
    fn made_folders(&self, spec: &Spec) -> Vec<PathBuf> {
        let mut all = Vec::new();
        for folder in &self.marks {
            #[cfg(target_os = "linux")]
            if spec
                .trees
                .iter()
                .chain(&spec.possible)
                .any(|tree| tree.access.write || folder.starts_with(&tree.path))
            {
                // Whether it can be used is seen when the run is marked.
                let _made = Marks::open(folder);
            }
            // What is in a folder of ours is hidden with it.
            if !self.own.iter().any(|own| folder.starts_with(own)) {
                all.push(folder.clone());
            }
        }
        all.extend(self.own.iter().cloned());
        all
    }

    /// Makes up for killed runs, in what this one may write and nowhere else: a mark is no reason to move anything that the run
    /// was not asked to touch.
    #[cfg(target_os = "linux")]
    fn recover(&self, spec: &Spec) -> Result<(Vec<Quarantined>, Vec<Unmounted>), SandboxError> {
        let (mut moved, mut unmounted) = (Vec::new(), Vec::new());
        let written = spec.trees.iter().chain(&spec.possible).filter(|tree| tree.access.write);
        let written: Vec<PathBuf> =
            written.filter_map(|tree| find(&tree.path).ok()).map(|found| found.real).collect();
        if written.is_empty() {
            return Ok((moved, unmounted));
        }
        let concerns = |tree: &Path| written.iter().any(|own| tree.starts_with(own));
        for folder in &self.marks {
            let recovered = recover(folder, concerns);
            moved.extend(recovered.moved);
            unmounted.extend(recovered.unmounted);
            if recovered.left.is_empty() {
                continue;
            }
            let shown = |path: &Path| path.to_string_lossy().escape_debug().to_string();
            let left = recovered.left.iter().map(|(path, why)| format!("`{}`: {why}", shown(path)));
            let aside = moved.iter().map(|one| format!("`{}` was moved aside", shown(&one.found)));
            let told = left.chain(aside).collect::<Vec<_>>().join("; ");
            return Err(SandboxError::Unfinished { what: format!("{told} (marked in `{}`)", shown(folder)) });
        }
        Ok((moved, unmounted))
    }

    /// Marks a run, where it may write.
    #[cfg(target_os = "linux")]
    fn mark(&self, plan: &Plan) -> Result<Option<Mark>, SandboxError> {
        if plan.guarded.is_empty() || self.marks.is_empty() {
            return Ok(None);
        }
        let before = Before::of(plan);
        let mut last = None;
        for folder in &self.marks {
            let begun = Marks::open(folder).and_then(|marks| match is_out_of_reach(folder, plan) {
                true => marks.begin(&before),
                false => Err(std::io::Error::other("the command could write there; grant less around it")),
            });
            match begun {
                Ok(mark) => return Ok(Some(mark)),
                Err(error) => last = Some((folder, error)),
            }
        }
        let failed = |(folder, error): (&PathBuf, std::io::Error)| SandboxError::Inexpressible {
            what: format!("writing: the run cannot be marked in `{}`: {error}", folder.display()),
        };
        last.map_or(Ok(None), |last| Err(failed(last)))
    }

    /// Runs a command to its end.
    ///
    /// # Errors
    ///
    /// Nothing was started, and why.
    pub fn run(&self, spec: &Spec, streams: Streams<'_>) -> Result<Report, SandboxError> {
        self.run_plan(&self.plan(spec)?, streams)
    }

    /// Runs a plan that was made before.
    ///
    /// # Errors
    ///
    /// Nothing was started, and why.
    pub fn run_plan(&self, plan: &Plan, streams: Streams<'_>) -> Result<Report, SandboxError> {
        let found = self.backend.tier();
        if found < self.weakest {
            return Err(SandboxError::Tier { found, wanted: self.weakest });
        }
        if self.assurance < plan.assurance {
            return Err(SandboxError::Assurance {
                backend: self.backend.name(),
                found: self.assurance,
                wanted: plan.assurance,
            });
        }
        let unsupported = self.backend.unsupported();
        let missing =
            plan.parts().into_iter().filter(|part| unsupported.contains(part) && plan.insists_on(*part));
        let missing: Vec<String> = missing.map(|part| part.to_string()).collect();
        if !missing.is_empty() {
            let what = format!("with `{}`: {}", self.backend.name(), missing.join("; "));
            return Err(SandboxError::Inexpressible { what });
        }
        if let (Network::Gated(_), None) = (&plan.network, &streams.gate) {
            let what = "a grant of hosts: nobody opens an egress gate for it".into();
            return Err(SandboxError::Inexpressible { what });
        }
        #[cfg(target_os = "linux")]
        let mark = self.mark(plan)?;
        let ran = self.backend.run(plan, streams);
        #[cfg(target_os = "linux")]
        let ran = settle(mark, plan, ran);
        let mut report = ran?;
        report.quarantined.splice(0..0, plan.recovered.iter().cloned());
        Ok(Report { assurance: self.assurance, ..report })
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests;

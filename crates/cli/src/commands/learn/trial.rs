//! The run that is watched.

use std::ffi::OsString;
use std::io::{IsTerminal, Write};
use std::ops::ControlFlow;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use ringfence::egress::Evidence;
use ringfence::policy::Limits;
use ringfence::sandbox::{
    Access, Entry, Plan, Record, Report, Sandbox, SandboxError, SearchPath, Spec, Stream, Streams,
};

use super::LearnArgs;
use super::ceiling::Ground;
use super::earlier::Earlier;
use crate::error::CommandError;
use crate::interrupt::Interrupt;
use crate::network::{CommandNetwork, NetworkArgs, Told};

/// Everything a run needs.
pub(super) struct Trial<'a> {
    pub(super) args: &'a LearnArgs,
    pub(super) ground: &'a Ground,
    pub(super) earlier: &'a Earlier,
    pub(super) limits: Limits,
    pub(super) sandbox: &'a Sandbox,
}

/// What came of it.
pub(super) struct Tried {
    /// The program that was started.
    pub(super) program: PathBuf,
    pub(super) record: Record,
    pub(super) evidence: Vec<Evidence>,
    /// How it ended, as a shell would say.
    pub(super) code: i32,
    plan: Plan,
    report: Report,
}

/// Why it did not run.
pub(super) enum Failure {
    Own(CommandError),
    Refused(SandboxError),
}

impl From<SandboxError> for Failure {
    fn from(error: SandboxError) -> Self {
        Self::Refused(error)
    }
}

impl From<CommandError> for Failure {
    fn from(error: CommandError) -> Self {
        Self::Own(error)
    }
}

impl Trial<'_> {
    /// Runs the command to its end.
    pub(super) fn run(&self, out: &mut dyn Write) -> Result<Tried, Failure> {
        let hosts = self.args.host.iter().chain(&self.earlier.hosts).cloned().collect();
        let private = self.args.private.iter().chain(&self.earlier.learnt.private).cloned().collect();
        let network = NetworkArgs::of(hosts, private, self.args.resolve.clone());
        let grant = network.grant(None)?;
        let (spec, program) = self.spec()?;
        // Also where nothing is granted: which names it asks for is to be seen.
        let plan = self.sandbox.plan(&spec.gated(&grant))?;
        let start = |error| Failure::Own(CommandError::Start(error));
        let network = CommandNetwork::new(&network, grant, plan.limits, Told::Nobody).map_err(start)?;
        let (interrupt, leash) = Interrupt::new().map_err(start)?;
        let mut streams = Streams::default().leash(leash.into()).gate(|made| network.open(made));
        let stdin = std::io::stdin();
        if !stdin.is_terminal()
            && let Ok(descriptor) = stdin.as_fd().try_clone_to_owned()
        {
            streams = streams.input_from(descriptor);
        }
        let _flushed = out.flush();
        // Standard output is the command's only when nothing of ours goes there.
        let is_free = self.args.out.is_some() && !self.args.json;
        let (mut stdout, mut stderr) = (crate::print::passed_output(), crate::print::passed_errors());
        let streams = streams.observe(move |stream, bytes| {
            let written = match stream {
                Stream::Output if is_free => stdout.write_all(bytes).and_then(|()| stdout.flush()),
                Stream::Error | Stream::Output => stderr.write_all(bytes),
            };
            if written.is_err() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        let ran = self.sandbox.run_plan(&plan, streams);
        let (connections, _) = network.close();
        let mut report = ran?;
        let record = report.record.take().unwrap_or_default();
        let code = interrupt.received().map_or(report.ending.code(), |signal| 128 + signal);
        Ok(Tried { program, record, evidence: connections.listed, code, plan, report })
    }

    fn spec(&self) -> Result<(Spec, PathBuf), Failure> {
        let input = |message: String| Failure::Own(CommandError::Input { message, hint: None });
        let (name, arguments) =
            self.args.command.split_first().ok_or_else(|| input("no command is given".into()))?;
        let search =
            SearchPath::default().and(std::env::var_os("PATH").iter().flat_map(std::env::split_paths));
        let here = |name: &str| {
            let path = self.ground.workspace.join(Path::new(name));
            ringfence::policy::normalise(&path).ok().filter(|_| name.contains('/'))
        };
        let program = name.to_str().and_then(|name| search.find(name).or_else(|| here(name)));
        let program = program.unwrap_or_else(|| PathBuf::from(name));
        let mut spec = self.ground.around(
            Spec::new(&program).called(name).arguments(arguments.iter().cloned()).limits(self.limits),
        );
        let learnt = &self.earlier.learnt;
        for (paths, access) in [(&learnt.read, Access::READ), (&learnt.write, Access::WRITE)] {
            let there = paths.iter().filter(|path| path.exists());
            // What the round before grants inside the workspace, it has anyway.
            for path in there.filter(|path| !self.ground.may_write(path)) {
                spec = spec.tree(path, access);
            }
        }
        let earlier = learnt.environment.iter().chain(&self.args.env);
        for variable in earlier {
            let (name, value) = match variable.split_once('=') {
                Some((name, value)) => (name, Some(OsString::from(value))),
                None => (variable.as_str(), std::env::var_os(variable)),
            };
            if name.is_empty() {
                return Err(input(format!("`{variable}` is not NAME or NAME=VALUE")));
            }
            if let Some(value) = value {
                spec = spec.variable(name, value);
            }
        }
        Ok((spec, program))
    }
}

impl Tried {
    /// Returns what was hidden from the command.
    pub(super) fn hidden(&self) -> Vec<PathBuf> {
        let entries = self.plan.base.iter().chain(&self.plan.root);
        entries
            .filter_map(|entry| match entry {
                Entry::Hidden { path, .. } => Some(path.clone()),
                _ => None,
            })
            .collect()
    }

    /// Returns what whoever uses the toolbox is to know of the run.
    pub(super) fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.code != 0 {
            notes.push(format!(
                "The command ended with {}: what it would have done afterwards is not in here.",
                self.code
            ));
        }
        for sentence in super::super::run::limit::sentences(&self.report, &self.plan.limits) {
            notes.push(format!("Limits: {sentence}."));
        }
        if self.record.left_out > 0 {
            notes.push(format!(
                "{} calls named more paths than are kept; they are not in here.",
                self.record.left_out
            ));
        }
        if self.record.unread > 0 {
            notes.push(format!(
                "What {} calls named could not be read; it is not in here.",
                self.record.unread
            ));
        }
        for path in &self.plan.left_out {
            // One that may be read by nobody is no news.
            if path.is_dir() && std::fs::read_dir(path).is_ok() {
                notes.push(format!(
                    "`{}` was not given while learning: it is protected, or too large to be searched.",
                    path.display()
                ));
            }
        }
        for one in &self.report.quarantined {
            notes.push(format!(
                "It made `{}`, which is protected; it was moved to `{}`.",
                one.found.display(),
                one.moved.display()
            ));
        }
        for (path, why) in &self.report.left {
            let what = if self.report.is_replaced(path) { "" } else { " and could not be moved aside" };
            notes.push(format!("`{}` is protected{what}: {why}.", path.display()));
        }
        notes
    }
}

//! Questions to the policy, decided by the same judges that a call meets.
//!
//! INVARIANT: what is answered with yes is something that a call would really be let through to.

use std::path::{Path, PathBuf};

use ringfence::policy::{
    Decision, Direction, FsGrant, ListKind, ListOwner, PathPattern, Reach, Target, ToolName, Variables,
    normalise, resolve_capabilities,
};
use ringfence::{
    Access, Capabilities, Code, FileKind, FsError, Grant, HostFiles, Personality, Refusal, ScopedFs,
};
use ringfence_server::console::{DeskError, PolicyAnswer, PolicyQuestion, Surface};

use super::definition::class_of;
use super::fault::input;
use super::grant::Named;
use super::line::Lines;
use super::{FileDesk, View};

/// How long what is asked about may be.
const LONGEST: usize = 4096;

/// A question that was understood, about capabilities under a personality.
pub(crate) struct Case {
    pub(crate) reach: Reach,
    /// The lists that decide it.
    pub(crate) kind: ListKind,
    pub(crate) variables: Variables,
    files: HostFiles,
}

impl Case {
    /// Decides it.
    pub(crate) fn judge(&self, declared: &Capabilities, personality: &Personality) -> Result<(), Refusal> {
        let mut grant = resolve_capabilities(declared, personality)?;
        if let Some(fs) = &mut grant.fs {
            *fs = self.files.named_both_ways(fs);
        }
        let (access, direction, path) = match &self.reach {
            Reach::Read(path) => (Access::Read, Direction::Read, path),
            Reach::Write(path) => (Access::Write, Direction::Write, path),
            other => return grant.judge(other),
        };
        let fs = grant.fs.unwrap_or_default();
        let Err(error) = check(&fs, access, path, &self.files, self.variables.workspace.as_deref()) else {
            return Ok(());
        };
        let is_folder = matches!(error, FsError::WrongKind { found: FileKind::Directory, .. });
        if error.is_not_found() || is_folder {
            // That nothing is there, or that it is a folder, is nothing the policy has decided.
            return match self.whole(path) {
                Some(path) => fs.judge(&path, direction),
                None => Err(direction.refusal(path)),
            };
        }
        Err(refusal_of(error))
    }

    /// Returns a path that is normal and starts at the root.
    pub(crate) fn whole(&self, path: &Path) -> Option<PathBuf> {
        let folder = self.variables.workspace.as_deref().unwrap_or(Path::new(""));
        normalise(&folder.join(path)).ok()
    }
}

impl FileDesk {
    pub(super) fn answer(&self, question: &PolicyQuestion) -> Result<PolicyAnswer, DeskError> {
        let case = understood(question, self.place.variables())?;
        let view = self.view()?;
        let text = if self.place.is_json() { "" } else { view.loaded.text() };
        let lines = Lines::of(text);
        let tool = question.tool.as_str();
        let Some(named) = view.named(tool) else {
            return Ok(refused(&Refusal::new(Code::ToolUnknown, format!("no tool is named `{tool}`"))));
        };
        let personality = &view.loaded.personality;
        if !personality.permits_tool(tool) {
            let message = format!("tool `{tool}` is not in the personality's toolset");
            let refusal = Refusal::new(Code::ToolNotPermitted, message)
                .hint(format!("add `{tool}` to the personality's `tools`"));
            let lines = lines.list(ListOwner::Personality, ListKind::Tools);
            return Ok(PolicyAnswer { lines, ..refused(&refusal) });
        }
        let declared = named.capabilities();
        let owner = match &named {
            Named::Own(own) => ListOwner::Tool(own.name.as_str()),
            Named::Sent(server, _) => ListOwner::Server(server.name.as_str()),
        };
        match case.judge(&declared, personality) {
            Err(refusal) if refusal.code == Code::InputInvalid => Err(input(refusal.message)),
            Err(refusal) => {
                let lines = lines.missing(&case, owner, &declared, personality);
                Ok(PolicyAnswer { lines, ..refused(&refusal) })
            }
            Ok(()) => {
                let lines = lines.admitting(&case, owner, &declared, personality);
                let answer = match view.withheld(&named, tool) {
                    Some(refusal) => refused(&refusal),
                    None => allowed(view.decision(&named, tool)?),
                };
                Ok(PolicyAnswer { lines, ..answer })
            }
        }
    }
}

impl View {
    /// Returns why calls of a tool are refused whatever they reach.
    fn withheld(&self, named: &Named<'_>, tool: &str) -> Option<Refusal> {
        let why = match named {
            Named::Own(own) => {
                let digest = ringfence::definition_digest(own).unwrap_or_default();
                self.own_standing(own, &digest).1
            }
            Named::Sent(entry, one) => self.sent_standing(entry.name.as_str(), Some(entry), one).1,
        };
        let why = why?;
        let message = format!("the policy permits the reach, and `{tool}` is withheld: {why}");
        Some(Refusal::new(Code::ToolQuarantined, message).hint("look at its definition, and decide about it"))
    }

    fn decision(&self, named: &Named<'_>, tool: &str) -> Result<Decision, DeskError> {
        let class = match named {
            Named::Own(own) => own.class(),
            Named::Sent(entry, one) => class_of(entry, one),
        };
        let name: ToolName = tool.parse().map_err(|error| input(format!("`{tool}`: {error}")))?;
        Ok(self.loaded.personality.approvals.decision_with(class, &named.capabilities(), &name))
    }
}

/// Reads a question.
pub(crate) fn understood(question: &PolicyQuestion, variables: Variables) -> Result<Case, DeskError> {
    let what = question.what.trim();
    if what.is_empty() || what.len() > LONGEST || what.contains(char::is_control) {
        return Err(input("what is asked about is 1 to 4096 bytes without control characters"));
    }
    let path = || path(what, &variables);
    let (reach, kind) = match question.surface {
        Surface::Host => (host(what)?, ListKind::Hosts),
        Surface::Read => (Reach::Read(path()?), ListKind::Read),
        Surface::Write => (Reach::Write(path()?), ListKind::Write),
        Surface::Secret => (Reach::Secret(what.to_owned()), ListKind::Secrets),
        Surface::Binary => (Reach::Binary(what.to_owned()), ListKind::Binaries),
        Surface::Environment => (Reach::Env(what.to_owned()), ListKind::Environment),
    };
    Ok(Case { reach, kind, variables, files: HostFiles::new() })
}

/// Reads a URL, or a host with or without a port; without one it is the port of https.
fn host(what: &str) -> Result<Reach, DeskError> {
    let failed = |error: ringfence::policy::HostError| input(error.to_string());
    if what.contains("://") {
        Target::from_url(what).map_err(failed)?;
        return Ok(Reach::Url(what.to_owned()));
    }
    let is_bare_v6 = what.parse::<std::net::Ipv6Addr>().is_ok();
    let has_port = !is_bare_v6 && what.rsplit_once(':').is_some_and(|(_, port)| !port.ends_with(']'));
    let authority = match (is_bare_v6, has_port) {
        (true, _) => format!("[{what}]:443"),
        (false, true) => what.to_owned(),
        (false, false) => format!("{what}:443"),
    };
    Target::from_authority(&authority).map_err(failed)?;
    Ok(Reach::Connect(authority))
}

/// Reads a path, which may start with a variable as it may in the policy.
fn path(what: &str, variables: &Variables) -> Result<PathBuf, DeskError> {
    if !what.starts_with('~') && !what.starts_with("${") {
        return Ok(what.into());
    }
    let failed = |error: ringfence::policy::PathError| input(error.to_string());
    let pattern = what.parse::<PathPattern>().map_err(failed)?.expand(variables).map_err(failed)?;
    Ok(pattern.as_str().into())
}

fn refused(refusal: &Refusal) -> PolicyAnswer {
    PolicyAnswer {
        allowed: false,
        code: Some(refusal.code.as_str().to_owned()),
        message: refusal.message.to_string(),
        hint: refusal.hint.as_ref().map(ToString::to_string),
        lines: Vec::new(),
    }
}

fn allowed(decision: Decision) -> PolicyAnswer {
    let message = match decision {
        Decision::Allow => "allowed",
        Decision::Ask => "allowed once a person has agreed to the call",
        Decision::AskTwo => "allowed once two people have agreed to the call",
        Decision::Forbid => {
            let message = "the policy permits the reach, and forbids calls of this tool whoever agrees";
            return refused(
                &Refusal::new(Code::Forbidden, message).hint("change the personality's `approvals`"),
            );
        }
    };
    PolicyAnswer { allowed: true, code: None, message: message.to_owned(), hint: None, lines: Vec::new() }
}

/// Judges a reach: paths on the real file system as the handle would, the rest by name.
pub(crate) fn judge_reach(
    grant: &Grant,
    reach: &Reach,
    files: &HostFiles,
    cwd: Option<&Path>,
) -> Result<(), Refusal> {
    let (access, path) = match reach {
        Reach::Exists(path) => (Access::Exists, path),
        Reach::List(path) => (Access::List, path),
        Reach::Read(path) => (Access::Read, path),
        Reach::Write(path) => (Access::Write, path),
        Reach::Binary(_) | Reach::Connect(_) | Reach::Env(_) | Reach::Secret(_) | Reach::Url(_) => {
            return grant.judge(reach);
        }
    };
    check(&grant.fs.clone().unwrap_or_default(), access, path, files, cwd).map_err(refusal_of)
}

fn check(
    grant: &FsGrant,
    access: Access,
    path: &Path,
    files: &HostFiles,
    cwd: Option<&Path>,
) -> Result<(), FsError> {
    ScopedFs::new(files, grant.clone(), cwd.map(Path::to_path_buf)).check(access, path)
}

fn refusal_of(error: FsError) -> Refusal {
    match error {
        FsError::Refused(refusal) => refusal,
        failed => Refusal::new(failed.code(), failed.to_string()),
    }
}

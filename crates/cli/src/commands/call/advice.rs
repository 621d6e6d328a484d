//! What to type after a call was refused: what explains it, and what lets people agree where they must first.
//!
//! INVARIANT: the lines can be pasted into a shell, and hold no URL, which may hold a password.

use std::fmt::Write as _;

use ringfence::policy::explain::explain_line;
use ringfence::{ApprovalStore, Code, Outcome, Report, RequestFilter, RequestState};
use ringfence_store::{Database, Filter};

use super::{AskedBy, CallArgs};
use crate::load::Place;
use crate::shown::shell_word as quoted;
use crate::store::StoreName;

/// Returns the command lines that show and approve the request, and the one that calls again.
pub(super) async fn after_asking(
    args: &CallArgs,
    place: &Place,
    run: &str,
    store: &dyn Database,
) -> Option<String> {
    let state = Some(RequestState::Open);
    let filter = RequestFilter { state, run: Some(run.to_owned()), ..RequestFilter::default() };
    let open = ApprovalStore::requests(store, &filter).await.ok()?;
    let filed = open.into_iter().find(|filed| filed.request.tool.as_str() == args.tool)?;
    let (id, flag) = (&filed.id, store_flag(args.store.as_ref()));
    let mut advice = String::from("whoever may agree looks at it and answers with their token:\n");
    // Writing to a string cannot fail.
    let _written = writeln!(advice, "    ringfence approvals show {id}{flag}");
    let _written = writeln!(advice, "    ringfence approvals approve {id}{flag} --token-file FILE");
    let _written = write!(advice, "  and then the same call runs:\n    {}", again(args, place, run, &flag));
    Some(advice)
}

/// Returns the line that explains why a call was not done: by its record where one is kept, else by its code. What a tool failed
/// with for a reason of its own, no rule has decided.
pub(super) async fn explained(
    args: &CallArgs,
    place: &Place,
    run: &str,
    report: &Report,
    store: Option<&dyn Database>,
) -> Option<String> {
    let code = deciding_code(&report.outcome)?;
    let of_run = Filter { kind: Some("call".to_owned()), run: Some(run.to_owned()), ..Filter::default() };
    let newest = match store {
        // The newest call of the run is the one that has just ended.
        Some(store) => store.newest(&of_run, 1).await.ok().and_then(|mut all| all.pop()),
        None => None,
    };
    match (newest, &args.audit) {
        (Some(stored), _) => Some(entry_explained(stored.index, args.store.as_ref(), place)),
        (None, Some(file)) => {
            let subject = quoted(&format!("{run}/{}", report.call));
            let line = format!("{} --audit {}", explain_line(&subject), quoted(&file.to_string_lossy()));
            Some(line + &place_flags(place))
        }
        (None, None) => Some(explain_line(code.as_str())),
    }
}

/// Returns the code of the rule that decided, where one did.
pub(crate) fn deciding_code(outcome: &Outcome) -> Option<Code> {
    match outcome {
        // A program may have failed for what its fence refused it; its message says so.
        Outcome::Failed(failure) if failure.code == Code::ExecutionFailed => {
            Code::ALL.into_iter().find(|code| failure.message.contains(code.as_str()))
        }
        outcome => outcome.code(),
    }
}

/// Returns the line that explains an entry of a store, which a flag may have named.
pub(crate) fn entry_explained(index: u64, flag: Option<&StoreName>, place: &Place) -> String {
    format!("{}{}{}", explain_line(&index.to_string()), store_flag(flag), place_flags(place))
}

/// The flags that name the policy and the workspace, where they are not the usual ones.
fn place_flags(place: &Place) -> String {
    let mut line = String::new();
    let policy = place.policy.to_string_lossy();
    if policy != "ringfence.toml" {
        let _written = write!(line, " --policy {}", quoted(&policy));
    }
    if let Some(workspace) = &place.workspace {
        let _written = write!(line, " --workspace {}", quoted(&workspace.to_string_lossy()));
    }
    line
}

/// What to look at after a mistake of whoever calls.
pub(super) const fn usual(code: Code) -> Option<&'static str> {
    match code {
        Code::InputInvalid => Some("`ringfence tools --json` shows which arguments each tool takes"),
        Code::ToolUnknown => Some("`ringfence tools` lists the tools of the toolbox"),
        _ => None,
    }
}

/// The flag that names the store, unless the variable does or the name is a URL.
fn store_flag(flag: Option<&StoreName>) -> String {
    match flag {
        Some(StoreName::File(path)) => format!(" --store {}", quoted(&path.to_string_lossy())),
        Some(StoreName::Relative(_) | StoreName::Url(_)) | None => String::new(),
    }
}

fn again(args: &CallArgs, place: &Place, run: &str, store: &str) -> String {
    let mut line = String::from("ringfence");
    let mut flag = |name: &str, value: Option<&str>| {
        if let Some(value) = value {
            let _written = write!(line, " --{name} {}", quoted(value));
        }
    };
    let policy = place.policy.to_string_lossy();
    flag("policy", Some(&*policy).filter(|policy| *policy != "ringfence.toml"));
    flag("workspace", place.workspace.as_ref().map(|path| path.to_string_lossy()).as_deref());
    line.push_str(" call");
    line.push_str(store);
    let mut flag = |name: &str, value: Option<&str>| {
        if let Some(value) = value {
            let _written = write!(line, " --{name} {}", quoted(value));
        }
    };
    flag("run", Some(run));
    flag("session", Some(args.session.as_str()).filter(|session| *session != "cli"));
    flag("proposer", Some(args.proposer.as_str()).filter(|proposer| *proposer != "agent"));
    flag("asked-by", matches!(args.asked_by, AskedBy::Code).then_some("code"));
    flag("idempotency-key", args.idempotency_key.as_deref());
    flag("deadline", args.deadline.map(|deadline| deadline.to_string()).as_deref());
    flag("wait", args.wait.map(|wait| wait.to_string()).as_deref());
    let _written = write!(line, " {} {}", quoted(&args.tool), quoted(&args.arguments));
    line
}

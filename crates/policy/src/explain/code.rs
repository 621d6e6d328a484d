//! What is said of the codes of calls.

use super::Text;
use crate::Code;

/// Returns what is said beside the meaning.
pub(super) const fn text(code: Code) -> Text {
    let (decided, change, also) = match code {
        Code::ApprovalDenied => (
            "a person, or the person at the terminal; the audit keeps who, and the reason they gave",
            "none is advised: ask whoever refused; a call with other arguments is another question",
            "a route of `auto` for the class in the personality's `approvals` would ask nobody about any call of that class",
        ),
        Code::ApprovalRequired => (
            "the personality's `approvals`, for the class of the tool or for the tool; `financial` asks one person and `privileged` two where nothing is written",
            "have somebody agree: `ringfence approvals list`, then `ringfence approvals approve ID`, and make the same call again",
            "an approval is for this call with these arguments; a route of `auto` would let any call of that class run without a person",
        ),
        Code::AuditFailed => (
            "the store or the audit file, which could not be written; nothing runs without a record",
            "make room or give the rights back, then look with `ringfence store check`; no change of the policy helps",
            "nothing: a call that cannot be recorded is not made, and no rule changes that",
        ),
        Code::BinaryNotAllowed => (
            "the tool's `process.allowedBinaries` and the personality's `process.allow`",
            "add the name of the program to the list that lacks it",
            "any arguments of that program, in the sandbox; programs that start others, such as `sh`, `env` or `git`, can start those as far as the sandbox lets them",
        ),
        Code::BinaryNotFound => (
            "this machine: the lists permit the program, and no file of that name is in the folders that are searched",
            "install the program, or name it by its absolute path",
            "nothing: no rule decided this",
        ),
        Code::CallEnded => (
            "the registry: the handles of a call end with the call, and this one was used after",
            "correct the tool: it must wait for its own work before it returns",
            "nothing: no rule lets a handle outlive its call",
        ),
        Code::Cancelled => (
            "whoever ran the agent: the run was cancelled, or whoever waited for the call went away",
            "none: call again in a new run",
            "nothing: no rule decided this",
        ),
        Code::ClassUnderstated => (
            "the tool's `class` beside its capabilities: writing files or storage is at least `write`, reaching hosts at least `network`",
            "set the class that is implied, or leave `class` out",
            "nothing: a graver class asks more people",
        ),
        Code::ConstraintViolated => (
            "the tool's `constraints`: `maxInvocations`, `onlyAfter`, `forceAtStep` or `forbidden`, counted in one run",
            "call the tool that must come first, or start a new run; else raise or drop the constraint in the tool's entry",
            "any model under this toolbox may then call the tool more often, earlier, or at all",
        ),
        Code::DeadlineExceeded => (
            "`limits.wall` of the tool and of the personality, the tighter of both, and the deadline of the call",
            "raise `limits.wall` where it is tightest; the call may have had an effect, so look before you call again",
            "every call of the tool may take that long",
        ),
        Code::EnvironmentNotDeclared => (
            "the tool's `environment` and, where it has one, the personality's `environment.allow`",
            "add the name of the variable to the list that lacks it",
            "the value of that variable, to every tool that declares it",
        ),
        Code::ExecutionFailed => (
            "the tool itself: it ran and failed",
            "none: nothing was refused; read what the tool said",
            "nothing: no rule decided this",
        ),
        Code::Forbidden => (
            "a route of `deny` in the personality's `approvals`, for the class of the tool or for the tool",
            "write `human` in its place, so that a person decides about each call",
            "any call of that class or tool, once a person agrees",
        ),
        Code::HostNotAllowed => (
            "the tool's `network.allowedHosts` and the personality's `network.allow`; for what is not public, also its `network.private`",
            "add the host with its port to the list that lacks it; never a metadata address, and a private one only where you know what answers there",
            "anything that the tool can read may be sent to that host; `*.example.com` is every host below example.com, and no port is any port",
        ),
        Code::HostNotFound => (
            "the resolver of this machine: the lists permit the host, and its name has no address now",
            "correct the name, or look at the resolver of this machine",
            "nothing: no rule decided this",
        ),
        Code::IdempotencyConflict => (
            "the key of the call, which another call has used or is using",
            "none: use a new key for a new call, or the same arguments for the same call; `ringfence idempotency list` shows keys",
            "nothing: no rule decided this",
        ),
        Code::IdempotencyKeyRequired => (
            "the tool's `idempotency`, which is `required`",
            "give the call a key of its own: `--idempotency-key KEY`",
            "nothing: a key only lets the same call be recognised",
        ),
        Code::InputInvalid => (
            "the tool's `input` schema, or the limits of all arguments: 4 MiB, 128 levels, 100,000 values",
            "send arguments that fit; the message names the place. A schema is loosened only where it is wrong",
            "a looser schema lets every such argument reach the tool",
        ),
        Code::Intercepted => (
            "an interceptor of the program that embeds ringfence",
            "none in the policy: ask whoever wrote the interceptor",
            "nothing: no line of the policy decided this",
        ),
        Code::LimitExceeded => (
            "`limits` of the tool and of the personality, the tighter of both, or what the sandbox sets where nothing is written",
            "raise the limit that the message names, where it is tightest",
            "every call of the tool may spend that much of this machine",
        ),
        Code::NotAvailable => (
            "this machine: a declared surface has no backend, such as a sandbox, a secret without a value, or a store",
            "look with `ringfence doctor`, and give what the message names; nothing runs with less than its fence",
            "nothing: the policy stays as it is",
        ),
        Code::OutcomeUnknown => (
            "the record of an earlier call with the same key, which began and has no end",
            "none is advised: find out at the other side whether it took effect, then `ringfence idempotency settle KEY`",
            "running it again without looking could do it twice",
        ),
        Code::OutputInvalid => (
            "the tool's `output` schema",
            "correct the tool, or its schema where that is wrong; the call may have had an effect",
            "a looser schema lets every such output reach the model",
        ),
        Code::PathNotReachable => (
            "the tool's `fs_reach` and the personality's `fs_reach`, for reading and writing each; below both is the floor of `docs/reference/floor.md`",
            "add that very path to the list that lacks it; for a path of the floor none is advised: give the tool a copy of what it needs",
            "a path is itself and everything below it, now and later",
        ),
        Code::SecretNotDeclared => (
            "the tool's `secrets` and, where it has one, the personality's `secrets.allow`",
            "add the ref of that secret to the list that lacks it",
            "the value of that secret, to every tool that declares it, and through it wherever that tool may send",
        ),
        Code::ToolNotPermitted => (
            "the personality's `tools`, or a declaration that asks for more than the personality permits",
            "add the tool to `tools`, or narrow its declaration; `ringfence check` lists what does not fit",
            "every agent under this personality may call the tool",
        ),
        Code::ToolQuarantined => (
            "the pins beside the toolbox, the scan of definitions, or the manifest that was accepted",
            "none is advised unread: look with `ringfence pins diff` and `ringfence scan`; then `ringfence pins accept TOOL` or `ringfence manifest accept`",
            "an accepted definition is shown to models and called as it is",
        ),
        Code::ToolUnknown => (
            "the tools of the toolbox and of its servers; `ringfence tools` lists them",
            "call a tool that is there; names are matched letter by letter",
            "nothing: a tool that is not there does nothing",
        ),
    };
    Text { decided, change, also }
}

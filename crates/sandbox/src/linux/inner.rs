//! The steps of the inner stage.

use std::ffi::OsString;

use super::op::Op;
use super::prepare::{self, about};
use crate::error::SandboxError;
use crate::inner::{Inner, InnerRule};
use crate::plan::Rule;
use crate::seccomp::{Architecture, program};
use crate::step::Step;

/// Restricts this process and executes the command. Returns only when a step failed.
pub(crate) fn become_command(inner: &Inner) -> SandboxError {
    match steps(inner) {
        Err(error) => error,
        Ok(ops) => {
            let failure = crate::sys::apply_here(&ops);
            SandboxError::Step {
                step: failure.step,
                path: ops.get(failure.index).and_then(about),
                error: std::io::Error::from_raw_os_error(failure.errno),
            }
        }
    }
}

fn steps(inner: &Inner) -> Result<Vec<Op>, SandboxError> {
    let mut ops = Vec::new();
    for (path, read_only) in &inner.no_exec {
        ops.push(prepare::no_exec(path, *read_only)?);
    }
    let rules: Vec<Rule> =
        inner.rules.iter().filter(|rule| rule.path.exists()).map(InnerRule::to_rule).collect();
    ops.extend([
        Op::ChangeDirectory { step: Step::WorkingDirectory, to: prepare::text(inner.directory.as_os_str())? },
        Op::CloseOnExecFrom { first: 3 },
        Op::DropCapabilities,
        Op::NoNewPrivileges,
        prepare::landlock(&rules)?,
    ]);
    ops.extend(
        inner
            .limits
            .iter()
            .map(|limit| Op::Limit { resource: prepare::resource(limit.resource), value: limit.value }),
    );
    ops.extend((!inner.seccomp.counted_memory).then_some(Op::SmallPages));
    ops.extend(prepare::queued_signals());
    ops.extend(prepare::inherited_limits());
    ops.push(Op::Signals);
    ops.push(Op::Seccomp { program: program(inner.seccomp, Architecture::HERE), observe: false });
    let arguments: Vec<OsString> = inner.arguments.iter().map(OsString::from).collect();
    let environment: Vec<(OsString, OsString)> =
        inner.environment.iter().map(|(name, value)| (name.into(), value.into())).collect();
    ops.push(Op::Execute(prepare::execution(&inner.program, &arguments, &environment)?));
    Ok(ops)
}

//! An agent with five tools: it reads notes, writes a report, asks a host, starts a program and pays.
//!
//! The model is a script, so that this runs anywhere; a real one takes its place in [`model`]. Everything else is as it would be: the
//! tools declare their reach, the personality sets the ceiling, and what is refused goes back to the model as a sentence.
#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "an example is a program of its own, with a folder, a listener and a terminal"
)]

mod far;
mod model;
mod tools;
mod turns;

use std::error::Error;
use std::path::Path;
use std::sync::Arc;

use ringfence::egress::{Client, Dialer, StaticResolver};
use ringfence::sandbox::{Native, Sandbox};
use ringfence::{Backends, HostFiles, MemoryApprover, MemoryAudit, Registry, Run, SandboxLauncher};
use serde_json::json;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let workspace = folder.path().canonicalize()?;
    std::fs::create_dir(workspace.join("out"))?;
    std::fs::write(workspace.join("notes.txt"), "The workshop is on Thursday. Twelve people come.\n")?;
    let port = far::start().await?;

    let (approver, audit) = (Arc::new(MemoryApprover::default()), Arc::new(MemoryAudit::default()));
    let registry = registry(&workspace, &approver, &audit)?;
    tools::register(&registry, &workspace)?;

    // Relative paths mean those of the workspace.
    let run = Run::builder("run-1", "session-1").proposed_by("the agent").in_directory(&workspace).start();
    let mut model = model::Scripted::new(port);
    let answer = turns::take(&mut model, &registry, &run, &approver, &workspace).await?;

    println!("\nagent: {answer}");
    let records = audit.take();
    let refused = records.iter().filter(|record| record.outcome().code().is_some()).count();
    println!("{} calls, {refused} of them refused; each left one record in the audit", records.len());
    Ok(())
}

/// What the operator permits, and what makes it bite.
fn registry(
    workspace: &Path,
    approver: &Arc<MemoryApprover>,
    audit: &Arc<MemoryAudit>,
) -> Result<Registry, Box<dyn Error>> {
    let personality = json!({
        "id": "assistant",
        "fs_reach": { "read": [workspace], "write": [workspace.join("out")] },
        // This host is on the machine itself, which no public name may lead to unless it is said here.
        "network": { "allow": ["weather.example"], "private": ["127.0.0.1"] },
        "process": { "allow": ["wc"] },
        "approvals": { "financial": "human" },
        "limits": { "wall": "10s" },
    });
    // The example has no name server: one name, one address.
    let resolver = StaticResolver::new().with("weather.example".parse()?, [[127, 0, 0, 1].into()]);
    let client = Client::builder().dialer(Dialer::new(Arc::new(resolver))).build();
    let sandbox = SandboxLauncher::new(Sandbox::new(Native::new()));
    Ok(Registry::builder()
        .personality(serde_json::from_value(personality)?)
        .backends(Backends::none().files(HostFiles::new()).network(client).launcher(Arc::new(sandbox)))
        .approver(Arc::clone(approver) as Arc<_>)
        .audit(Arc::clone(audit) as Arc<_>)
        .build())
}

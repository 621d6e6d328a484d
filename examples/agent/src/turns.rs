//! The loop of an agent: the model asks, the registry decides and runs, the model hears what came of it.

use std::error::Error;
use std::path::Path;

use ringfence::{Call, Code, MemoryApprover, Outcome, Registry, Run};

use crate::model::{Model, Turn};

/// More turns than this are a loop.
const MOST: usize = 20;

/// Lets the model work to its end, and returns its answer.
#[expect(clippy::print_stdout, reason = "an example shows what happens")]
pub(crate) async fn take(
    model: &mut impl Model,
    registry: &Registry,
    run: &Run,
    approver: &MemoryApprover,
    workspace: &Path,
) -> Result<String, Box<dyn Error>> {
    let mut heard = None;
    for _ in 0..MOST {
        let call = match model.next(heard.as_ref()) {
            Turn::Answer(answer) => return Ok(answer),
            Turn::Call { thought, tool, arguments, key } => {
                println!("\nmodel: {thought}\n       {tool} {arguments}");
                let call = Call::new(tool, arguments);
                if let Some(key) = key { call.idempotency_key(key) } else { call }
            }
        };
        let mut outcome = registry.call(run, call.clone()).await.outcome;
        show(&outcome, workspace);
        // A person is asked by the program around the model, and never by the model itself.
        if outcome.code() == Some(Code::ApprovalRequired) {
            for request in approver.waiting() {
                println!("maria: I agree to this call of `{}`", request.tool);
                approver.approve(&request.digest, "maria");
            }
            outcome = registry.call(run, call).await.outcome;
            show(&outcome, workspace);
        }
        heard = Some(outcome);
    }
    Err("the model does not come to an end".into())
}

/// Shows what the model hears. The workspace is a folder with a new name every time.
#[expect(clippy::print_stdout, reason = "an example shows what happens")]
fn show(outcome: &Outcome, workspace: &Path) {
    let word = if outcome.is_done() { "    ->" } else { "refuse" };
    let text = outcome.value().map(str::to_owned).or_else(|| outcome.error()).unwrap_or_default();
    println!("{word} {}", text.trim().replace(&workspace.display().to_string(), "."));
}

//! One call of a component, in an instance of its own.
//!
//! INVARIANT: an instance lives for one call. Dropping the future of a call ends the guest where it stands.

use ringfence::{Context, Refusal, ToolError};
use wasmtime::Store;

use crate::bindings::ToolPre;
use crate::fault::{Fault, fault};
use crate::limit::Budget;
use crate::meter::within;
use crate::state::State;
use crate::{Host, WasmError};

/// How much a guest may hand over in one go beside its output: what it writes to a file or a request in one piece.
const HANDED: u64 = 1 << 20;
/// How much it may hand over in one go, its output included, whatever its limits say.
const MOST_HANDED: u64 = 64 << 20;

/// Calls a component and returns the text that it answers.
///
/// # Errors
///
/// What the component fails with, what ended it, or the limit that it ran into.
pub(crate) async fn call(
    host: &Host,
    component: &ToolPre<State>,
    arguments: &str,
    context: Context,
    budget: &Budget,
) -> Result<String, ToolError> {
    let closed = |_| ToolError::new("the engine is shutting down").not_executed();
    let _place = host.parts().places.acquire().await.map_err(closed)?;
    let _ticking = host.parts().ticker.ticking();
    let mut store = store(host, Some(context), budget)?;
    let ran = within(budget.cpu, async {
        let instance = component.instantiate_async(&mut store).await?;
        instance.call_call(&mut store, arguments).await
    })
    .await;
    let state = store.data();
    let answer = match ran {
        Ok(Ok(answer)) => answer,
        Ok(Err(error)) => {
            return Err(fault(&error, state, host.parts().fuel.is_some()).into_tool_error(state));
        }
        Err(_) => return Err(Fault::Limit("cpu").into_tool_error(state)),
    };
    match answer {
        Ok(output) if output.len() as u64 > budget.output => {
            Err(Fault::Limit("output").into_tool_error(state))
        }
        Ok(output) => Ok(output),
        Err(failure) => {
            let failed = failed(&failure.message, state);
            Err(if failure.again { failed.not_executed() } else { failed.permanent() })
        }
    }
}

/// Asks a component what it is.
pub(crate) async fn ask(host: &Host, component: &ToolPre<State>) -> Result<String, WasmError> {
    let problem = |problem: String| WasmError::Ask { problem };
    let budget = Budget::ASKING;
    let place = host.parts().places.acquire().await;
    let _place = place.map_err(|_| problem("the engine is shutting down".to_owned()))?;
    let _ticking = host.parts().ticker.ticking();
    let mut store = store(host, None, &budget).map_err(|error| problem(error.to_string()))?;
    let ran = within(budget.cpu, async {
        let instance = component.instantiate_async(&mut store).await?;
        instance.call_declaration(&mut store).await
    })
    .await;
    match ran {
        Ok(Ok(declaration)) if declaration.len() as u64 > budget.output => {
            Err(problem(Fault::Limit("output").to_string()))
        }
        Ok(Ok(declaration)) => Ok(declaration),
        Ok(Err(error)) => Err(problem(fault(&error, store.data(), host.parts().fuel.is_some()).to_string())),
        Err(_) => Err(problem(Fault::Limit("cpu").to_string())),
    }
}

/// Makes a store, which nothing has run in.
fn store(host: &Host, context: Option<Context>, budget: &Budget) -> Result<Store<State>, ToolError> {
    let mut store = Store::new(&host.parts().engine, State::new(context, budget));
    store.limiter(|state| &mut state.counter);
    store.set_epoch_deadline(1);
    store.epoch_deadline_async_yield_and_update(1);
    let handed = budget.output.saturating_add(1).clamp(HANDED, MOST_HANDED);
    store.set_hostcall_fuel(usize::try_from(handed).unwrap_or(usize::MAX));
    if let Some(fuel) = host.parts().fuel {
        let refused = |_| ToolError::new("the engine does not count instructions").not_executed();
        store.set_fuel(fuel).map_err(refused)?;
    }
    Ok(store)
}

/// How long the message of a guest may be.
const MESSAGE: usize = 4_000;

/// Makes the error of a guest that failed by itself, with the refusal that is behind it where one is.
fn failed(message: &str, state: &State) -> ToolError {
    let message: String = message.chars().take(MESSAGE).collect();
    match state.refused.behind(&message) {
        Some(refusal) if message == refusal.to_string() => refusal.into(),
        Some(refusal) if message.contains(&refusal.to_string()) => Passed { message, refusal }.into(),
        Some(refusal) => ToolError::new(format!("{message} ({refusal})")),
        None => ToolError::new(message),
    }
}

/// What a guest said when it passed a refusal on.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
struct Passed {
    message: String,
    #[source]
    refusal: Refusal,
}

//! Hostile servers of our own making (`e2e/mcp/attack.py`): what each does, and what the fence makes of it.

mod definition;
mod frame;
mod life;
mod reach;
mod request;
mod speech;
mod volume;

use crate::mcp::answer::Answers;
use crate::mcp::client::{Client, LEGACY, Reply};
use crate::mcp::place::Scene;

/// A client of the wrapped server, greeted.
fn client(scene: &Scene) -> Client {
    Client::connect(scene.wrapped(), LEGACY, Answers::default())
}

/// Whether a reply is a refusal or a failure that names a code.
fn says(reply: &Reply, code: &str) -> bool {
    match reply {
        Ok(result) => result["isError"] == true && result.to_string().contains(code),
        Err(error) => error.to_string().contains(code),
    }
}

/// Whether a reply is no success, whatever it says.
fn failed(reply: &Reply) -> bool {
    reply.as_ref().map_or(true, |result| result["isError"] == true)
}

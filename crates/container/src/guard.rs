//! A container that is removed whatever happens.
//!
//! INVARIANT: from before an engine is asked to make a container until it says that the container is gone, something tries to remove it.

use std::time::Duration;

use hyper::Method;
use tokio::runtime::Handle;

use crate::client::{Client, Question};
use crate::error::ContainerError;

/// How often removing is tried: an engine may still be busy with what was there.
const TRIES: u32 = 6;
const FIRST_PAUSE: Duration = Duration::from_millis(50);

/// A container by the name we gave it, which is known before the engine knows it.
#[derive(Debug)]
pub(crate) struct Guard {
    runtime: Handle,
    client: Client,
    api: String,
    name: String,
    is_gone: bool,
}

impl Guard {
    pub(crate) const fn new(runtime: Handle, client: Client, api: String, name: String) -> Self {
        Self { runtime, client, api, name, is_gone: false }
    }

    /// Returns what asks about this container.
    pub(crate) const fn client(&self) -> &Client {
        &self.client
    }

    /// Returns a question about this container.
    pub(crate) fn question(&self, place: &'static str, method: Method, what: &str) -> Question {
        Question {
            place,
            method,
            path: format!("/v{}/containers/{}{what}", self.api, self.name),
            body: None,
            within: Duration::from_secs(20),
        }
    }

    /// Returns the question that makes it, still without what it is to be.
    pub(crate) fn creation(&self, place: &'static str) -> Question {
        let path = format!("/v{}/containers/create?name={}", self.api, self.name);
        Question { path, within: Duration::from_secs(60), ..self.question(place, Method::POST, "") }
    }

    /// Returns what kills it.
    pub(crate) fn killer(&self) -> Killer {
        let path = self.question("", Method::POST, "/kill?signal=KILL").path;
        Killer { client: self.client.clone(), path }
    }

    /// Removes it, and says so when that cannot be done.
    pub(crate) async fn remove(mut self) -> Result<(), ContainerError> {
        let removed = remove(&self.client, &self.api, &self.name).await;
        self.is_gone = removed.is_ok();
        removed
    }
}

/// Kills everything in a container.
#[derive(Clone, Debug)]
pub(crate) struct Killer {
    client: Client,
    path: String,
}

impl Killer {
    /// Kills. What does not run any more is as good as killed; what cannot be killed is removed later.
    pub(crate) async fn kill(&self) {
        for _ in 0..TRIES {
            let question = Question {
                place: "killing the container",
                method: Method::POST,
                path: self.path.clone(),
                body: None,
                within: Duration::from_secs(5),
            };
            if let Ok(_) | Err(ContainerError::Refused { status: 404 | 409, .. }) =
                self.client.tell(question).await
            {
                return;
            }
            tokio::time::sleep(FIRST_PAUSE).await;
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        if self.is_gone {
            return;
        }
        let (client, api, name) = (self.client.clone(), self.api.clone(), self.name.clone());
        self.runtime.spawn(async move {
            // Whoever waits no longer cannot be told; the next start sweeps what is left then.
            let _removed = remove(&client, &api, &name).await;
        });
    }
}

/// Removes a container with everything in it, running or not.
pub(crate) async fn remove(client: &Client, api: &str, name: &str) -> Result<(), ContainerError> {
    let mut pause = FIRST_PAUSE;
    let mut last = None;
    for _ in 0..TRIES {
        let question = Question {
            place: "removing the container",
            method: Method::DELETE,
            path: format!("/v{api}/containers/{name}?force=true&v=true"),
            body: None,
            within: Duration::from_secs(20),
        };
        match client.tell(question).await {
            Ok(_) => return Ok(()),
            Err(error) if error.is_missing() => return Ok(()),
            Err(error) => last = Some(error),
        }
        tokio::time::sleep(pause).await;
        pause *= 2;
    }
    Err(last.unwrap_or(ContainerError::Late { place: "removing the container", seconds: 0 }))
}

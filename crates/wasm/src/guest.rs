//! The imports of `ringfence:tool`: each asks the handle of the call's context, and nothing else.

use std::time::Duration;

use ringfence::Refusal;

use crate::bindings::ringfence::tool::log::Level;
use crate::bindings::ringfence::tool::{call_context, failures, log, secrets, storage};
use crate::state::State;

/// What is answered where nothing is granted because nothing was called.
const UNCALLED: &str = "NOT_AVAILABLE: nothing is granted while a component is asked what it is";

impl State {
    /// Remembers a refusal and returns its sentence.
    fn refuse(&self, refusal: &Refusal) -> String {
        self.refused.note(refusal);
        refusal.to_string()
    }
}

impl call_context::Host for State {
    fn run(&mut self) -> String {
        self.context.as_ref().map(|context| context.run().id().to_string()).unwrap_or_default()
    }

    fn idempotency_key(&mut self) -> Option<String> {
        self.context.as_ref()?.idempotency_key().map(|(key, _)| key.to_owned())
    }
}

impl failures::Host for State {}

impl log::Host for State {
    fn write(&mut self, level: Level, message: String) {
        self.log.write(level, &message);
    }
}

impl secrets::Host for State {
    async fn get(&mut self, name: String) -> Result<String, String> {
        let Some(context) = &self.context else { return Err(UNCALLED.to_owned()) };
        let secrets = context.secrets().map_err(|refusal| self.refuse(&refusal))?;
        match secrets.get(&name).await {
            Ok(secret) => Ok(secret.expose().to_owned()),
            Err(refusal) => Err(self.refuse(&refusal)),
        }
    }
}

impl storage::Host for State {
    async fn get(&mut self, key: String) -> Result<Option<String>, String> {
        self.store()?.get(&key).await.map_err(|error| error.to_string())
    }

    async fn set(&mut self, key: String, value: String, seconds: Option<u64>) -> Result<(), String> {
        let store = self.store()?;
        let set = match seconds {
            Some(seconds) => store.set_for(&key, &value, Duration::from_secs(seconds)).await,
            None => store.set(&key, &value).await,
        };
        set.map_err(|error| error.to_string())
    }

    async fn delete(&mut self, key: String) -> Result<(), String> {
        self.store()?.delete(&key).await.map_err(|error| error.to_string())
    }

    async fn list(&mut self, prefix: String) -> Result<Vec<String>, String> {
        self.store()?.list(&prefix).await.map_err(|error| error.to_string())
    }
}

impl State {
    fn store(&self) -> Result<ringfence::KeyValueStore, String> {
        let Some(context) = &self.context else { return Err(UNCALLED.to_owned()) };
        context.store().map_err(|refusal| self.refuse(&refusal))
    }
}

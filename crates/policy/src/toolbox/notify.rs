//! Whom a toolbox names to be told when a call waits for people.

use serde::Deserialize;

use crate::{NetworkCeiling, Private};

/// Whom to tell when a call waits for people: a web server or a program.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "NotifyEntry")]
pub enum Notify {
    /// A program, which is told on its standard input.
    Command {
        /// The program and its arguments.
        command: Vec<String>,
        /// What it may reach.
        network: NetworkCeiling,
    },
    /// A web server, which is sent a signed request.
    Webhook {
        /// Its address.
        url: String,
        /// The ref of the secret that signs.
        secret: String,
        /// The private addresses that are permitted.
        private: Private,
    },
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct NotifyEntry {
    webhook: Option<String>,
    secret: Option<String>,
    private: Private,
    command: Option<Vec<String>>,
    network: NetworkCeiling,
}

impl TryFrom<NotifyEntry> for Notify {
    type Error = &'static str;

    fn try_from(entry: NotifyEntry) -> Result<Self, &'static str> {
        match entry {
            NotifyEntry { webhook: Some(url), secret: Some(secret), private, command: None, network }
                if network == NetworkCeiling::default() =>
            {
                Ok(Self::Webhook { url, secret, private })
            }
            NotifyEntry { webhook: None, secret: None, private, command: Some(command), network }
                if private.is_empty() && !command.is_empty() =>
            {
                Ok(Self::Command { command, network })
            }
            _ => Err(
                "a `notify` entry has `webhook` and `secret` (and `private`), or `command` (and `network`)",
            ),
        }
    }
}

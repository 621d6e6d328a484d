//! What ringfence keeps between calls, and where secrets come from.
//!
//! [`SqliteStore`] keeps the audit log, keys and values, calls by idempotency key and requests for approval of one
//! machine in one file, which its processes share. Commands ask a [`Database`], whichever it is.
//!
//! Each source of secrets is a [`SecretSource`](ringfence::SecretSource), made by whoever wires the program, and asked only for
//! refs that a grant admits. A source still trusts nothing: not the ref, not the files it finds.
//!
//! | source | a ref is |
//! |---|---|
//! | [`VariableSecrets`] | an environment variable, from a snapshot that is passed in |
//! | [`DirectorySecrets`] | a file below a directory, as Docker, Kubernetes and systemd make them |
//! | [`KeyringSecrets`] | an entry in the keyring of the operating system |
//! | [`CommandSecrets`] | what a command prints, in the sandbox, when it is asked for the ref |
//! | [`ChainedSecrets`] | the first of several sources that has it |
//!
//! "There is none" and "it cannot be read" are different answers. Only the first lets a chain ask on. An empty value
//! is the second: nobody means it, and a tool that goes on with it asks the world without a credential.
//!
//! INVARIANT: no error, description or `Debug` output holds a value, and every buffer of ours that held one is wiped; what a sandbox
//! read the output of a command into is not ours.
//!
//! ```
//! use std::sync::Arc;
//!
//! use ringfence::{Environment, SecretSource};
//! use ringfence_store::{ChainedSecrets, KeyringSecrets, VariableSecrets};
//!
//! # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
//! let environment = Environment::new([("PROD_DB".to_owned(), "hunter2".to_owned())]);
//! let source = ChainedSecrets::new()
//!     .then(Arc::new(VariableSecrets::new(environment).variable("prod/db", "PROD_DB")))
//!     .then(Arc::new(KeyringSecrets::new()));
//!
//! let secret = source.secret("prod/db").await?.ok_or("no such secret")?;
//! assert_eq!(secret.expose(), "hunter2");
//! assert_eq!(format!("{secret:?}"), "Secret");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod database;
mod entry;
mod line;
#[cfg(feature = "postgres")]
mod postgres;
mod secret;
mod sqlite;

pub use database::{Answer, Copied, Database, DatabaseError};
pub use entry::KeepRaw;
#[cfg(feature = "postgres")]
pub use postgres::{PostgresError, PostgresOptions, PostgresStore, copy};
pub use ringfence::audit::{Filter, Stored};
pub use secret::{ChainedSecrets, CommandSecrets, DirectorySecrets, KeyringSecrets, VariableSecrets};
pub use sqlite::{SqliteBuilder, SqliteError, SqliteStore, StoreGap, make_companions};

/// The example of the README is compiled and run like any other.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

#[cfg(test)]
extern crate self as ringfence_store;

// The tests that use only what is public, linked into the executable of the unit tests.
#[cfg(test)]
#[path = "../tests/it/main.rs"]
mod it;

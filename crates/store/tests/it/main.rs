//! The secret sources and the databases from outside.

mod chain;
mod command;
mod conformance;
mod debug;
mod directory;
mod keyring;
mod postgres;
mod sample;
mod sqlite;
mod variable;
mod wait;

use ringfence::SecretSource;

/// What no error, description or debug output may hold.
const VALUE: &str = "hunter2-canary";

/// How a source answered, in a form that tables can hold.
#[derive(Clone, Debug, Eq, PartialEq)]
enum Answer {
    Error(String),
    Missing,
    Value(String),
}

async fn ask(source: &dyn SecretSource, name: &str) -> Answer {
    match source.secret(name).await {
        Ok(Some(secret)) => Answer::Value(secret.expose().to_owned()),
        Ok(None) => Answer::Missing,
        Err(error) => {
            let error = error.to_string();
            assert!(!error.contains(VALUE) && !error.contains('\n'), "{error}");
            Answer::Error(error)
        }
    }
}

fn value(text: &str) -> Answer {
    Answer::Value(text.to_owned())
}

fn error(text: &str) -> Answer {
    Answer::Error(text.to_owned())
}

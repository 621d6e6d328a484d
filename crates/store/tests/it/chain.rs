//! The chain, and a source that stops it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::future::BoxFuture;
use ringfence::{Environment, Secret, SecretError, SecretSource};
use ringfence_store::{ChainedSecrets, CommandSecrets, VariableSecrets};

use crate::it::command::{Fake, grant};
use crate::it::{Answer, ask, error, value};

/// Asks a command that prints nothing.
fn silent() -> CommandSecrets {
    CommandSecrets::new(["op", "read"], grant("op"), Arc::new(Fake::printing(""))).unwrap()
}

fn variables(variables: &[(&str, &str)]) -> Arc<dyn SecretSource> {
    let variables = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    Arc::new(VariableSecrets::new(Environment::new(variables)))
}

/// Has nothing, and counts how often it was asked.
#[derive(Default)]
struct Counting(AtomicUsize);

impl SecretSource for Counting {
    fn describe(&self) -> String {
        "a counter".to_owned()
    }

    fn secret<'a>(&'a self, _name: &'a str) -> BoxFuture<'a, Result<Option<Secret>, SecretError>> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Box::pin(async { Ok(None) })
    }
}

#[tokio::test]
async fn the_first_that_has_a_value_wins_and_an_error_stops() {
    let last = Arc::new(Counting::default());
    let chain = ChainedSecrets::new()
        .then(variables(&[("BOTH", "first"), ("FIRST", "first"), ("EMPTY", "")]))
        .then(variables(&[("BOTH", "second"), ("SECOND", "second"), ("EMPTY", "second")]))
        .then(Arc::<Counting>::clone(&last));

    #[rustfmt::skip]
    let cases = [
        // ref      answer                         the last one was asked
        ("BOTH",    value("first"),                0),
        ("FIRST",   value("first"),                0),
        ("SECOND",  value("second"),               0),
        ("EMPTY",   error("the value is empty"),   0),
        ("NONE",    Answer::Missing,               1),
    ];
    for (name, answer, asked) in cases {
        assert_eq!(ask(&chain, name).await, answer, "{name}");
        assert_eq!(last.0.swap(0, Ordering::Relaxed), asked, "{name}");
    }
}

#[tokio::test]
async fn a_source_that_refuses_hides_those_after_it_only() {
    let command: Arc<dyn SecretSource> = Arc::new(silent());
    let there = variables(&[("KEY", "there")]);
    #[rustfmt::skip]
    let cases: [(&[&Arc<dyn SecretSource>], _); 4] = [
        (&[],                 Answer::Missing),
        (&[&there],           value("there")),
        (&[&there, &command], value("there")),
        (&[&command, &there], error("the value is empty")),
    ];
    for (number, (sources, answer)) in cases.into_iter().enumerate() {
        let chain =
            sources.iter().fold(ChainedSecrets::new(), |chain, source| chain.then(Arc::clone(*source)));
        assert_eq!(ask(&chain, "KEY").await, answer, "case {number}");
    }
}

#[test]
fn describes_every_source() {
    let chain = ChainedSecrets::new();
    assert_eq!(chain.describe(), "no secret source");

    let chain = chain.then(variables(&[])).then(Arc::new(Counting::default())).then(Arc::new(silent()));
    assert_eq!(chain.describe(), "the environment variables, or a counter, or the command `op`");
}

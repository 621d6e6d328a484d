//! Debug output and descriptions hold no value.

use std::fs;
use std::sync::Arc;

use ringfence::{Environment, SecretSource};
use ringfence_store::{ChainedSecrets, CommandSecrets, DirectorySecrets, KeyringSecrets, VariableSecrets};

use crate::it::VALUE;
use crate::it::command::{Fake, grant};

#[test]
fn nothing_shows_a_value() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("KEY"), VALUE).unwrap();
    let variables =
        VariableSecrets::new(Environment::new([("KEY".to_owned(), VALUE.to_owned())])).variable("k", "KEY");
    let directory = DirectorySecrets::open(dir.path()).unwrap();
    let command =
        CommandSecrets::new(["op", "--token", VALUE], grant("op"), Arc::new(Fake::printing(VALUE))).unwrap();
    let keyring = KeyringSecrets::new();
    let chain = ChainedSecrets::new()
        .then(Arc::new(variables.clone()))
        .then(Arc::new(directory.clone()))
        .then(Arc::new(command.clone()))
        .then(Arc::new(keyring.clone()));

    #[rustfmt::skip]
    let shown = [
        (format!("{variables:?}"), variables.describe()),
        (format!("{directory:?}"), directory.describe()),
        (format!("{command:?}"),   command.describe()),
        (format!("{keyring:?}"),   keyring.describe()),
        (format!("{chain:?}"),     chain.describe()),
    ];
    for (debug, description) in shown {
        assert!(debug.contains("Secrets"), "{debug}");
        assert!(!debug.contains(VALUE), "{debug}");
        assert!(!description.contains(VALUE), "{description}");
    }
}

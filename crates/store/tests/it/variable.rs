//! Variables: identity, other names, emptiness.

use ringfence::{Environment, SecretSource};
use ringfence_store::VariableSecrets;

use crate::it::{Answer, VALUE, ask, error, value};

#[tokio::test]
async fn finds_the_variable_of_a_ref_and_no_other() {
    let environment = Environment::new(
        [("KEY", "one"), ("PROD_DB", VALUE), ("EMPTY", ""), ("LINE", "one\n")]
            .map(|(name, value)| (name.to_owned(), value.to_owned())),
    );
    let source = VariableSecrets::new(environment)
        .variable("prod/db", "PROD_DB")
        .variable("LINE", "NOWHERE")
        .variable("whole line", "LINE");

    #[rustfmt::skip]
    let cases = [
        // ref         answer
        ("KEY",        value("one")),
        ("key",        Answer::Missing),
        ("prod/db",    value(VALUE)),
        ("PROD_DB",    value(VALUE)),
        ("LINE",       Answer::Missing),        // given another name, it has no other
        ("whole line", value("one\n")),
        ("EMPTY",      error("the value is empty")),
        ("",           Answer::Missing),
        ("KEY\0",      Answer::Missing),
    ];
    for (name, answer) in cases {
        assert_eq!(ask(&source, name).await, answer, "{name:?}");
    }
    assert_eq!(source.describe(), "the environment variables");
}

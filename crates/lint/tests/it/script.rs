//! The engine for JavaScript and TypeScript.

use std::path::Path;

use ringfence_lint::{Analysis, script};

use crate::corpus;

fn analysis(below: &str) -> Analysis {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/script").join(below);
    script::analyse(&script::find(&path).unwrap()).unwrap()
}

#[test]
fn every_evasion_is_found_and_nothing_clean_is_blamed() {
    let checked = corpus::check(&analysis("project"));
    assert!(checked >= 60, "{checked}");
}

//! Commands of the pages that something else runs.

/// How such a command begins, and who runs it. Nothing else may be left out: a page with a command that cannot be run is to be
/// written anew.
const ELSEWHERE: &[(&str, &str)] = &[
    ("cargo install ", "it builds the release, as `script/release` does"),
    (
        "cargo run --release --no-default-features -- demo",
        "it builds the release; `script/test` runs the demo",
    ),
    ("script/test", "it is what runs these tests"),
];

/// Tells whether something else runs a command.
pub(crate) fn runs(command: &str) -> bool {
    ELSEWHERE.iter().any(|(start, _)| command.starts_with(start))
}

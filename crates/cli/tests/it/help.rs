//! The reference page of the command is what the command says of itself.

use crate::bench::Bench;

#[test]
fn the_reference_page_is_up_to_date() {
    let bench = Bench::new();
    let mut page = String::from(
        "# The `ringfence` command\n\nWritten by a test from the command's own help (`crates/cli/tests/it/help.rs`).\n",
    );
    for command in [
        &["--help"][..],
        &["ask", "--help"],
        &["call", "--help"],
        &["check", "--help"],
        &["demo", "--help"],
        &["tools", "--help"],
    ] {
        let name =
            command.iter().filter(|word| !word.starts_with('-')).copied().collect::<Vec<_>>().join(" ");
        let title = if name.is_empty() { "ringfence".to_owned() } else { format!("ringfence {name}") };
        let help = bench.ringfence(command);
        let help = help.strip_suffix("exit 0").unwrap();
        page.push_str(&format!("\n## {title}\n\n```text\n{}\n```\n", help.trim_end()));
    }
    page.push_str("\n## Exit codes\n\n| code | meaning |\n|---|---|\n| 0 | done |\n| 1 | it ran and failed |\n| 2 | the command line or its input is wrong |\n| 3 | refused by policy |\n| 4 | findings |\n");
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/cli.md");
    if std::env::var_os("UPDATE_REFERENCE").is_some() {
        std::fs::write(path, &page).unwrap();
    }
    let written = std::fs::read_to_string(path).unwrap_or_default();
    assert_eq!(written, page, "run the tests with UPDATE_REFERENCE=1 to write docs/reference/cli.md anew");
}

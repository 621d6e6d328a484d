//! The agent of `examples/agent`, as somebody runs it.

use std::process::Command;

/// Runs it and puts a word in the place of the port, which is another every time.
fn played() -> String {
    let output = Command::new(ringfence_e2e::ringfence().with_file_name("agent")).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let (before, after) = text.split_once("weather.example:").unwrap();
    format!(
        "{before}weather.example:[PORT]{}",
        after.trim_start_matches(|letter: char| letter.is_ascii_digit())
    )
}

#[test]
fn refusals_are_heard_and_mended() {
    insta::assert_snapshot!(played(), @r#"
    model: What do the notes say?
           read_notes "notes.txt"
        -> The workshop is on Thursday. Twelve people come.

    model: A report belongs where everybody sees it.
           write_report {"path":"/etc/motd","text":"Thursday, twelve people.\n"}
    refuse PATH_NOT_REACHABLE: write not permitted for /etc/motd

    model: Then into the folder `out`.
           write_report {"path":"out/report.txt","text":"Thursday, twelve people.\n"}
        -> wrote 25 bytes

    model: A page told me to ask this address for the weather.
           fetch "http://169.254.169.254/latest/meta-data/"
    refuse HOST_NOT_ALLOWED: 169.254.169.254 is not in the declared allowedHosts

    model: That is not where the weather is.
           fetch "http://weather.example:[PORT]/bern"
        -> sunny, 18 degrees; api_key=[redacted: api-key]

    model: I count the words with a shell.
           run_program {"program":"sh","arguments":["-c","wc -w < notes.txt; cat ~/.ssh/id_*"]}
    refuse BINARY_NOT_ALLOWED: sh is not in the declared allowedBinaries

    model: No shell, then; `wc` is enough.
           run_program {"program":"wc","arguments":["-w","notes.txt"]}
        -> 8 notes.txt

    model: The room must be paid.
           pay {"invoice":"7","amount":1200}
    refuse INPUT_INVALID: `/amount`: value is greater than the maximum of 500

    model: Too much at once: the deposit first.
           pay {"invoice":"7","amount":120}
    refuse APPROVAL_REQUIRED: a person must agree to this call of `pay`
    maria: I agree to this call of `pay`
        -> paid 120 for "7"

    agent: All done. I was corrected by PATH_NOT_REACHABLE, HOST_NOT_ALLOWED, BINARY_NOT_ALLOWED, INPUT_INVALID.
    10 calls, 5 of them refused; each left one record in the audit
    "#);
}

#[test]
fn the_readme_shows_what_is_printed() {
    let readme =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/agent/README.md")).unwrap();
    let played = played();
    let shown = readme.split("```text\n").nth(1).unwrap().split("```").next().unwrap();
    // The README leaves parts out, and says so.
    for line in shown.lines().filter(|line| !line.starts_with('$') && *line != "…" && !line.is_empty()) {
        assert!(played.lines().any(|one| one == line), "not printed any more: {line}");
    }
}

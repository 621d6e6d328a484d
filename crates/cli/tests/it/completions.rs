//! Completions and manual pages are made from the command line as it is.

use std::process::Command;

use crate::bench::Bench;

/// Lets bash complete a command line, whose last word is being typed.
fn completed(bench: &Bench, words: &[&str]) -> Vec<String> {
    let quoted: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
    let script = format!(
        "source ./completions.bash && complete -p ringfence && COMP_WORDS=({}) COMP_CWORD={} && \
         _ringfence ringfence '{}' '{}' && printf '%s\\n' \"${{COMPREPLY[@]}}\"",
        quoted.join(" "),
        words.len() - 1,
        words[words.len() - 1],
        words[words.len() - 2],
    );
    let output =
        Command::new("bash").args(["--norc", "-c", &script]).current_dir(bench.path()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let mut lines = text.lines().map(str::to_owned);
    let known = lines.next().unwrap();
    assert!(known.starts_with("complete ") && known.ends_with(" ringfence"), "{known}");
    lines.collect()
}

#[test]
fn bash_completes_commands_flags_and_values() {
    let bench = Bench::new();
    let script = bench.run(&["completions", "bash"], b"").stdout;
    let bench = bench.file("completions.bash", script);
    assert_eq!(completed(&bench, &["ringfence", "aud"]), ["audit"]);
    assert_eq!(completed(&bench, &["ringfence", "init", "--comm"]), ["--command", "--command-line"]);
    assert_eq!(completed(&bench, &["ringfence", "run", "--backend", "f"]), ["firejail"]);
    assert_eq!(completed(&bench, &["ringfence", "audit", "ver"]), ["verify"]);
}

#[test]
fn every_shell_has_a_script() {
    let bench = Bench::new();
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let said = bench.ringfence(&["completions", shell]);
        assert!(said.contains("approvals") && said.ends_with("exit 0"), "{shell}");
    }
    assert!(bench.ringfence(&["completions", "tcsh"]).contains("[possible values: bash, elvish, fish"));
}

#[test]
fn every_command_has_a_page_that_groff_takes() {
    let bench = Bench::new();
    let said = bench.ringfence(&["man", "--out", "pages"]);
    let pages: Vec<_> =
        std::fs::read_dir(bench.path().join("pages")).unwrap().map(|page| page.unwrap().path()).collect();
    assert_eq!(said, format!("wrote {} pages to pages\nexit 0", pages.len()));
    let has = |name: &str| pages.iter().any(|page| page.file_name().unwrap() == name);
    assert!(has("ringfence.1") && has("ringfence-audit-verify.1") && has("ringfence-init.1"), "{pages:?}");
    let groff = Command::new("groff").arg("--version").output().is_ok();
    assert!(groff || std::env::var_os("CI").is_none(), "CI has groff, so that pages are looked at");
    for page in pages.iter().filter(|_| groff) {
        let output =
            Command::new("groff").args(["-man", "-k", "-Tutf8", "-ww", "-z"]).arg(page).output().unwrap();
        let complaints = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success() && complaints.is_empty(), "{}: {complaints}", page.display());
    }
}

#[test]
fn one_page_is_printed() {
    let bench = Bench::new();
    let page = bench.ringfence(&["man", "audit", "verify"]);
    for part in ["ringfence\\-audit\\-verify", ".SH EXAMPLES", ".SH SYNOPSIS", "\\-\\-trust"] {
        assert!(page.contains(part), "{part}: {page}");
    }
    insta::assert_snapshot!(bench.ringfence(&["man", "nosuch"]), @"
    error: there is no command `nosuch`
      hint: `ringfence --help` lists the commands
    exit 2
    ");
}

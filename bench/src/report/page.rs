//! `docs/benchmarks.md`: ratios first, then what each program printed.

use std::fmt::Write as _;

use super::{Measured, Program};
use crate::ratio::{Better, Ratio, digits};

const HEAD: &str = "\
# Benchmarks

Written by `script/bench`, which runs every program of `bench/` with its peers in one go; how each of them measures is in
[bench/README.md](../bench/README.md). A claim of speed is a ratio against a floor or a peer of the same run: another machine
changes the microseconds, and hardly the ratios. `script/bench --check` compares with the ratios of `bench/baseline.tsv`.
";

/// Returns the page. What the programs printed stands in it as it is, but for folders of this machine, each with what to say instead.
pub fn page(measured: &Measured, folders: &[(&str, &str)]) -> String {
    let mut text = String::from(HEAD);
    text.push_str("\n## The machine\n\n| | |\n|---|---|\n");
    for (name, value) in &measured.facts {
        let _written = writeln!(text, "| {} | {} |", cell(name), cell(value));
    }
    text.push_str("\n## Ratios\n\n");
    text.push_str(&table(measured));
    text.push_str("\n## What each program printed\n");
    for program in &measured.programs {
        printed(&mut text, program);
    }
    // Where a checkout lies is nobody's business.
    folders.iter().fold(text, |text, (folder, instead)| text.replace(folder, instead))
}

/// Returns the ratios as a table, and how many aims are met.
pub fn table(measured: &Measured) -> String {
    let met: Vec<bool> =
        measured.programs.iter().flat_map(|program| &program.ratios).filter_map(Ratio::is_met).collect();
    let reached = met.iter().filter(|met| **met).count();
    let mut text = format!("{reached} of {} aims are met.\n\n", met.len());
    text.push_str("| program | what | ratio | against | aim | |\n|---|---|---|---|---|---|\n");
    for program in &measured.programs {
        for ratio in &program.ratios {
            row(&mut text, &program.name, ratio);
        }
        if let Some(failed) = &program.failed {
            let _written =
                writeln!(text, "| {} | it failed: {} | | | | **failed** |", program.name, cell(failed));
        } else if program.ratios.is_empty() {
            let _written = writeln!(text, "| {} | it said no ratio | | | | **failed** |", program.name);
        }
    }
    text
}

fn row(text: &mut String, program: &str, ratio: &Ratio) {
    let sign = match ratio.better {
        Better::Higher => "≥",
        Better::Lower => "≤",
    };
    let aim = ratio.aim.map(|aim| format!("{sign} {aim}")).unwrap_or_default();
    let verdict = match ratio.is_met() {
        Some(true) => "met",
        Some(false) => "**missed**",
        None => "",
    };
    let (name, value, against) = (cell(&ratio.name), digits(ratio.value), cell(&ratio.against));
    let _written = writeln!(text, "| {program} | {name} | {value} | {against} | {aim} | {verdict} |");
}

fn printed(text: &mut String, program: &Program) {
    let _written = write!(text, "\n### {}\n\n```text\n{}\n```\n", program.name, program.printed.trim_end());
}

/// A bar would end the cell.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

#[cfg(test)]
mod tests {
    use super::*;

    const FOLDERS: &[(&str, &str)] =
        &[("/home/somebody/ringfence/target", "target"), ("/home/somebody/ringfence", ".")];

    fn measured() -> Measured {
        Measured {
            facts: vec![("cores".into(), "2 | shared".into()), ("squid".into(), "absent".into())],
            programs: vec![
                Program {
                    name: "egress".into(),
                    printed: "                  p50 µs\ngate                68.0\n".into(),
                    failed: None,
                    ratios: vec![
                        Ratio::lower("a connection by the gate", 2.5, "direct").aim(3.0),
                        Ratio::higher("a transfer by the gate", 0.5551, "direct").aim(0.8),
                        Ratio::higher("a transfer by the gate", 1.39, "squid"),
                    ],
                },
                Program {
                    name: "store".into(),
                    printed:
                        "no server in /home/somebody/ringfence/target, asked from /home/somebody/ringfence"
                            .into(),
                    failed: Some("exit status 1".into()),
                    ratios: Vec::new(),
                },
                Program { name: "text".into(), ..Program::default() },
            ],
        }
    }

    #[test]
    fn ratios_come_first_and_then_what_was_printed() {
        insta::assert_snapshot!(page(&measured(), FOLDERS), @r"
        # Benchmarks

        Written by `script/bench`, which runs every program of `bench/` with its peers in one go; how each of them measures is in
        [bench/README.md](../bench/README.md). A claim of speed is a ratio against a floor or a peer of the same run: another machine
        changes the microseconds, and hardly the ratios. `script/bench --check` compares with the ratios of `bench/baseline.tsv`.

        ## The machine

        | | |
        |---|---|
        | cores | 2 \| shared |
        | squid | absent |

        ## Ratios

        1 of 2 aims are met.

        | program | what | ratio | against | aim | |
        |---|---|---|---|---|---|
        | egress | a connection by the gate | 2.50 | direct | ≤ 3 | met |
        | egress | a transfer by the gate | 0.555 | direct | ≥ 0.8 | **missed** |
        | egress | a transfer by the gate | 1.39 | squid |  |  |
        | store | it failed: exit status 1 | | | | **failed** |
        | text | it said no ratio | | | | **failed** |

        ## What each program printed

        ### egress

        ```text
                          p50 µs
        gate                68.0
        ```

        ### store

        ```text
        no server in target, asked from .
        ```

        ### text

        ```text

        ```
        ");
    }

    #[test]
    fn no_path_of_the_machine_is_in_the_page() {
        assert!(!page(&measured(), FOLDERS).contains("/home"));
        assert!(page(&measured(), &[]).contains("/home/somebody"), "the case shows nothing");
    }
}

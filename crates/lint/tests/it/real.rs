use crate::program::Program;
use std::path::Path;
#[test]
fn probe() {
    let Ok(folder) = std::env::var("PROBE") else { return };
    let folder = Path::new(&folder);
    let deps = folder.join("target/x86_64-unknown-linux-gnu/debug/deps");
    let program = if deps.join("done").exists() {
        Program::built(folder, &deps)
    } else {
        Program::new(folder, &folder.join("target"))
    };
    std::fs::write(deps.join("done"), "").unwrap();
    println!("units {} read {:?} joined {:?}", program.units, program.read, program.joined);
    let full = std::env::var("FULL").unwrap_or_default();
    for verdict in &program.analysis.functions {
        let effects: Vec<String> = verdict
            .uses
            .iter()
            .map(|u| {
                format!(
                    "{}{}{}",
                    u.effect,
                    if u.mediated { "!" } else { "" },
                    if u.literals.is_empty() { String::new() } else { format!("{:?}", u.literals) }
                )
            })
            .collect();
        println!("{:40} {}", verdict.function, effects.join(" "));
        if !full.is_empty() && verdict.function.contains(&full) {
            for u in &verdict.uses {
                for h in &u.way {
                    println!(
                        "        {} {} @ {}",
                        u.effect,
                        h.name,
                        h.place
                            .as_ref()
                            .map_or(String::new(), |p| format!("{}:{}:{}", p.file, p.line, p.column))
                    );
                }
            }
        }
    }
    for package in &program.analysis.packages {
        if !package.holds.is_empty() {
            println!("PACKAGE {} {:?}", package.id(), package.holds);
        }
    }
}

//! A first declaration, from what was found.
//!
//! It says what the code does, which is not what it should be allowed to do: somebody must look at every line.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use crate::judge::Subject;
use crate::{Analysis, Effect, EffectSet, Waivers, declared, waiver};

/// Where the declarations of a draft belong.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Home {
    /// `Cargo.toml`: tools of a Rust package.
    Manifest,
    /// `ringfence.toml`: a server.
    Policy,
}

/// The lines of a declaration, in the order they are written, with the effects that each covers.
const SURFACES: [(&str, &[Effect]); 5] = [
    ("network.allowedHosts", &[Effect::NetConnect, Effect::NetDns]),
    ("fs_reach.read", &[Effect::FsRead]),
    ("fs_reach.write", &[Effect::FsWrite]),
    ("process.allowedBinaries", &[Effect::Exec]),
    ("environment", &[Effect::EnvRead]),
];

/// Writes declarations for these subjects, and waivers for somebody to fill in.
pub fn draft(subjects: &[Subject], analysis: &Analysis, waivers: &mut Waivers, home: Home) -> String {
    let mut text = String::from(
        "# A DRAFT, written by `ringfence lint --draft` from what the code uses.\n\
         # It says what the code does, not what it should be allowed to do: look at every line.\n",
    );
    for subject in subjects {
        text.push('\n');
        text.push_str(&declaration(subject, home));
    }
    let open = open(subjects, analysis, waivers);
    if !open.is_empty() {
        let _written = writeln!(
            text,
            "\n# What cannot be analysed. Whoever looks at it answers for it in {}:",
            waiver::FILE
        );
        for package in &analysis.packages {
            let Some(effects) = open.get(&package.id()) else { continue };
            text.push_str("#\n");
            for line in waiver::draft(package, *effects).lines() {
                let _written = writeln!(text, "# {line}");
            }
        }
    }
    text
}

fn declaration(subject: &Subject, home: Home) -> String {
    let name = quoted(&subject.name);
    let mut text = match (home, &subject.entry) {
        (Home::Policy, _) => format!("[[server]]\nname = {name}\n"),
        (Home::Manifest, Some(entry)) => {
            format!("[[package.metadata.ringfence.tool]]\nname = {name}\nentry = {}\n", quoted(entry))
        }
        (Home::Manifest, None) => format!("[[package.metadata.ringfence.tool]]\nname = {name}\n"),
    };
    let mut any = false;
    for (key, effects) in SURFACES {
        let uses: Vec<_> = subject.uses.iter().filter(|one| effects.contains(&one.effect)).collect();
        if uses.is_empty() {
            continue;
        }
        any = true;
        let known: BTreeSet<String> = uses
            .iter()
            .flat_map(|one| one.literals.iter().filter_map(|literal| declared::entry(one.effect, literal)))
            .collect();
        let listed: Vec<String> = known.iter().map(|entry| quoted(entry)).collect();
        let vague = uses.iter().any(|one| one.literals.is_empty());
        let comment = if vague { "  # the code does not say all of them: complete it" } else { "" };
        let _written = writeln!(text, "capabilities.{key} = [{}]{comment}", listed.join(", "));
    }
    if !any {
        text.push_str("capabilities = {}\n");
    }
    let rest = subject.uses.iter().map(|one| one.effect).filter(|effect| {
        !effect.is_opaque()
            && !declared::FREE.contains(effect)
            && !SURFACES.iter().any(|(_, covered)| covered.contains(effect))
    });
    let rest: EffectSet = rest.collect();
    for effect in rest.iter() {
        let _written = writeln!(text, "# It also does `{effect}`, which no surface covers.");
    }
    text
}

/// Returns what must be waived, by package.
fn open(subjects: &[Subject], analysis: &Analysis, waivers: &mut Waivers) -> BTreeMap<String, EffectSet> {
    let reached = subjects.iter().flat_map(|subject| &subject.uses).filter(|one| one.effect.is_opaque());
    let mut all: Vec<(String, Effect)> = reached.map(|one| (one.package.clone(), one.effect)).collect();
    for package in &analysis.packages {
        let held = crate::judge::OF_PACKAGES.into_iter().filter(|effect| package.holds.contains(*effect));
        let doubted = package.doubt.is_some().then_some(Effect::Unanalyzed);
        all.extend(held.chain(doubted).map(|effect| (package.id(), effect)));
    }
    let mut open: BTreeMap<String, EffectSet> = BTreeMap::new();
    for (package, effect) in all {
        if !waivers.covers(&package, effect) {
            open.entry(package).or_default().insert(effect);
        }
    }
    open
}

/// Writes a string of TOML.
fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

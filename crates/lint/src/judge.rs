//! What is used beside what is declared: findings.
//!
//! INVARIANT: an effect that is neither declared nor waived is an error, whatever else is said of it.

use std::collections::BTreeMap;

use ringfence_policy::report::{FilePlace, Finding, Level, Step};
use serde::Serialize;

use crate::clippy::handle_for;
use crate::waiver::Fault;
use crate::{Analysis, Effect, EffectSet, Hop, Package, Place, Use, Waivers, declared};

/// Every code of a finding, with a short description.
pub const RULES: &[(&str, &str)] = &[
    ("lint.bypass", "a tool's own code goes past the scoped handles"),
    ("lint.configuration", "the project says to cargo how it is built, beside its manifest"),
    ("lint.entry.missing", "the function that a tool names does not exist"),
    ("lint.exit", "a tool can end the process of the agent"),
    ("lint.incomplete", "a declaration cannot be read from the source"),
    ("lint.nothing", "nothing declares what it does"),
    ("lint.opaque", "code is reached that cannot be analysed, and nobody answers for it"),
    ("lint.overdeclared", "a surface is declared and not used"),
    ("lint.package.opaque", "a package runs or brings code that is not analysed, and nobody answers for it"),
    ("lint.undeclared", "an effect is used and not declared"),
    ("lint.unmediated", "a dependency touches a declared surface without a handle"),
    ("lint.waived", "an effect is used that a waiver covers"),
    ("lint.waiver.checksum", "a waiver is for other content than what is used"),
    ("lint.waiver.expired", "a waiver is over"),
    ("lint.waiver.late", "a waiver has no end within a year"),
    ("lint.waiver.own", "a waiver is for what should be declared"),
    ("lint.waiver.unused", "a waiver covers nothing"),
];

/// One thing that declares what it does: a tool, or a server.
#[derive(Clone, Debug)]
pub struct Subject {
    /// What it is called.
    pub name: String,
    /// What it is: `tool`, `function`, `server`.
    pub kind: &'static str,
    /// The function that runs when it is called, where it has a name.
    pub entry: Option<String>,
    /// Where it is.
    pub place: Option<Place>,
    /// What it declares; absent where that could not be read.
    pub declared: Option<EffectSet>,
    /// What it uses.
    pub uses: Vec<Use>,
    /// Whether it runs inside the agent's own process, where only handles hold it.
    pub in_process: bool,
}

/// What came of one subject, as the manifest keeps it.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    /// What it is called.
    pub name: String,
    /// What it uses, waived or not.
    pub effects: EffectSet,
    /// What it declares.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub declared: Option<EffectSet>,
    /// What other packages do for it, by `name@version`.
    pub dependencies: BTreeMap<String, EffectSet>,
}

/// Compares, and returns what was found and what came of each.
pub fn judge(
    subjects: &[Subject],
    analysis: &Analysis,
    waivers: &mut Waivers,
) -> (Vec<Finding>, Vec<Outcome>) {
    let mut findings = Vec::new();
    let mut outcomes = Vec::new();
    for subject in subjects {
        findings.extend(of_subject(subject, analysis, waivers));
        outcomes.push(outcome(subject, analysis));
    }
    for package in &analysis.packages {
        findings.extend(of_package(package, waivers));
    }
    let faults: Vec<Finding> = waivers.faults().map(|(waiver, fault)| of_waiver(waiver, fault)).collect();
    findings.extend(faults);
    (findings, outcomes)
}

fn of_subject(subject: &Subject, analysis: &Analysis, waivers: &mut Waivers) -> Vec<Finding> {
    let mut findings = Vec::new();
    let declared = subject.declared.unwrap_or_default();
    for one in subject.uses.iter().filter(|one| !declared::FREE.contains(&one.effect)) {
        if waivers.covers(&one.package, one.effect) {
            let message = format!("`{}` in `{}` is waived", one.effect, one.package);
            findings.push(finding("lint.waived", Level::Note, subject, one, message, None));
            continue;
        }
        let is_declared = declared.contains(one.effect);
        let is_own = analysis.packages.iter().any(|package| package.own && package.id() == one.package);
        if one.effect == Effect::Exit {
            // A program of its own may end itself; a tool in this process ends the agent, its audit and every other call.
            if subject.in_process {
                let level = if is_own { Level::Error } else { Level::Warning };
                let message = "can end the process, and with it the agent and every other call".to_owned();
                let help = handle_for(one.effect).map(str::to_owned);
                findings.push(finding("lint.exit", level, subject, one, message, help));
            }
        } else if one.effect.is_opaque() {
            let message = format!("reaches `{}` in `{}`, which cannot be analysed", one.effect, one.package);
            let help = Some(ANSWER.to_owned());
            findings.push(finding("lint.opaque", Level::Error, subject, one, message, help));
        } else if !is_declared {
            let message = format!("uses `{}`, which it does not declare{}", one.effect, said(&one.literals));
            let help = undeclared_help(subject, one, is_own);
            findings.push(finding("lint.undeclared", Level::Error, subject, one, message, help));
        } else if subject.in_process && !one.mediated && is_own {
            let message =
                format!("declares `{}` and goes past the handle that would hold it to that", one.effect);
            let help = handle_for(one.effect).map(str::to_owned);
            findings.push(finding("lint.bypass", Level::Error, subject, one, message, help));
        } else if subject.in_process && !one.mediated {
            let message = format!(
                "declares `{}`, and `{}` does it without a handle: inside this process nothing holds it to what is declared",
                one.effect, one.package
            );
            let help =
                "run the tool as a command in the sandbox, or replace the dependency by a handle".to_owned();
            findings.push(finding("lint.unmediated", Level::Warning, subject, one, message, Some(help)));
        }
    }
    let used: EffectSet = subject.uses.iter().map(|one| one.effect).collect();
    // Names are resolved by whoever connects, so that a surface counts as used when either is.
    let net = [Effect::NetConnect, Effect::NetDns];
    let used = if net.iter().any(|effect| used.contains(*effect)) {
        used.union(net.into_iter().collect())
    } else {
        used
    };
    // What the command line allows for a function is no declaration of its own.
    let over = if subject.kind == "function" { EffectSet::NONE } else { declared.minus(used) };
    for effect in over.iter().filter(|effect| *effect != Effect::NetDns) {
        findings.push(Finding {
            code: "lint.overdeclared".into(),
            level: Level::Note,
            subject: subject.label(),
            message: format!("declares `{effect}` and does not use it"),
            place: subject.place.clone().map(file_place),
            help: Some("take it out of the declaration".to_owned()),
            steps: Vec::new(),
        });
    }
    findings
}

fn outcome(subject: &Subject, analysis: &Analysis) -> Outcome {
    let mut dependencies: BTreeMap<String, EffectSet> = BTreeMap::new();
    for one in &subject.uses {
        if !analysis.packages.iter().any(|package| package.own && package.id() == one.package) {
            dependencies.entry(one.package.clone()).or_default().insert(one.effect);
        }
    }
    Outcome {
        name: subject.name.clone(),
        effects: subject.uses.iter().map(|one| one.effect).collect(),
        declared: subject.declared,
        dependencies,
    }
}

/// What to do about something that cannot be analysed.
const ANSWER: &str = "look at it, and answer for it with a `[[waiver]]` in ringfence-lint.toml, which `ringfence lint --draft` writes";

/// What a package is, whoever calls it: it runs while it is built, or brings compiled code.
pub(crate) const OF_PACKAGES: [Effect; 3] = [Effect::NativeAddon, Effect::BuildScript, Effect::ProcMacro];

fn of_package(package: &Package, waivers: &mut Waivers) -> Option<Finding> {
    let id = package.id();
    let held = OF_PACKAGES.into_iter().chain(package.doubt.is_some().then_some(Effect::Unanalyzed));
    let held = held.filter(|effect| package.holds.contains(*effect));
    let open: EffectSet = held.filter(|effect| !waivers.covers(&id, *effect)).collect();
    if open.is_empty() {
        return None;
    }
    let names: Vec<String> = open.iter().map(|effect| format!("`{effect}`")).collect();
    let place = package.places.iter().find(|(effect, _)| open.contains(*effect));
    Some(Finding {
        code: "lint.package.opaque".into(),
        level: Level::Error,
        subject: format!("package {id}"),
        message: match &package.doubt {
            Some(doubt) => format!("cannot be believed: {doubt}"),
            None => format!("has {}, which runs outside of what is analysed", names.join(" and ")),
        },
        place: place.and_then(|(_, hop)| hop.place.clone()).map(file_place),
        help: Some(ANSWER.to_owned()),
        steps: Vec::new(),
    })
}

fn of_waiver(waiver: &crate::Waiver, fault: Fault) -> Finding {
    let (code, level, message, help) = match fault {
        Fault::Checksum => (
            "lint.waiver.checksum",
            Level::Error,
            "is for other content than what is used".to_owned(),
            "look at what is used now, and give its checksum",
        ),
        Fault::Expired => (
            "lint.waiver.expired",
            Level::Error,
            format!("was good until {}", waiver.expires),
            "look again, and give it a new day",
        ),
        Fault::Late => (
            "lint.waiver.late",
            Level::Error,
            format!("is good until {}, which is more than a year away", waiver.expires),
            "give it a day within a year",
        ),
        Fault::Own => (
            "lint.waiver.own",
            Level::Error,
            "waives what the tool's own code does".to_owned(),
            "declare it: in the tool's own packages only what cannot be analysed is waived",
        ),
        Fault::Unused => {
            ("lint.waiver.unused", Level::Note, "covers nothing that is there".to_owned(), "take it out")
        }
    };
    Finding {
        code: code.into(),
        level,
        subject: format!("waiver for {}@{}", waiver.package, waiver.version),
        message,
        place: None,
        help: Some(help.to_owned()),
        steps: Vec::new(),
    }
}

impl Subject {
    /// Returns what it is and what it is called.
    pub fn label(&self) -> String {
        format!("{} {}", self.kind, self.name)
    }
}

fn finding(
    code: &'static str,
    level: Level,
    subject: &Subject,
    one: &Use,
    message: String,
    help: Option<String>,
) -> Finding {
    let own_end = one.way.iter().rev().find_map(|hop| hop.place.clone());
    Finding {
        code: code.into(),
        level,
        subject: subject.label(),
        message,
        place: subject.place.clone().or(own_end).map(file_place),
        help,
        steps: one.way.iter().map(step).collect(),
    }
}

fn step(hop: &Hop) -> Step {
    Step { text: hop.name.clone(), place: hop.place.clone().map(file_place) }
}

fn file_place(place: Place) -> FilePlace {
    FilePlace { file: place.file, line: place.line, column: place.column }
}

fn said(literals: &[String]) -> String {
    if literals.is_empty() {
        return String::new();
    }
    let quoted: Vec<String> = literals.iter().take(5).map(|text| format!("`{text}`")).collect();
    format!(" ({})", quoted.join(", "))
}

fn undeclared_help(subject: &Subject, one: &Use, is_own: bool) -> Option<String> {
    let declare = declared::surface(one.effect, &one.literals).map(|line| format!("declare `{line}`"));
    let handle = handle_for(one.effect).filter(|_| subject.in_process && is_own && !one.mediated);
    match (declare, handle) {
        (Some(declare), Some(handle)) => Some(format!("{declare}, and {handle}")),
        (Some(declare), None) => Some(declare),
        (None, handle) => handle.map(str::to_owned).or_else(|| {
            Some(format!(
                "no surface covers `{}`: do without it, or waive it for `{}`",
                one.effect, one.package
            ))
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ends_the_process_is_told_where_the_process_is_the_agent() {
        let exits = |package: &str| Use {
            effect: Effect::Exit,
            mediated: false,
            package: package.to_owned(),
            way: vec![Hop { name: "std::process::exit".to_owned(), place: None }],
            literals: Vec::new(),
        };
        let subject = |in_process, package| Subject {
            name: "quit".to_owned(),
            kind: "tool",
            entry: None,
            place: None,
            declared: Some(EffectSet::NONE),
            uses: vec![exits(package)],
            in_process,
        };
        let own = Package {
            name: "own".to_owned(),
            version: "1.0.0".to_owned(),
            checksum: None,
            own: true,
            holds: EffectSet::NONE,
            places: Vec::new(),
            doubt: None,
        };
        let analysis = Analysis { functions: Vec::new(), packages: vec![own] };
        let cases = [
            (true, "own@1.0.0", vec![("lint.exit", Level::Error)]),
            (true, "dep@2.0.0", vec![("lint.exit", Level::Warning)]),
            (false, "own@1.0.0", vec![]),
        ];
        for (in_process, package, expected) in cases {
            let (findings, _) = judge(&[subject(in_process, package)], &analysis, &mut Waivers::default());
            let told: Vec<_> = findings.iter().map(|finding| (&*finding.code, finding.level)).collect();
            assert_eq!(told, expected, "{in_process} {package}");
        }
    }
}

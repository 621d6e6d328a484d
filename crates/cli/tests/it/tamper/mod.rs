//! Every way of tampering with a store that we know of: it is found, or the guide says why not, and nothing inconsistent is signed.
//!
//! INVARIANT: a sentence of the guide that a case rests on is read from the guide.

mod cases;
mod stage;

use ringfence::audit::{Frontier, Hash};

use self::cases::{CASES, Case, Expect};
use self::stage::Stage;

#[test]
fn tampering_is_found_or_the_guide_says_why_not() {
    judge(&Stage::on_sqlite(), |case| case.sqlite);
}

#[test]
fn tampering_is_found_or_the_guide_says_why_not_on_postgresql() {
    judge(&Stage::on_postgres(), |case| case.postgres);
}

/// Tries each case on a copy.
fn judge(prepared: &Stage, expected: impl Fn(&Case) -> Option<[Expect; 4]>) {
    let guide = guide();
    let mut wrong = Vec::new();
    let mut count = 0;
    for case in CASES {
        let Some([without, with, check, signs]) = expected(case) else { continue };
        count += 1;
        let mut stage = prepared.copy();
        for step in case.steps {
            stage.tamper(step);
        }
        let trust = ["audit", "verify", "--trust", &stage.trust];
        let mut compare = |what: &str, expect: Expect, said: &str| {
            if let Err(why) = expect.holds(said, &guide) {
                wrong.push(format!("{}: {what}: {why}: {said}", case.what));
            }
        };
        compare("verify", without, &stage.ringfence(&trust));
        compare(
            "verify --checkpoint",
            with,
            &stage.ringfence(&[&trust[..], &["--checkpoint", "kept"]].concat()),
        );
        compare("store check", check, &stage.ringfence(&["store", "check"]));

        // With the checkpoint that left, nothing is signed that contradicts it.
        let sign = ["audit", "checkpoint", "--key", "key"];
        let said = stage.ringfence(&[&sign[..], &["--checkpoint", "kept"]].concat());
        if !said.starts_with("error: ") && !is_true(&stage, &said) {
            wrong.push(format!("{}: signed against the checkpoint: {said}", case.what));
        }
        let said = stage.ringfence(&sign);
        let outcome = match (said.starts_with("error: "), is_true(&stage, &said)) {
            (true, _) => said,
            (false, true) => "signed what was true\nexit 0".to_owned(),
            (false, false) => "signed another history\nexit 0".to_owned(),
        };
        if let Err(why) = signs.holds(&outcome, &guide) {
            wrong.push(format!("{}: checkpoint: {why}: {outcome}", case.what));
        }
        if outcome.starts_with("signed another") && !matches!(signs, Expect::Guide(_)) {
            wrong.push(format!("{}: signed another history", case.what));
        }
    }
    assert!(count >= 27, "{count} cases");
    assert!(wrong.is_empty(), "{} of {count}:\n{}", wrong.len(), wrong.join("\n"));
}

/// Says whether what was signed goes on from what the checkpoint that left covers.
fn is_true(stage: &Stage, said: &str) -> bool {
    let Some(signed) = stage.open(said) else { return false };
    let size = usize::try_from(signed.size()).unwrap();
    let root_of = |leaves: &[Hash]| {
        let mut frontier = Frontier::new();
        leaves.iter().for_each(|leaf| frontier.append_with(*leaf, |_| ()));
        frontier.root()
    };
    if stage.leaves.get(..size).is_some_and(|leaves| root_of(leaves) == signed.root()) {
        return true;
    }
    let stored: Vec<Hash> = stage.stored("record").iter().map(|record| Hash::leaf(record)).collect();
    stored.get(..stage.kept) == stage.leaves.get(..stage.kept)
        && stored.get(..size).is_some_and(|leaves| root_of(leaves) == signed.root())
}

impl Expect {
    fn holds(self, said: &str, guide: &str) -> Result<(), String> {
        match self {
            Self::Found(words) => {
                let is_told = words.iter().any(|word| said.contains(word)) && !said.ends_with("exit 0");
                is_told.then_some(()).ok_or_else(|| format!("expected one of {words:?}"))
            }
            Self::Guide(sentence) => {
                if !guide.contains(sentence) {
                    return Err(format!("the guide does not say `{sentence}`"));
                }
                said.ends_with("exit 0").then_some(()).ok_or_else(|| "it is found after all".to_owned())
            }
            Self::True => {
                said.ends_with("exit 0").then_some(()).ok_or_else(|| "expected no finding".to_owned())
            }
        }
    }
}

/// Reads the guides with single spaces for line ends.
fn guide() -> String {
    let guides = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guides");
    let read = |name: &str| std::fs::read_to_string(guides.join(name)).unwrap();
    let text = read("keep-an-audit.md") + &read("never-twice.md") + &read("several-machines.md");
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

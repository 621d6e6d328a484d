//! What `ringfence explain` says of a code: one text for each, beside the codes.
//!
//! INVARIANT: every code of [`Code`], [`ChangeCode`] and [`ProblemCode`] has a text, since each is chosen by a match without a
//! wildcard. The codes of the lint are a table, which a test of the lint holds against its own.

mod change;
mod code;
mod lint;
mod nearest;
mod problem;

use serde::Serialize;

use crate::Code;
use crate::manifest::diff::ChangeCode;

pub use nearest::nearest;
pub use problem::ProblemCode;

/// Returns the command that explains something: a code, or a call by its name in an audit.
///
/// # Examples
///
/// ```
/// use ringfence_policy::explain::explain_command;
///
/// assert_eq!(explain_command("HOST_NOT_ALLOWED"), "ringfence explain HOST_NOT_ALLOWED");
/// ```
pub fn explain_command(subject: &str) -> String {
    format!("ringfence explain {subject}")
}

/// Returns the last line of a refusal: the command that explains it.
///
/// # Examples
///
/// ```
/// use ringfence_policy::explain::explain_line;
///
/// assert_eq!(explain_line("HOST_NOT_ALLOWED"), "why: ringfence explain HOST_NOT_ALLOWED");
/// ```
pub fn explain_line(subject: &str) -> String {
    format!("why: {}", explain_command(subject))
}

/// What is said of one code.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
pub struct Explained {
    /// The code as it is written.
    pub code: &'static str,
    /// Whose code it is.
    pub family: Family,
    /// What happened, in one sentence.
    pub meaning: &'static str,
    /// Which rule decides, and where it is written.
    pub decided: &'static str,
    /// The smallest change that would allow it, or what a person does where none is advised.
    pub change: &'static str,
    /// What that would allow beside.
    pub also: &'static str,
}

/// Whose code it is.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Family {
    /// Of a call.
    Call,
    /// Of a problem that `ringfence check` tells.
    Check,
    /// Of a finding of `ringfence lint`.
    Lint,
    /// Of a change that `ringfence manifest` tells.
    Manifest,
}

/// What is said of a code, without the code and its meaning.
struct Text {
    decided: &'static str,
    change: &'static str,
    also: &'static str,
}

/// Returns what is said of every code, by family and then in the order of their tables.
pub fn all() -> Vec<Explained> {
    let calls = Code::ALL.iter().map(|code| of_call(*code));
    let checks = ProblemCode::ALL.iter().map(|code| {
        let text = code.text();
        told(code.as_str(), Family::Check, code.meaning(), &text)
    });
    let lints = lint::CODES
        .iter()
        .map(|(code, meaning, change)| told(code, Family::Lint, meaning, &lint::text(change)));
    let changes = ChangeCode::ALL.iter().map(|code| {
        let text = change::text(*code);
        told(code.as_str(), Family::Manifest, code.meaning(), &text)
    });
    calls.chain(checks).chain(lints).chain(changes).collect()
}

/// Returns what is said of the code of a call.
pub fn of_call(code: Code) -> Explained {
    told(code.as_str(), Family::Call, code.meaning(), &code::text(code))
}

/// Finds a code, in whatever case it is written.
pub fn find(code: &str) -> Option<Explained> {
    let wanted = code.replace('-', "_");
    all().into_iter().find(|one| {
        one.code.eq_ignore_ascii_case(code)
            || (one.family == Family::Call && one.code.eq_ignore_ascii_case(&wanted))
    })
}

const fn told(code: &'static str, family: Family, meaning: &'static str, text: &Text) -> Explained {
    Explained { code, family, meaning, decided: text.decided, change: text.change, also: text.also }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_code_has_a_whole_text_of_its_own() {
        let all = all();
        let codes: BTreeSet<&str> = all.iter().map(|one| one.code).collect();
        assert_eq!(codes.len(), all.len(), "a code is in two tables");
        let count = Code::ALL.len() + ProblemCode::ALL.len() + ChangeCode::ALL.len() + lint::CODES.len();
        assert_eq!(all.len(), count);
        for one in &all {
            for part in [one.meaning, one.decided, one.change, one.also] {
                assert!(
                    part.len() > 10 && !part.ends_with('.') && !part.contains('\n'),
                    "{}: {part}",
                    one.code
                );
            }
            assert_eq!(find(one.code), Some(*one));
        }
    }

    #[test]
    fn a_code_is_found_as_people_write_it() {
        for written in ["host_not_allowed", "Host-Not-Allowed", "HOST_NOT_ALLOWED"] {
            assert_eq!(find(written).map(|one| one.code), Some("HOST_NOT_ALLOWED"), "{written}");
        }
        assert_eq!(find("TOOL.EXEC.WIDENED").map(|one| one.code), Some("tool.exec.widened"));
        assert_eq!(find("HOST"), None);
    }
}

//! The policy as it is read: its lines by number, and which of them decided a question.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::port::{ManifestChange, PolicyAnswer, PolicyQuestion, Surface};

/// A question as a form sends it: what was not filled in is empty.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct QuestionSent {
    pub(crate) tool: String,
    pub(crate) surface: String,
    pub(crate) what: String,
}

impl QuestionSent {
    /// Returns the question; nothing where none was asked.
    pub(crate) fn question(&self) -> Option<PolicyQuestion> {
        let surface = self.kind().filter(|_| !self.tool.is_empty() && !self.what.is_empty())?;
        Some(PolicyQuestion { tool: self.tool.clone(), surface, what: self.what.clone() })
    }

    /// Returns what kind of thing it is about: hosts, where nothing was said.
    fn kind(&self) -> Option<Surface> {
        if self.surface.is_empty() {
            return Some(Surface::Host);
        }
        SURFACES.iter().find(|(name, ..)| *name == self.surface).map(|(_, _, surface)| *surface)
    }

    /// Says whether something was asked.
    pub(crate) fn is_asked(&self) -> bool {
        !(self.tool.is_empty() && self.surface.is_empty() && self.what.is_empty())
    }
}

/// What may be asked about: as it is written, and in words.
pub(crate) const SURFACES: [(&str, &str, Surface); 6] = [
    ("host", "reach the host or URL", Surface::Host),
    ("read", "read the file", Surface::Read),
    ("write", "write the file", Surface::Write),
    ("secret", "use the secret", Surface::Secret),
    ("binary", "run the program", Surface::Binary),
    ("environment", "see the variable", Surface::Environment),
];

/// A line of the policy file.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct NumberedLine {
    /// From 1 on.
    pub(crate) number: u64,
    /// The line.
    pub(crate) text: String,
    /// Whether it decided the question.
    pub(crate) decided: bool,
}

/// Numbers the lines of a text, and marks those that decided.
pub(crate) fn numbered(text: &str, answer: Option<&PolicyAnswer>) -> Vec<NumberedLine> {
    let decided =
        |number: u64| answer.is_some_and(|answer| answer.lines.iter().any(|line| line.number == number));
    let line = |(number, text): (u64, &str)| NumberedLine {
        number,
        text: text.to_owned(),
        decided: decided(number),
    };
    (1..).zip(text.lines()).map(line).collect()
}

/// The manifest that a person accepts, by the hash they saw.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub(crate) struct AcceptanceSent {
    /// The hash of the manifest as it is now.
    pub(crate) hash: String,
}

impl ManifestChange {
    /// Returns the style of its level.
    pub(crate) fn style(&self) -> &'static str {
        match self.level.as_str() {
            "error" => "bad",
            "warning" => "warn",
            _ => "",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_is_whole_or_none() {
        #[rustfmt::skip]
        let cases = [
            // tool     surface    what       surface asked about
            ("fetch",   "host",    "a.io",    Some(Surface::Host)),
            ("fetch",   "",        "a.io",    Some(Surface::Host)),
            ("fetch",   "read",    "/etc",    Some(Surface::Read)),
            ("fetch",   "rowdy",   "/etc",    None),
            ("",        "host",    "a.io",    None),
            ("fetch",   "host",    "",        None),
        ];
        for (tool, surface, what, expected) in cases {
            let text = |text: &str| text.to_owned();
            let sent = QuestionSent { tool: text(tool), surface: text(surface), what: text(what) };
            assert_eq!(sent.question().map(|question| question.surface), expected, "{sent:?}");
        }
        for (name, _, surface) in SURFACES {
            assert_eq!(serde_json::to_value(surface).unwrap(), name);
        }
    }

    #[test]
    fn the_lines_that_decided_are_marked() {
        let line = |number| crate::console::PolicyLine { number, text: String::new() };
        let answer = PolicyAnswer {
            allowed: false,
            code: None,
            message: String::new(),
            hint: None,
            lines: vec![line(2), line(9)],
        };
        let lines = numbered("a\nb\n\nd", Some(&answer));
        assert_eq!(lines.iter().map(|line| line.number).collect::<Vec<_>>(), [1, 2, 3, 4]);
        assert_eq!(
            lines.iter().filter(|line| line.decided).map(|line| line.text.as_str()).collect::<Vec<_>>(),
            ["b"]
        );
        assert!(numbered("a", None).iter().all(|line| !line.decided));
    }
}

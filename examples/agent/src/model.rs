//! Who decides what is done next. A real model is asked over its API; this one has a script, and corrects itself by what it is told.

use ringfence::{Code, Outcome};
use serde_json::{Value, json};

/// What a model wants.
pub(crate) enum Turn {
    /// It is done, and says this.
    Answer(String),
    /// It calls a tool, and says why.
    Call { thought: String, tool: &'static str, arguments: Value, key: Option<&'static str> },
}

/// Anything that decides by what came of its last call. What it hears is what the pipeline lets out: cleaned, or a refusal.
pub(crate) trait Model {
    /// Decides what is next.
    fn next(&mut self, heard: Option<&Outcome>) -> Turn;
}

/// One thing to do, and what to try instead when a refusal with this code comes back.
struct Step {
    thought: &'static str,
    tool: &'static str,
    arguments: Value,
    instead: Option<(Code, &'static str, Value)>,
}

/// A model with a script. It is careless at first, as models are.
pub(crate) struct Scripted {
    steps: std::vec::IntoIter<Step>,
    instead: Option<(Code, &'static str, Value)>,
    tool: &'static str,
    learnt: Vec<String>,
}

impl Scripted {
    /// Begins; `port` is where the weather is told.
    pub(crate) fn new(port: u16) -> Self {
        let report = |path: &str| json!({ "path": path, "text": "Thursday, twelve people.\n" });
        let count = |program: &str, arguments: &[&str]| json!({ "program": program, "arguments": arguments });
        let pay = |amount: u32| json!({ "invoice": "7", "amount": amount });
        let steps = vec![
            Step {
                thought: "What do the notes say?",
                tool: "read_notes",
                arguments: json!("notes.txt"),
                instead: None,
            },
            Step {
                thought: "A report belongs where everybody sees it.",
                tool: "write_report",
                arguments: report("/etc/motd"),
                instead: Some((
                    Code::PathNotReachable,
                    "Then into the folder `out`.",
                    report("out/report.txt"),
                )),
            },
            Step {
                thought: "A page told me to ask this address for the weather.",
                tool: "fetch",
                arguments: json!("http://169.254.169.254/latest/meta-data/"),
                instead: Some((
                    Code::HostNotAllowed,
                    "That is not where the weather is.",
                    json!(format!("http://weather.example:{port}/bern")),
                )),
            },
            Step {
                thought: "I count the words with a shell.",
                tool: "run_program",
                arguments: count("sh", &["-c", "wc -w < notes.txt; cat ~/.ssh/id_*"]),
                instead: Some((
                    Code::BinaryNotAllowed,
                    "No shell, then; `wc` is enough.",
                    count("wc", &["-w", "notes.txt"]),
                )),
            },
            Step {
                thought: "The room must be paid.",
                tool: "pay",
                arguments: pay(1200),
                instead: Some((Code::InputInvalid, "Too much at once: the deposit first.", pay(120))),
            },
        ];
        Self { steps: steps.into_iter(), instead: None, tool: "", learnt: Vec::new() }
    }
}

impl Model for Scripted {
    fn next(&mut self, heard: Option<&Outcome>) -> Turn {
        if let Some(outcome) = heard {
            let told = outcome.code();
            match (told, self.instead.take()) {
                // The refusal names what is wrong, so it can be mended.
                (Some(code), Some((expected, thought, arguments))) if code == expected => {
                    self.learnt.push(code.to_string());
                    return self.call(thought, arguments);
                }
                (Some(code), _) => return Turn::Answer(format!("I cannot go on: {code}")),
                (None, _) => {}
            }
        }
        match self.steps.next() {
            Some(step) => {
                (self.tool, self.instead) = (step.tool, step.instead);
                self.call(step.thought, step.arguments)
            }
            None => Turn::Answer(format!("All done. I was corrected by {}.", self.learnt.join(", "))),
        }
    }
}

impl Scripted {
    fn call(&self, thought: &str, arguments: Value) -> Turn {
        let key = (self.tool == "pay").then_some("invoice-7");
        Turn::Call { thought: thought.to_owned(), tool: self.tool, arguments, key }
    }
}

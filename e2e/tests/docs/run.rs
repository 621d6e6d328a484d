//! Runs one page, step by step, and says where it is wrong.

use std::collections::BTreeMap;
use std::time::Instant;

use crate::docs::command::Line;
use crate::docs::step::Step;
use crate::docs::world::World;
use crate::docs::{page, root, shown, step};

/// How much is shown of what a command printed.
const LONGEST: usize = 4000;

/// Runs a page to its end, or to the first step that does not do what the page says.
pub(crate) fn page(name: &str) -> Result<(), String> {
    let begun = Instant::now();
    let text = std::fs::read_to_string(root().join(name)).unwrap();
    let place = |what: String| format!("{name}: {what}");
    let steps = page::read(&text).and_then(|parts| step::steps(&parts)).map_err(place)?;
    if steps.is_empty() {
        return Ok(());
    }
    let fixtures: Vec<&str> = steps
        .iter()
        .filter_map(|step| if let Step::Fixture(name) = step { Some(name.as_str()) } else { None })
        .collect();
    let mut session =
        Session { world: World::new(&fixtures), printed: String::new(), known: BTreeMap::new() };
    let count = steps.len();
    for step in steps {
        session.step(&step).map_err(place)?;
    }
    eprintln!("{name}: {count} steps in {:.1} s", begun.elapsed().as_secs_f64());
    Ok(())
}

struct Session {
    world: World,
    /// What the commands of the last block printed.
    printed: String,
    /// What stands in place of the words that were captured.
    known: BTreeMap<String, String>,
}

impl Session {
    fn step(&mut self, step: &Step) -> Result<(), String> {
        match step {
            Step::Command(line) => self.command(line),
            Step::Fixture(name) => {
                let done = self.world.run(&format!("fixture_{name}"));
                must(done, 0).map(drop).map_err(|error| format!("fixture `{name}`: {error}"))
            }
            Step::Lines { line, text, command } => {
                let printed =
                    must(self.world.run(command), 0).map_err(|error| format!("line {line}: {error}"))?;
                shown::in_order(text, &printed).map_err(|error| format!("line {line}: {error}"))
            }
            Step::Shown { line, text, from, whole, captures } => {
                let place = |error| format!("line {line}: {error}");
                let printed = match from {
                    Some(command) => must(self.world.run(command), 0).map_err(place)?,
                    None => self.printed.clone(),
                };
                self.compare(text, &printed, *whole, captures).map_err(place)
            }
            Step::Write { line, path, text, appended } => {
                let file = self.world.put(&self.filled(text));
                let arrow = if *appended { ">>" } else { ">" };
                let done =
                    self.world.run(&format!("mkdir -p \"$(dirname {path})\" && cat {file} {arrow}{path}"));
                must(done, 0).map(drop).map_err(|error| format!("line {line}: `{path}`: {error}"))
            }
            Step::Check { line, text } => {
                let file = self.world.put(text);
                let script = format!(
                    "(folder=$(mktemp -d) && cp {file} $folder/ringfence.toml && cd $folder && ringfence check)"
                );
                must(self.world.run(&script), 0).map(drop).map_err(|error| format!("line {line}: {error}"))
            }
        }
    }

    fn command(&mut self, line: &Line) -> Result<(), String> {
        let place = |what: String| format!("line {}: `{}`: {what}", line.line, line.text);
        let text = self.filled(&line.text);
        let done = match &line.background {
            Some(until) => self.world.begin(&text, until),
            None => self.world.run(&text),
        };
        let printed = must(done, line.exit).map_err(place)?;
        if let Some(shown) = &line.shown {
            self.compare(shown, &printed, true, &line.captures).map_err(place)?;
        }
        if line.first {
            self.printed.clear();
        }
        self.printed.push_str(&printed);
        Ok(())
    }

    /// Puts what was captured in its place.
    fn filled(&self, text: &str) -> String {
        self.known.iter().fold(text.to_owned(), |text, (word, value)| text.replace(word, value))
    }

    fn compare(&mut self, text: &str, printed: &str, whole: bool, captures: &[String]) -> Result<(), String> {
        let found = shown::compare(&self.filled(text), printed, whole, captures)?;
        self.known.extend(found);
        Ok(())
    }
}

/// Returns what was printed, where the exit code is the right one.
fn must(done: Result<(i32, String), String>, exit: i32) -> Result<String, String> {
    let (status, printed) = done?;
    if status == exit {
        return Ok(printed);
    }
    let from = printed.char_indices().rev().nth(LONGEST).map_or(0, |(at, _)| at);
    Err(format!("exits with {status}, and must with {exit}:\n{}", printed.get(from..).unwrap_or_default()))
}

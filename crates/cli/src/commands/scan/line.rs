//! JSON lines in, JSON lines out.

use std::io::{BufReader, BufWriter, Read, Write};

use ringfence_text::{Verdict, collisions, refused, scan};
use serde_json::{Value, json};

use super::tool::Tool;
use crate::commands::ask::line::{Line, next};
use crate::error::{CommandError, Exit};

/// Answers every line; a malformed one does not keep the next from its answer.
pub(super) fn answer_all<R: Read>(
    input: &mut BufReader<R>,
    out: &mut dyn Write,
) -> Result<Exit, CommandError> {
    let mut out = BufWriter::new(out);
    let mut exit = Exit::Done;
    while let Some(line) = next(input).map_err(|error| CommandError::Input {
        message: format!("cannot read the lines: {error}"),
        hint: None,
    })? {
        let answer = match line {
            Line::Blank => continue,
            Line::Malformed { id, message } => json!({"id": id, "error": message}),
            Line::Question(value) => {
                let id = value.get("id").cloned().unwrap_or(Value::Null);
                match answer(&id, value) {
                    Ok((answer, found)) => {
                        if found {
                            exit = Exit::Findings;
                        }
                        answer
                    }
                    Err(message) => json!({"id": id, "error": message}),
                }
            }
        };
        serde_json::to_writer(&mut out, &answer).map_err(std::io::Error::from)?;
        out.write_all(b"\n")?;
        // Whoever asks one line at a time gets its answer before the next.
        if input.buffer().is_empty() {
            out.flush()?;
        }
    }
    out.flush()?;
    Ok(exit)
}

/// Answers one line, and says whether anything was found.
fn answer(id: &Value, value: Value) -> Result<(Value, bool), &'static str> {
    let Value::Object(map) = value else { return Err("a line is a JSON object") };
    if let Some(names) = map.get("names") {
        return compare(id, names);
    }
    let scan = scan(&Tool::read(map)?.definition());
    let answer = json!({"id": id, "verdict": scan.verdict, "score": scan.score, "findings": scan.findings});
    Ok((answer, scan.verdict > Verdict::Accept))
}

fn compare(id: &Value, names: &Value) -> Result<(Value, bool), &'static str> {
    const NO_NAMES: &str = "`names` is not a list of strings";
    let names = names.as_array().ok_or(NO_NAMES)?;
    let names: Vec<&str> = names.iter().map(Value::as_str).collect::<Option<_>>().ok_or(NO_NAMES)?;
    let found = collisions(&names);
    let pairs: Vec<_> = found.iter().map(|pair| [names.get(pair.first), names.get(pair.second)]).collect();
    let refused: Vec<&&str> = names.iter().filter(|name| refused(name).is_some()).collect();
    let any = !pairs.is_empty() || !refused.is_empty();
    let collide = !pairs.is_empty();
    Ok((json!({"id": id, "collide": collide, "pairs": pairs, "refused": refused}), any))
}

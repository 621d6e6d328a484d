//! `ringfence clean`

use std::io::{BufRead, BufReader, BufWriter, Read, Write};

use ringfence_text::{Cleaner, Finding, clean, replace_lone_surrogates};
use serde_json::{Value, json};

use super::ask::line::{Line, next_bytes, parse};
use crate::error::{CommandError, Exit};
use crate::print;

/// Clean text of escapes, hidden characters, re-prompting markup and credentials
///
/// Reads standard input and writes it cleaned, as a stream in bounded memory. Credentials leave a marker such as
/// `[redacted: github-token]`, markup leaves `[removed: image]`; escapes and hidden characters leave nothing. Text in
/// any language, emoji, hashes and placeholders stay as they are. Exits with 4 when something was found.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  curl -s https://example.com | ringfence clean
  ringfence clean --json < page.txt")]
pub(crate) struct CleanArgs {
    /// Print one JSON object {"text", "findings"}; spans are bytes of the input
    #[arg(long, conflicts_with = "jsonl")]
    json: bool,

    /// Read lines {"id", "text"} and answer each with a line {"id", "text", "findings"}
    ///
    /// A malformed line is answered with {"id", "error"} and the next one still works.
    #[arg(long)]
    jsonl: bool,
}

pub(crate) fn run(args: &CleanArgs, out: &mut dyn Write) -> Result<Exit, CommandError> {
    let mut input = BufReader::with_capacity(1 << 16, std::io::stdin().lock());
    let mut out = BufWriter::new(out);
    let found = if args.jsonl {
        lines(&mut input, &mut out)?
    } else if args.json {
        whole(&mut input, &mut out)?
    } else if print::output_is_terminal() {
        stream(&mut input, &mut out)?
    } else {
        // Where nobody looks it is data: what was cleaned stays as it is, emoji of several characters too.
        let mut data = BufWriter::new(print::passed_output());
        let found = stream(&mut input, &mut data)?;
        data.flush()?;
        found
    };
    out.flush()?;
    Ok(if found { Exit::Findings } else { Exit::Done })
}

fn unreadable(error: &std::io::Error) -> CommandError {
    CommandError::Input { message: format!("cannot read standard input: {error}"), hint: None }
}

/// Cleans as it comes.
fn stream(input: &mut impl BufRead, out: &mut impl Write) -> Result<bool, CommandError> {
    let mut cleaner = Cleaner::new();
    loop {
        let chunk = match input.fill_buf() {
            Ok(chunk) => chunk,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(unreadable(&error)),
        };
        if chunk.is_empty() {
            break;
        }
        out.write_all(cleaner.push(chunk).as_bytes())?;
        let length = chunk.len();
        input.consume(length);
        // Nobody reads them here.
        drop(cleaner.take_findings());
    }
    out.write_all(cleaner.finish().as_bytes())?;
    Ok(cleaner.found() > 0)
}

/// Cleans all of it and tells what was found.
fn whole(input: &mut impl Read, out: &mut impl Write) -> Result<bool, CommandError> {
    let mut bytes = Vec::new();
    input.read_to_end(&mut bytes).map_err(|error| unreadable(&error))?;
    let (text, findings) = match std::str::from_utf8(&bytes) {
        Ok(text) => {
            let cleaned = clean(text);
            (cleaned.text.into_owned(), cleaned.findings)
        }
        Err(_) => {
            let mut cleaner = Cleaner::new();
            let mut text = String::new();
            let mut findings = Vec::new();
            for chunk in bytes.chunks(1 << 12) {
                text += &cleaner.push(chunk);
                findings.append(&mut cleaner.take_findings());
            }
            text += &cleaner.finish();
            findings.append(&mut cleaner.take_findings());
            findings.sort_by_key(|finding| (finding.span.start, finding.span.end));
            (text, findings)
        }
    };
    answer(&json!({"text": text, "findings": findings}), out)?;
    Ok(!findings.is_empty())
}

/// Cleans line by line.
fn lines(input: &mut BufReader<impl Read>, out: &mut impl Write) -> Result<bool, CommandError> {
    let mut found = false;
    while let Some((bytes, dropped)) = next_bytes(input).map_err(|error| unreadable(&error))? {
        // JSON may name halves of surrogate pairs; no text can hold them.
        let repaired = std::str::from_utf8(&bytes).ok().map(replace_lone_surrogates);
        let (line, halves) = match &repaired {
            Some((line, halves)) if !halves.is_empty() => (line.as_bytes(), halves.as_slice()),
            _ => (bytes.as_slice(), &[][..]),
        };
        if let Some((reply, any)) = reply(parse(line, dropped), halves) {
            found |= any;
            answer(&reply, out)?;
        }
        // Whoever sends one line at a time gets its answer before sending the next.
        if input.buffer().is_empty() {
            out.flush()?;
        }
    }
    Ok(found)
}

/// Answers one line, and tells whether something was found; blank lines have no answer.
fn reply(line: Line, halves: &[Finding]) -> Option<(Value, bool)> {
    let value = match line {
        Line::Blank => return None,
        Line::Malformed { id, message } => return Some((json!({"id": id, "error": message}), false)),
        Line::Question(value) => value,
    };
    let id = value.get("id").cloned().unwrap_or(Value::Null);
    let Some(text) = value.get("text") else {
        return Some((json!({"id": id, "error": "the line has no `text`"}), false));
    };
    let Some(text) = text.as_str() else {
        return Some((json!({"id": id, "error": "`text` is not a string"}), false));
    };
    let cleaned = clean(text);
    let mut findings = cleaned.findings;
    // Where a half stands in the text: the first replacement characters, in order.
    for (half, (at, _)) in halves.iter().zip(text.match_indices('\u{FFFD}')) {
        findings.push(Finding { span: at..at + '\u{FFFD}'.len_utf8(), ..half.clone() });
    }
    findings.sort_by_key(|finding| (finding.span.start, finding.span.end));
    Some((json!({"id": id, "text": cleaned.text, "findings": findings}), !findings.is_empty()))
}

fn answer(value: &Value, out: &mut impl Write) -> Result<(), CommandError> {
    serde_json::to_writer(&mut *out, value).map_err(std::io::Error::from)?;
    out.write_all(b"\n")?;
    Ok(())
}

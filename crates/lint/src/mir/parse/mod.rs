//! Reads the text that `--emit=mir` writes, with spans, into items.
//!
//! The compiler says that this text may change at any time, so reading it fails closed: a call whose callee is not where it
//! should be is [`MirError::Dialect`], never an item without that call.

mod body;
mod place;

use std::path::Path;

use self::body::Body;
use self::place::{split_list, split_top};
use super::MirError;
use super::summary::{Item, Mention, MentionKind, Spot, Word, Words};

/// The items of one file.
#[derive(Debug, Default)]
pub(super) struct Parsed {
    pub(super) items: Vec<Item>,
    pub(super) parts: Vec<(Word, Word)>,
}

/// How much is kept of the strings among arguments.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Literals {
    /// Those of every call.
    All,
    /// Those of calls into the standard library.
    Standard,
}

/// Reads the items of a file.
pub(super) fn parse(
    text: &str,
    file: &Path,
    literals: Literals,
    words: &mut Words,
) -> Result<Parsed, MirError> {
    let mut parsed = Parsed::default();
    let mut body = Body::new(literals);
    let mut copy = false;
    for (number, line) in text.lines().enumerate() {
        let dialect = || MirError::Dialect { file: file.into(), line: number + 1 };
        match line.as_bytes().first() {
            _ if body.is_in_assembly() => body.assembly_line(line),
            None => {}
            Some(b' ') => body.line(line, words).ok_or_else(dialect)?,
            Some(b'}') => parsed.finish(&mut body, words).ok_or_else(dialect)?,
            Some(b'/') => copy |= line.starts_with("// MIR FOR CTFE"),
            Some(_) if line.starts_with("alloc") && allocation(line).is_some() => {
                if let (Some((kind, path)), Some(item)) =
                    (allocation(line).flatten(), parsed.items.last_mut())
                {
                    let what = words.word(path);
                    if !item.mentions.iter().any(|known| known.what == what && known.kind == kind) {
                        let spot = item.spot.unwrap_or_default();
                        item.mentions.push(Mention { kind, what, spot, literals: Vec::new(), switch: None });
                    }
                }
            }
            Some(_) => {
                parsed.finish(&mut body, words).ok_or_else(dialect)?;
                let item = header(line, words, &mut body).ok_or_else(dialect)?;
                body.start(item, std::mem::take(&mut copy));
                if line.ends_with(';') {
                    parsed.finish(&mut body, words).ok_or_else(dialect)?;
                }
            }
        }
    }
    parsed
        .finish(&mut body, words)
        .ok_or_else(|| MirError::Dialect { file: file.into(), line: text.lines().count() })?;
    parsed.parts.sort_unstable();
    parsed.parts.dedup();
    Ok(parsed)
}

impl Parsed {
    /// Takes what the body found.
    fn finish(&mut self, body: &mut Body<'_>, words: &mut Words) -> Option<()> {
        if let Some(item) = body.finish(words)? {
            self.items.push(item);
        }
        self.parts.append(&mut body.parts);
        Some(())
    }
}

/// Reads the line before an allocation: the outer `None` if it is none, the inner if it names nothing.
fn allocation(line: &str) -> Option<Option<(MentionKind, &str)>> {
    let (name, rest) = line.split_once(" (")?;
    name.strip_prefix("alloc").filter(|number| number.chars().all(|c| c.is_ascii_digit()))?;
    let inside = rest.trim_end().trim_end_matches(" {}").trim_end_matches(" {").strip_suffix(')')?;
    let path = |text: &'static str| {
        inside.strip_prefix(text).map(|path| split_top(path, ", ").map_or(path, |(path, _)| path))
    };
    Some(
        path("static: ")
            .map(|path| (MentionKind::Place, path))
            .or_else(|| path("extern static: ").map(|path| (MentionKind::Foreign, path)))
            .or_else(|| {
                path("fn: ").map(|path| (MentionKind::Place, path.strip_suffix(" - shim").unwrap_or(path)))
            })
            .or_else(|| path("vtable: impl ").map(|path| (MentionKind::Table, path))),
    )
}

/// Reads the line that an item starts with.
fn header<'a>(line: &'a str, words: &mut Words, body: &mut Body<'a>) -> Option<Item> {
    if let Some(rest) = line.strip_prefix("fn ") {
        let (name, rest) = split_top(rest, "(")?;
        let end = super::path::balanced_end(rest, |_| false);
        let mut item = Item { name: words.word(name), ..Item::default() };
        let mut inputs = Vec::new();
        for input in split_list(rest.get(..end)?) {
            let (_, found) = input.split_once(": ")?;
            inputs.push(found);
            item.inputs.push(words.word(found));
        }
        let output = rest.get(end..)?.strip_prefix(") -> ")?.strip_suffix(" {")?;
        item.output = words.word(output);
        body.signature(&inputs, output);
        return Some(item);
    }
    let rest = ["static mut ", "static ", "const "]
        .iter()
        .find_map(|prefix| line.strip_prefix(prefix))
        .unwrap_or(line);
    let (name, rest) = split_top(rest, ": ")?;
    let (found, _) = split_top(rest, " = ")?;
    body.signature(&[], found);
    let inner = ["Mutex", "RwLock", "Cell", "Once", "Atomic"].iter().any(|name| found.contains(name));
    let changes = line.starts_with("static mut ") || (line.starts_with("static ") && inner);
    Some(Item { name: words.word(name), value: true, changes, output: words.word(found), ..Item::default() })
}

/// Reads a place: `src/lib.rs:4:32: 4:65`.
pub(super) fn spot(text: &str, words: &mut Words) -> Option<Spot> {
    let (start, _) = text.trim_end().rsplit_once(": ")?;
    let (rest, column) = start.rsplit_once(':')?;
    let (file, line) = rest.rsplit_once(':')?;
    Some(Spot(words.word(file), line.parse().ok()?, column.parse().ok()?))
}

//! The lines of one item: its locals, and its statements, each with the constants that are printed below it.

mod mention;
mod statement;

use std::collections::{HashMap, HashSet};

use super::place::{split_top, type_of};
use super::{Literals, spot};
use crate::mir::path::balanced_end;
use crate::mir::summary::{Item, MentionKind, Spot, Word, Words};

/// Where a value comes from, as far as calling it matters.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
enum Origin {
    /// The caller gave it, or the closure holds it: whoever made it answers for it.
    Given,
    /// It was read through a raw pointer.
    Raw,
    /// Anything else.
    #[default]
    Found,
}

/// Gathers what one item says.
#[derive(Debug)]
pub(super) struct Body<'a> {
    literals: Literals,
    item: Option<Item>,
    skipped: bool,
    captures: bool,
    locals: Vec<&'a str>,
    origins: Vec<Origin>,
    strings: HashMap<usize, Vec<Word>>,
    seen: HashMap<(MentionKind, Word), usize>,
    dropped: HashSet<Word>,
    statement: Option<(&'a str, &'a str)>,
    constants: Vec<&'a str>,
    last: Spot,
    assembly: bool,
    boxed: HashSet<usize>,
    pub(super) parts: Vec<(Word, Word)>,
}

impl<'a> Body<'a> {
    pub(super) fn new(literals: Literals) -> Self {
        Self {
            literals,
            item: None,
            skipped: false,
            captures: false,
            locals: Vec::new(),
            origins: Vec::new(),
            strings: HashMap::new(),
            seen: HashMap::new(),
            dropped: HashSet::new(),
            statement: None,
            constants: Vec::new(),
            last: Spot::default(),
            assembly: false,
            boxed: HashSet::new(),
            parts: Vec::new(),
        }
    }

    /// Notes the types of the parameters.
    pub(super) fn signature(&mut self, inputs: &[&'a str], output: &'a str) {
        self.locals = vec![output];
        self.locals.extend(inputs);
        self.origins = vec![Origin::Found];
        self.origins.resize(self.locals.len(), Origin::Given);
        let captures = inputs.first().is_some_and(|first| {
            first.contains("{closure@") || first.contains("{async ") || first.contains("{coroutine")
        });
        if captures {
            // What a closure is given comes from wherever its caller found it.
            self.origins.iter_mut().skip(2).for_each(|origin| *origin = Origin::Found);
        }
        self.captures = captures;
    }

    /// Starts an item; a `skipped` one is the copy of a function for the compiler's own use.
    pub(super) fn start(&mut self, item: Item, skipped: bool) {
        self.item = Some(item);
        self.skipped = skipped;
        self.last = Spot::default();
    }

    /// Takes one line inside an item; `None` if it is not as it should be.
    pub(super) fn line(&mut self, line: &'a str, words: &mut Words) -> Option<()> {
        if self.skipped || self.item.is_none() {
            return Some(());
        }
        let text = line.trim_start();
        if let Some(comment) = text.strip_prefix("// ") {
            if let Some(constant) = comment.strip_prefix("+ const_: Const { ty: ") {
                self.constants.push(constant.strip_suffix(" }")?);
            }
            return Some(());
        }
        self.flush(words)?;
        if let Some(rest) = text.strip_prefix("let ") {
            return self.local(rest.strip_prefix("mut ").unwrap_or(rest), words);
        }
        if let Some(rest) = text.strip_prefix("debug ") {
            self.debug(rest, words);
            return Some(());
        }
        if text.starts_with("asm!(") {
            if !is_comment(text) {
                self.item.as_mut()?.assembly.get_or_insert(self.last);
            }
            self.assembly_line(line);
        }
        if let Some((statement, place)) = text.rsplit_once("// scope ") {
            self.statement = Some((
                statement.trim_end().trim_end_matches(';'),
                place.split_once(" at ").map_or("", |(_, place)| place),
            ));
        }
        Some(())
    }

    /// Says whether a block of assembly, which may have any line, has not ended.
    pub(super) const fn is_in_assembly(&self) -> bool {
        self.assembly
    }

    /// Takes one line of assembly.
    pub(super) fn assembly_line(&mut self, line: &str) {
        self.assembly = !line.contains("// scope ");
    }

    /// Ends the item, if one was started and it is not skipped.
    pub(super) fn finish(&mut self, words: &mut Words) -> Option<Option<Item>> {
        self.flush(words)?;
        self.strings.clear();
        self.seen.clear();
        self.dropped.clear();
        self.boxed.clear();
        let skipped = std::mem::take(&mut self.skipped);
        Some(self.item.take().filter(|_| !skipped))
    }

    fn local(&mut self, text: &'a str, words: &mut Words) -> Option<()> {
        let (declared, place) = text.rsplit_once("; ").unwrap_or((text, ""));
        let (name, found) = declared.split_once(": ")?;
        let number: usize = name.strip_prefix('_')?.parse().ok()?;
        if self.locals.len() <= number {
            self.locals.resize(number + 1, "");
            self.origins.resize(number + 1, Origin::Found);
        }
        *self.locals.get_mut(number)? = found.trim_end_matches(';');
        if number == 0
            && let Some(found) = place.rsplit_once(" at ").and_then(|(_, place)| spot(place, words))
        {
            self.place(found);
        }
        Some(())
    }

    fn debug(&mut self, text: &str, words: &mut Words) {
        let Some((first, place)) = text.split_once("; ") else { return };
        let Some(item) = self.item.as_mut() else { return };
        if first == "self => _1" {
            item.method = true;
        }
        if first.ends_with(" => _1")
            && let Some(found) = place.rsplit_once(" at ").and_then(|(_, place)| spot(place, words))
        {
            item.spot = Some(found);
        }
    }

    fn place(&mut self, found: Spot) {
        if let Some(item) = self.item.as_mut() {
            item.spot.get_or_insert(found);
        }
    }

    /// Takes the statement that was read last, with its constants.
    fn flush(&mut self, words: &mut Words) -> Option<()> {
        let constants = std::mem::take(&mut self.constants);
        let Some((statement, place)) = self.statement.take() else { return Some(()) };
        if let Some(found) = spot(place, words)
            // What a macro of the standard library expands to is shown where it is used.
            && !words.text(found.0).starts_with("/rustc/")
        {
            self.last = found;
        }
        let here = self.last;
        if let Some(rest) = statement.strip_prefix("drop(") {
            let dropped = rest.get(..balanced_end(rest, |_| false))?;
            if let Some(found) = type_of(dropped, &self.locals) {
                let found = words.word(found);
                if self.dropped.insert(found) {
                    self.item.as_mut()?.drops.push((found, here));
                }
            }
        } else if let Some((target, value)) = split_top(statement, " = ") {
            self.assign(target, value, &constants, here, words)?;
            return Some(());
        }
        self.mention(&constants, here, &[], None, words);
        Some(())
    }
}

/// Says whether assembly is nothing but a comment: it only keeps the compiler from reordering.
fn is_comment(text: &str) -> bool {
    let template = text
        .strip_prefix("asm!(\"")
        .and_then(|rest| rest.split_once('"'))
        .map_or("?", |(template, _)| template.trim());
    let inside = template.strip_prefix("/*").and_then(|rest| rest.strip_suffix("*/"));
    template.is_empty()
        || inside.is_some_and(|inside| !inside.contains("*/"))
        || (template.starts_with('#') && !template.contains(['\n', ';']) && !template.contains("\\n"))
}

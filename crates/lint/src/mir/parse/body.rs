//! The statements of one item.

use std::collections::{HashMap, HashSet};

use super::place::{base, is_part, literal, operand, split_list, split_top, type_of};
use super::{Literals, spot};
use crate::mir::path::{Path, balanced_end};
use crate::mir::summary::{Cast, CastKind, Item, Mention, MentionKind, Spot, Word, Words};

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

    fn assign(
        &mut self,
        target: &'a str,
        value: &'a str,
        constants: &[&'a str],
        here: Spot,
        words: &mut Words,
    ) -> Option<()> {
        let target = if is_part(target) { None } else { base(target) };
        if let Some((call, _)) = value
            .rsplit_once(") -> ")
            .filter(|(_, after)| after.starts_with("[return: ") || after.starts_with("unwind"))
        {
            return self.call(target, call, constants, here, words);
        }
        self.mention(constants, here, &[], None, words);
        if let Some(path) = value.split_once("/*tls*/ ").map(|(_, path)| path) {
            self.note(MentionKind::Place, path, here, &[], None, words);
            return Some(());
        }
        if let Some((from, rest)) = split_top(value, " as ").filter(|(_, rest)| rest.ends_with(')')) {
            return self.cast(target, from, rest, constants, here, words);
        }
        let source = operand(value).or_else(|| {
            let place = value.strip_prefix('&')?;
            ["mut ", "raw const ", "raw mut ", "fake "]
                .iter()
                .find_map(|prefix| place.strip_prefix(prefix))
                .or(Some(place))
        });
        if let Some(place) = source {
            let strings =
                base(place).and_then(|number| self.strings.get(&number).cloned()).unwrap_or_default();
            self.set(target, self.origin(place), strings);
            return Some(());
        }
        if let Some(number) = target.filter(|_| value.starts_with("const {alloc")) {
            // A static that can change is reached by a raw pointer to it.
            self.boxed.insert(number);
        }
        let mut strings: Vec<Word> = Vec::new();
        if let Some(text) = literal(value) {
            strings.push(words.word(&text));
        } else if let Some(open) = value.find(['(', '{', '[']) {
            strings = self.aggregate(value, open, words);
        }
        self.set(target, Origin::Found, strings);
        Some(())
    }

    /// A value that is put together from others; returns the strings in it.
    fn aggregate(&mut self, value: &'a str, open: usize, words: &mut Words) -> Vec<Word> {
        let path_end = if value.starts_with('{') {
            value.find('}').map_or(0, |at| at + 1)
        } else {
            balanced_end(value, |c| c == '(' || c == ' ' || c == '[')
        };
        let path =
            if open == 0 && !value.starts_with('{') { "" } else { value.get(..path_end).unwrap_or("") };
        let inside = value.get(path_end..).unwrap_or("").trim();
        let inside = inside.get(1..inside.len().saturating_sub(1)).unwrap_or("");
        let mut strings = Vec::new();
        for part in split_list(inside) {
            let part = if part.starts_with("move ") || part.starts_with("copy ") || part.starts_with("const ")
            {
                part
            } else {
                part.split_once(": ").map_or(part, |(_, part)| part)
            };
            if let Some(text) = literal(part) {
                strings.push(words.word(&text));
            }
            if let Some(constant) =
                part.strip_prefix("const ").filter(|constant| may_own(constant) && !path.is_empty())
            {
                let made = words.word(path);
                let end = balanced_end(constant, |c| c == '(' || c == ' ');
                self.parts.push((made, words.word(constant.get(..end).unwrap_or(""))));
            }
            let Some(place) = operand(part) else { continue };
            strings.extend(base(place).and_then(|number| self.strings.get(&number)).into_iter().flatten());
            if let Some(found) =
                type_of(place, &self.locals).filter(|found| !path.is_empty() && may_own(found))
            {
                let made = words.word(path);
                self.parts.push((made, words.word(found)));
            }
        }
        strings
    }

    fn cast(
        &mut self,
        target: Option<usize>,
        from: &'a str,
        rest: &'a str,
        constants: &[&'a str],
        here: Spot,
        words: &mut Words,
    ) -> Option<()> {
        let place = operand(from);
        let strings =
            place.and_then(base).and_then(|number| self.strings.get(&number).cloned()).unwrap_or_default();
        // Bits that are taken for a function come from nobody who answers for it.
        let origin = if rest.ends_with("(Transmute)") {
            Origin::Found
        } else {
            place.map_or(Origin::Found, |place| self.origin(place))
        };
        self.set(target, origin, strings);
        if let Some(number) =
            target.filter(|_| from.contains("std::ptr::NonNull<") || from.contains("core::ptr::NonNull<"))
        {
            self.boxed.insert(number);
        }
        let (to, kind) = rest.rsplit_once(" (")?;
        let (to, kind) =
            match to.rsplit_once(" (PointerCoercion(").or_else(|| rest.split_once(" (PointerCoercion(")) {
                Some((to, kind)) => (to, kind),
                None => (to, kind),
            };
        let kind = match kind {
            _ if kind.starts_with("Unsize") => CastKind::Unsize,
            _ if kind.starts_with("ReifyFnPointer") || kind.starts_with("ClosureFnPointer") => {
                CastKind::Pointer
            }
            _ if kind.starts_with("FnPtrToPtr") || kind.starts_with("PointerExposeProvenance") => {
                CastKind::Raw
            }
            _ if kind.starts_with("Transmute") => CastKind::Transmute,
            _ => return Some(()),
        };
        let source = match place {
            Some(place) => type_of(place, &self.locals).unwrap_or(""),
            None => constants
                .first()
                .map_or("", |constant| constant.split_once(", val: ").map_or("", |(found, _)| found)),
        };
        // Other changes of bits hide nothing that can be called.
        if (kind == CastKind::Transmute && !to.contains("fn("))
            || (kind == CastKind::Raw && !source.contains("fn("))
        {
            return Some(());
        }
        let cast = Cast { kind, from: words.word(source), to: words.word(to), spot: here };
        let known = &mut self.item.as_mut()?.casts;
        if !known.iter().any(|one| one.kind == cast.kind && one.from == cast.from && one.to == cast.to) {
            known.push(cast);
        }
        Some(())
    }

    fn call(
        &mut self,
        target: Option<usize>,
        call: &'a str,
        constants: &[&'a str],
        here: Spot,
        words: &mut Words,
    ) -> Option<()> {
        let callee = match operand(call) {
            Some(place) => place.get(..place_end(place))?,
            // A constant that is a function pointer is told by its own mention.
            None if call.starts_with("const ") => call.strip_prefix("const ")?.split_once('(')?.0,
            None => {
                let (_, value) = constants.first()?.split_once(", val: Value(")?;
                let value = value.strip_suffix(')')?;
                call.starts_with(value).then_some(value)?
            }
        };
        let offset = if let Some(place) = operand(call) {
            call.len() - place.len() + callee.len()
        } else {
            callee.len()
        };
        let arguments = split_list(call.get(offset..)?.split_once('(')?.1);
        let mut strings: Vec<Word> = Vec::new();
        let mut switch = None;
        for argument in &arguments {
            match (literal(argument), operand(argument).and_then(base)) {
                (Some(text), _) => strings.push(words.word(&text)),
                (None, Some(number)) => strings.extend(self.strings.get(&number).into_iter().flatten()),
                (None, None) if *argument == "const true" => switch = Some(true),
                (None, None) if *argument == "const false" => switch = Some(false),
                (None, None) => {}
            }
        }
        let first = arguments.first().and_then(|first| operand(first));
        if let Some(place) = operand(call) {
            if self.origin(callee) != Origin::Given {
                let found = type_of(callee, &self.locals).unwrap_or("");
                let found = if self.origin(callee) == Origin::Raw {
                    words.word(&format!("raw {found}"))
                } else {
                    words.word(found)
                };
                self.item.as_mut()?.indirect.push((found, here));
            }
            debug_assert!(place.len() >= callee.len());
        } else if callee.contains("dyn std::ops::Fn")
            && callee.contains(" as std::ops::Fn")
            && first.is_none_or(|first| self.origin(first) != Origin::Given)
        {
            let found = words.word(callee);
            self.item.as_mut()?.indirect.push((found, here));
        }
        self.mention(constants, here, &strings, switch, words);
        let origin = if arguments.len() == 1 {
            first.map_or(Origin::Found, |first| self.origin(first))
        } else {
            Origin::Found
        };
        if strings.is_empty() || !keeps_text(callee) {
            strings.clear();
        }
        self.set(target, origin, strings);
        Some(())
    }

    fn origin(&self, place: &str) -> Origin {
        match base(place) {
            Some(number) if place.starts_with("(*_") && place.ends_with(')') && self.is_raw(number) => {
                Origin::Raw
            }
            Some(number) if !is_part(place) || (number == 1 && self.captures) => {
                self.origins.get(number).copied().unwrap_or_default()
            }
            _ => Origin::Found,
        }
    }

    /// Says whether a local is a pointer to a function pointer that did not come out of a box.
    fn is_raw(&self, number: usize) -> bool {
        let found = self.locals.get(number).copied().unwrap_or("");
        found.starts_with('*')
            && found.contains("fn(")
            && !found.contains('<')
            && !self.boxed.contains(&number)
    }

    fn set(&mut self, target: Option<usize>, origin: Origin, strings: Vec<Word>) {
        let Some(number) = target else { return };
        if let Some(slot) = self.origins.get_mut(number) {
            *slot = origin;
        }
        if !strings.is_empty() {
            self.strings.insert(number, strings);
        }
    }

    /// Notes the functions and constants of a statement; the arguments belong to the first.
    fn mention(
        &mut self,
        constants: &[&'a str],
        here: Spot,
        strings: &[Word],
        switch: Option<bool>,
        words: &mut Words,
    ) {
        for (index, constant) in constants.iter().enumerate() {
            let Some((found, value)) = constant.split_once(", val: ") else { continue };
            let (strings, switch) = if index == 0 { (strings, switch) } else { (&[][..], None) };
            if let Some(value) = value.strip_prefix("Value(").and_then(|value| value.strip_suffix(')')) {
                if found
                    .strip_suffix('}')
                    .and_then(|found| found.strip_suffix(value))
                    .is_some_and(|found| found.ends_with(" {"))
                {
                    let kept = self.literals == Literals::All || value.contains("std::");
                    self.note(
                        MentionKind::Function,
                        found,
                        here,
                        if kept { strings } else { &[] },
                        switch,
                        words,
                    );
                } else if found.contains(" {") && found.contains("fn(") {
                    self.note(MentionKind::Held, found, here, &[], None, words);
                }
            } else if let Some(value) = value.strip_prefix("Unevaluated(")
                && let Some(value) = value.strip_suffix(", None)")
            {
                self.note(MentionKind::Constant, value, here, &[], None, words);
            }
        }
    }

    fn note(
        &mut self,
        kind: MentionKind,
        what: &str,
        spot: Spot,
        strings: &[Word],
        switch: Option<bool>,
        words: &mut Words,
    ) {
        let what = words.word(what);
        let Some(item) = self.item.as_mut() else { return };
        if let Some(known) = self.seen.get(&(kind, what)).and_then(|at| item.mentions.get_mut(*at)) {
            for string in strings {
                if !known.literals.contains(string) {
                    known.literals.push(*string);
                }
            }
            if known.switch != switch {
                // Of calls that disagree the one that may switch something on counts.
                known.switch =
                    if known.switch == Some(true) || switch == Some(true) { Some(true) } else { None };
            }
            return;
        }
        self.seen.insert((kind, what), item.mentions.len());
        item.mentions.push(Mention { kind, what, spot, literals: strings.to_vec(), switch });
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

/// Finds the end of the place that a call goes through.
fn place_end(text: &str) -> usize {
    let start = if text.starts_with('(') {
        text.get(1..).map_or(0, |rest| balanced_end(rest, |_| false) + 2)
    } else {
        text.find(|c: char| c != '_' && !c.is_ascii_digit()).unwrap_or(text.len())
    };
    match text.get(start..) {
        Some(rest) if rest.starts_with('[') => start + rest.find(']').map_or(0, |at| at + 1),
        _ => start,
    }
}

/// Says whether a value of a type may hold something that is dropped.
fn may_own(found: &str) -> bool {
    !found.starts_with('&')
        && !found.starts_with('*')
        && (found.contains("::")
            || found.starts_with(|c: char| c.is_uppercase() || matches!(c, '{' | '(' | '[')))
}

/// Says whether what a function gives back is still the text that it was given.
fn keeps_text(callee: &str) -> bool {
    let standard = ["std::", "core::", "alloc::"].iter().any(|root| callee.contains(root));
    standard
        && matches!(
            Path::read(callee).tail(),
            "as_bytes"
                | "as_os_str"
                | "as_path"
                | "as_ptr"
                | "as_ref"
                | "as_str"
                | "borrow"
                | "clone"
                | "deref"
                | "expect"
                | "from"
                | "from_str"
                | "into"
                | "join"
                | "new"
                | "parse"
                | "to_owned"
                | "to_path_buf"
                | "to_str"
                | "to_string"
                | "unwrap"
        )
}

//! What one statement does: values that go from place to place, are put together, cast or called.

use super::{Body, Origin};
use crate::mir::parse::place::{base, is_part, literal, operand, split_list, split_top, type_of};
use crate::mir::path::{Path, balanced_end};
use crate::mir::summary::{Cast, CastKind, MentionKind, Spot, Word, Words};

impl<'a> Body<'a> {
    pub(super) fn assign(
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

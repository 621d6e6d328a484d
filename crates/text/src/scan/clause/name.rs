//! Names, addresses and quoted values as marks: what a name stands for is told by the words beside it.

use std::ops::Range;

use super::Mark;
use super::class::{self, Classes, NAMED};
use crate::scan::concept;
use crate::scan::hit::Hit;

/// Turns what rules see by shape into marks.
pub(crate) fn from_hits(raw: &str, own: &str, hits: &[Hit], marks: &mut Vec<Mark>) {
    const SHAPES: [(concept::Concepts, Classes); 6] = [
        (concept::OWN_FIELD, class::PARAMETER),
        (concept::NAMED, class::NAMED),
        (concept::LITERAL, class::LITERAL),
        (concept::URL, class::OUTSIDE),
        (concept::MAIL, class::OUTSIDE | class::ACCOUNT),
        (concept::SELF, class::SELF),
    ];
    let mut address = 0;
    for hit in hits {
        if hit.concepts & concept::URL != 0 {
            address = hit.at.end;
        } else if hit.at.start < address {
            continue;
        }
        let mut classes = SHAPES
            .iter()
            .filter(|(concepts, _)| hit.concepts & concepts != 0)
            .fold(0, |all, (_, classes)| all | classes);
        if classes & NAMED != 0 {
            classes |= context(raw, &hit.at);
            if classes & class::TOOL != 0 && raw.get(hit.at.clone()).is_some_and(|name| is_sibling(own, name))
            {
                classes = classes & !class::TOOL | class::SIBLING;
            }
        }
        // Addresses of documentation lead nowhere.
        if classes & class::OUTSIDE != 0
            && raw
                .get(hit.at.clone())
                .is_some_and(|text| DOCUMENTATION.iter().any(|host| text.contains(host)))
        {
            classes &= !(class::OUTSIDE | class::ACCOUNT);
        }
        if classes != 0 || hit.concepts & concept::URL != 0 {
            marks.push(Mark { at: hit.at.clone(), classes });
        }
    }
}

/// Sorts marks and drops those inside a name or an address: their words are no prose.
pub(crate) fn sort(marks: &mut Vec<Mark>) {
    marks.sort_by_key(|mark| mark.at.start);
    let mut name = 0..0;
    let mut kept: Vec<Mark> = Vec::with_capacity(marks.len());
    for mark in marks.drain(..) {
        if mark.classes & (NAMED | class::OUTSIDE) != 0 || mark.classes == 0 {
            // Words that begin with the name come before it.
            while kept.last().is_some_and(|last| last.at.start >= mark.at.start && last.at.end <= mark.at.end)
            {
                kept.pop();
            }
            name = mark.at.clone();
            kept.push(mark);
        } else if mark.at.start < name.start || mark.at.end > name.end {
            kept.push(mark);
        }
    }
    *marks = kept;
}

/// Says whether two names share a word that is no act: tools of one server speak of one another.
fn is_sibling(own: &str, name: &str) -> bool {
    const APART: [char; 5] = ['_', '-', '`', '\'', '"'];
    name.split(APART).filter(|word| word.len() > 2 && !NAMED_ACTS.contains(word)).any(|word| {
        own.split(APART).any(|other| other.len() > 2 && (word.starts_with(other) || other.starts_with(word)))
    })
}

/// Says what a name stands for by the words beside it: a tool, or a parameter.
fn context(raw: &str, at: &Range<usize>) -> Classes {
    let bytes = raw.as_bytes();
    let (before, after) =
        (bytes.get(..at.start).unwrap_or_default(), bytes.get(at.end..).unwrap_or_default());
    let (before, after) = (before.trim_ascii_end(), after.trim_ascii_start());
    if before.last() == Some(&b'$') || bytes.get(at.end) == Some(&b'=') {
        return 0;
    }
    let is_word = |byte: &&u8| byte.is_ascii_alphanumeric();
    let last = before.iter().rev().take_while(is_word).count();
    let last = before.get(before.len() - last..).unwrap_or_default();
    let next = after.iter().take_while(is_word).count();
    let next = after.get(..next).unwrap_or_default();
    let is_one_of =
        |word: &[u8], words: &[&str]| words.iter().any(|one| word.eq_ignore_ascii_case(one.as_bytes()));
    let mut classes = 0;
    if is_one_of(next, &["tool", "function", "tools", "operation"])
        || is_one_of(last, CALLED)
            && raw.get(at.clone()).is_some_and(|name| {
                name.contains(['_', '-']) || name.contains(|c: char| c.is_ascii_uppercase())
            })
        || raw.get(at.clone()).is_some_and(names_act)
    {
        classes |= class::TOOL;
    }
    if is_one_of(next, PLACES)
        || is_one_of(last, &["as", "in", "into", "via", "through", "argument", "parameter", "field"])
            && raw.get(at.clone()).is_some_and(|name| name.starts_with(['`', '\'', '"']))
    {
        classes |= class::PARAMETER;
    }
    classes
}

/// Says whether a name reads like that of a tool: an act is its first or second word.
fn names_act(name: &str) -> bool {
    let name = name.trim_matches(['`', '\'', '"']);
    let is_act = |word: &str| NAMED_ACTS.iter().any(|act| word.eq_ignore_ascii_case(act));
    match name.find(['_', '-']) {
        Some(end) => {
            let (first, rest) = name.split_at_checked(end).unwrap_or_default();
            let second = rest.get(1..).unwrap_or_default().split(['_', '-']).next().unwrap_or_default();
            !name.starts_with('$') && (is_act(first) || is_act(second))
        }
        None => false,
    }
}

/// Acts that names of tools are made of.
const NAMED_ACTS: &[&str] = &[
    "get",
    "list",
    "create",
    "update",
    "delete",
    "send",
    "search",
    "read",
    "write",
    "post",
    "push",
    "run",
    "execute",
    "fetch",
    "transfer",
    "upload",
    "download",
    "move",
    "remove",
    "add",
    "query",
    "place",
    "share",
    "export",
    "import",
    "merge",
    "commit",
    "navigate",
    "evaluate",
    "click",
    "fill",
    "generate",
    "print",
    "publish",
    "pay",
    "book",
    "cancel",
    "drop",
    "exec",
    "make",
    "open",
    "close",
    "edit",
    "submit",
    "call",
    "invoke",
    "retrieve",
    "translate",
    "summarize",
    "screenshot",
    "reply",
];

/// Hosts that are reserved for documentation.
const DOCUMENTATION: [&str; 3] = ["example.com", "example.org", "example.net"];

/// What stands before the name of a tool.
const CALLED: &[&str] = &[
    "call",
    "calls",
    "calling",
    "called",
    "use",
    "using",
    "uses",
    "run",
    "running",
    "runs",
    "invoke",
    "invoking",
    "execute",
    "executing",
    "trigger",
    "triggers",
    "triggering",
    "tool",
    "function",
    "invokes",
    "executes",
];

/// What stands after the name of a parameter.
const PLACES: &[&str] =
    &["argument", "parameter", "field", "value", "param", "object", "arguments", "header"];

//! Markup that could prompt the model again, or carry data out when somebody's client renders it.
//!
//! Everything is judged where it stands, without a tree: a renderer may be lenient in ways no one parser is, and what is
//! taken away must not depend on what encloses it. Links and images to elsewhere in the same place stay.

mod address;
mod chat;
mod element;
mod link;

use std::borrow::Cow;
use std::ops::Range;

use memchr::memchr_iter;

use crate::clean::{Edit, FindingKind, settle};
use crate::trigger::{Hit, Meaning};

/// What a keyword of markup may start.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Mark {
    /// The address of an inline link or image.
    Address,
    /// A comment in the disguise of a definition.
    Comment,
    /// An address that holds its content.
    Data,
    /// The definition of a link or image.
    Definition,
    /// A fence with the name of a role.
    Fence,
    /// The heading of a turn.
    Heading,
    /// A token of a chat template.
    Token,
    /// The name of a speaker at the start of a line.
    Turn,
}

#[rustfmt::skip]
pub(crate) const MARKS: &[(&str, Mark)] = &[
    ("](http",              Mark::Address),
    ("](//",                Mark::Address),
    ("](data:",             Mark::Address),
    ("](javascript",        Mark::Address),
    ("](vbscript",          Mark::Address),
    ("]( ",                 Mark::Address),
    ("](<",                 Mark::Address),
    ("]: http",             Mark::Definition),
    ("]:http",              Mark::Definition),
    ("]: <http",            Mark::Definition),
    ("]: //",               Mark::Definition),
    ("]:\thttp",            Mark::Definition),
    ("]:  http",            Mark::Definition),
    ("]: data:",            Mark::Definition),
    ("]: javascript:",      Mark::Definition),
    ("]:\nhttp",            Mark::Definition),
    ("[//]: #",             Mark::Comment),
    ("[//]: <>",            Mark::Comment),
    ("[comment]: #",        Mark::Comment),
    ("[comment]: <>",       Mark::Comment),
    ("data:text",           Mark::Data),
    ("data:application",    Mark::Data),
    ("data:image/svg",      Mark::Data),
    ("```system",           Mark::Fence),
    ("```assistant",        Mark::Fence),
    ("```developer",        Mark::Fence),
    ("```human",            Mark::Fence),
    ("```user",             Mark::Fence),
    ("~~~system",           Mark::Fence),
    ("~~~assistant",        Mark::Fence),
    ("### instruction",     Mark::Heading),
    ("### response:",       Mark::Heading),
    ("### system",          Mark::Heading),
    ("### assistant:",      Mark::Heading),
    ("### human:",          Mark::Heading),
    ("### user:",           Mark::Heading),
    ("human:",              Mark::Turn),
    ("assistant:",          Mark::Turn),
    ("[inst]",              Mark::Token),
    ("[/inst]",             Mark::Token),
    ("[system_prompt]",     Mark::Token),
    ("[/system_prompt]",    Mark::Token),
    ("[available_tools]",   Mark::Token),
    ("[/available_tools]",  Mark::Token),
    ("[tool_calls]",        Mark::Token),
    ("[tool_results]",      Mark::Token),
    ("[/tool_results]",     Mark::Token),
    ("<<sys>>",             Mark::Token),
    ("<</sys>>",            Mark::Token),
];

/// Finds what to take away; `first` says that the text starts here.
pub(crate) fn edits(text: &str, hits: &[Hit], first: bool) -> Vec<Edit> {
    let mut edits = Vec::new();
    for hit in hits {
        let Meaning::Mark(mark) = hit.meaning else { continue };
        match mark {
            Mark::Address => link::inline(text, hit.at, &mut edits),
            Mark::Comment => edits.extend(link::comment(text, hit.at)),
            Mark::Data => edits.extend(address::data(text, hit.at)),
            Mark::Definition => edits.extend(link::definition(text, hit.at)),
            Mark::Fence => edits.extend(chat::fence(text, hit.at)),
            Mark::Heading => edits.extend(chat::heading(text, hit.at)),
            Mark::Token => edits.extend(chat::bracket(text, hit.at)),
            Mark::Turn => edits.extend(chat::turn(text, hit.at, first)),
        }
    }
    for at in memchr_iter(b'<', text.as_bytes()) {
        edits.extend(chat::token(text, at).or_else(|| element::element(text, at)));
    }
    settle(&mut edits, |_| 0);
    edits
}

/// An edit that leaves a marker.
fn marked(span: Range<usize>, label: &'static str, marker: &'static str) -> Edit {
    Edit { span, with: Cow::Borrowed(marker), kind: FindingKind::Markdown, label }
}

//! Turns and tokens of chat templates: text that pretends to be somebody else's.

use super::marked;
use crate::clean::Edit;

/// Tokens such as `<|im_start|>`, with the bars of either width.
pub(super) fn token(text: &str, at: usize) -> Option<Edit> {
    let rest = text.get(at + 1..)?;
    let bar = rest.chars().next().filter(|point| matches!(point, '|' | '\u{ff5c}'))?;
    let body = rest.get(bar.len_utf8()..)?;
    let mut length = 0;
    for point in body.chars().take(48) {
        if point == bar {
            let end = at + 1 + bar.len_utf8() * 2 + length;
            return (length > 0 && text.as_bytes().get(end) == Some(&b'>'))
                .then(|| marked(at..end + 1, "chat-token", "[removed: chat-token]"));
        }
        if !(point.is_ascii_alphanumeric() || matches!(point, '_' | '-' | '\u{2581}' | '/' | ':' | '.')) {
            return None;
        }
        length += point.len_utf8();
    }
    None
}

/// Tokens in brackets, such as `[INST]`: capital letters only, since `[inst]` may be an index.
pub(super) fn bracket(text: &str, at: usize) -> Option<Edit> {
    let rest = text.get(at..)?;
    let end = rest.find([']', '>']).map(|end| {
        if rest.get(end..).is_some_and(|tail| tail.starts_with(">>")) { end + 2 } else { end + 1 }
    })?;
    let token = rest.get(..end)?;
    token
        .bytes()
        .all(|byte| !byte.is_ascii_lowercase())
        .then(|| marked(at..at + end, "chat-token", "[removed: chat-token]"))
}

/// `Human:` or `Assistant:` on its own after a blank line.
pub(super) fn turn(text: &str, at: usize, first: bool) -> Option<Edit> {
    let head = text.get(..at)?;
    let rest = text.get(at..)?;
    let starts = head.ends_with("\n\n") || head.ends_with("\n\r\n") || head.is_empty() && !first;
    let capital = rest.as_bytes().first().is_some_and(u8::is_ascii_uppercase);
    let length = rest.find(':')?;
    (starts && capital).then(|| marked(at..at + length + 1, "role-turn", "[removed: role-turn]"))
}

/// A heading such as `### Instruction:` on a line of its own.
pub(super) fn heading(text: &str, at: usize) -> Option<Edit> {
    let head = text.get(..at)?;
    if !(head.is_empty() || head.ends_with('\n')) {
        return None;
    }
    let rest = text.get(at..)?;
    let line = rest.lines().next()?;
    let title = line.trim_end().strip_suffix(':')?;
    let words = title.trim_start_matches('#').split_whitespace().count();
    (words <= 2).then(|| marked(at..at + title.len() + 1, "role-turn", "[removed: role-turn]"))
}

/// A fence whose language is a role.
pub(super) fn fence(text: &str, at: usize) -> Option<Edit> {
    let rest = text.get(at + 3..)?;
    let length = rest.bytes().take_while(u8::is_ascii_alphanumeric).count();
    let role = rest.get(..length)?.to_ascii_lowercase();
    let alone = rest.get(length..)?.lines().next().is_none_or(|line| line.trim().is_empty());
    (alone && matches!(role.as_str(), "system" | "assistant" | "developer" | "human" | "user"))
        .then(|| marked(at + 3..at + 3 + length, "role-turn", "text"))
}

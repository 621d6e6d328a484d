//! Elements of HTML: comments, what is hidden, what runs, what loads, and tags that pretend to be a role.

use memchr::memmem;

use super::address::{Danger, danger, external};
use super::marked;
use crate::clean::Edit;

/// Tags that models take for the voice of somebody else.
const ROLES: &[&str] = &[
    "system",
    "assistant",
    "human",
    "developer",
    "system_prompt",
    "system-prompt",
    "systemprompt",
    "system_message",
    "system-message",
    "system-reminder",
    "system_reminder",
    "system_instruction",
    "system_instructions",
    "start_of_turn",
    "end_of_turn",
    "bos",
    "eos",
    "tool_call",
    "tool_calls",
    "tool_response",
    "tool_result",
    "tool_results",
    "function_call",
    "function_calls",
    "function_results",
    "function_response",
    "invoke",
    "think",
    "thinking",
    "im_start",
    "im_end",
    "important",
    "instruction",
    "instructions",
    "admin",
    "override",
    "sys",
    "inst",
];

/// Elements that go with all they hold.
const GONE: &[&str] = &["script", "style", "iframe", "object", "embed", "applet", "noembed", "noframes"];

/// Elements that load what they show.
const LOADS: &[&str] =
    &["img", "image", "video", "audio", "source", "track", "input", "picture", "frame", "link", "base"];

/// Judges what starts with `<` at a place.
pub(super) fn element(text: &str, at: usize) -> Option<Edit> {
    let rest = text.get(at + 1..)?;
    let bytes = rest.as_bytes();
    match bytes.first()? {
        b'!' if rest.starts_with("!--") => return Some(comment(text, at)),
        b'h' | b'H' | b'j' | b'J' | b'd' | b'D' if autolink(rest) => return linked(text, at),
        b'a'..=b'z' | b'A'..=b'Z' | b'/' => {}
        _ => return None,
    }
    let closing = usize::from(bytes.first() == Some(&b'/'));
    let length = bytes
        .iter()
        .skip(closing)
        .take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b':'))
        .count();
    let name = rest.get(closing..closing + length)?.to_ascii_lowercase();
    let end = at + 1 + tag_end(rest, closing + length)?;
    let attributes = text.get(at + 1 + closing + length..end - 1)?;
    let local = name.rsplit(':').next().unwrap_or_default();
    if ROLES.contains(&local) || name.starts_with("antml:") {
        let bare = attributes.trim().trim_end_matches('/').is_empty() || attributes.contains('=');
        return bare.then(|| marked(at..end, "role-tag", "[removed: role-tag]"));
    }
    if closing == 1 {
        return None;
    }
    let lower = attributes.to_ascii_lowercase();
    if GONE.contains(&name.as_str()) || hides(&lower) {
        return Some(marked(
            at..element_end(text, end, &name),
            "hidden-element",
            "[removed: hidden-element]",
        ));
    }
    if handler(&lower) {
        return Some(marked(at..end, "script", "[removed: script]"));
    }
    let addresses = || {
        [
            "href",
            "src",
            "srcset",
            "action",
            "formaction",
            "data",
            "poster",
            "background",
            "content",
            "xlink:href",
            "ping",
        ]
        .iter()
        .filter_map(|key| attribute(attributes, key).map(|value| (*key, value)))
    };
    for (key, value) in addresses() {
        let found = match danger(value) {
            Some(Danger::Runs) => Some(("script-url", "[removed: script-url]")),
            Some(Danger::Holds) => Some(("data-uri", "[removed: data-uri]")),
            _ if LOADS.contains(&name.as_str()) && external(value) => Some(("image", "[removed: image]")),
            _ if name == "meta" && key == "content" && lower.contains("refresh") => {
                Some(("link", "[removed: link]"))
            }
            _ if matches!(key, "action" | "formaction" | "ping") && external(value) => {
                Some(("link", "[removed: link]"))
            }
            Some(Danger::Carries) => Some(("link", "[removed: link]")),
            None => None,
        };
        if let Some((label, marker)) = found {
            return Some(marked(at..end, label, marker));
        }
    }
    (lower.contains("style") && lower.contains("url(") && lower.contains("//"))
        .then(|| marked(at..end, "image", "[removed: image]"))
}

fn comment(text: &str, at: usize) -> Edit {
    let rest = text.as_bytes().get(at + 4..).unwrap_or_default();
    // One that never ends shows what it hid.
    let end = memmem::find(rest, b"-->").map_or(at + 4, |end| at + 4 + end + 3);
    marked(at..end, "comment", "[removed: comment]")
}

fn autolink(rest: &str) -> bool {
    let head = rest.get(..8).unwrap_or(rest).to_ascii_lowercase();
    head.starts_with("http:")
        || head.starts_with("https:")
        || head.starts_with("javascri")
        || head.starts_with("data:")
}

fn linked(text: &str, at: usize) -> Option<Edit> {
    let rest = text.get(at + 1..)?;
    let end = rest.find(|point: char| point == '>' || point.is_whitespace())?;
    danger(rest.get(..end)?)?;
    Some(marked(at..at + 1 + end + 1, "link", "[removed: link]"))
}

/// Returns the position after the `>` that ends a tag, from the start of `rest`.
fn tag_end(rest: &str, from: usize) -> Option<usize> {
    let mut quote = None;
    for (index, byte) in rest.bytes().enumerate().skip(from).take(8_192) {
        match (quote, byte) {
            (None, b'>') => return Some(index + 1),
            (None, b'"' | b'\'') => quote = Some(byte),
            (None, b'<') => return None,
            (Some(open), _) if open == byte => quote = None,
            _ => {}
        }
    }
    None
}

/// Returns the end of an element: after its closing tag, or of the tag alone where it has none.
fn element_end(text: &str, end: usize, name: &str) -> usize {
    let rest = text.get(end..).unwrap_or_default();
    let mut depth = 0_usize;
    for at in memchr::memchr_iter(b'<', rest.as_bytes()) {
        let tail = rest.get(at + 1..).unwrap_or_default();
        let closing = tail.starts_with('/');
        let word = tail.get(usize::from(closing)..).unwrap_or_default();
        if !word.get(..name.len()).is_some_and(|head| head.eq_ignore_ascii_case(name))
            || word.as_bytes().get(name.len()).is_some_and(u8::is_ascii_alphanumeric)
        {
            continue;
        }
        if !closing {
            depth += 1;
        } else if depth == 0 {
            return end + at + 1 + tail.find('>').map_or(tail.len(), |close| close + 1);
        } else {
            depth -= 1;
        }
    }
    end
}

/// Tells whether attributes (in lower case) hide an element.
fn hides(attributes: &str) -> bool {
    if attributes.is_empty() {
        return false;
    }
    let style: String = attributes.chars().filter(|point| !point.is_whitespace()).collect();
    const STYLES: &[&str] = &[
        "display:none",
        "visibility:hidden",
        "visibility:collapse",
        "opacity:0;",
        "opacity:0\"",
        "opacity:0'",
        "opacity:0.0",
        "font-size:0",
        "font-size:1px",
        "color:transparent",
        "color:white",
        "color:#fff",
        "height:0",
        "max-height:0",
        "width:0",
        "left:-9",
        "top:-9",
        "text-indent:-9",
        "clip:rect(0",
        "transform:scale(0",
        "aria-hidden=\"true\"",
        "aria-hidden='true'",
        "aria-hidden=true",
        "type=\"hidden\"",
        "type='hidden'",
        "type=hidden",
    ];
    let word = attributes
        .split(|point: char| point.is_whitespace() || point == '/')
        .any(|word| word == "hidden" || word.starts_with("hidden="))
        && !attributes.contains("=\"hidden ");
    word || STYLES.iter().any(|sign| style.contains(sign))
        && (style.contains("style=") || style.contains("hidden"))
}

/// Tells whether attributes (in lower case) handle an event.
fn handler(attributes: &str) -> bool {
    attributes.split(|point: char| point.is_whitespace() || matches!(point, '/' | '"' | '\'')).any(|word| {
        word.strip_prefix("on")
            .and_then(|word| word.split_once('='))
            .is_some_and(|(name, _)| name.len() > 2 && name.bytes().all(|byte| byte.is_ascii_lowercase()))
    })
}

/// Returns the value of an attribute.
fn attribute<'a>(attributes: &'a str, name: &str) -> Option<&'a str> {
    let bytes = attributes.as_bytes();
    for start in 0..bytes.len() {
        if !attributes.get(start..start + name.len()).is_some_and(|word| word.eq_ignore_ascii_case(name))
            || start > 0
                && bytes.get(start - 1).is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'-')
        {
            continue;
        }
        let Some(value) =
            attributes.get(start + name.len()..).and_then(|rest| rest.trim_start().strip_prefix('='))
        else {
            continue;
        };
        let value = value.trim_start();
        return Some(match value.as_bytes().first() {
            Some(b'"') => value.get(1..)?.split('"').next()?,
            Some(b'\'') => value.get(1..)?.split('\'').next()?,
            _ => value.split(|point: char| point.is_whitespace() || point == '>').next()?,
        });
    }
    None
}

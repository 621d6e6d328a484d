//! Addresses: which of them run something, and which carry data.

use crate::clean::Edit;
use crate::markdown::marked;

/// What an address would do.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Danger {
    /// It carries more than it needs to find its page.
    Carries,
    /// It holds a document of its own.
    Holds,
    /// It runs.
    Runs,
}

/// Judges an address.
pub(super) fn danger(address: &str) -> Option<Danger> {
    let address = address.trim();
    // Renderers skip white space in schemes.
    let scheme = || {
        let head = address.chars().take(40).filter(|point| !point.is_whitespace()).take(24);
        head.map(|point| point.to_ascii_lowercase())
    };
    let starts = |name: &str| scheme().take(name.len()).eq(name.chars());
    if starts("javascript:") || starts("vbscript:") {
        return Some(Danger::Runs);
    }
    if starts("data:") {
        return (!raster(&scheme().collect::<String>())).then_some(Danger::Holds);
    }
    external(address).then(|| carries(address)).filter(|carries| *carries).map(|_| Danger::Carries)
}

/// Tells whether an address leads to another host.
pub(super) fn external(address: &str) -> bool {
    let address = address.trim().as_bytes();
    ["http:", "https:", "//", "\\\\", "ftp:"].iter().any(|start| {
        address.get(..start.len()).is_some_and(|head| head.eq_ignore_ascii_case(start.as_bytes()))
    })
}

/// Pictures, sounds and fonts are only themselves.
fn raster(scheme: &str) -> bool {
    [
        "image/png",
        "image/jpeg",
        "image/jpg",
        "image/gif",
        "image/webp",
        "image/avif",
        "image/bmp",
        "image/x-icon",
        "audio/",
        "video/",
        "font/",
    ]
    .iter()
    .any(|kind| {
        scheme
            .get("data:".len()..)
            .is_some_and(|rest| rest.starts_with(kind) || kind.starts_with(rest) && rest.len() > 8)
    })
}

fn carries(address: &str) -> bool {
    const TELLING: &[&str] = &[
        "data",
        "payload",
        "exfil",
        "leak",
        "secret",
        "token",
        "cookie",
        "conversation",
        "history",
        "prompt",
        "password",
        "key",
        "context",
        "stolen",
        "chat",
        "info",
        "dump",
    ];
    let (place, query) = match address.find(['?', '#']) {
        Some(sign) => (address.get(..sign).unwrap_or_default(), address.get(sign + 1..).unwrap_or_default()),
        None => (address, ""),
    };
    let lower = query.to_ascii_lowercase();
    let template = ["{", "%7b", "${", "<", "[", "%5b"].iter().any(|sign| lower.contains(sign));
    let pairs = query.split(['&', ';', '#']).any(|pair| {
        let (name, value) = pair.split_once('=').unwrap_or(("", pair));
        TELLING.iter().any(|word| name.eq_ignore_ascii_case(word)) && !value.is_empty() || dense(value, 20)
    });
    let host = place.split("//").nth(1).unwrap_or_default();
    let parts = host.split('/').enumerate().any(|(index, part)| match index {
        0 => part.split('.').any(|label| label.len() >= 32 && dense(label, 32)),
        _ => dense(part, 40),
    });
    template || pairs || parts || query.len() > 200
}

/// Tells whether a part looks like data and not like words, a number or a digest.
fn dense(part: &str, least: usize) -> bool {
    let digest = part.len() <= 64 && part.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
    let words = part.split(['-', '_', '+', '.', '%', ',', ' ', '=']).all(|word| word.len() < 18);
    part.len() >= least
        && !digest
        && !words
        && part.bytes().any(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase())
}

/// A data address anywhere in the text.
pub(super) fn data(text: &str, at: usize) -> Option<Edit> {
    let rest = text.get(at..)?;
    let end = rest
        .find(|point: char| {
            point.is_whitespace() || matches!(point, '"' | '\'' | ')' | '>' | '`' | '<' | ']')
        })
        .unwrap_or(rest.len());
    let address = rest.get(..end)?;
    let comma = address.find(',')?;
    let kind = address.get("data:".len()..comma)?;
    let plain = kind.bytes().all(|byte| {
        byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'+' | b'-' | b';' | b'=' | b'.' | b'*')
    });
    let before = at.checked_sub(1).and_then(|index| text.as_bytes().get(index)).copied();
    let edge = before.is_none_or(|byte| !byte.is_ascii_alphanumeric() && byte != b'_' && byte != b'-');
    (edge && plain && kind.contains('/') && comma + 1 < end)
        .then(|| marked(at..at + end, "data-uri", "[removed: data-uri]"))
}

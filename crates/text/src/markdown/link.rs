//! Links and images, inline and by reference.

use memchr::memmem;

use super::address::{Danger, danger, external};
use super::marked;
use crate::clean::{Edit, FindingKind};

/// An inline link or image: `](address)`.
pub(super) fn inline(text: &str, at: usize, edits: &mut Vec<Edit>) {
    let Some(rest) = text.get(at + 2..) else { return };
    let limit = rest.floor_char_boundary(rest.len().min(8_192));
    let Some(body) = rest.get(..limit) else { return };
    // Brackets within the address count; a line may break before a title, not more.
    let mut depth = 0_usize;
    let mut end = None;
    for (index, byte) in body.bytes().enumerate() {
        match byte {
            b'(' => depth += 1,
            b')' if depth == 0 => {
                end = Some(index);
                break;
            }
            b')' => depth -= 1,
            b'\n'
                if body
                    .get(index + 1..)
                    .is_some_and(|next| next.trim_start_matches([' ', '\t', '\r']).starts_with('\n')) =>
            {
                break;
            }
            _ => {}
        }
    }
    // Cut off: as far as the address goes.
    let end = end.unwrap_or_else(|| body.find(char::is_whitespace).unwrap_or(body.len()));
    let inner = body.get(..end).unwrap_or_default().trim();
    let address = inner.strip_prefix('<').map_or_else(
        || inner.split_whitespace().next().unwrap_or_default(),
        |inner| inner.split('>').next().unwrap_or_default(),
    );
    let image = image_mark(text, at);
    let (label, marker) = match danger(address) {
        Some(Danger::Runs) => ("script-url", "[removed: script-url]"),
        Some(Danger::Holds) => ("data-uri", "[removed: data-uri]"),
        _ if image.is_some() && external(address) => ("image", "[removed: image]"),
        Some(Danger::Carries) => ("link", "[removed: link]"),
        None => return,
    };
    let close = usize::from(body.as_bytes().get(end) == Some(&b')'));
    edits.push(marked(at + 1..at + 2 + end + close, label, marker));
    if let Some(image) = image {
        edits.push(Edit::remove(image..image + 1, FindingKind::Markdown, label));
    }
}

/// Returns where the `!` of an image stands whose text ends here.
fn image_mark(text: &str, at: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut depth = 0_usize;
    for index in (at.saturating_sub(1_024)..at).rev() {
        match bytes.get(index)? {
            b']' => depth += 1,
            b'[' if depth == 0 => {
                return (index > 0 && bytes.get(index - 1) == Some(&b'!')).then(|| index - 1);
            }
            b'[' => depth -= 1,
            b'\n' if bytes.get(index + 1) == Some(&b'\n') => return None,
            _ => {}
        }
    }
    None
}

/// A definition: `[name]: address` at the start of a line.
pub(super) fn definition(text: &str, at: usize) -> Option<Edit> {
    let head = text.get(..at)?;
    let line = head.rsplit('\n').next()?;
    let name = line.trim_start().trim_start_matches('>').trim_start().strip_prefix('[')?;
    let rest = text.get(at + 2..)?;
    let skipped = rest.len() - rest.trim_start().len();
    let start = at + 2 + skipped;
    let body = rest.get(skipped..)?;
    let length = body.find(char::is_whitespace).unwrap_or(body.len());
    let address = body.get(..length)?.trim_matches(['<', '>']);
    let (label, marker) = match danger(address) {
        Some(Danger::Runs) => ("script-url", "[removed: script-url]"),
        Some(Danger::Holds) => ("data-uri", "[removed: data-uri]"),
        _ if external(address) && shown(text, name) => ("image", "[removed: image]"),
        Some(Danger::Carries) => ("link", "[removed: link]"),
        None => return None,
    };
    Some(marked(start..start + length, label, marker))
}

/// Tells whether an image refers to a definition.
fn shown(text: &str, name: &str) -> bool {
    memmem::find_iter(text.as_bytes(), b"![").any(|at| {
        let Some(rest) = text.get(at + 2..) else { return false };
        let Some(close) = rest.find(']') else { return false };
        let (alt, after) = (rest.get(..close).unwrap_or_default(), rest.get(close + 1..).unwrap_or_default());
        let referred =
            after.trim_start_matches(' ').strip_prefix('[').and_then(|after| after.split(']').next());
        let referred = referred.filter(|name| !name.is_empty()).unwrap_or(alt);
        referred.trim().eq_ignore_ascii_case(name.trim())
    })
}

/// A comment in the disguise of a definition: `[//]: # (text)`.
pub(super) fn comment(text: &str, at: usize) -> Option<Edit> {
    let head = text.get(..at)?;
    if !head.rsplit('\n').next()?.trim().is_empty() {
        return None;
    }
    let rest = text.get(at..)?;
    let end = rest.find('\n').unwrap_or(rest.len());
    Some(marked(at..at + end, "comment", "[removed: comment]"))
}

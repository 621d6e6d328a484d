//! Where a long text may be cut, so that it can be cleaned in bounded memory.
//!
//! INVARIANT: the cut depends on nothing but the first [`WINDOW`] bytes, so that it is the same however the text came.

use memchr::{memmem, memrchr};

/// How many bytes are looked at together: what belongs together over a longer distance is judged in parts.
pub const WINDOW: usize = 64 << 10;

/// Returns where the first segment ends; `None` while there is not more than one.
pub(crate) fn cut(text: &str) -> Option<usize> {
    if text.len() <= WINDOW {
        return None;
    }
    let head = text.get(..text.floor_char_boundary(WINDOW))?;
    let bytes = head.as_bytes();
    // Not within a key or a comment that began before.
    let mut limit = head.len();
    let later = WINDOW / 2 + 1;
    for (open, close) in [("-----BEGIN ", "-----END "), ("<!--", "-->")] {
        let last = memmem::find_iter(bytes.get(later..)?, open.as_bytes()).last().map(|last| later + last);
        if let Some(last) = last
            .filter(|last| memmem::find(bytes.get(*last..).unwrap_or_default(), close.as_bytes()).is_none())
        {
            limit = limit.min(last);
        }
    }
    let tail = bytes.get(WINDOW / 2..limit)?;
    let at = memmem::rfind(tail.get(tail.len().saturating_sub(4_096)..)?, b"\n\n")
        .map(|at| tail.len().saturating_sub(4_096) + at + 2)
        .or_else(|| memrchr(b'\n', tail).map(|at| at + 1))
        .or_else(|| {
            [b' ', b',', b';', b'}', b'>'].iter().find_map(|sign| memrchr(*sign, tail)).map(|at| at + 1)
        })
        .unwrap_or(tail.len());
    let at = Some(WINDOW / 2 + at).filter(|at| text.is_char_boundary(*at)).unwrap_or(head.len());
    // A carriage return stays with what follows it: only together they show whether a line ends here.
    let before = text.get(..at)?.trim_end_matches('\r').len();
    Some(if before > 0 { before } else { at })
}

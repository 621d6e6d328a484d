//! The line before a chunk: its size in hexadecimal digits, and extensions that nobody reads.

use super::HttpFault;

/// How many bytes the line may have, its end included.
const LONGEST_LINE: usize = 256;

/// How many digits a size may have.
const MOST_DIGITS: usize = 16;

/// Reads the line, and returns how long it is and what size it says, once it is complete.
pub(super) fn size(bytes: &[u8]) -> Result<Option<(usize, u64)>, HttpFault> {
    let Some(end) = bytes.iter().take(LONGEST_LINE).position(|&byte| byte == b'\n') else {
        return if bytes.len() < LONGEST_LINE { Ok(None) } else { Err(HttpFault::ChunkSize) };
    };
    let line = bytes.get(..end).and_then(|line| line.strip_suffix(b"\r")).ok_or(HttpFault::ChunkSize)?;
    let digits = line.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
    let (digits, extension) = line.split_at_checked(digits).ok_or(HttpFault::ChunkSize)?;
    let plain = |byte: &u8| matches!(byte, b' '..=b'~');
    if digits.len() > MOST_DIGITS || !matches!(extension, [] | [b';', ..]) || !extension.iter().all(plain) {
        return Err(HttpFault::ChunkSize);
    }
    let digits = std::str::from_utf8(digits).map_err(|_| HttpFault::ChunkSize)?;
    let size = u64::from_str_radix(digits, 16).map_err(|_| HttpFault::ChunkSize)?;
    Ok(Some((end.saturating_add(1), size)))
}

//! The digits of base64, in the ordinary and in the URL alphabet.

/// Returns the value of a digit; `None` for any other byte.
///
/// From a table, since the digits of a token follow no order that a branch could be guessed by.
#[expect(clippy::indexing_slicing, reason = "a byte is within 256")]
pub(crate) const fn digit(byte: u8) -> Option<u8> {
    const DIGITS: [Option<u8>; 256] = {
        let mut digits = [None; 256];
        let mut byte = 0;
        while byte < 256 {
            digits[byte] = value(byte as u8);
            byte += 1;
        }
        digits
    };
    DIGITS[byte as usize]
}

const fn value(byte: u8) -> Option<u8> {
    Some(match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' | b'-' => 62,
        b'/' | b'_' => 63,
        _ => return None,
    })
}

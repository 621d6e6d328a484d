//! Checksums that some vendors put into their tokens.

/// Tells whether a token carries a checksum that fits: the last six digits, in base 62, are the CRC-32 of the rest.
pub(crate) fn fits(token: &str) -> bool {
    const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let Some((prefix, body)) = token.split_once('_') else { return false };
    if !matches!(prefix, "ghp" | "gho" | "ghu" | "ghs" | "ghr" | "npm") || body.len() != 36 {
        return false;
    }
    let (Some(drawn), Some(sum)) = (body.get(..30), body.get(30..)) else { return false };
    let mut value = 0_u64;
    for byte in sum.bytes() {
        let Some(digit) = DIGITS.iter().position(|digit| *digit == byte) else { return false };
        value = value * 62 + digit as u64;
    }
    value == u64::from(crc32(drawn.as_bytes()))
}

/// CRC-32 as in Ethernet; a token has 30 bytes, so no table.
fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0_u32, |crc, byte| {
        (0..8).fold(
            crc ^ u32::from(*byte),
            |crc, _| if crc & 1 == 1 { crc >> 1 ^ 0xEDB8_8320 } else { crc >> 1 },
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_the_usual_one() {
        assert_eq!(crc32(b"123456789"), 0xCBF4_3926);
        let drawn = "x".repeat(30);
        let mut sum = u64::from(crc32(drawn.as_bytes()));
        let mut digits = Vec::new();
        for _ in 0..6 {
            digits
                .push(b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"[(sum % 62) as usize]);
            sum /= 62;
        }
        digits.reverse();
        let token = format!("{}_{drawn}{}", "ghp", String::from_utf8(digits).unwrap());
        assert!(fits(&token));
        assert!(!fits(&format!("{}_{}", "ghp", "x".repeat(36))));
    }
}

//! Terminal escapes: a state machine over a stream of any length, in constant memory.
//!
//! Follows the parser of real terminals, with two differences: no sequence runs over the end of a line (a title) or a
//! blank line (an image), so that one that was never closed does not swallow all that follows; and nothing is executed.
//!
//! INVARIANT: no escape, no C1 control and no C0 control but tab and line ends reaches the output.

use std::ops::Range;

/// Where in a sequence the machine stands.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) enum Escapes {
    /// Ordinary text.
    #[default]
    Ground,
    /// After ESC.
    Escape,
    /// After ESC and an intermediate.
    Intermediate,
    /// In a control sequence.
    Sequence,
    /// At the start of a command of the operating system.
    Opening,
    /// In a title or another such command.
    Command,
    /// In the palette command of the Linux console, which has no end but its length.
    Palette(u8),
    /// In a device, privacy or application string; `true` after a line end.
    Data(bool),
    /// After ESC in a string.
    Closing,
}

impl Escapes {
    /// Reads a piece of text: calls `each` with consecutive spans of it, and whether they are kept.
    pub(crate) fn read(&mut self, text: &str, mut each: impl FnMut(Range<usize>, bool)) {
        let mut at = 0;
        while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
            if *self == Self::Ground {
                let plain = plain_prefix(rest.as_bytes());
                if plain > 0 {
                    each(at..at + plain, true);
                    at += plain;
                    continue;
                }
            }
            // A whole sequence, and the code point that ended it without being a part of it.
            let (mut end, mut kept) = (at, 0);
            for point in rest.chars() {
                if self.step(point) {
                    kept = point.len_utf8();
                    break;
                }
                end += point.len_utf8();
                if *self == Self::Ground {
                    break;
                }
            }
            if end > at {
                each(at..end, false);
            }
            if kept > 0 {
                each(end..end + kept, true);
            }
            at = end + kept;
        }
    }

    /// Takes one code point; tells whether it is kept.
    fn step(&mut self, point: char) -> bool {
        // These four start or end something wherever they come.
        match point {
            '\x1B' => {
                *self = match self {
                    Self::Command | Self::Data(_) | Self::Opening | Self::Palette(_) => Self::Closing,
                    _ => Self::Escape,
                };
                return false;
            }
            '\u{90}' | '\u{98}' | '\u{9E}' | '\u{9F}' => return self.turn(Self::Data(false)),
            '\u{9B}' => return self.turn(Self::Sequence),
            '\u{9D}' => return self.turn(Self::Opening),
            '\x18' | '\x1A' | '\u{80}'..='\u{9F}' => return self.turn(Self::Ground),
            _ => {}
        }
        match *self {
            Self::Ground => self.ground(point),
            Self::Escape => match point {
                '[' => self.turn(Self::Sequence),
                ']' => self.turn(Self::Opening),
                'P' | 'X' | '^' | '_' => self.turn(Self::Data(false)),
                // The title of a window in screen.
                'k' => self.turn(Self::Command),
                ' '..='/' => self.turn(Self::Intermediate),
                '0'..='~' => self.turn(Self::Ground),
                _ => self.ground(point),
            },
            Self::Intermediate => match point {
                ' '..='/' => false,
                '0'..='~' => self.turn(Self::Ground),
                _ => self.ground(point),
            },
            Self::Sequence => match point {
                ' '..='?' | '\0'..='\x08' | '\x0B' | '\x0C' | '\x0E'..='\x1F' | '\x7F' => false,
                '@'..='~' => self.turn(Self::Ground),
                _ => self.ground(point),
            },
            Self::Opening if point == 'P' => self.turn(Self::Palette(7)),
            Self::Opening | Self::Command => match point {
                '\x07' => self.turn(Self::Ground),
                '\n' | '\r' => self.ground(point),
                _ => self.turn(Self::Command),
            },
            Self::Palette(left) => match point {
                _ if point.is_ascii_hexdigit() => {
                    self.turn(if left > 1 { Self::Palette(left - 1) } else { Self::Ground })
                }
                _ => {
                    *self = Self::Command;
                    self.step(point)
                }
            },
            Self::Data(after_line) => match point {
                '\x07' => self.turn(Self::Ground),
                '\n' if after_line => self.ground(point),
                '\r' => false,
                _ => self.turn(Self::Data(point == '\n')),
            },
            Self::Closing => match point {
                '\\' => self.turn(Self::Ground),
                _ => {
                    *self = Self::Escape;
                    self.step(point)
                }
            },
        }
    }

    /// Goes to a state; what led there is not kept.
    fn turn(&mut self, state: Self) -> bool {
        *self = state;
        false
    }

    /// Ends a sequence, if any, with a code point that does not belong to it.
    fn ground(&mut self, point: char) -> bool {
        *self = Self::Ground;
        !point.is_control() || matches!(point, '\t' | '\n' | '\r')
    }
}

/// Tells whether a text has anything for the machine.
pub(crate) fn has_control(bytes: &[u8]) -> bool {
    plain_prefix(bytes) < bytes.len()
}

/// Returns how many bytes at the start hold no control character, or all of them.
fn plain_prefix(bytes: &[u8]) -> usize {
    const BLOCK: usize = 64;
    // Where there are escapes there are many, so the next one is likely near.
    if let Some(found) = first_control(bytes, 0, BLOCK.min(bytes.len())) {
        return found;
    }
    let (blocks, rest) = bytes.as_chunks::<BLOCK>();
    for (index, block) in blocks.iter().enumerate().skip(1) {
        // Without a branch for each byte, so that it is done for many at once.
        let odd = block.iter().fold(0_u8, |odd, byte| odd | u8::from(suspect(*byte)));
        let at = index * BLOCK;
        if odd != 0
            && let Some(found) = first_control(bytes, at, at + BLOCK)
        {
            return found;
        }
    }
    first_control(bytes, bytes.len() - rest.len(), bytes.len()).unwrap_or(bytes.len())
}

/// Tells whether a byte is a control or, as C2, may lead to one.
const fn suspect(byte: u8) -> bool {
    (byte < 0x20) & (byte != b'\t') & (byte != b'\n') & (byte != b'\r') | (byte == 0x7F) | (byte == 0xC2)
}

#[expect(clippy::indexing_slicing, reason = "a byte is within 256")]
fn first_control(bytes: &[u8], from: usize, to: usize) -> Option<usize> {
    const SUSPECTS: [bool; 256] = {
        let mut suspects = [false; 256];
        let mut byte = 0;
        while byte < 256 {
            suspects[byte] = suspect(byte as u8);
            byte += 1;
        }
        suspects
    };
    let mut at = from;
    loop {
        at += bytes.get(at..to)?.iter().position(|byte| SUSPECTS[usize::from(*byte)])?;
        if bytes.get(at) != Some(&0xC2) || bytes.get(at + 1).is_some_and(|next| *next < 0xA0) {
            return Some(at);
        }
        at += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stripped(text: &str) -> String {
        let mut out = String::new();
        let mut machine = Escapes::default();
        machine.read(text, |span, kept| {
            if kept {
                out.push_str(text.get(span).unwrap());
            }
        });
        out
    }

    #[test]
    fn sequences_go_and_their_text_stays() {
        #[rustfmt::skip]
        let cases = [
            ("\x1B[1;32mok\x1B[m",                         "ok"),
            ("a\x1B]8;;https://e.test\x1B\\b\x1B]8;;\x07c", "abc"),
            ("a\x1B]52;c;aGk=\u{9C}b",                     "ab"),
            ("a\u{9B}2Jb\u{9D}0;t\x07c\u{90}q\u{9C}d",     "abcd"),
            ("a\x1B_Gf=100;AAAA\x1B\\b",                   "ab"),
            ("a\x1BPtmux;\x1B\x1B]52;c;eA==\x07\x1B\\b",   "ab"),
            ("a\x1B(0b\x1B7c\x1BMd",                       "abcd"),
            ("a\x1B[3\x1B[0m1mb",                          "a1mb"),
            ("a\x1B]0;never closed\nb",                    "a\nb"),
            ("a\x1BXnever\nclosed\n\nb",                   "a\nb"),
            ("a\x1B[12\nb",                                "a\nb"),
            ("a\x1B[1\u{E9}b",                             "a\u{E9}b"),
            ("a\x1B",                                      "a"),
            ("a\x08\x7F\u{85}b\0",                         "ab"),
            ("tab\tand\r\nline",                           "tab\tand\r\nline"),
            ("\u{A0}\u{C2}\u{E9}",                         "\u{A0}\u{C2}\u{E9}"),
            ("a\x1B]P1ff00aab\x1B]0;Pretty\x07c",          "abc"),
            ("a\x1Bktitle\x1B\\b",                         "ab"),
        ];
        for (text, expected) in cases {
            assert_eq!(stripped(text), expected, "{text:?}");
        }
    }
}

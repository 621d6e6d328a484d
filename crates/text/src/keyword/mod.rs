//! A filter for many keywords at once: finds where one may start at gigabytes a second.
//!
//! The text is read in pairs of bytes. A table says of every pair in which groups of keywords it may be the first,
//! second, third or fourth; where four neighbours agree on a group, the keywords are compared in full. No pair waits for
//! the one before, so a processor works on several at once, which an automaton over as many keywords cannot offer.
//!
//! A keyword starts at the first or at the second byte of a pair, so it is entered both ways, in groups of their own;
//! the byte before it is always among the four pairs.

mod mask;

use memchr::memchr2_iter;

const PAIRS: usize = 4;
const BLOCK: usize = 32;
/// How many pairs are in half of a block.
const HALF: usize = BLOCK / 4;
/// The pairs that a keyword that starts in a block may be among.
const WINDOW: usize = BLOCK + PAIRS * 2 - 2;
const GROUPS: usize = 8;
/// The groups of one place in a mask: those of keywords that start with a pair, then the others.
const PLACE: usize = GROUPS * 2;
/// Where the groups of the last place are.
const LAST: usize = PLACE * (PAIRS - 1);
const FULL: u64 = (1 << PLACE) - 1;
const HEADS: usize = 1 << 12;
/// How many bytes behind a keyword are looked at; the rules look at the rest.
const AHEAD: usize = 4;
/// How many bytes before a keyword are looked at: an escape such as `%20`.
pub(crate) const BACK: usize = 3;

/// A keyword and what it stands for.
#[derive(Clone, Debug)]
pub(crate) struct Keyword<T> {
    pub(crate) word: &'static str,
    /// Case matters.
    pub(crate) exact: bool,
    pub(crate) before: Before,
    pub(crate) after: After,
    pub(crate) meaning: T,
}

/// What must stand before a keyword for it to mean anything.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) enum Before {
    Anything,
    /// No word, or an escape that ends in a letter or digit.
    Edge,
    /// The same, or a sign that joins two words.
    Joint,
}

/// What must follow a keyword for it to mean anything.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) enum After {
    Anything,
    /// Something that ends or continues a name: short words are the start of too many others.
    Name,
    /// So many bytes that tokens and their separators are made of.
    Token(usize),
}

/// The filter.
#[derive(Debug)]
pub(crate) struct Keywords<T> {
    /// By pair: for each place, a clear bit for the groups that have the pair there.
    masks: Box<[u64; 1 << 16]>,
    /// By the hash of three bytes: the first keyword that starts with them, plus one.
    heads: Box<[u16; HEADS]>,
    words: Vec<Entry<T>>,
}

#[derive(Debug)]
struct Entry<T> {
    keyword: Keyword<T>,
    /// Its first four bytes in lower case, or three and a blank.
    first: u32,
    /// The next that starts alike, plus one.
    next: u16,
}

impl<T> Keywords<T> {
    pub(crate) fn new(words: Vec<Keyword<T>>) -> Self {
        let masks = mask::masks(&words);
        let mut built = Self { masks, heads: Box::new([0; HEADS]), words: Vec::with_capacity(words.len()) };
        for keyword in words {
            let first = first(keyword.word.as_bytes());
            let head = built.heads.get_mut(head(first));
            // The tables are ours: no word is shorter than three bytes, and there are some hundreds.
            let (Some(head), Ok(number)) = (head, u16::try_from(built.words.len() + 1)) else { continue };
            built.words.push(Entry { keyword, first, next: std::mem::replace(head, number) });
        }
        built
    }

    /// Returns how many bytes, from the start of a keyword on, are looked at.
    pub(crate) fn reach(&self) -> usize {
        self.words.iter().map(|entry| entry.keyword.word.len()).max().unwrap_or(0) + AHEAD
    }

    /// Calls `each` with the start of every keyword in the text.
    pub(crate) fn find(&self, text: &[u8], mut each: impl FnMut(usize, &Keyword<T>)) {
        let mut at = 0;
        // The first bytes, with room before them.
        self.padded(text, &mut at, 2, &mut each);
        for window in text.get(BLOCK - 2..).unwrap_or_default().windows(WINDOW).step_by(BLOCK) {
            if let Ok(window) = window.try_into() {
                let (low, high) = self.may_start(window);
                let (pairs, _) = window.as_chunks();
                if low {
                    self.candidates(text, at, pairs.get(..HALF + PAIRS - 1).unwrap_or_default(), &mut each);
                }
                if high {
                    self.candidates(text, at + HALF * 2, pairs.get(HALF..).unwrap_or_default(), &mut each);
                }
            }
            at += BLOCK;
        }
        // The last ones, with room behind them.
        while at < text.len() {
            self.padded(text, &mut at, 0, &mut each);
        }
        self.after_escapes(text, &mut each);
    }

    fn padded(&self, text: &[u8], at: &mut usize, room: usize, each: &mut impl FnMut(usize, &Keyword<T>)) {
        let mut window = [0; WINDOW];
        let rest = text.get(*at + room - 2..).unwrap_or_default();
        let length = rest.len().min(WINDOW - room);
        if let (Some(slots), Some(rest)) = (window.get_mut(room..room + length), rest.get(..length)) {
            slots.copy_from_slice(rest);
        }
        // A short text, such as a name, is read no further than a keyword can start.
        let (pairs, _) = window.as_chunks();
        let pairs = pairs.get(..(room + length) / 2 + PAIRS).unwrap_or(pairs);
        self.candidates(text, *at, pairs, each);
        *at += BLOCK;
    }

    /// Tells whether a keyword may start in the first and in the second half of a block.
    #[inline]
    fn may_start(&self, window: &[u8; WINDOW]) -> (bool, bool) {
        let (pairs, _) = window.as_chunks();
        let (mut open, mut all) = (!0, [!0, !0]);
        for (index, pair) in pairs.iter().enumerate() {
            open = self.step(open, *pair);
            let [low, high] = &mut all;
            *if index < HALF + PAIRS - 1 { low } else { high } &= open;
        }
        let [low, high] = all.map(|all| all >> LAST != FULL);
        (low, high)
    }

    /// Reads a pair: a bit is clear for every group and place that the pairs so far lead to.
    #[inline]
    #[expect(clippy::indexing_slicing, reason = "a pair has 16 bits, and so many masks there are")]
    fn step(&self, open: u64, pair: [u8; 2]) -> u64 {
        open << PLACE | self.masks[usize::from(u16::from_le_bytes(pair))]
    }

    #[cold]
    fn candidates(
        &self,
        text: &[u8],
        at: usize,
        pairs: &[[u8; 2]],
        each: &mut impl FnMut(usize, &Keyword<T>),
    ) {
        let mut open = !0;
        for (index, pair) in pairs.iter().enumerate() {
            open = self.step(open, *pair);
            let groups = !open >> LAST;
            if groups == 0 {
                continue;
            }
            // The byte before a keyword is of the first of the four pairs, and this is the last.
            let start = at + (index + 1 - PAIRS) * 2;
            if groups >> GROUPS != 0
                && let Some(start) = start.checked_sub(1)
            {
                self.compare(text, start, each);
            }
            if groups & FULL >> GROUPS != 0 {
                self.compare(text, start, each);
            }
        }
    }

    /// Finds the keywords whose edge is the end of an escape, `%20` or `\n`: the filter takes that for a word.
    fn after_escapes(&self, text: &[u8], each: &mut impl FnMut(usize, &Keyword<T>)) {
        for at in memchr2_iter(b'%', b'\\', text) {
            let start = at + if text.get(at) == Some(&b'%') { 3 } else { 2 };
            self.alike(text, start, &mut |keyword, before| {
                if !keyword.before.has(before) {
                    each(start, keyword);
                }
            });
        }
    }

    fn compare(&self, text: &[u8], start: usize, each: &mut impl FnMut(usize, &Keyword<T>)) {
        self.alike(text, start, &mut |keyword, before| {
            if keyword.before.has(before) {
                each(start, keyword);
            }
        });
    }

    /// Calls `each` with every keyword that starts at a place, and the byte before it.
    fn alike(&self, text: &[u8], start: usize, each: &mut impl FnMut(&Keyword<T>, u8)) {
        let rest = text.get(start..).unwrap_or_default();
        let before = start.checked_sub(1).and_then(|last| text.get(last)).copied().unwrap_or(b'\n');
        let found = first(rest);
        let mut next = self.heads.get(head(found)).copied().unwrap_or(0);
        while let Some(entry) = usize::from(next).checked_sub(1).and_then(|index| self.words.get(index)) {
            next = entry.next;
            // Most are told apart by their fourth byte.
            if (entry.first == found || entry.keyword.word.len() == 3) && entry.keyword.starts(rest) {
                each(&entry.keyword, before);
            }
        }
    }
}

impl<T> Keyword<T> {
    fn starts(&self, text: &[u8]) -> bool {
        let Some((found, rest)) = text.split_at_checked(self.word.len()) else { return false };
        let same = match self.exact {
            true => found == self.word.as_bytes(),
            false => found.eq_ignore_ascii_case(self.word.as_bytes()),
        };
        same && match self.after {
            After::Anything => true,
            After::Name => rest.first().is_some_and(|byte| name(*byte)),
            After::Token(least) => {
                rest.get(..least.min(AHEAD)).is_some_and(|rest| rest.iter().all(|byte| token(*byte)))
            }
        }
    }
}

impl Before {
    fn has(self, byte: u8) -> bool {
        match self {
            Self::Anything => true,
            Self::Edge => !byte.is_ascii_alphanumeric() && !matches!(byte, b'_' | b'-'),
            Self::Joint => !byte.is_ascii_alphanumeric(),
        }
    }
}

fn name(byte: u8) -> bool {
    // Signs that differ in the bit of case alone count as one.
    let folded = byte | 0x20;
    folded.is_ascii_lowercase() || folded.is_ascii_digit() || b"_\x7F-=:\"' .|}&>".contains(&folded)
}

fn token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_-+/=.@%~:$!".contains(&byte)
}

/// Returns the first four bytes in lower case; blanks for those that are missing.
fn first(bytes: &[u8]) -> u32 {
    let four = bytes.first_chunk().copied().unwrap_or_else(|| {
        let mut four = [0; 4];
        four.iter_mut().zip(bytes).for_each(|(slot, byte)| *slot = *byte);
        four
    });
    u32::from_le_bytes(four) | u32::from_le_bytes([0x20; 4])
}

/// Returns the hash of the first three bytes.
const fn head(first: u32) -> usize {
    ((first & 0xFF_FFFF).wrapping_mul(0x9E37_79B1) >> 20) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_every_keyword_at_every_place() {
        let words = ["sk-", "password", "AKIA", "密码", "pwd", "\":x\""];
        let keyword = |word: &&'static str| Keyword {
            word,
            exact: *word == "AKIA",
            before: Before::Anything,
            after: if *word == "sk-" { After::Token(1) } else { After::Anything },
            meaning: *word,
        };
        let keywords = Keywords::new(words.iter().map(keyword).collect());
        for word in words {
            for before in 0..70 {
                for after in 0..70 {
                    let text = format!("{}{word}{}", "#".repeat(before), "_".repeat(after));
                    let mut found = Vec::new();
                    keywords.find(text.as_bytes(), |at, keyword| found.push((at, keyword.meaning)));
                    if word != "sk-" || after > 0 {
                        assert_eq!(found, [(before, word)], "{text}");
                    }
                }
            }
        }
        let mut found = 0;
        keywords.find(b"akia PassWord AKIA", |_, _| found += 1);
        assert_eq!(found, 2);
    }
}

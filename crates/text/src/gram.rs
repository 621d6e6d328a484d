//! A filter for many keywords at once: finds where one may start at more than a gigabyte a second.
//!
//! Four bytes of each keyword (its rarest) are hashed into a table of 32 KiB, and so are four bytes at each place of
//! the text; the few places that hit are compared in full. The places do not depend on each other, so a processor works
//! on several at once, which an automaton over as many keywords cannot offer: it waits for each state before the next.

const GRAM: usize = 4;
const BITS: usize = 1 << 16;
/// What may follow a keyword of three bytes.
const TAILS: &[u8] = b"abcdefghijklmnopqrstuvwxyz0123456789_-=:\"' .\\]&>";
/// What may follow a vendor's prefix of three bytes.
const BODIES: &[u8] = b"abcdefghijklmnopqrstuvwxyz0123456789_-";

/// A keyword and what it stands for.
#[derive(Clone, Debug)]
pub(crate) struct Keyword<T> {
    pub(crate) word: &'static str,
    /// Case matters.
    pub(crate) exact: bool,
    pub(crate) meaning: T,
}

/// The filter.
#[derive(Debug)]
pub(crate) struct Keywords<T> {
    /// By 18 bits of a hash: a bit where a gram has it.
    bytes: Box<[u8; BITS / 2]>,
    /// By another hash, one bit each: asked only where the first says yes.
    second: Box<[u64; BITS / 64]>,
    /// By hash: the first entry of a chain, plus one.
    heads: Vec<u16>,
    /// (keyword, where in it the gram is, the next entry of the chain plus one).
    chain: Vec<(u16, u8, u16)>,
    words: Vec<Keyword<T>>,
}

impl<T> Keywords<T> {
    pub(crate) fn new(words: Vec<Keyword<T>>) -> Self {
        let mut built = Self {
            bytes: Box::new([0; BITS / 2]),
            second: Box::new([0; BITS / 64]),
            heads: vec![0; BITS],
            chain: Vec::new(),
            words: Vec::new(),
        };
        for (index, keyword) in words.iter().enumerate() {
            let bytes = keyword.word.as_bytes();
            match *bytes {
                [one, two, three] => {
                    for tail in if keyword.exact { BODIES } else { TAILS } {
                        built.add(index, 0, [one, two, three, *tail]);
                    }
                }
                _ => {
                    let windows = bytes.windows(GRAM).enumerate();
                    if let Some((at, gram)) = windows.min_by_key(|(at, gram)| (commonness(gram), *at)) {
                        built.add(index, at, gram.try_into().unwrap_or_default());
                    }
                }
            }
        }
        built.words = words;
        built
    }

    fn add(&mut self, word: usize, at: usize, gram: [u8; GRAM]) {
        let hash = usize::from(hash(u32::from_le_bytes(gram) | FOLD));
        let (Some(byte), Some(head)) =
            (self.bytes.get_mut(place(u32::from_le_bytes(gram) | FOLD).0), self.heads.get_mut(hash))
        else {
            return;
        };
        *byte |= 1 << place(u32::from_le_bytes(gram) | FOLD).1;
        let other = usize::from(rehash(u32::from_le_bytes(gram) | FOLD));
        if let Some(bits) = self.second.get_mut(other / 64) {
            *bits |= 1 << (other % 64);
        }
        // The tables are ours and small.
        let (Ok(word), Ok(at)) = (u16::try_from(word), u8::try_from(at)) else { return };
        self.chain.push((word, at, *head));
        *head = u16::try_from(self.chain.len()).unwrap_or(0);
    }

    /// Calls `each` with the start of every keyword in the text, in the order of their grams.
    pub(crate) fn find(&self, text: &[u8], mut each: impl FnMut(usize, &Keyword<T>)) {
        const STEP: usize = 8;
        let mut at = 0;
        for window in text.windows(STEP + GRAM).step_by(STEP) {
            at += STEP;
            let (Some(low), Some(high)) = (window.first_chunk(), window.last_chunk()) else { break };
            if (self.test(u64::from_le_bytes(*low)) | self.test(u64::from_le_bytes(*high))) != 0 {
                for lane in at - STEP..at {
                    if self.sure(text, lane) {
                        self.compare(text, lane, &mut each);
                    }
                }
            }
        }
        // The rest, with room behind it.
        while at < text.len() {
            self.compare(text, at, &mut each);
            at += 1;
        }
    }

    /// Tests four places at once; any bit is a yes.
    #[inline]
    fn test(&self, bytes: u64) -> u8 {
        let folded = bytes | (FOLD as u64) << 32 | FOLD as u64;
        self.bit(folded as u32)
            | self.bit((folded >> 8) as u32)
            | self.bit((folded >> 16) as u32)
            | self.bit((folded >> 24) as u32)
    }

    #[inline]
    #[expect(clippy::indexing_slicing, reason = "a place has 15 and 3 bits, and so have the arrays")]
    fn bit(&self, gram: u32) -> u8 {
        let (byte, bit) = place(gram);
        // A shift by a variable costs more than this load.
        self.bytes[byte] & MASKS[bit]
    }

    #[inline]
    #[expect(clippy::indexing_slicing, reason = "a hash has 16 bits, so its upper 10 are within the array")]
    fn sure(&self, text: &[u8], at: usize) -> bool {
        let gram = text.get(at..at + GRAM).and_then(|gram| gram.try_into().ok()).map(u32::from_le_bytes);
        gram.is_some_and(|gram| {
            let hash = rehash(gram | FOLD);
            self.second[usize::from(hash >> 6)] >> (hash & 63) & 1 == 1
        })
    }

    #[cold]
    fn compare(&self, text: &[u8], at: usize, each: &mut impl FnMut(usize, &Keyword<T>)) {
        let mut gram = [0; GRAM];
        for (slot, byte) in gram.iter_mut().zip(text.get(at..).unwrap_or_default()) {
            *slot = *byte;
        }
        let hash = hash(u32::from_le_bytes(gram) | FOLD);
        let mut next = self.heads.get(usize::from(hash)).copied().unwrap_or(0);
        while let Some((word, offset, after)) =
            usize::from(next).checked_sub(1).and_then(|index| self.chain.get(index)).copied()
        {
            next = after;
            let Some(keyword) = self.words.get(usize::from(word)) else { continue };
            let Some(start) = at.checked_sub(usize::from(offset)) else { continue };
            let Some(found) = text.get(start..start + keyword.word.len()) else { continue };
            let same = match keyword.exact {
                true => found == keyword.word.as_bytes(),
                false => found.eq_ignore_ascii_case(keyword.word.as_bytes()),
            };
            if same {
                each(start, keyword);
            }
        }
    }
}

const FOLD: u32 = 0x2020_2020;
const MASKS: [u8; 8] = [1, 2, 4, 8, 16, 32, 64, 128];

#[inline]
const fn hash(gram: u32) -> u16 {
    (gram.wrapping_mul(0x9E37_79B1) >> 16) as u16
}

/// Returns the byte and the bit of a gram in the first table.
#[inline]
const fn place(gram: u32) -> (usize, usize) {
    let hash = gram.wrapping_mul(0x9E37_79B1);
    ((hash >> 17) as usize, (hash >> 14 & 7) as usize)
}

#[inline]
const fn rehash(gram: u32) -> u16 {
    (gram.wrapping_mul(0x85EB_CA6B) >> 16) as u16
}

/// How often four bytes come in ordinary text, roughly: letters by frequency, signs as rare.
fn commonness(gram: &[u8]) -> u32 {
    gram.iter()
        .map(|byte| match byte.to_ascii_lowercase() {
            b'e' | b't' | b'a' | b'o' | b'i' | b'n' | b's' | b'r' => 12,
            b'h' | b'l' | b'd' | b'c' | b'u' | b'm' => 8,
            b'p' | b'f' | b'g' | b'b' | b'y' | b'w' | b'v' | b'1' | b'0' | b'2' => 5,
            b' ' | b':' | b'=' | b'-' | b'/' => 6,
            _ => 2,
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_every_keyword_at_every_place() {
        let words = ["sk-", "password", "AKIA", "密码", "pwd", "\":x\""];
        let keyword = |word: &&'static str| Keyword { word, exact: *word == "AKIA", meaning: *word };
        let keywords = Keywords::new(words.iter().map(keyword).collect());
        for word in words {
            for before in 0..13 {
                for after in 0..9 {
                    let text = format!("{}{word}{}", "#".repeat(before), "_".repeat(after));
                    let mut found = Vec::new();
                    keywords.find(text.as_bytes(), |at, keyword| found.push((at, keyword.meaning)));
                    // A keyword of three bytes alone at the end has nothing to open.
                    if word.len() > 3 || after > 0 {
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

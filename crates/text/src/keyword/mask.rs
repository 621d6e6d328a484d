//! The table of the filter: which pairs of bytes may stand where in which keywords.

use super::{After, Before, GROUPS, Keyword, PAIRS, PLACE, name, token};

/// How many groups each family of keywords is parted into, for either way to start.
const SHARES: [usize; 6] = [2, 1, 1, 1, 1, 2];

/// Returns by pair, for each place, a clear bit for the groups that have the pair there.
pub(super) fn masks<T>(words: &[Keyword<T>]) -> Box<[u64; 1 << 16]> {
    let mut masks = Box::new([!0_u64; 1 << 16]);
    let mut slots: Vec<(Slot, Vec<u8>)> = Vec::new();
    let mut enter = |low: Slot, high: Slot, bits: u64| {
        let [lows, highs] = [low, high].map(|slot| bytes_of(slot, &mut slots));
        for (one, two) in lows.iter().flat_map(|one| highs.iter().map(move |two| (*one, *two))) {
            if let Some(mask) = masks.get_mut(usize::from(u16::from_le_bytes([one, two]))) {
                *mask &= !bits;
            }
        }
    };
    // Pairs of whole classes, which many keywords have in common, are entered once for all.
    let mut classes: Vec<(Slot, Slot, u64)> = Vec::new();
    for (keyword, group) in grouped(words) {
        for way in 0..2 {
            for place in 0..PAIRS {
                let bit = 1 << (place * PLACE + way * GROUPS + group);
                let slot = |index| keyword.slot(place * 2 + index, 2 - way);
                let (low, high) = (slot(0), slot(1));
                if low.is_known() || high.is_known() {
                    enter(low, high, bit);
                    continue;
                }
                match classes.iter_mut().find(|class| (class.0, class.1) == (low, high)) {
                    Some(class) => class.2 |= bit,
                    None => classes.push((low, high, bit)),
                }
            }
        }
    }
    for (low, high, bits) in classes {
        enter(low, high, bits);
    }
    masks
}

/// Returns the bytes of a slot, from those that were asked for before.
fn bytes_of(slot: Slot, known: &mut Vec<(Slot, Vec<u8>)>) -> Vec<u8> {
    if let Some((_, bytes)) = known.iter().find(|(other, _)| *other == slot) {
        return bytes.clone();
    }
    let bytes: Vec<u8> = (0..=u8::MAX).filter(|byte| slot.has(*byte)).collect();
    known.push((slot, bytes.clone()));
    bytes
}

/// Parts the keywords into groups: by family, then by length and letters, so that a group takes few pairs for its own.
fn grouped<T>(words: &[Keyword<T>]) -> Vec<(&Keyword<T>, usize)> {
    let mut grouped = Vec::new();
    let mut first = 0;
    for (family, share) in SHARES.into_iter().enumerate() {
        let mut members: Vec<&Keyword<T>> = words.iter().filter(|word| word.family() == family).collect();
        members.sort_by_key(|word| (word.word.len(), word.word));
        let size = members.len().div_ceil(share).max(1);
        grouped.extend(members.into_iter().enumerate().map(|(index, word)| (word, first + index / size)));
        first += share;
    }
    grouped
}

impl<T> Keyword<T> {
    /// Returns what may stand at a place of the window when the keyword starts so many bytes into it.
    fn slot(&self, place: usize, skipped: usize) -> Slot {
        let bytes = self.word.as_bytes();
        let Some(index) = place.checked_sub(skipped) else {
            return if place + 1 == skipped { Slot::Before(self.before) } else { Slot::Any };
        };
        match bytes.get(index) {
            Some(byte) if self.exact => Slot::Byte(*byte),
            Some(byte) => Slot::Letter(*byte),
            None => match self.after {
                After::Name if index == bytes.len() => Slot::Name,
                After::Token(least) if index < bytes.len() + least => Slot::Token,
                _ => Slot::Any,
            },
        }
    }

    /// Returns the family: those that leave much open apart from those that do not, so that a group that is sure of its
    /// pairs stays so.
    fn family(&self) -> usize {
        let lettered = self.word.starts_with(|first: char| first.is_ascii_alphabetic());
        let long = self.word.len() > 5;
        match (self.before, self.after) {
            (Before::Edge, _) => 0,
            (Before::Joint, _) => 1,
            (_, After::Token(_)) if !long => 2,
            (_, After::Anything | After::Name) if !lettered => 3,
            _ if !long => 4,
            _ => 5,
        }
    }
}

/// The bytes that may stand at a place.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Slot {
    Any,
    Before(Before),
    Byte(u8),
    /// In either case, if it is a letter.
    Letter(u8),
    Name,
    Token,
}

impl Slot {
    fn has(self, byte: u8) -> bool {
        match self {
            Self::Any => true,
            Self::Before(before) => before.has(byte),
            Self::Byte(own) => own == byte,
            Self::Letter(own) => own.eq_ignore_ascii_case(&byte),
            Self::Name => name(byte),
            Self::Token => token(byte),
        }
    }

    const fn is_known(self) -> bool {
        matches!(self, Self::Byte(_) | Self::Letter(_))
    }
}

//! The honest uses: when what stands around a code point in question excuses it.

use unicode_script::Script;

use super::HiddenKind;
use super::table::{
    candidate, cursive, emoji, ideograph, letter_or_mark, mark, right_to_left, script, takes_joiners,
    unspaced, virama,
};

/// How many kept code points a mark of direction may stand from the letter that gives it a reason.
pub(super) const REACH: usize = 24;

/// What was kept before: the last code point, and how far back in this line a right-to-left letter is.
#[derive(Default)]
pub(super) struct Before {
    last: Option<char>,
    since_right_to_left: Option<usize>,
}

impl Before {
    pub(super) fn keep(&mut self, point: char) {
        self.last = Some(point);
        self.since_right_to_left = match point {
            '\n' => None,
            _ if right_to_left(point) => Some(0),
            _ => self.since_right_to_left.map(|count| count + 1).filter(|count| *count <= REACH),
        };
    }
}

/// Returns how many code points, from this one on, are in honest use; 0 for a hidden one.
pub(super) fn excuse(point: char, kind: HiddenKind, before: &Before, first: bool, after: &str) -> usize {
    // A next code point that is itself in question excuses nothing.
    let next = after.chars().next().filter(|next| candidate(*next).is_none());
    let honest = match kind {
        HiddenKind::Joiner if point == '\u{34F}' => grapheme_joiner(before.last, next),
        HiddenKind::Joiner => joiner(point, before.last, next),
        HiddenKind::VariationSelector => selector(point, before.last, after),
        HiddenKind::Tag => return flag(point, before.last, after),
        HiddenKind::Bidi => direction(point, before, after),
        HiddenKind::ZeroWidth => zero_width(point, before.last, next, first),
        HiddenKind::Filler => filler(point, before.last, next),
        HiddenKind::Format => format(point, before.last),
        HiddenKind::Annotation | HiddenKind::Control | HiddenKind::Noncharacter | HiddenKind::SoftHyphen => {
            false
        }
    };
    usize::from(honest)
}

/// Joiners in emoji sequences, in cursive scripts and in those that stack consonants.
fn joiner(point: char, before: Option<char>, next: Option<char>) -> bool {
    let Some(before) = before else {
        return next.is_some_and(|next| cursive(script(next)) && letter_or_mark(next));
    };
    if point == '\u{200D}' && joins_emoji(before) && next.is_some_and(emoji) {
        return true;
    }
    if virama(before) {
        return true;
    }
    let script_before = script(before);
    let beside = letter_or_mark(before) && takes_joiners(script_before);
    match next {
        // A Persian ending on a foreign word or a number stands after a joiner, too.
        Some(next) if cursive(script(next)) && letter_or_mark(next) => candidate(before).is_none(),
        Some(next) if beside && (script(next) == script_before || script(next) == Script::Inherited) => true,
        Some(_) | None => beside && cursive(script_before),
    }
}

/// Tells whether an emoji ends here, so that a joiner can tie the next to it.
fn joins_emoji(before: char) -> bool {
    emoji(before) || before == '\u{FE0F}'
}

fn grapheme_joiner(before: Option<char>, next: Option<char>) -> bool {
    before.is_some_and(|before| letter_or_mark(before) && !before.is_ascii() && candidate(before).is_none())
        && next.is_some_and(mark)
}

/// Selectors after what has variants; one for each base.
fn selector(point: char, before: Option<char>, after: &str) -> bool {
    let Some(before) = before else { return false };
    match point {
        // Keycaps: a digit, the selector, the cap.
        '\u{FE0E}' | '\u{FE0F}' if before.is_ascii() => {
            matches!(before, '0'..='9' | '#' | '*') && after.starts_with('\u{20E3}')
        }
        '\u{FE0E}' | '\u{FE0F}' => emoji(before),
        '\u{E0100}'..='\u{E01EF}' => ideograph(before),
        '\u{180B}'..='\u{180D}' | '\u{180F}' => {
            script(before) == Script::Mongolian && letter_or_mark(before) && candidate(before).is_none()
        }
        '\u{FE00}'..='\u{FE02}' if ideograph(before) => true,
        '\u{FE00}' | '\u{FE01}' => {
            matches!(
                before,
                '\u{3001}'
                    | '\u{3002}'
                    | '\u{FF01}'
                    | '\u{FF0C}'
                    | '\u{FF0E}'
                    | '\u{FF1A}'
                    | '\u{FF1B}'
                    | '\u{FF1F}'
                    | '\u{2018}'..='\u{201F}'
            ) || point == '\u{FE00}'
                && (matches!(before, '\u{2200}'..='\u{22FF}' | '\u{2A00}'..='\u{2AFF}')
                    || matches!(script(before), Script::Myanmar | Script::Phags_Pa | Script::Manichaean)
                        && letter_or_mark(before))
        }
        _ => false,
    }
}

/// The three flags that are written with tags.
fn flag(point: char, before: Option<char>, after: &str) -> usize {
    const FLAGS: [&str; 3] = ["gbeng", "gbsct", "gbwls"];
    if before != Some('\u{1F3F4}') {
        return 0;
    }
    let tags = || std::iter::once(point).chain(after.chars());
    let spelled = |name: &str| {
        let ascii = name.chars().chain(std::iter::once('\x7F'));
        ascii.zip(tags()).filter(|(ascii, tag)| u32::from(*tag) == u32::from(*ascii) + 0xE0000).count()
            == name.len() + 1
    };
    FLAGS.iter().find(|name| spelled(name)).map_or(0, |name| name.len() + 1)
}

/// The three marks of direction, near letters that are written from right to left; never the paired controls.
fn direction(point: char, before: &Before, after: &str) -> bool {
    if !matches!(point, '\u{61C}' | '\u{200E}' | '\u{200F}')
        || before.last.is_some_and(|last| candidate(last) == Some(HiddenKind::Bidi))
    {
        return false;
    }
    before.since_right_to_left.is_some()
        || after
            .chars()
            .take_while(|next| *next != '\n')
            .filter(|next| candidate(*next).is_none())
            .take(REACH)
            .any(right_to_left)
}

fn zero_width(point: char, before: Option<char>, next: Option<char>, first: bool) -> bool {
    let both = |of: &dyn Fn(char) -> bool| before.is_some_and(of) && next.is_some_and(of);
    match point {
        // The byte order mark of a file.
        '\u{FEFF}' => first,
        '\u{200B}' => both(&|point| unspaced(script(point)) && candidate(point).is_none()),
        '\u{180E}' => both(&|point| {
            script(point) == Script::Mongolian && letter_or_mark(point) && candidate(point).is_none()
        }),
        _ => false,
    }
}

/// Fillers of Hangul syllables in parts, and the blank among other Braille.
fn filler(point: char, before: Option<char>, next: Option<char>) -> bool {
    match point {
        '\u{115F}' => next.is_some_and(|next| matches!(next, '\u{1161}'..='\u{11A7}')),
        '\u{1160}' => before.is_some_and(|before| matches!(before, '\u{1100}'..='\u{115E}')),
        '\u{2800}' => {
            let braille = |point: char| matches!(point, '\u{2800}'..='\u{28FF}');
            before.is_some_and(braille) || next.is_some_and(braille)
        }
        _ => false,
    }
}

/// Controls of one script, within it.
fn format(point: char, before: Option<char>) -> bool {
    match point {
        '\u{13430}'..='\u{13440}' => {
            before.is_some_and(|before| script(before) == Script::Egyptian_Hieroglyphs)
        }
        '\u{1BCA0}'..='\u{1BCA3}' => {
            before.is_some_and(|before| script(before) == Script::Duployan && candidate(before).is_none())
        }
        _ => false,
    }
}

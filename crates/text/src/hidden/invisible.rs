//! Characters that leave no ink, whatever stands around them: what a person who decides must see spelled out.
//!
//! Cleaning excuses a joiner in Persian or a selector after an emoji; a person who approves a payment gets no such excuse, because
//! two texts that look alike must never be shown alike.
//!
//! INVARIANT: every code point with the Unicode property `Default_Ignorable_Code_Point` is invisible, and so is every one whose glyph
//! is blank, except the ordinary space, tab and line feed.

use super::table::candidate;

/// Tells whether a character shows nothing, looks like an ordinary space, or changes how its neighbours are shown.
///
/// The space, the tab and the line feed are visible by the place they take. Private-use characters are invisible: what they look
/// like is known to the reader's font only.
///
/// # Examples
///
/// ```
/// use ringfence_text::is_invisible;
///
/// assert!(is_invisible('\u{3164}')); // HANGUL FILLER, a letter without a glyph
/// assert!(!is_invisible('한'));
/// ```
pub const fn is_invisible(point: char) -> bool {
    if point.is_ascii() {
        return point.is_ascii_control() && !matches!(point, '\n' | '\t');
    }
    candidate(point).is_some() || is_blank(point) || is_private(point)
}

/// Spaces other than U+0020, separators, and characters whose glyph is blank by definition.
#[rustfmt::skip]
const fn is_blank(point: char) -> bool {
    matches!(point,
        '\u{A0}' | '\u{1680}' | '\u{2000}'..='\u{200A}' | '\u{2028}' | '\u{2029}' | '\u{202F}' | '\u{205F}' | '\u{3000}'
        // Joiners and selectors without the property, which show nothing of their own.
        | '\u{2D7F}' | '\u{1107F}' | '\u{1BC9D}' | '\u{1BC9E}'
        // The place of an object, two blank hieroglyphs, the Khitan filler, the note without a head.
        | '\u{FFFC}' | '\u{13441}' | '\u{13442}' | '\u{16FE4}' | '\u{1D159}'
    )
}

const fn is_private(point: char) -> bool {
    matches!(point, '\u{E000}'..='\u{F8FF}' | '\u{F0000}'..='\u{FFFFD}' | '\u{100000}'..='\u{10FFFD}')
}

#[cfg(test)]
mod tests {
    use std::ops::RangeInclusive;

    use unicode_properties::{GeneralCategory, UnicodeGeneralCategory as _};

    use super::*;

    /// `Default_Ignorable_Code_Point` of DerivedCoreProperties.txt, Unicode 17: all of it.
    const DEFAULT_IGNORABLE: [RangeInclusive<u32>; 17] = [
        0xAD..=0xAD,
        0x34F..=0x34F,
        0x61C..=0x61C,
        0x115F..=0x1160,
        0x17B4..=0x17B5,
        0x180B..=0x180F,
        0x200B..=0x200F,
        0x202A..=0x202E,
        0x2060..=0x206F,
        0x3164..=0x3164,
        0xFE00..=0xFE0F,
        0xFEFF..=0xFEFF,
        0xFFA0..=0xFFA0,
        0xFFF0..=0xFFF8,
        0x1BCA0..=0x1BCA3,
        0x1D173..=0x1D17A,
        0xE0000..=0xE0FFF,
    ];

    #[test]
    fn every_default_ignorable_code_point_is_invisible() {
        for point in DEFAULT_IGNORABLE.into_iter().flatten().filter_map(char::from_u32) {
            assert!(is_invisible(point), "U+{:04X}", u32::from(point));
        }
    }

    #[test]
    fn every_control_format_and_separator_is_invisible() {
        // U+0600..=U+0605, U+06DD, U+070F, U+0890, U+0891, U+08E2, U+110BD, U+110CD: signs of Arabic, Syriac and Kaithi that are seen.
        let seen = |point| {
            matches!(
                point,
                '\u{600}'
                    ..='\u{605}'
                        | '\u{6DD}'
                        | '\u{70F}'
                        | '\u{890}'
                        | '\u{891}'
                        | '\u{8E2}'
                        | '\u{110BD}'
                        | '\u{110CD}'
            )
        };
        for point in '\0'..=char::MAX {
            let shows_nothing = matches!(
                point.general_category(),
                GeneralCategory::Control
                    | GeneralCategory::Format
                    | GeneralCategory::LineSeparator
                    | GeneralCategory::ParagraphSeparator
                    | GeneralCategory::PrivateUse
                    | GeneralCategory::SpaceSeparator
            );
            if shows_nothing && !seen(point) && !matches!(point, ' ' | '\n' | '\t') {
                assert!(is_invisible(point), "U+{:04X}", u32::from(point));
            }
        }
    }

    #[test]
    fn blank_letters_are_invisible_and_other_letters_are_not() {
        #[rustfmt::skip]
        let cases = [
            ('\u{115F}', true),  ('\u{1160}', true),  ('\u{3164}', true),  ('\u{FFA0}', true),
            ('\u{2800}', true),  ('\u{13441}', true), ('\u{13442}', true), ('\u{16FE4}', true),
            ('\u{1D159}', true), ('\u{FE0F}', true),  ('\u{E0100}', true), ('\u{E0041}', true),
            ('\u{FDD0}', true),  ('\u{10FFFF}', true), ('\u{E000}', true), ('\u{FFFC}', true),
            (' ', false), ('\n', false), ('\t', false), ('\r', true), ('\u{7F}', true), ('\u{85}', true),
            ('a', false), ('é', false), ('漢', false), ('한', false), ('\u{1100}', false), ('\u{1161}', false),
            ('⠁', false), ('→', false), ('…', false), ('🦀', false), ('\u{FFFD}', false), ('\u{301}', false),
        ];
        for (point, expected) in cases {
            assert_eq!(is_invisible(point), expected, "U+{:04X}", u32::from(point));
        }
    }

    #[test]
    fn whatever_cleaning_takes_out_is_invisible() {
        let mut buffer = [0; 4];
        for point in ('\0'..=char::MAX).filter(|point| *point != '\r') {
            let alone = &*point.encode_utf8(&mut buffer);
            if crate::clean(alone).text != alone {
                assert!(is_invisible(point), "U+{:04X}", u32::from(point));
            }
        }
    }
}

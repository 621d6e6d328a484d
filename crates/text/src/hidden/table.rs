//! Which code points are in question, and the classes of those around them.

use unicode_properties::{GeneralCategoryGroup, UnicodeEmoji, UnicodeGeneralCategory};
use unicode_script::{Script, UnicodeScript};

use super::HiddenKind;

/// Tells whether a byte is ASCII that needs no look: printable, tab, line feed or carriage return.
pub(super) const fn plain(byte: u8) -> bool {
    matches!(byte, b' '..=b'~' | b'\t' | b'\n' | b'\r')
}

/// Returns what a code point would be if its context does not excuse it.
#[rustfmt::skip]
pub(super) const fn candidate(point: char) -> Option<HiddenKind> {
    Some(match point {
        '\t' | '\n' | '\r' | ' '..='~' => return None,
        '\0'..='\x1F' | '\x7F'..='\u{9F}'                                   => HiddenKind::Control,
        '\u{AD}'                                                            => HiddenKind::SoftHyphen,
        '\u{200B}' | '\u{2060}' | '\u{FEFF}' | '\u{180E}'                   => HiddenKind::ZeroWidth,
        '\u{200C}' | '\u{200D}' | '\u{34F}'                                 => HiddenKind::Joiner,
        '\u{61C}' | '\u{200E}' | '\u{200F}'
        | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}'                 => HiddenKind::Bidi,
        '\u{180B}'..='\u{180D}' | '\u{180F}'
        | '\u{FE00}'..='\u{FE0F}' | '\u{E0100}'..='\u{E01EF}'               => HiddenKind::VariationSelector,
        '\u{E0000}'..='\u{E007F}'                                           => HiddenKind::Tag,
        '\u{FFF9}'..='\u{FFFB}'                                             => HiddenKind::Annotation,
        '\u{115F}' | '\u{1160}' | '\u{3164}' | '\u{FFA0}'
        | '\u{17B4}' | '\u{17B5}' | '\u{2800}'                              => HiddenKind::Filler,
        '\u{FDD0}'..='\u{FDEF}'                                             => HiddenKind::Noncharacter,
        '\u{2061}'..='\u{2065}' | '\u{206A}'..='\u{206F}'
        | '\u{FFF0}'..='\u{FFF8}' | '\u{13430}'..='\u{13440}'
        | '\u{1BCA0}'..='\u{1BCA3}' | '\u{1D173}'..='\u{1D17A}'
        | '\u{E0080}'..='\u{E00FF}' | '\u{E01F0}'..='\u{E0FFF}'             => HiddenKind::Format,
        // The last two of every plane.
        _ if point as u32 & 0xFFFE == 0xFFFE                                => HiddenKind::Noncharacter,
        _ => return None,
    })
}

/// Tells whether joiners have a use beside a letter of this script: it is cursive, or it stacks its consonants.
pub(super) fn takes_joiners(script: Script) -> bool {
    cursive(script)
        || matches!(
            script,
            Script::Balinese
                | Script::Bengali
                | Script::Brahmi
                | Script::Chakma
                | Script::Devanagari
                | Script::Grantha
                | Script::Gujarati
                | Script::Gurmukhi
                | Script::Hebrew
                | Script::Javanese
                | Script::Kaithi
                | Script::Kannada
                | Script::Khmer
                | Script::Lao
                | Script::Limbu
                | Script::Malayalam
                | Script::Meetei_Mayek
                | Script::Myanmar
                | Script::Newa
                | Script::Oriya
                | Script::Sinhala
                | Script::Sundanese
                | Script::Tai_Tham
                | Script::Tamil
                | Script::Telugu
                | Script::Thai
                | Script::Tibetan
                | Script::Tirhuta
        )
}

/// Tells whether the letters of a script join, so that a joiner at the edge of a word still shapes its neighbour.
pub(super) fn cursive(script: Script) -> bool {
    matches!(
        script,
        Script::Adlam
            | Script::Arabic
            | Script::Hanifi_Rohingya
            | Script::Mandaic
            | Script::Manichaean
            | Script::Mongolian
            | Script::Nko
            | Script::Phags_Pa
            | Script::Syriac
    )
}

/// Tells whether words of this script run together, so that a zero-width space says where a line may break.
pub(super) fn unspaced(script: Script) -> bool {
    matches!(
        script,
        Script::Balinese
            | Script::Javanese
            | Script::Khmer
            | Script::Lao
            | Script::Myanmar
            | Script::New_Tai_Lue
            | Script::Tai_Le
            | Script::Tai_Tham
            | Script::Tai_Viet
            | Script::Thai
            | Script::Tibetan
    )
}

/// Tells whether a code point is written from right to left.
pub(super) fn right_to_left(point: char) -> bool {
    matches!(point,
        '\u{590}'..='\u{5FF}' | '\u{600}'..='\u{8FF}' | '\u{FB1D}'..='\u{FDCF}' | '\u{FDF0}'..='\u{FDFF}'
        | '\u{FE70}'..='\u{FEFC}' | '\u{10800}'..='\u{10FFF}' | '\u{1E800}'..='\u{1EFFF}')
        && point != '\u{61C}'
}

/// Tells whether a code point suppresses the vowel of the consonant before it.
pub(super) const fn virama(point: char) -> bool {
    matches!(
        point,
        '\u{94D}'
            | '\u{9CD}'
            | '\u{A4D}'
            | '\u{ACD}'
            | '\u{B4D}'
            | '\u{BCD}'
            | '\u{C4D}'
            | '\u{CCD}'
            | '\u{D3B}'
            | '\u{D3C}'
            | '\u{D4D}'
            | '\u{DCA}'
            | '\u{F84}'
            | '\u{1039}'
            | '\u{103A}'
            | '\u{17D2}'
            | '\u{1A60}'
            | '\u{1B44}'
            | '\u{A9C0}'
            | '\u{11046}'
            | '\u{110B9}'
            | '\u{11133}'
            | '\u{1134D}'
            | '\u{11442}'
            | '\u{114C2}'
    )
}

/// Tells whether a code point is drawn as an emoji, alone or with a selector; digits, `#` and `*` are not.
pub(super) fn emoji(point: char) -> bool {
    !point.is_ascii() && point.is_emoji_char()
}

pub(super) fn script(point: char) -> Script {
    point.script()
}

/// Tells whether a code point is a letter or a mark on one.
pub(super) fn letter_or_mark(point: char) -> bool {
    matches!(point.general_category_group(), GeneralCategoryGroup::Letter | GeneralCategoryGroup::Mark)
}

pub(super) fn mark(point: char) -> bool {
    matches!(point.general_category_group(), GeneralCategoryGroup::Mark)
}

pub(super) const fn ideograph(point: char) -> bool {
    matches!(point,
        '\u{3400}'..='\u{4DBF}' | '\u{4E00}'..='\u{9FFF}' | '\u{F900}'..='\u{FAFF}' | '\u{3007}'
        | '\u{20000}'..='\u{3FFFD}')
}

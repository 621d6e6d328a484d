use super::*;

fn kinds(text: &str) -> Vec<&'static str> {
    hidden_spans(text).map(|(_, kind)| kind.as_str()).collect()
}

#[test]
fn honest_uses_are_kept() {
    #[rustfmt::skip]
    let cases = [
        ("family",                "\u{1F469}\u{200D}\u{1F469}\u{200D}\u{1F466}"),
        ("skin and hair",         "\u{1F468}\u{1F3FD}\u{200D}\u{1F9B0}"),
        ("rainbow flag",          "\u{1F3F3}\u{FE0F}\u{200D}\u{1F308}"),
        ("text heart",            "\u{2665}\u{FE0E} \u{2665}\u{FE0F}"),
        ("keycap",                "press 1\u{FE0F}\u{20E3} or #\u{FE0F}\u{20E3}"),
        ("Scotland",              "\u{1F3F4}\u{E0067}\u{E0062}\u{E0073}\u{E0063}\u{E0074}\u{E007F}!"),
        ("country flag",          "\u{1F1E9}\u{1F1EA}"),
        ("Persian",               "\u{6A9}\u{62A}\u{627}\u{628}\u{200C}\u{647}\u{627}"),
        ("Persian on Latin",      "PDF\u{200C}\u{647}\u{627}"),
        ("Hijri year",            "1445 \u{647}\u{200D}"),
        ("Hindi half form",       "\u{915}\u{94D}\u{200D}\u{937} \u{915}\u{94D}\u{200C}\u{937}"),
        ("Bengali",               "\u{9B0}\u{200D}\u{9CD}\u{9AF}"),
        ("Sinhala",               "\u{DC1}\u{DCA}\u{200D}\u{DBB}\u{DD3}"),
        ("Hebrew holam",          "\u{5E2}\u{5D5}\u{200C}\u{5B9}\u{5DF}"),
        ("Hebrew with a mark",    "\u{5E9}\u{5DC}\u{5D5}\u{5DD}!\u{200F} C++\u{200E}"),
        ("Khmer",                 "\u{1797}\u{17B6}\u{179F}\u{17B6}\u{200B}\u{1781}\u{17D2}\u{1798}\u{17C2}\u{179A}"),
        ("Thai",                  "\u{E20}\u{E32}\u{E29}\u{E32}\u{200B}\u{E44}\u{E17}\u{E22}"),
        ("Mongolian",             "\u{182A}\u{1822}\u{180B} \u{1820}\u{1828}\u{180E}\u{1820}"),
        ("ideographic variant",   "\u{845B}\u{E0100}\u{57CE}"),
        ("old Hangul",            "\u{1112}\u{1160}\u{11AB}"),
        ("Braille",               "\u{2813}\u{2800}\u{2825}"),
        ("byte order mark",       "\u{FEFF}text"),
        ("zalgo is seen",         "z\u{300}\u{301}\u{302}a\u{489}"),
        ("wide spaces are seen",  "a\u{A0}b\u{3000}c\u{2009}d"),
    ];
    for (name, text) in cases {
        assert_eq!(kinds(text), Vec::<&str>::new(), "{name}");
    }
}

#[test]
fn hidden_ones_are_found() {
    #[rustfmt::skip]
    let cases: &[(&str, &str, &[&str])] = &[
        ("overrides",             "a\u{202E}b\u{202C}",                       &["bidi", "bidi"]),
        ("isolates in Hebrew",    "\u{5D0}\u{2067}\u{5D1}\u{2069}",           &["bidi", "bidi"]),
        ("mark without reason",   "pay\u{200F}pal",                           &["bidi"]),
        ("row of marks",          "\u{5D0}\u{200F}\u{200E}\u{200F}",          &["bidi"]),
        ("tags alone",            "hi\u{E0041}\u{E0042}",                     &["tag"]),
        ("tags on another flag",  "\u{1F3F4}\u{E0068}\u{E0069}\u{E007F}",     &["tag"]),
        ("flag and more",         "\u{1F3F4}\u{E0067}\u{E0062}\u{E0065}\u{E006E}\u{E0067}\u{E007F}\u{E0041}", &["tag"]),
        ("flag without an end",   "\u{1F3F4}\u{E0067}\u{E0062}\u{E0065}\u{E006E}\u{E0067}", &["tag"]),
        ("bytes in selectors",    "\u{1F600}\u{FE0F}\u{FE01}\u{E0110}",       &["variation-selector"]),
        ("selector on a letter",  "a\u{FE0F}",                                &["variation-selector"]),
        ("joiner in Latin",       "to\u{200C}ken",                            &["joiner"]),
        ("row of joiners",        "\u{915}\u{94D}\u{200D}\u{200C}\u{200D}\u{937}", &["joiner"]),
        ("joiner before a space", "\u{1F600}\u{200D} x",                      &["joiner"]),
        ("space in a word",       "to\u{200B}ken",                            &["zero-width"]),
        ("mark inside",           "a\u{FEFF}",                                &["zero-width"]),
        ("soft hyphen",           "a\u{AD}b",                                 &["soft-hyphen"]),
        ("fillers",               "\u{3164}x\u{FFA0}",                        &["filler", "filler"]),
        ("annotation",            "\u{FFF9}a\u{FFFA}b\u{FFFB}",               &["annotation", "annotation", "annotation"]),
        ("noncharacters",         "\u{FDD0}\u{1FFFE}\u{10FFFF}",              &["noncharacter"]),
        ("invisible plus",        "a\u{2064}b",                               &["format"]),
        ("controls",              "a\u{7}b\u{9B}c\u{7F}",                     &["control", "control", "control"]),
    ];
    for (name, text, expected) in cases {
        assert_eq!(kinds(text), *expected, "{name}");
    }
}

#[test]
fn spans_are_bytes_of_one_kind() {
    let spans: Vec<_> = hidden_spans("a\u{200B}\u{200B}\u{202E}b").collect();
    assert_eq!(spans, [(1..7, HiddenKind::ZeroWidth), (7..10, HiddenKind::Bidi)]);
}

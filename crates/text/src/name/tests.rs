//! Names that pass for one another, and names that do not.

use proptest::prelude::*;

use super::*;

#[test]
fn tells_names_apart_that_look_different() {
    #[rustfmt::skip]
    let cases = [
        // one          other                 collide
        ("get_item",    "get_item",           true),
        ("get_item",    "GET_ITEM",           true),
        ("get_item",    "getItem",            true),
        ("get_item",    "get.item",           true),
        ("get_item",    "get_іtem",           true), // Cyrillic i
        ("get_item",    "ｇet_item",          true),
        ("get_item",    "\u{202e}meti_teg",   true),
        ("get_item",    "get_item\u{200b}",   true),
        ("list",        "1ist",               true),
        ("list",        "Iist",               true),
        ("zoom",        "z00m",               true),
        ("modern",      "rnodern",            true),
        ("get_item",    "get_items",          false),
        ("get_item",    "set_item",           false),
        ("v1_get",      "v2_get",             false),
        ("on",          "in",                 false),
        ("fs.read",     "fs.write",           false),
    ];
    for (one, other, expected) in cases {
        assert_eq!(collide(one, other), expected, "{one} ~ {other:?}");
    }
}

#[test]
fn refuses_what_the_wire_does_not_take() {
    let long = "a".repeat(65);
    #[rustfmt::skip]
    let cases = [
        ("read_file",       None),
        ("fs.read-2",       None),
        ("_private",        None),
        ("",                Some(Refused::Empty)),
        (long.as_str(),     Some(Refused::Long)),
        ("read file",       Some(Refused::Space)),
        ("read\u{a0}file",  Some(Refused::Space)),
        ("../up",           Some(Refused::Path)),
        ("a\\b",            Some(Refused::Path)),
        ("re\u{430}d",      Some(Refused::MixedScript)),
        ("читать",          Some(Refused::Wire)),
        ("a\u{200d}b",      Some(Refused::Hidden)),
        ("a\u{7}b",         Some(Refused::Hidden)),
        ("a$b",             Some(Refused::Wire)),
        (".hidden",         Some(Refused::Start)),
        ("-flag",           Some(Refused::Start)),
        ("nul",             Some(Refused::Device)),
        ("com1.txt",        Some(Refused::Device)),
        ("community",       None),
    ];
    for (name, reason) in cases {
        assert_eq!(refused(name), reason, "{name:?}");
    }
}

proptest! {
    #[test]
    fn a_collision_is_mutual_and_a_name_collides_with_itself(one in ".{0,20}", other in "[a-zA-Z0-9_.аеор-]{0,20}") {
        prop_assert!(collide(&one, &one));
        prop_assert_eq!(collide(&one, &other), collide(&other, &one));
        prop_assert_eq!(collisions(&[&one, &other]).is_empty(), collisions(&[&other, &one]).is_empty());
    }

    #[test]
    fn case_and_separators_never_tell_names_apart(words in prop::collection::vec("[a-z]{1,6}", 1..4)) {
        prop_assert!(collide(&words.join("_"), &words.join("-").to_uppercase()));
    }

    #[test]
    fn what_is_not_refused_fits_the_wire(name in ".{0,70}") {
        if refused(&name).is_none() {
            prop_assert!(name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte)));
            prop_assert!((1..=64).contains(&name.len()));
        }
    }
}

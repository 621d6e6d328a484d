//! What holds for any program: names mean the same however they are passed along, and no text is too odd to be judged.

use proptest::prelude::*;

use super::{analysed, effects};
use crate::Effect;

/// One way to hand a function from a module to the one inside it, under a new name.
#[derive(Clone, Copy, Debug)]
enum Handed {
    Alias,
    Constant,
    Glob,
    Wrapper,
}

fn handed() -> impl Strategy<Value = Handed> {
    prop::sample::select(vec![Handed::Alias, Handed::Constant, Handed::Glob, Handed::Wrapper])
}

/// Writes a chain of modules through which `std::fs::read_to_string` is handed, innermost last.
fn program(ways: &[Handed]) -> String {
    let mut text = String::from("mod m0 { pub use std::fs::read_to_string as name; }\n");
    for (number, way) in ways.iter().enumerate() {
        let inner = match way {
            Handed::Alias => format!("pub use super::m{number}::name as other; pub use self::other as name;"),
            Handed::Constant => {
                format!("pub const name: fn(&str) -> std::io::Result<String> = super::m{number}::name;")
            }
            Handed::Glob => format!("pub use crate::m{number}::*;"),
            Handed::Wrapper => {
                format!(
                    "pub fn name(path: &str) -> std::io::Result<String> {{ super::m{number}::name(path) }}"
                )
            }
        };
        text.push_str(&format!("mod m{} {{ {inner} }}\n", number + 1));
    }
    text.push_str(&format!("pub fn f() {{ m{}::name(\"a\"); }}\n", ways.len()));
    text
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn a_name_means_the_same_however_it_is_handed_on(ways in prop::collection::vec(handed(), 0..8)) {
        let analysis = analysed(&[("tool", &[], &[("src/lib.rs", &program(&ways))])]);
        prop_assert_eq!(effects(&analysis, "tool::f"), "fs.read");
        let verdict = super::verdict(&analysis, "tool::f");
        prop_assert!(verdict.uses[0].way.len() <= crate::MAX_HOPS);
    }

    #[test]
    fn no_text_is_too_odd(pieces in prop::collection::vec(prop::sample::select(PIECES.to_vec()), 0..40)) {
        let text = pieces.join(" ");
        let analysis = analysed(&[("tool", &[], &[("src/lib.rs", &text)])]);
        let package = &analysis.packages[0];
        // Either it is a program, or it says that it was not understood.
        let is_read = syn::parse_file(&text).is_ok();
        prop_assert!(is_read || package.holds.contains(Effect::Unanalyzed), "{}", text);
    }
}

const PIECES: &[&str] = &[
    "fn",
    "f",
    "g",
    "(",
    ")",
    "{",
    "}",
    "mod",
    "use",
    "std",
    "::",
    "fs",
    "*",
    ";",
    "impl",
    "for",
    "S",
    "struct",
    "S;",
    "#",
    "[",
    "]",
    "cfg",
    "!",
    "macro_rules!",
    "$",
    "=>",
    "self",
    "super",
    "crate",
    ",",
    "|",
    "||",
    "&",
    "<",
    ">",
    "=",
    "let",
    "\"a\"",
    "'a",
    "1",
    ".",
    "read",
    "async",
    "move",
    "unsafe",
    "extern",
    "fn f() {}",
    "mod m { pub use super::*; }",
    "use self::*;",
    "use m::m::m;",
    "type T = T;",
    "impl T for T {}",
    "const C: T = C;",
    "trait T: T {}",
];

#[test]
fn text_that_nests_without_end_is_refused() {
    #[rustfmt::skip]
    let cases = [
        format!("fn f() {{ {}1{} }}", "(".repeat(30_000), ")".repeat(30_000)),
        format!("fn f() -> bool {{ {}true }}", "!".repeat(30_000)),
        format!("fn f() -> u8 {{ 1{} }}", "+1".repeat(30_000)),
        format!("fn f() {{ g{} }}", ".g()".repeat(30_000)),
        format!("type T = {}u8{};", "A<".repeat(30_000), ">".repeat(30_000)),
    ];
    for text in cases {
        let analysis = analysed(&[("tool", &[], &[("src/lib.rs", &text)])]);
        assert!(analysis.packages[0].holds.contains(Effect::Unanalyzed), "{text:.60}");
    }
    // What real code comes near to is read.
    let long = format!("fn f() {{ let _ = {}std::fs::read(\"a\"); }}", "1 + ".repeat(2_000));
    let deep = format!("fn f() {{ {}std::fs::read(\"a\"){} }}", "(".repeat(200), ")".repeat(200));
    for text in [long, deep] {
        let analysis = analysed(&[("tool", &[], &[("src/lib.rs", &text)])]);
        assert_eq!(effects(&analysis, "tool::f"), "fs.read", "{text:.60}");
    }
}

//! What this engine does not see and the compiler's view does: each miss is tried, and stands in the documentation.

use super::{analysed, effects};

/// What the page says of it, a program, and what `tool::f` really does.
#[rustfmt::skip]
const MISSES: &[(&str, &str, &str)] = &[
    ("a method whose name several types of the package have, on a value whose type is not written nearby",
     "struct A; impl A { fn go(&self) { std::fs::read(\"a\"); } } struct B; impl B { fn go(&self) {} } fn pick<T>(list: Vec<T>) -> T { loop {} } fn f(list: Vec<A>) { pick(list).go(); }",
     "fs.read"),
    ("a method with an everyday name (`read`, `open`, `run`) of a dependency's type, on a value whose type is not written nearby",
     "fn pick<T>(list: Vec<T>) -> T { loop {} } fn f(list: Vec<dep::Loader>) { pick(list).read(); }",
     "fs.read"),
    ("a generic function that makes a value of a type that only its caller's types tell",
     "struct S; impl Default for S { fn default() -> S { std::fs::read(\"a\"); S } } fn make<T: Default>() -> T { T::default() } fn take(_: &S) {} fn f() { take(&make()); }",
     "fs.read"),
    ("a method of a trait of another package, called by the trait's name, where the body does not name the type that implements it",
     "struct S; impl dep::Job for S { fn go(&self) { std::fs::read(\"a\"); } } fn f(s: &S) { dep::Job::go(s); }",
     "fs.read"),
    ("a conversion through `?` into an error type",
     "struct E; impl From<u8> for E { fn from(_: u8) -> E { std::fs::read(\"a\"); E } } fn g() -> Result<(), u8> { Err(1) } fn f() -> Result<(), E> { g()?; Ok(()) }",
     "fs.read"),
    ("a derived implementation that runs those of the fields",
     "struct S; impl Default for S { fn default() -> S { std::fs::read(\"a\"); S } } #[derive(Default)] struct O { s: S } fn f() { O::default(); }",
     "fs.read"),
    ("the `Drop` of a value that a function returns without making it",
     "struct S; impl Drop for S { fn drop(&mut self) { std::fs::remove_file(\"a\"); } } fn take(list: &mut Vec<S>) -> Option<S> { list.pop() } fn f(list: &mut Vec<S>) { let _last = take(list); }",
     "fs.write"),
    ("a function that one function keeps and another calls",
     "static HOOK: std::sync::Mutex<Option<fn()>> = std::sync::Mutex::new(None); fn g() { std::fs::read(\"a\"); } fn set() { *HOOK.lock().unwrap() = Some(g); } fn f() { HOOK.lock().unwrap().map(|act| act()); }",
     "fs.read"),
    ("a function that a macro of another package defines by a name it is given",
     "dep::make!(g); fn f() { g(); }",
     "fs.read"),
    ("a function whose path a macro puts together from several names",
     "mod disk { pub mod deep { pub fn load() { std::fs::read(\"a\"); } } } macro_rules! call { ($a:ident $b:ident $c:ident) => { $a::$b::$c() } } fn f() { call!(disk deep load); }",
     "fs.read"),
    ("a dependency's implementation of its own trait for a type that is not its own, reached through a generic call",
     "fn f() { dep::run(5_u8); }",
     "fs.read"),
];

const DEP: &str = "pub struct Loader; impl Loader { pub fn read(&self) { std::fs::read(\"a\"); } } pub trait Job { fn go(&self); } #[macro_export] macro_rules! make { ($n:ident) => { fn $n() { std::fs::read(\"a\"); } } } impl Job for u8 { fn go(&self) { std::fs::read(\"a\"); } } pub fn run<T: Job>(t: T) { t.go(); }";

#[test]
fn misses_are_what_the_page_says() {
    let page =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/concepts/lint.md")).unwrap();
    let listed = page.split("## What the source engine misses").nth(1).unwrap();
    let listed = listed.split("\n## ").next().unwrap();
    let rows = listed.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| What ")).count();
    for (said, text, really) in MISSES {
        assert!(listed.contains(said), "the page does not list: {said}");
        let analysis =
            analysed(&[("tool", &["dep"], &[("src/lib.rs", text)]), ("dep", &[], &[("src/lib.rs", DEP)])]);
        assert_eq!(effects(&analysis, "tool::f"), "", "no longer missed ({really}): {said}");
    }
    // Two more need a compiler to show: code that procedural macros write, and what a build script switches on.
    assert_eq!(rows, MISSES.len() + 2, "{listed}");
}

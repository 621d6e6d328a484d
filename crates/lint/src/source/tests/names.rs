//! Names that were renamed, re-exported, globbed and nested, across files and packages.

use super::{analysed, effects};

#[test]
fn follows_names_across_packages() {
    let facade = "pub use inner::io as disk; pub use inner::io::slurp as gentle; pub mod prelude { pub use inner::io::*; } extern crate inner as core_parts; pub use core_parts::Client;";
    let inner = "pub mod io { pub fn slurp() { std::fs::read(\"a\"); } pub fn spill() { std::fs::write(\"a\", \"b\"); } } pub struct Client; impl Client { pub fn new() -> Self { Client } pub fn send(&self) { std::net::TcpStream::connect(\"a:1\"); } } #[macro_export] macro_rules! load { () => { $crate::io::slurp() } }";
    #[rustfmt::skip]
    let cases = [
        ("fn f() { facade::disk::slurp(); }",                                       "fs.read"),
        ("use facade::gentle; fn f() { gentle(); }",                                "fs.read"),
        ("use facade::prelude::*; fn f() { spill(); }",                             "fs.write"),
        ("use facade as x; use x::disk::{slurp as a, spill as b}; fn f() { a(); b(); }", "fs.read fs.write"),
        ("extern crate facade as y; fn f() { y::disk::spill(); }",                  "fs.write"),
        ("fn f() { ::facade::gentle(); }",                                          "fs.read"),
        ("fn f() { facade::Client::new().send(); }",                                "net.connect"),
        ("use facade::Client; struct S { client: Client } impl S { fn go(&self) { self.client.send() } } fn f(s: S) { s.go() }", "net.connect"),
        ("fn f() { renamed::load!(); }",                                            "fs.read"),
        ("use renamed::io::slurp; mod a { pub use super::slurp as s; } mod b { pub use super::a::*; } fn f() { b::s(); }", "fs.read"),
        ("fn f(c: &facade::Client) { c.clone().send(); }",                          "net.connect"),
        ("fn f() { facade::prelude::nothing(); }",                                  ""),
    ];
    for (text, wanted) in cases {
        let analysis = analysed(&[
            ("tool", &["facade", "renamed=inner"], &[("src/lib.rs", text)]),
            ("facade", &["inner"], &[("src/lib.rs", facade)]),
            ("inner", &[], &[("src/lib.rs", inner)]),
        ]);
        assert_eq!(effects(&analysis, "tool::f"), wanted, "{text}");
    }
}

#[test]
fn follows_modules_across_files() {
    let analysis = analysed(&[(
        "tool",
        &[],
        &[
            (
                "src/lib.rs",
                "mod a; #[path = \"odd/place.rs\"] mod b; mod c { pub mod d; } include!(\"more.rs\"); #[cfg_attr(unix, path = \"e_unix.rs\")] mod e; pub fn f() { a::deep::go(); } pub fn g() { b::go(); b::below::go() } pub fn h() { c::d::go(); } pub fn i() { more(); } pub fn j() { e::go() }",
            ),
            ("src/a.rs", "pub mod deep;"),
            ("src/a/deep.rs", "pub fn go() { std::fs::read(\"a\"); super::super::c::d::go(); }"),
            ("src/odd/place.rs", "pub mod below; pub fn go() { std::env::var(\"a\"); }"),
            ("src/odd/below.rs", "pub fn go() { std::fs::write(\"a\", \"b\"); }"),
            ("src/c/d.rs", "pub fn go() { std::time::Instant::now(); }"),
            ("src/more.rs", "fn more() { std::net::TcpListener::bind(\"a:1\"); }"),
            ("src/e_unix.rs", "pub fn go() { std::fs::read(\"a\"); }"),
            ("src/main.rs", "fn main() { tool::g(); }"),
        ],
    )]);
    #[rustfmt::skip]
    let cases = [
        ("tool::f",    "fs.read clock"),
        ("tool::g",    "fs.write env.read"),
        ("tool::h",    "clock"),
        ("tool::i",    "net.listen"),
        ("tool::j",    "fs.read"),
        ("tool::main", "fs.write env.read"),
    ];
    for (function, wanted) in cases {
        assert_eq!(effects(&analysis, function), wanted, "{function}");
    }
}

#[test]
fn names_functions_as_reports_do() {
    let text = "mod m { pub struct S; impl S { pub fn a(&self) {} } impl super::T for S { fn b(&self) { let _ = || 1; } } } trait T { fn b(&self); fn c(&self) {} } fn outer() { fn inner() {} }";
    let analysis = analysed(&[("tool", &[], &[("src/lib.rs", text)])]);
    let names: Vec<&str> = analysis.functions.iter().map(|one| one.function.as_str()).collect();
    assert_eq!(
        names,
        [
            "<tool::m::S as T>::b",
            "<tool::m::S as T>::b::{closure#0}",
            "tool::T::c",
            "tool::m::S::a",
            "tool::outer",
            "tool::outer::inner",
        ]
    );
}

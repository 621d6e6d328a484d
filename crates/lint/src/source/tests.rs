//! Small programs and what the source engine finds in them.

mod misses;
mod names;
mod properties;

use std::path::PathBuf;

use super::analyse;
use crate::project::LINUX;
use crate::{Analysis, Cfg, Dependency, Effect, Project, Role, SourcePackage, Target, TargetKind, Verdict};

/// A package with these features and targets, and nothing on disk.
pub(crate) fn package(features: &[&str], kinds: &[TargetKind]) -> SourcePackage {
    SourcePackage {
        name: "tool".into(),
        version: "1.0.0".into(),
        folder: PathBuf::new(),
        checksum: None,
        own: true,
        role: Role::Run,
        targets: kinds
            .iter()
            .map(|kind| Target { name: "tool".into(), kind: *kind, source: PathBuf::new(), edition: 2024 })
            .collect(),
        features: features.iter().map(|feature| (*feature).to_owned()).collect(),
        known_features: Default::default(),
        links: None,
        dependencies: Vec::new(),
        build_dependencies: Vec::new(),
        metadata: serde_json::Value::Null,
    }
}

/// A package to write: its name, what it uses as `name` or `alias=name`, and its files.
pub(crate) type Written<'a> = (&'a str, &'a [&'a str], &'a [(&'a str, &'a str)]);

/// A project on disk, which is removed with the value.
pub(crate) struct Fixture {
    pub(crate) project: Project,
    _folder: tempfile::TempDir,
}

/// Writes packages; the first is the tool's own.
pub(crate) fn fixture(written: &[Written<'_>]) -> Fixture {
    let folder = tempfile::tempdir().unwrap();
    let position = |name: &str| written.iter().position(|(own, ..)| *own == name).unwrap();
    let mut packages = Vec::new();
    for (number, (name, uses, files)) in written.iter().enumerate() {
        let own = folder.path().join(name);
        for (path, text) in *files {
            let file = own.join(path);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, text).unwrap();
        }
        let crate_name = name.replace('-', "_");
        let targets = [
            ("src/lib.rs", TargetKind::Library),
            ("src/main.rs", TargetKind::Binary),
            ("build.rs", TargetKind::BuildScript),
        ]
        .into_iter()
        .filter(|(path, _)| own.join(path).is_file())
        .map(|(path, kind)| Target { name: crate_name.clone(), kind, source: own.join(path), edition: 2024 })
        .collect();
        let dependencies = uses.iter().map(|one| {
            let (alias, target) = one.split_once('=').unwrap_or((one, one));
            Dependency { name: alias.replace('-', "_"), package: position(target) }
        });
        packages.push(SourcePackage {
            name: (*name).to_owned(),
            own: number == 0,
            checksum: (number > 0).then(|| "sum".to_owned()),
            folder: own.clone(),
            targets,
            dependencies: dependencies.collect(),
            ..package(&["on"], &[])
        });
    }
    let project =
        Project { root: folder.path().join(written[0].0), packages, cfg: Cfg::parse(LINUX).unwrap() };
    Fixture { project, _folder: folder }
}

pub(crate) fn analysed(written: &[Written<'_>]) -> Analysis {
    analyse(&fixture(written).project).unwrap()
}

pub(crate) fn verdict<'a>(analysis: &'a Analysis, function: &str) -> &'a Verdict {
    let names: Vec<&str> = analysis.functions.iter().map(|one| one.function.as_str()).collect();
    analysis
        .functions
        .iter()
        .find(|one| one.function == function)
        .unwrap_or_else(|| panic!("{function} in {names:?}"))
}

pub(crate) fn effects(analysis: &Analysis, function: &str) -> String {
    let uses = verdict(analysis, function).uses.iter();
    uses.map(|one| if one.mediated { format!("({})", one.effect) } else { one.effect.to_string() })
        .collect::<Vec<_>>()
        .join(" ")
}

/// What `tool::f` does, in a library of this text.
fn of_text(text: &str) -> String {
    effects(&analysed(&[("tool", &[], &[("src/lib.rs", text)])]), "tool::f")
}

#[test]
fn finds_what_a_body_calls() {
    #[rustfmt::skip]
    let cases = [
        // Paths.
        ("fn f() { std::fs::read(\"a\").unwrap(); }",                                              "fs.read"),
        ("use std::fs; fn f() { fs::write(\"a\", \"b\").unwrap(); }",                              "fs.write"),
        ("use std::fs::read as load; fn f() { load(\"a\").unwrap(); }",                            "fs.read"),
        ("use std::{fs::{self as disk, File}, env}; fn f() { disk::read(\"a\"); env::var(\"A\"); }", "fs.read env.read"),
        ("use std::fs::*; fn f() { read_to_string(\"a\"); }",                                      "fs.read"),
        ("fn f() { use std::net::TcpStream as T; T::connect(\"a:1\"); }",                          "net.connect"),
        ("fn f() { let g = std::fs::read::<&str>; g(\"a\"); }",                                    "fs.read"),
        ("const G: fn(&str) -> std::io::Result<String> = std::fs::read_to_string; fn f() { G(\"a\"); }", "fs.read"),
        ("type C = std::process::Command; fn f() { C::new(\"git\").spawn(); }",                    "exec"),
        ("fn f() { <str as std::net::ToSocketAddrs>::to_socket_addrs(\"a:1\"); }",                 "net.dns"),
        ("fn f() { std::time::Instant::now(); }",                                                  "clock"),
        ("fn f() { let _ = core::mem::size_of::<u8>(); }",                                         ""),
        // Methods.
        ("fn f(p: &std::path::Path) -> bool { p.exists() }",                                       "fs.read"),
        ("fn f() { let p = std::path::PathBuf::from(\"a\"); p.is_dir(); }",                        "fs.read"),
        ("use std::process::Command; fn f() { let mut c = Command::new(\"a\"); c.arg(\"b\"); c.output(); }", "exec"),
        ("use std::process::Command; fn make() -> Command { Command::new(\"a\") } fn f() { make().spawn(); }", "exec"),
        ("struct S { c: std::process::Command } fn f(s: &mut S) { s.c.status(); }",                "exec"),
        ("struct S; impl S { fn go(&self) { std::fs::read(\"a\"); } } fn f(s: S) { s.go(); }",     "fs.read"),
        ("struct S; impl S { fn go(&self) { std::fs::read(\"a\"); } fn new() -> S { S } } fn f() { S::new().go(); }", "fs.read"),
        ("struct S; impl S { fn go(&self) { self.deep() } fn deep(&self) { std::env::set_var(\"A\", \"b\"); } } fn f(s: &S) { S::go(s); }", "env.write"),
        ("fn f(list: Vec<std::path::PathBuf>) { for one in &list { one.exists(); } }",             "fs.read"),
        ("fn f(list: Vec<std::path::PathBuf>) { list.iter().any(|one| one.exists()); }",           "fs.read"),
        ("fn f(p: Option<std::path::PathBuf>) { if let Some(p) = p { p.metadata(); } }",           "fs.read"),
        ("fn f(p: &[u8]) { p.len(); }",                                                            ""),
        ("struct S; impl S { fn exists(&self) -> bool { true } } fn f(s: S) { s.exists(); }",      ""),
        // Opening says how.
        ("fn f() { std::fs::OpenOptions::new().read(true).open(\"a\"); }",                         "fs.read"),
        ("fn f() { std::fs::OpenOptions::new().append(true).open(\"a\"); }",                       "fs.write"),
        ("fn f() { let mut o = std::fs::OpenOptions::new(); o.read(true).write(true); o.open(\"a\"); }", "fs.read fs.write"),
        ("fn f() { std::fs::File::options().create(true).open(\"a\"); }",                          "fs.write"),
        ("struct S; impl std::fmt::Display for S { fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result { std::env::var(\"A\"); Ok(()) } } fn f() { println!(\"{S}\"); }", "env.read"),
        ("fn f(o: &std::fs::OpenOptions) { o.open(\"a\"); }",                                      "fs.read fs.write"),
        // Closures, async, threads, constants, statics.
        ("fn f() { let g = || std::fs::read(\"a\"); g(); }",                                       "fs.read"),
        ("fn f() { std::thread::spawn(move || { std::env::var(\"A\") }); }",                       "env.read"),
        ("async fn f() { async { std::fs::read(\"a\") }.await; }",                                 "fs.read"),
        ("static S: std::sync::LazyLock<String> = std::sync::LazyLock::new(|| std::env::var(\"A\").unwrap()); fn f() { S.len(); }", "env.read"),
        // Macros.
        ("fn f() { println!(\"{:?}\", std::env::var(\"A\")); }",                                   "env.read"),
        ("fn f() { let _ = vec![std::fs::read(\"a\"), std::fs::read(\"b\")]; }",                   "fs.read"),
        ("fn f() -> bool { matches!(std::env::var(\"A\"), Ok(ref a) if a.is_empty()) }",           "env.read"),
        ("macro_rules! load { ($p:expr) => { std::fs::read($p) } } fn f() { load!(\"a\"); }",      "fs.read"),
        ("macro_rules! run { ($($t:tt)*) => { $($t)* } } fn f() { run! { let x = std::fs::read(\"a\"); } }", "fs.read"),
        ("macro_rules! make { ($n:ident) => { fn $n() { std::fs::read(\"a\"); } } } make!(g); fn f() { g(); }", "fs.read"),
        ("macro_rules! make { ($n:ident, $p:path) => { fn $n() { $p(\"a\"); } } } make!(g, std::fs::read); fn f() { let _ = std::env::var(\"A\"); }", "env.read"),
        ("macro_rules! odd { ($($t:tt)*) => {} } fn f() { odd!(=> std::fs::read(\"a\") <=); }",    "fs.read"),
        ("fn f() { assert!(std::path::Path::new(\"a\").exists(), \"{}\", 1); }",                   "fs.read"),
        ("mod libc { pub fn c() { std::fs::read(\"a\"); } pub fn d() { } } macro_rules! call { ($n:ident($($a:expr),*)) => { libc::$n($($a),*) } } fn f() { call!(c()); }", "fs.read"),
        ("pub struct S; impl S { fn read(&self) { std::fs::read(\"a\"); } fn other(&self) {} } pub fn make() -> S { S } struct X; impl X { fn read(&self) {} } macro_rules! s { () => { $crate::make() } } fn f() { s!().read(); }", "fs.read"),
        ("fn g() -> Option<String> { None } fn f() { let a = g().unwrap(); let _ = if true { a.to_socket_addrs()? } else { 1 }; }", "net.dns"),
        // Traits.
        ("trait T { fn go(&self); } struct S; impl T for S { fn go(&self) { std::fs::read(\"a\"); } } fn f(t: &dyn T) { t.go(); }", "fs.read"),
        ("trait T { fn go(&self); } struct S; impl T for S { fn go(&self) { std::fs::read(\"a\"); } } fn run<X: T>(x: X) { x.go(); } fn f() { run(S); }", "fs.read"),
        ("trait T { fn go(&self) { std::fs::read(\"a\"); } } struct S; impl T for S {} fn f(s: S) { s.go(); }", "fs.read"),
        ("struct S; impl Drop for S { fn drop(&mut self) { std::fs::remove_file(\"a\"); } } fn f() { let _s = S; }", "fs.write"),
        ("struct S; impl std::fmt::Display for S { fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result { std::env::var(\"A\"); Ok(()) } } fn f() { format!(\"{}\", S); }", "env.read"),
        ("struct S; impl Iterator for S { type Item = u8; fn next(&mut self) -> Option<u8> { std::fs::read(\"a\"); None } } fn f() { for _ in S {} }", "fs.read"),
        ("struct S; impl Default for S { fn default() -> S { std::fs::read(\"a\"); S } } fn f() { let _ = S; }", ""),
        ("struct S; impl Default for S { fn default() -> S { std::fs::read(\"a\"); S } } fn f() { let _: S = Default::default(); }", "fs.read"),
        ("struct S; impl From<u8> for S { fn from(_: u8) -> S { std::fs::read(\"a\"); S } } fn f() { let _: S = 1.into(); }", "fs.read"),
        ("struct S; impl Drop for S { fn drop(&mut self) { std::fs::remove_file(\"a\"); } } fn f(_s: S) {}", "fs.write"),
        ("struct S; impl Drop for S { fn drop(&mut self) { std::fs::remove_file(\"a\"); } } fn f(_s: &S) {}", ""),
        ("struct S; impl std::ops::Add for S { type Output = S; fn add(self, _: S) -> S { std::env::var(\"A\"); self } } fn f(a: S, b: S) -> S { a + b }", "env.read"),
        ("struct S; impl std::ops::Deref for S { type Target = T; fn deref(&self) -> &T { &T } } struct T; impl T { fn go(&self) { std::env::var(\"A\"); } } struct U; impl U { fn go(&self) {} } fn f(s: &S) { s.go(); }", "env.read"),
        ("struct S; impl std::fmt::Display for S { fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result { std::env::var(\"A\"); Ok(()) } } fn f(s: &S) { println!(\"{s}\"); }", "env.read"),
        ("struct S; impl std::fmt::Display for S { fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result { std::env::var(\"A\"); Ok(()) } } fn f(s: &S) -> String { s.to_string() }", "env.read"),
        ("struct S; impl Iterator for S { type Item = u8; fn next(&mut self) -> Option<u8> { std::fs::read(\"a\"); None } } fn f(s: S) { for _ in s {} }", "fs.read"),
        ("trait E { fn go(&self); } impl<T> E for T { fn go(&self) { std::fs::read(\"a\"); } } fn f() { \"a\".go(); }", "fs.read"),
        ("struct S; impl From<u8> for S { fn from(_: u8) -> S { std::fs::read(\"a\"); S } } fn f() -> S { 1.into() }", "fs.read"),
        ("struct S; impl std::str::FromStr for S { type Err = (); fn from_str(_: &str) -> Result<S, ()> { std::fs::read(\"a\"); Ok(S) } } fn f() -> Result<S, ()> { \"a\".parse() }", "fs.read"),
        // Other languages.
        ("unsafe extern \"C\" { fn open(p: *const u8, f: i32) -> i32; } fn f() { unsafe { open(std::ptr::null(), 0) }; }", "fs.read fs.write"),
        ("unsafe extern \"C\" { fn launch_missiles(); } fn f() { unsafe { launch_missiles() }; }", "ffi"),
        ("unsafe extern \"C\" { fn strlen(p: *const u8) -> usize; } fn f() { unsafe { strlen(std::ptr::null()) }; }", ""),
        ("unsafe extern \"C\" { #[link_name = \"connect\"] fn harmless(); } fn f() { unsafe { harmless() }; }", "net.connect"),
        ("fn f() { unsafe { std::arch::asm!(\"nop\") }; }",                                        "asm"),
        // Conditions.
        ("#[cfg(windows)] fn g() { std::fs::read(\"a\"); } #[cfg(unix)] fn g() {} fn f() { g(); }", ""),
        ("fn f() { #[cfg(feature = \"off\")] std::fs::read(\"a\"); #[cfg(feature = \"on\")] std::env::var(\"a\"); }", "env.read"),
        ("cfg_if::cfg_if! { if #[cfg(windows)] { fn g() { std::fs::read(\"a\"); } } else if #[cfg(unix)] { fn g() { std::env::var(\"a\"); } } else { fn g() {} } } fn f() { g(); }", "env.read"),
        ("macro_rules! gate { ($($i:item)*) => { $(#[cfg(feature = \"off\")] $i)* } } gate! { fn g() { std::fs::read(\"a\"); } } #[cfg(not(feature = \"off\"))] fn g() {} fn f() { g(); }", ""),
        ("#[cfg(test)] mod tests { fn g() { std::fs::read(\"a\"); } } fn f() {}",                  ""),
        // A variable is not a path.
        ("fn read() { std::fs::read(\"a\"); } fn f(read: u8) -> u8 { read }",                      ""),
        ("fn g() { std::fs::read(\"a\"); } fn f() { let g = || 1; g(); }",                         ""),
    ];
    for (text, wanted) in cases {
        assert_eq!(of_text(text), wanted, "{text}");
    }
}

#[test]
fn what_cannot_be_read_is_not_clean() {
    #[rustfmt::skip]
    let cases = [
        ("mod gone; fn f() { gone::g(); }",                                            "unanalyzed"),
        ("include!(concat!(env!(\"OUT_DIR\"), \"/x.rs\")); fn f() { made(); }",        "unanalyzed"),
        ("mod broken; fn f() { broken::g(); }",                                        "unanalyzed"),
    ];
    for (text, wanted) in cases {
        let files = [("src/lib.rs", text), ("src/broken.rs", "fn g( {")];
        let analysis = analysed(&[("tool", &[], &files)]);
        assert_eq!(effects(&analysis, "tool::f"), wanted, "{text}");
        assert!(analysis.packages[0].holds.contains(Effect::Unanalyzed), "{text}");
    }
    let empty = fixture(&[("tool", &[], &[("src/other.rs", "")])]);
    assert_eq!(
        analyse(&empty.project).unwrap_err().to_string(),
        "the project has no library and no program of its own"
    );
    let gone = analysed(&[
        ("tool", &["dep"], &[("src/lib.rs", "fn f() { dep::g(); }")]),
        ("dep", &[], &[("src/lib.rs", "nonsense")]),
    ]);
    assert_eq!(effects(&gone, "tool::f"), "unanalyzed");
}

#[test]
fn says_the_way_and_what_is_literal() {
    let tool = "use std::process::Command;\n\npub fn f() {\n    dep::deep::run();\n    g();\n}\nfn g() { Command::new(\"git\").arg(\"log\").output(); }\n";
    let dep =
        "pub mod deep { pub fn run() { inner() } fn inner() { std::fs::read(\"/etc/hosts\").unwrap(); } }";
    let analysis =
        analysed(&[("tool", &["dep"], &[("src/lib.rs", tool)]), ("dep", &[], &[("src/lib.rs", dep)])]);
    let found = verdict(&analysis, "tool::f");
    let read = found.uses.iter().find(|one| one.effect == Effect::FsRead).unwrap();
    let way: Vec<String> = read
        .way
        .iter()
        .map(|hop| {
            let place = hop.place.as_ref().unwrap();
            format!("{} {}:{}:{}", hop.name, place.file, place.line, place.column)
        })
        .collect();
    assert_eq!(
        way,
        [
            "tool::f src/lib.rs:3:8",
            "dep::deep::run src/lib.rs:4:16",
            "dep::deep::inner dep-1.0.0/src/lib.rs:1:31",
            "std::fs::read dep-1.0.0/src/lib.rs:1:63",
        ]
    );
    assert_eq!(read.package, "dep@1.0.0");
    let exec = found.uses.iter().find(|one| one.effect == Effect::Exec).unwrap();
    assert_eq!(exec.literals, ["git"]);
    assert_eq!(exec.way.last().unwrap().name, "std::process::Command::output");
    let dep = &analysis.packages[1];
    assert_eq!((dep.holds.iter().collect::<Vec<_>>(), dep.own), (vec![Effect::FsRead], false));
}

#[test]
fn lists_what_packages_hold() {
    let sys = "#[link(name = \"z\", kind = \"static\")] unsafe extern \"C\" { fn inflate(); } pub fn go() { unsafe { inflate() } } core::arch::global_asm!(\"nop\");";
    let analysis = analysed(&[
        ("tool", &["sys"], &[("src/lib.rs", "fn f() { sys::go() }"), ("build.rs", "fn main() {}")]),
        ("sys", &[], &[("src/lib.rs", sys)]),
    ]);
    let held = |number: usize| analysis.packages[number].holds.iter().collect::<Vec<_>>();
    assert_eq!(held(0), [Effect::BuildScript]);
    assert_eq!(held(1), [Effect::Ffi, Effect::Asm, Effect::NativeAddon]);
    assert_eq!(effects(&analysis, "tool::f"), "ffi");
    assert_eq!(analysis.packages[1].places.len(), 3);
}

//! Directories: what is read, what is refused, and the layouts of those who make them. Every table runs through
//! `openat2` and through the walk.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::PathBuf;

use ringfence::SecretSource as _;
use ringfence_store::DirectorySecrets;
use rustix::fs::{CWD, FileType, Mode, mknodat};

use crate::it::{Answer, VALUE, ask, error, value};

const NOT_PLAIN: &str = "the ref is not a path of plain names below the directory";
const LEADS_OUT: &str = "its file is a link that leads out of the directory";
const LOOPS: &str = "its file is behind links that cannot be followed";
const NOT_REGULAR: &str = "its file is not a regular file";
const WRITABLE: &str = "its file can be written by other users: make it private with chmod 600";
const READABLE: &str = "its file can be read by every user: make it private with chmod 600";
const TOO_LARGE: &str = "its file is larger than 64 KiB";

/// `secrets` is the directory of the source, `outside` is not.
struct Bench(tempfile::TempDir);

impl Bench {
    fn new() -> Self {
        let bench = Self(tempfile::tempdir().unwrap());
        bench.file("secrets/key", "inside", 0o600);
        bench.file("secrets/prod/db", "deep", 0o600);
        bench.file("outside/key", VALUE, 0o600);
        bench.file("secrets-next/key", VALUE, 0o600);
        bench
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn file(&self, name: &str, content: impl AsRef<[u8]>, mode: u32) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    }

    fn link(&self, name: &str, target: &str) {
        let target = target.replace("{}", self.path("").to_str().unwrap().trim_end_matches('/'));
        symlink(target, self.path(name)).unwrap();
    }

    /// The directory, opened both ways.
    fn sources(&self) -> [DirectorySecrets; 2] {
        let source = DirectorySecrets::open(self.path("secrets")).unwrap();
        [source.clone(), source.without_openat2()]
    }

    async fn check(&self, cases: &[(&str, Answer)]) {
        for (way, source) in ["openat2", "walk"].into_iter().zip(self.sources()) {
            for (name, answer) in cases {
                // Nothing may wait for another process.
                let asked = tokio::time::timeout(crate::it::wait::PATIENCE, ask(&source, name)).await;
                assert_eq!(asked.as_ref(), Ok(answer), "{name:?} by {way}");
            }
        }
    }
}

#[tokio::test]
async fn a_ref_is_a_file_below_the_directory() {
    let bench = Bench::new();
    bench.file("secrets/..data-like", "dots", 0o600);
    #[rustfmt::skip]
    let cases = [
        ("key",                  value("inside")),
        ("prod/db",              value("deep")),
        ("..data-like",          value("dots")),
        ("none",                 Answer::Missing),
        ("none/db",              Answer::Missing),
        ("key/db",               Answer::Missing),
        ("prod",                 error(NOT_REGULAR)),
        ("",                     error(NOT_PLAIN)),
        (".",                    error(NOT_PLAIN)),
        ("..",                   error(NOT_PLAIN)),
        ("./key",                error(NOT_PLAIN)),
        ("key/",                 error(NOT_PLAIN)),
        ("/key",                 error(NOT_PLAIN)),
        ("/etc/passwd",          error(NOT_PLAIN)),
        ("prod//db",             error(NOT_PLAIN)),
        ("prod/../key",          error(NOT_PLAIN)),
        ("../outside/key",       error(NOT_PLAIN)),
        ("prod/../../outside/key", error(NOT_PLAIN)),
        ("prod/..",              error(NOT_PLAIN)),
        ("../secrets/key",       error(NOT_PLAIN)),
        ("key\0",                error(NOT_PLAIN)),
        ("prod/d\0b",            error(NOT_PLAIN)),
        ("..\\outside\\key",     Answer::Missing),   // a name like any other here
        ("%2e%2e/outside/key",   Answer::Missing),
    ];
    bench.check(&cases).await;

    let long = "x".repeat(300);
    for source in bench.sources() {
        assert!(matches!(ask(&source, &long).await, Answer::Error(_)));
    }
}

#[tokio::test]
async fn links_stay_inside_or_are_refused() {
    let bench = Bench::new();
    for (name, target) in [
        ("near", "key"),
        ("down", "prod/db"),
        ("prod/up", "../key"),
        ("prod/round", "../prod/./../prod/db"),
        ("dir", "prod"),
        ("twice", "dir/up"),
        ("dangling", "none"),
        ("to-dir", "prod/"),
        ("out", "../outside/key"),
        ("out-dir", "../outside"),
        ("next", "../secrets-next/key"),
        ("back", "../secrets/key"),
        ("prod/out", "../../outside/key"),
        ("absolute-out", "{}/outside/key"),
        ("absolute-in", "{}/secrets/key"),
        ("magic", "/proc/self/environ"),
        ("loop", "loop"),
        ("ping", "pong"),
        ("pong", "ping"),
    ] {
        bench.link(&format!("secrets/{name}"), target);
    }
    #[rustfmt::skip]
    let cases = [
        ("near",         value("inside")),
        ("down",         value("deep")),
        ("prod/up",      value("inside")),
        ("prod/round",   value("deep")),
        ("dir/db",       value("deep")),
        ("twice",        value("inside")),
        ("dangling",     Answer::Missing),
        ("to-dir",       error(NOT_REGULAR)),
        ("out",          error(LEADS_OUT)),
        ("out-dir/key",  error(LEADS_OUT)),
        ("next",         error(LEADS_OUT)),
        ("back",         error(LEADS_OUT)),     // it leaves on the way, so it leaves
        ("prod/out",     error(LEADS_OUT)),
        ("absolute-out", error(LEADS_OUT)),
        ("absolute-in",  error(LEADS_OUT)),
        ("magic",        error(LEADS_OUT)),
        ("loop",         error(LOOPS)),
        ("ping",         error(LOOPS)),
    ];
    bench.check(&cases).await;
}

#[tokio::test]
async fn only_small_regular_text_is_read() {
    let bench = Bench::new();
    let node = |name: &str, kind| {
        let made = mknodat(CWD, bench.path(name), kind, Mode::from_raw_mode(0o600), 0);
        made.unwrap();
    };
    node("secrets/fifo", FileType::Fifo);
    node("secrets/socket", FileType::Socket);
    bench.link("secrets/to-fifo", "fifo");
    bench.file("secrets/full", "x".repeat(64 * 1024), 0o600);
    bench.file("secrets/over", "x".repeat(64 * 1024 + 1), 0o600);
    bench.file("secrets/far-over", "x".repeat(1024 * 1024), 0o600);
    bench.file("secrets/binary", b"hunter2-canary\xff\xfe", 0o600);
    bench.file("secrets/cut", b"hunter2-canary\xe2\x82", 0o600);
    #[rustfmt::skip]
    let cases = [
        ("fifo",     error(NOT_REGULAR)),
        ("to-fifo",  error(NOT_REGULAR)),
        ("socket",   error(NOT_REGULAR)),
        ("full",     value(&"x".repeat(64 * 1024))),
        ("over",     error(TOO_LARGE)),
        ("far-over", error(TOO_LARGE)),
        ("binary",   error("the value is not UTF-8 text")),
        ("cut",      error("the value is not UTF-8 text")),
    ];
    bench.check(&cases).await;
}

#[tokio::test]
async fn one_newline_at_the_end_goes() {
    #[rustfmt::skip]
    let contents = [
        // content            answer
        ("plain",             value("plain")),
        ("unix\n",            value("unix")),
        ("dos\r\n",           value("dos")),
        ("two\n\n",           value("two\n")),
        ("two dos\r\n\r\n",   value("two dos\r\n")),
        ("return\r",          value("return\r")),
        ("\nbefore",          value("\nbefore")),
        ("in\nside\n",        value("in\nside")),
        (" space \n",         value(" space ")),
        ("\n\n",              value("\n")),
        ("",                  error("the value is empty")),
        ("\n",                error("the value is empty")),
        ("\r\n",              error("the value is empty")),
    ];
    for (content, answer) in contents {
        let bench = Bench::new();
        bench.file("secrets/line", content, 0o600);
        bench.check(&[("line", answer)]).await;
    }
}

#[tokio::test]
async fn permissions_are_checked_on_the_file_itself() {
    #[rustfmt::skip]
    let modes = [
        // mode    by default          readable by others
        (0o600,    value("inside"),    value("inside")),
        (0o400,    value("inside"),    value("inside")),
        (0o440,    value("inside"),    value("inside")),
        (0o640,    value("inside"),    value("inside")),
        (0o604,    error(READABLE),    value("inside")),
        (0o644,    error(READABLE),    value("inside")),
        (0o444,    error(READABLE),    value("inside")),
        (0o620,    error(WRITABLE),    error(WRITABLE)),
        (0o660,    error(WRITABLE),    error(WRITABLE)),
        (0o602,    error(WRITABLE),    error(WRITABLE)),
        (0o666,    error(WRITABLE),    error(WRITABLE)),
    ];
    for (mode, strict, lenient) in modes {
        let bench = Bench::new();
        bench.file("secrets/key", "inside", mode);
        bench.link("secrets/link", "key");
        for source in bench.sources() {
            for name in ["key", "link"] {
                assert_eq!(ask(&source, name).await, strict, "{mode:o} {name}");
                assert_eq!(ask(&source.clone().readable_by_others(), name).await, lenient, "{mode:o} {name}");
            }
        }
    }
}

#[tokio::test]
async fn reads_what_kubernetes_mounts_and_follows_its_updates() {
    let bench = Bench::new();
    bench.file("secrets/..2026_11_15/token", "old\n", 0o640);
    bench.link("secrets/..data", "..2026_11_15");
    bench.link("secrets/token", "..data/token");
    bench.check(&[("token", value("old"))]).await;

    // The update is one rename over `..data`, seen by sources that are already open.
    let sources = bench.sources();
    bench.file("secrets/..2026_11_16/token", "new\n", 0o640);
    bench.link("secrets/..data_tmp", "..2026_11_16");
    fs::rename(bench.path("secrets/..data_tmp"), bench.path("secrets/..data")).unwrap();
    for source in sources {
        assert_eq!(ask(&source, "token").await, value("new"));
    }
}

#[tokio::test]
async fn the_directory_is_held_and_must_be_one() {
    let bench = Bench::new();
    let sources = bench.sources();
    fs::rename(bench.path("secrets"), bench.path("moved")).unwrap();
    bench.link("secrets", "outside");
    for source in sources {
        assert_eq!(ask(&source, "key").await, value("inside"));
        let place = bench.path("secrets");
        assert_eq!(source.describe(), format!("the directory `{}`", place.display()));
    }
    for name in ["none", "outside/key"] {
        let error = DirectorySecrets::open(bench.path(name)).unwrap_err().to_string();
        assert!(error.starts_with("the directory of secrets cannot be opened: "), "{error}");
    }
}

/// The links of `/proc` lead anywhere, whatever they say.
#[tokio::test]
async fn magic_links_are_refused() {
    let source = DirectorySecrets::open("/proc/self").unwrap().readable_by_others();
    for (way, source) in [("openat2", source.clone()), ("walk", source.without_openat2())] {
        for name in ["exe", "root/etc/passwd", "cwd/Cargo.toml"] {
            let answer = ask(&source, name).await;
            assert!([error(LEADS_OUT), error(LOOPS)].contains(&answer), "{name} by {way}: {answer:?}");
        }
    }
}

/// Somebody swaps a directory for a link out, over and over; the outside is never read.
#[tokio::test]
async fn a_race_never_leads_out() {
    let bench = Bench::new();
    bench.file("outside/db", VALUE, 0o600);
    bench.link("secrets/evil", "../outside");
    let [dir, evil, spare] = ["secrets/prod", "secrets/evil", "secrets/spare"].map(|name| bench.path(name));
    let swapping = std::thread::spawn(move || {
        for _ in 0..2_000 {
            for (from, to) in [(&dir, &spare), (&evil, &dir), (&dir, &evil), (&spare, &dir)] {
                fs::rename(from, to).unwrap();
            }
        }
    });
    let sources = bench.sources();
    let mut answers = Vec::new();
    while !swapping.is_finished() {
        for source in &sources {
            answers.push(ask(source, "prod/db").await);
        }
    }
    swapping.join().unwrap();

    let count = |wanted: Answer| answers.iter().filter(|answer| **answer == wanted).count();
    println!("{} asked, {} inside, {} out", answers.len(), count(value("deep")), count(error(LEADS_OUT)));
    assert_eq!(count(value(VALUE)), 0);
}

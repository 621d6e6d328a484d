//! Races: a directory is swapped for a link to the outside while the handle works below it.

use std::fs;
use std::os::unix::fs::symlink;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use ringfence::Existing;
use rustix::fs::{CWD, RenameFlags, renameat_with};

use super::den::{CANARY, Den, hosts};

const ROUNDS: usize = 2_000;

/// Runs `work` while another thread exchanges `den/flip` (a directory) and `den/flop` (a link to the outside).
fn while_swapping(den: &Den, work: impl FnOnce()) {
    fs::create_dir(den.path("den/flip")).unwrap();
    fs::write(den.path("den/flip/canary.txt"), "inside").unwrap();
    symlink(den.path("wild"), den.path("den/flop")).unwrap();
    let (flip, flop) = (den.path("den").join("flip"), den.path("den").join("flop"));
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let swapper = scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                let _gone = renameat_with(CWD, &flip, CWD, &flop, RenameFlags::EXCHANGE);
            }
        });
        // Stops the swapper also when the work panics; the scope would wait for it for ever.
        let stopper = Stopper(&stop);
        work();
        drop(stopper);
        swapper.join().unwrap();
    });
}

struct Stopper<'a>(&'a AtomicBool);

impl Drop for Stopper<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn reading_never_leaves() {
    for (opener, host) in hosts() {
        let den = Den::new();
        let mut read = 0;
        while_swapping(&den, || {
            let files = den.handle(&host);
            for _ in 0..ROUNDS {
                if let Ok(content) = files.read("flip/canary.txt") {
                    assert_ne!(content, CANARY, "{opener}");
                    read += 1;
                }
                if let Ok(listed) = files.list("flip") {
                    assert_eq!(listed.len(), 1, "{opener}");
                }
            }
        });
        assert!(read > 0, "{opener}: no read ever won");
        den.assert_wild_untouched(opener);
    }
}

#[test]
fn writing_never_leaves() {
    for (opener, host) in hosts() {
        let den = Den::new();
        let mut written = 0;
        while_swapping(&den, || {
            let files = den.handle(&host);
            for round in 0..ROUNDS {
                written += usize::from(files.write("flip/canary.txt", "changed").is_ok());
                let _maybe = files.write(format!("flip/new-{round}"), "new");
                let _maybe = files.append("flip/canary.txt", "+");
                let _maybe = files.create_dir(format!("flip/dir-{round}"));
                let _maybe = files.remove(format!("flip/new-{round}"));
                let _maybe = files.remove("flip/canary.txt");
            }
        });
        assert!(written > 0, "{opener}: no write ever won");
        den.assert_wild_untouched(opener);
    }
}

#[test]
fn removing_trees_never_leaves() {
    for (opener, host) in hosts() {
        let den = Den::new();
        let mut removed = 0;
        while_swapping(&den, || {
            let files = den.handle(&host);
            for round in 0..ROUNDS {
                if round % 2 == 0 {
                    let _maybe = files.create_dir_all("flip/deep/deeper");
                    let _maybe = files.write("flip/deep/deeper/file", "");
                    removed += usize::from(files.remove_all("flip/deep").is_ok());
                } else {
                    let _maybe = files.remove_all("flip");
                    let _maybe = files.create_dir("flip");
                    if !den.path("den").join("flop").is_symlink()
                        && !den.path("den").join("flip").is_symlink()
                    {
                        let _ours = symlink(den.path("wild"), den.path("den").join("flop"));
                    }
                }
            }
        });
        assert!(removed > 0, "{opener}: no removal ever won");
        den.assert_wild_untouched(opener);
    }
}

/// A tool that writes a temporary file and renames it, while somebody puts a link in the place of the temporary name.
#[test]
fn replacing_by_rename_never_leaves() {
    for (opener, host) in hosts() {
        let den = Den::new();
        let (draft, canary) = (den.path("den").join("draft"), den.path("wild/canary.txt"));
        let stop = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    let _gone = fs::remove_file(&draft);
                    let _taken = symlink(&canary, &draft);
                }
            });
            let _stopper = Stopper(&stop);
            let files = den.handle(&host);
            for _ in 0..ROUNDS {
                let _maybe = files.write("draft", "new content");
                let _maybe = files.rename("draft", "final", Existing::Replace);
                if let Ok(content) = files.read("final") {
                    assert_ne!(content, CANARY, "{opener}");
                }
            }
        });
        den.assert_wild_untouched(opener);
    }
}

//! A granted folder that somebody exchanges for a link while the engine is at work.

use std::os::unix::fs::symlink;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ringfence_sandbox::{Access, SandboxError, Step};
use rustix::fs::{CWD, RenameFlags, renameat_with};

use crate::container::place::{Folders, all, place, try_run};

const RUNS: usize = 20;

#[test]
fn a_folder_that_is_exchanged_for_a_link_leads_nowhere_else() {
    let folders = Folders::new();
    let (out, link) = (folders.write.join("out"), folders.write.join("link"));
    std::fs::create_dir(&out).unwrap();
    symlink(&folders.outside, &link).unwrap();
    let spec = place().shell("ls $OUT; cat $OUT/secret; echo pwned > $OUT/pwned");
    let spec = spec.tree(&out, Access::WRITE).variable("OUT", &out);
    let is_over = AtomicBool::new(false);
    let (mut ran, mut mounted, mut sooner) = (0, 0, 0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // Bounded: about two minutes.
            for turn in 0..6000_u64 {
                if is_over.load(Ordering::Relaxed) {
                    break;
                }
                renameat_with(CWD, &out, CWD, &link, RenameFlags::EXCHANGE).unwrap();
                std::thread::sleep(Duration::from_millis(5 + turn * 7 % 31));
            }
        });
        for _ in 0..RUNS {
            match try_run(&spec) {
                Ok(report) => {
                    assert!(!all(&report).contains("hunter2"), "{}", all(&report));
                    ran += 1;
                }
                Err(SandboxError::Step { step: Step::Changed, path, .. }) if path.as_ref() == Some(&out) => {
                    mounted += 1;
                }
                // The plan saw the link, or the engine did not find what it was to mount.
                Err(error) => {
                    let said = error.to_string();
                    assert!(said.contains(out.to_str().unwrap()) || said.contains("link"), "{said}");
                    sooner += 1;
                }
            }
        }
        is_over.store(true, Ordering::Relaxed);
    });
    println!("{ran} ran, {mounted} had changed, {sooner} were refused before or by the engine");
    let left: Vec<_> =
        std::fs::read_dir(&folders.outside).unwrap().map(|one| one.unwrap().file_name()).collect();
    assert_eq!(left, ["secret"], "nothing is written there");
    assert_eq!(std::fs::read_to_string(folders.outside.join("secret")).unwrap(), "hunter2\n");
    assert_eq!(ran + mounted + sooner, RUNS);
    assert!(
        place().left_of(std::process::id()).iter().all(|one| !one["Command"].to_string().contains("pwned"))
    );
}

//! Every command of the README, the guides and the examples, run as whoever reads them would run it.
//!
//! A page is one session of a shell: its blocks run in order, in a fresh home, with nothing but stand-ins on the network. What a page
//! needs first, and what comes out, it says in comments that readers do not see; [`order`] lists them. A block that says nothing
//! and cannot be run is a failure: it is the page that is wrong then.
//!
//! `RINGFENCE_BIN` names the program under test. `RINGFENCE_TEST_PAGES=ask-people,README` runs only pages with these words in
//! their names.

mod command;
mod elsewhere;
mod excerpt;
mod far;
mod needs;
mod order;
mod page;
mod piece;
mod run;
mod shown;
mod step;
mod world;

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::thread;

/// How many pages are run at the same time.
const AT_ONCE: usize = 2;

/// The root of the sources.
fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

/// Every page that holds commands, by its path below the root.
fn pages() -> Vec<String> {
    let mut found = vec!["README.md".to_owned()];
    let below = |folder: &str| -> Vec<PathBuf> {
        std::fs::read_dir(root().join(folder)).unwrap().map(|one| one.unwrap().path()).collect()
    };
    found.extend(below("docs/guides").iter().map(|path| relative(path)));
    found.extend(
        below("examples")
            .iter()
            .map(|path| path.join("README.md"))
            .filter(|path| path.is_file())
            .map(|path| relative(&path)),
    );
    found.retain(|name| Path::new(name).extension().is_some_and(|end| end == "md"));
    found.sort();
    found
}

fn relative(path: &Path) -> String {
    path.strip_prefix(root()).unwrap().to_str().unwrap().to_owned()
}

#[test]
fn every_command_runs() {
    let wanted = std::env::var("RINGFENCE_TEST_PAGES").unwrap_or_default();
    let wanted: Vec<&str> = wanted.split(',').filter(|word| !word.is_empty()).collect();
    let chosen = |name: &String| wanted.is_empty() || wanted.iter().any(|word| name.contains(word));
    let queue: Mutex<VecDeque<String>> = Mutex::new(pages().into_iter().filter(chosen).collect());
    assert!(!queue.lock().unwrap().is_empty(), "no page is named like that");
    let wrong: Mutex<Vec<String>> = Mutex::default();
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let Some(name) = queue.lock().unwrap().pop_front() else { break };
                    wrong.lock().unwrap().extend(run::page(&name).err());
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{} pages are wrong:\n\n{}", wrong.len(), wrong.join("\n\n"));
}

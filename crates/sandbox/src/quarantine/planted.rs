//! Whether a file may be the work of a command whose run nobody has looked after yet.
//!
//! The quarantine comes when a run has ended. Until then a file of a protected name that was not there before lies where the command put
//! it, and another process of ours would believe it.

use std::io;
use std::path::{Path, PathBuf};

use ringfence_policy::{Direction, Floor};

use super::Before;
use super::mark::{Marked, Marks};
use crate::host::{Identity, Kind, Mounts, Treatment, find, seen, waypoints};

/// What is to be thought of a file that decides.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Origin {
    /// No command that is marked could have made it, or it was there before.
    Known,
    /// A command that goes on, as far as can be seen, may have made it.
    RunningCommand,
    /// A command that has ended or was killed may have made it, and somebody has still to look at what it left.
    EndedCommand,
    /// Another file is there than the one that was read.
    Replaced,
}

/// One place that decides what a path means: a link on the way to it, or the file that it leads to.
struct Place {
    /// Its path without links, and wherever else its folder is mounted.
    paths: Vec<PathBuf>,
    kind: Kind,
}

/// Judges a file of a protected name that is not the one that was there before a marked run, which may write there, or could until it was
/// killed. The same holds of every link of a protected name on the way to it, of what such a link leads to, and of every link that was made
/// since. A file that is not there is not the one that was there either. `folder` is where runs are marked, `file` an absolute path, and
/// `read` the file that was read there, if it was.
///
/// # Errors
///
/// A mark cannot be believed: which, and why.
pub fn origin_of(folder: &Path, file: &Path, read: Option<Identity>) -> Result<Origin, (PathBuf, io::Error)> {
    let marks = Marks::open_to_read(folder).map_err(|error| (folder.to_path_buf(), error))?;
    let Some(marks) = marks else { return Ok(Origin::Known) };
    let all = marks.all()?;
    if all.is_empty() {
        return Ok(Origin::Known);
    }
    let (way, found) = way_to(file).map_err(|error| (folder.to_path_buf(), error))?;
    // What is judged must be what was read: the way there may change between the two.
    if read.is_some() && found != read {
        return Ok(Origin::Replaced);
    }
    Ok(match all.iter().find(|marked| may_be_of(marked, &way)) {
        None => Origin::Known,
        Some(marked) if marked.is_alive => Origin::RunningCommand,
        Some(_) => Origin::EndedCommand,
    })
}

/// Returns the places that decide what a path means, in their order, and the file that it leads to.
fn way_to(file: &Path) -> io::Result<(Vec<Place>, Option<Identity>)> {
    let mounts = Mounts::read()?;
    let place = |path: PathBuf, kind| {
        let folder = path.parent().zip(path.file_name());
        let elsewhere = folder.map_or_else(Vec::new, |(folder, name)| {
            mounts.aliases(folder).into_iter().map(|folder| folder.join(name)).collect()
        });
        Place { paths: std::iter::once(path).chain(elsewhere).collect(), kind }
    };
    if let Ok(found) = find(file) {
        let links = found.links.into_iter().map(|(path, _)| place(path, Kind::Link));
        let mut way: Vec<Place> = links.collect();
        let mut own = place(found.real.clone(), Kind::File);
        // The file itself may be mounted elsewhere too.
        own.paths.extend(mounts.aliases(&found.real));
        way.push(own);
        return Ok((way, Some(found.identity)));
    }
    // It is not there yet, or leads nowhere: where it would be made.
    let mut way: Vec<Place> = waypoints(file).into_iter().map(|(path, kind)| place(path, kind)).collect();
    let there = file.ancestors().find_map(|above| Some((find(above).ok()?.real, above)));
    let path = there.and_then(|(real, above)| Some(real.join(file.strip_prefix(above).ok()?)));
    way.extend(path.map(|path| place(path, Kind::File)));
    Ok((way, None))
}

fn may_be_of(marked: &Marked, way: &[Place]) -> bool {
    let before = &marked.before;
    let is_protected = |place: &Place| {
        let named = || before.named.iter().map(PathBuf::as_path);
        place.paths.iter().any(|path| Floor::denies_unless_named(path, Direction::Write, &named()).is_some())
    };
    let decides = way.iter().any(is_protected);
    // What a protected link leads to is protected like the link, whatever its name.
    let mut is_led_to = false;
    way.iter().any(|place| {
        let counts = is_led_to || is_protected(place);
        is_led_to |= counts && place.kind == Kind::Link;
        let mut held = place.paths.iter().filter(|path| before.holds(path));
        held.any(|path| {
            let is_new_link = || decides && place.kind == Kind::Link && is_since(marked, path);
            (counts || is_new_link()) && !was_there(before, path, place.kind)
        })
    })
}

/// Tells whether a link was made or changed since a run was marked.
fn is_since(marked: &Marked, link: &Path) -> bool {
    let made = seen(link, Kind::Link, Treatment::ReadOnly).and_then(|link| link.made);
    made.is_none_or(|made| made >= marked.since)
}

/// Tells whether a file is the one that was there, or lies in a folder that was there and could not be changed. A file is known by its
/// number, whatever it is.
fn was_there(before: &Before, path: &Path, kind: Kind) -> bool {
    let is_known =
        |path: &Path, kind| seen(path, kind, Treatment::ReadOnly).is_some_and(|found| before.knows(&found));
    let is_kept = |folder: &Path| {
        before.known.get(folder).is_some_and(|known| known.is_protected) && is_known(folder, Kind::Directory)
    };
    is_known(path, kind) || path.ancestors().skip(1).any(is_kept)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::before::Known;
    use super::*;

    fn planted(folder: &Path, file: &Path) -> Result<bool, (PathBuf, io::Error)> {
        let read = find(file).ok().map(|found| found.identity);
        origin_of(folder, file, read).map(|origin| origin != Origin::Known)
    }

    #[test]
    fn a_protected_file_that_came_in_a_run_may_be_planted_until_somebody_has_looked() {
        let folder = tempfile::tempdir().unwrap();
        let root = std::fs::canonicalize(folder.path()).unwrap();
        let (tree, state) = (root.join("w"), root.join("state"));
        std::fs::create_dir_all(tree.join("sub")).unwrap();
        let (policy, pins) = (tree.join("ringfence.toml"), tree.join("sub/ringfence.pins.json"));
        let outside = root.join("ringfence.toml");
        for file in [&policy, &outside] {
            std::fs::write(file, "x").unwrap();
        }
        assert!(!planted(&state, &policy).unwrap(), "no run was ever marked");
        let found = seen(&policy, Kind::File, Treatment::ReadOnly).unwrap();
        let known = Known { identity: found.identity, made: found.made, is_protected: true };
        let known = BTreeMap::from([(policy.clone(), known)]);
        let before = Before { trees: vec![tree.clone()], known, ..Before::default() };
        let marks = Marks::open(&state).unwrap();
        let mark = marks.begin(&before).unwrap();
        for (file, is_new) in [(&policy, false), (&outside, false), (&pins, true)] {
            assert_eq!(planted(&state, file).unwrap(), is_new, "{file:?}");
        }
        std::fs::write(&pins, "x").unwrap();
        std::fs::rename(&policy, tree.join("away")).unwrap();
        std::fs::write(&policy, "y").unwrap();
        std::fs::write(tree.join("notes.md"), "y").unwrap();
        assert!(planted(&state, &pins).unwrap() && planted(&state, &policy).unwrap());
        assert!(!planted(&state, &tree.join("notes.md")).unwrap(), "it decides nothing");
        // A run that was killed leaves its mark, and one that is done does not.
        let other = marks.begin(&before).unwrap();
        drop(other);
        mark.remove().unwrap();
        assert!(planted(&state, &pins).unwrap());
        let left = marks.unfinished(|_| true).unwrap();
        left.into_iter().for_each(|one| one.remove().unwrap());
        assert!(!planted(&state, &pins).unwrap());
        // What the operator named for writing is the command's to change.
        let named = vec![tree.join("sub/ringfence.pins.json")];
        let _going_on = marks.begin(&Before { named, ..before }).unwrap();
        assert!(!planted(&state, &pins).unwrap() && planted(&state, &policy).unwrap());
        let mark = std::fs::read_dir(&state).unwrap().next().unwrap().unwrap().path();
        std::fs::write(&mark, "forged").unwrap();
        assert_eq!(planted(&state, &pins).unwrap_err().0, mark);
    }

    #[test]
    fn what_was_there_is_believed_by_whatever_name_and_what_a_link_led_nowhere_to_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let root = std::fs::canonicalize(folder.path()).unwrap();
        let (tree, state) = (root.join("w"), root.join("state"));
        let own = tree.join(".ringfence");
        std::fs::create_dir_all(own.join("deep")).unwrap();
        std::fs::create_dir_all(root.join("out")).unwrap();
        let write = |path: PathBuf| std::fs::write(&path, "x").map(|()| path).unwrap();
        let link = |target: &str, path: PathBuf| {
            std::os::unix::fs::symlink(target, &path).unwrap();
            path
        };
        let kept = write(own.join("deep/store.db"));
        let (real, outside) = (write(tree.join("real.toml")), write(root.join("out/real.toml")));
        let old = link("real.toml", tree.join("ringfence.toml"));
        let dangling = link("conf.toml", tree.join("ringfence.json"));
        std::fs::create_dir(tree.join("sub")).unwrap();
        let away = link(outside.to_str().unwrap(), tree.join("sub/ringfence.toml"));
        std::os::unix::fs::symlink(root.join("out"), tree.join("way")).unwrap();
        write(root.join("out/ringfence.toml"));
        let known = |path: &PathBuf, kind| {
            let found = seen(path, kind, Treatment::ReadOnly).unwrap();
            (path.clone(), Known { identity: found.identity, made: found.made, is_protected: true })
        };
        let known = BTreeMap::from([
            known(&own, Kind::Directory),
            known(&real, Kind::File),
            known(&old, Kind::Link),
            known(&dangling, Kind::Link),
            known(&away, Kind::Link),
        ]);
        let before = Before { trees: vec![tree.clone()], known, ..Before::default() };
        let _mark = Marks::open(&state).unwrap().begin(&before).unwrap();
        assert!(planted(&state, &tree.join("new/.ringfence/x.db")).unwrap(), "nobody has made it yet");
        for file in [&kept, &old, &away, &tree.join("way/ringfence.toml"), &own.join("deep/new.db")] {
            assert!(!planted(&state, file).unwrap(), "{file:?}");
        }
        // Now the command makes what the link led to, and exchanges a folder.
        write(tree.join("conf.toml"));
        assert!(planted(&state, &dangling).unwrap());
        assert!(!planted(&state, &tree.join("conf.toml")).unwrap(), "by its own name it is nothing of ours");
        std::fs::rename(&own, tree.join("moved")).unwrap();
        std::fs::create_dir_all(own.join("deep")).unwrap();
        write(kept.clone());
        assert!(planted(&state, &kept).unwrap());
        std::fs::rename(&old, tree.join("kept")).unwrap();
        link("real.toml", old.clone());
        assert!(planted(&state, &old).unwrap(), "another link");
        // A link of any name that the command made, and one on the way that was there.
        assert!(!planted(&state, &tree.join("way/ringfence.toml")).unwrap());
        link("../out", tree.join("made"));
        assert!(planted(&state, &tree.join("made/ringfence.toml")).unwrap());
        assert!(!planted(&state, &tree.join("made/real.toml")).unwrap(), "nothing of ours has that name");
        // What was read is another file than the one that is there now.
        let other = find(&outside).unwrap().identity;
        assert_eq!(origin_of(&state, &kept, Some(other)).unwrap(), Origin::Replaced);
        std::fs::remove_file(tree.join("conf.toml")).unwrap();
        assert_eq!(origin_of(&state, &dangling, Some(other)).unwrap(), Origin::Replaced);
    }

    #[test]
    fn a_link_of_a_killed_run_is_no_older_for_a_mark_that_is_written_anew() {
        let folder = tempfile::tempdir().unwrap();
        let root = std::fs::canonicalize(folder.path()).unwrap();
        for name in ["one", "two", "out"] {
            std::fs::create_dir(root.join(name)).unwrap();
        }
        std::fs::write(root.join("out/ringfence.toml"), "x").unwrap();
        let trees = vec![root.join("one"), root.join("two")];
        let state = root.join("state");
        drop(Marks::open(&state).unwrap().begin(&Before { trees, ..Before::default() }).unwrap());
        std::os::unix::fs::symlink("../out", root.join("two/made")).unwrap();
        let file = root.join("two/made/ringfence.toml");
        assert!(planted(&state, &file).unwrap());
        // The clock of a file system stands still between its ticks.
        std::thread::sleep(std::time::Duration::from_millis(50));
        crate::quarantine::recover(&state, |tree| tree.ends_with("one"));
        assert!(planted(&state, &file).unwrap());
        crate::quarantine::recover(&state, |_| true);
        assert!(!planted(&state, &file).unwrap());
    }

    #[test]
    fn a_folder_in_which_no_mark_of_ours_can_be_says_nothing() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("ringfence.toml");
        std::fs::write(&file, "x").unwrap();
        assert!(!planted(&folder.path().join("none"), &file).unwrap());
        let open = folder.path().join("open");
        std::fs::create_dir(&open).unwrap();
        std::fs::set_permissions(&open, PermissionsExt::from_mode(0o777)).unwrap();
        assert!(planted(&open, &file).is_err(), "ours, and anybody could write marks or remove them");
        if rustix::process::geteuid().is_root() {
            rustix::fs::chown(&open, Some(rustix::fs::Uid::from_raw(54_321)), None).unwrap();
            assert!(!planted(&open, &file).unwrap(), "it is somebody else's");
        }
    }
}

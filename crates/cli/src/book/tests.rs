//! The book under many writers, and with files that are not what they should be.

use ringfence::PinStatus;
use serde_json::json;

use super::*;

fn echo(description: &str) -> Value {
    json!({"name": "echo", "description": description})
}

fn seen(name: &str, description: &str) -> Seen {
    let definition = json!({"name": name, "description": description});
    Seen {
        key: format!("tool:{name}"),
        digest: ringfence::json_digest(&definition).unwrap(),
        definition,
        why: "nobody has accepted it yet".into(),
        verdict: "accept".into(),
        renamed_from: None,
    }
}

fn book() -> (tempfile::TempDir, Book) {
    let folder = tempfile::tempdir().unwrap();
    let book = Book::beside(&folder.path().join("ringfence.toml"));
    (folder, book)
}

#[test]
fn many_may_write_at_once_and_nothing_is_lost() {
    let (folder, book) = book();
    std::thread::scope(|scope| {
        for writer in 0..16 {
            let book = book.clone();
            scope.spawn(move || {
                for round in 0..5 {
                    let name = format!("t{writer}-{round}");
                    let definition = json!({"name": name});
                    let server = format!("s{}", writer % 3);
                    book.keep(&server, "tool", &[(format!("tool:{name}"), definition)], &[]).unwrap();
                    let other = format!("w{writer}");
                    book.keep(&other, "tool", &[], &[seen("echo", &format!("{round}"))]).unwrap();
                }
            });
        }
    });
    let pins = book.pins().unwrap();
    assert_eq!(pins.servers().map(|server| pins.server_definitions(server).count()).sum::<usize>(), 80);
    let kept = book.read_seen().unwrap();
    assert_eq!(kept.servers().count(), 16);
    assert!(kept.servers().all(|server| kept.of(server).all(|own| own.definition["description"] == "4")));
    let mut names: Vec<_> =
        std::fs::read_dir(folder.path()).unwrap().map(|one| one.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["ringfence.pins.json", "ringfence.pins.lock", "ringfence.seen.json"]);
}

#[test]
fn only_what_nobody_has_judged_is_accepted_at_first_sight() {
    let (_folder, book) = book();
    let accept = |description: &str| book.keep("s", "tool", &[("tool:echo".into(), echo(description))], &[]);
    accept("one").unwrap();
    accept("one").unwrap();
    assert!(accept("two").unwrap_err().contains("pinned otherwise"));
    assert_eq!(book.pins().unwrap().server_status("s", "tool:echo", &echo("one")), PinStatus::Accepted);
    book.change_pins(|pins| {
        pins.reject_definition("s", "tool:echo", &echo("one")).unwrap();
        Ok(())
    })
    .unwrap();
    assert!(accept("one").is_err());
    // One that cannot be accepted takes the others with it.
    let both = [("tool:echo".to_owned(), echo("two")), ("tool:other".to_owned(), echo("x"))];
    assert!(book.keep("s", "tool", &both, &[]).is_err());
    assert_eq!(book.pins().unwrap().server_status("s", "tool:echo", &echo("two")), PinStatus::New);
    let huge = [("tool:echo".to_owned(), echo(&"x".repeat(5 << 20)))];
    assert!(book.keep("s", "tool", &huge, &[]).unwrap_err().contains("4 MiB"));
}

#[test]
fn what_was_seen_is_replaced_by_kind() {
    let (_folder, book) = book();
    let greeting = Seen { key: "prompt:echo".into(), ..seen("echo", "prompt") };
    book.keep("s", "prompt", &[], std::slice::from_ref(&greeting)).unwrap();
    book.keep("s", "tool", &[], &[seen("echo", "one"), seen("other", "one")]).unwrap();
    book.change(|_, file| {
        file.show("s", &seen("echo", "one"));
        Ok::<_, CommandError>(())
    })
    .unwrap();
    book.keep("s", "tool", &[], &[seen("echo", "one")]).unwrap();
    let file = book.read_seen().unwrap();
    assert_eq!(file.of("s").map(|own| own.key.as_str()).collect::<Vec<_>>(), ["prompt:echo", "tool:echo"]);
    assert!(file.was_shown("s", &seen("echo", "one")));
    book.keep("s", "tool", &[], &[seen("echo", "two")]).unwrap();
    assert!(!book.read_seen().unwrap().was_shown("s", &seen("echo", "two")));
    book.keep("s", "tool", &[], &[]).unwrap();
    book.keep("s", "prompt", &[], &[]).unwrap();
    assert_eq!(book.read_seen().unwrap(), SeenFile::default());
}

#[test]
fn a_file_that_cannot_be_trusted() {
    let (_folder, book) = book();
    book.keep("s", "tool", &[("tool:echo".into(), echo("one"))], &[seen("other", "one")]).unwrap();
    let text = std::fs::read_to_string(&book.seen).unwrap();
    for bad in ["{", &text.replace("\"one\"", "\"two\""), &text.replacen("tool:other", "tool:another", 1)] {
        std::fs::write(&book.seen, bad).unwrap();
        assert!(book.read_seen().is_err(), "{bad}");
        // A call goes on, and the file is made anew.
        book.keep("s", "tool", &[], &[seen("other", "one")]).unwrap();
        assert_eq!(book.read_seen().unwrap().of("s").count(), 1);
    }
    std::fs::write(&book.pins, "{").unwrap();
    assert!(book.pins().is_err());
    assert!(book.keep("s", "tool", &[], &[]).is_err());
    std::fs::remove_file(&book.pins).unwrap();
    std::os::unix::fs::symlink("/nowhere/at/all", &book.pins).unwrap();
    assert!(book.pins().is_err(), "a link to nowhere is not an empty book");
}

#[test]
fn a_file_stays_the_same_file_and_a_write_that_was_cut_off_is_ended() {
    use std::os::unix::fs::MetadataExt as _;
    let (folder, book) = book();
    book.make_files().unwrap();
    assert!(book.existing_pins().unwrap().is_none(), "nothing was accepted yet");
    let inodes = || [&book.pins, &book.seen].map(|path| path.metadata().unwrap().ino());
    let before = inodes();
    book.keep("s", "tool", &[("tool:echo".into(), echo("one"))], &[seen("other", "one")]).unwrap();
    let long = book.pins().unwrap();
    book.keep("t", "tool", &[("tool:echo".into(), echo("two"))], &[]).unwrap();
    assert_eq!(inodes(), before);
    let listed = std::fs::read_dir(folder.path()).unwrap().count();
    assert_eq!(listed, 3, "nothing else lay in the folder");

    // The new text was kept, and its place was written in part.
    let journal = file::journal_of(&book.pins).unwrap();
    let both = std::fs::read(&book.pins).unwrap();
    let change = file::Change { before: Some(both.clone()), text: long.to_json().into_bytes() };
    let cut = |now: &[u8]| {
        replace(&journal, change.to_bytes()).unwrap();
        // The clock of a file system stands still between its ticks.
        std::thread::sleep(std::time::Duration::from_millis(50));
        std::fs::write(&book.pins, now).unwrap();
        let read = book.pins();
        assert!(!journal.exists());
        read
    };
    let at = change.text.iter().zip(&both).position(|(new, old)| new != old).unwrap() + 1;
    let torn = [change.text.get(..at).unwrap(), both.get(at..).unwrap()].concat();
    assert_eq!(cut(&torn).unwrap(), long);
    assert_eq!(cut(&change.text).unwrap(), long);
    assert!(cut(b"{ \"another").is_err(), "what somebody else wrote there stays");
    // Somebody has put the old file back since.
    assert_eq!(cut(&both).unwrap().to_json().as_bytes(), both);
    // It was never begun.
    std::fs::write(&book.pins, &both).unwrap();
    replace(&journal, change.to_bytes()).unwrap();
    assert_eq!(book.pins().unwrap(), long);
    book.make_files().unwrap();
    assert_eq!(book.pins().unwrap(), long, "what is there stays");
}

#[test]
fn a_lock_that_is_held_is_not_waited_for_forever() {
    let (_folder, book) = book();
    let held = Lock::of(&book.lock).unwrap();
    let error = Lock::within(&book.lock, std::time::Duration::from_millis(30)).unwrap_err();
    assert!(error.to_string().contains("another process holds the lock"), "{error}");
    drop(held);
    Lock::within(&book.lock, std::time::Duration::from_millis(30)).unwrap();
}

#[test]
fn a_folder_that_others_may_write_to_is_not_ours() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a/b");
    private_folder(&path).unwrap();
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o700);
    private_folder(&path).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o770)).unwrap();
    assert!(private_folder(&path).is_err());
    let link = folder.path().join("link");
    std::os::unix::fs::symlink(folder.path().join("a"), &link).unwrap();
    assert!(private_folder(&link).is_err());
}

#[test]
fn a_lock_is_a_file_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let (link, pipe) = (folder.path().join("link"), folder.path().join("pipe"));
    std::os::unix::fs::symlink(folder.path().join("elsewhere"), &link).unwrap();
    let fifo = rustix::fs::FileType::Fifo;
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, fifo, rustix::fs::Mode::RWXU, 0).unwrap();
    for path in [link, pipe] {
        assert!(Lock::of(&path).is_err(), "{}", path.display());
    }
    assert!(!folder.path().join("elsewhere").exists());
}

#[test]
fn a_pipe_is_neither_waited_for_nor_replaced() {
    use std::os::unix::fs::FileTypeExt as _;
    let (folder, book) = book();
    let pipe = folder.path().join("ringfence.seen.json");
    let (kind, mode) = (rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR);
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, kind, mode, 0).unwrap();
    let said = rewrite(&pipe, "x").unwrap_err().to_string();
    assert!(said.contains("it is not a regular file"), "{said}");
    // What was seen is only for people: a call goes on without it.
    book.keep("it", "tool", &[], &[seen("echo", "x")]).unwrap();
    assert!(pipe.symlink_metadata().unwrap().file_type().is_fifo());
}

//! What somebody changes while a command is started: a granted folder that becomes a link, and sockets of this machine.

use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::bench::Bench;

/// How often a start is raced.
const TRIES: usize = 60;

#[test]
fn a_granted_folder_that_becomes_a_link_leads_nowhere_else() {
    let bench = Bench::new().file("work/note", "harmless").file("secret/note", "canary");
    let (work, aside) = (bench.path().join("work"), bench.path().join("aside"));
    let secret = bench.path().join("secret");
    let (stop, swaps) = (AtomicBool::new(false), AtomicUsize::new(0));
    let note = work.join("note");
    let run = ["run", "--read", work.to_str().unwrap(), "--", "cat", note.to_str().unwrap()];
    let mut seen = [0, 0];
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                std::fs::rename(&work, &aside).unwrap();
                symlink(&secret, &work).unwrap();
                std::thread::sleep(std::time::Duration::from_micros(300));
                std::fs::remove_file(&work).unwrap();
                std::fs::rename(&aside, &work).unwrap();
                std::thread::sleep(std::time::Duration::from_micros(300));
                swaps.fetch_add(1, Ordering::Relaxed);
            }
        });
        for _ in 0..TRIES {
            let told = bench.ringfence(&run);
            seen[usize::from(told.starts_with("harmless"))] += 1;
            if told.contains("canary") {
                stop.store(true, Ordering::Relaxed);
                panic!("a link that came while starting was followed: {told}");
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
    // It was raced: some starts met the link, and the folder is what it was.
    assert!(swaps.load(Ordering::Relaxed) > TRIES && seen[0] > 0, "{swaps:?} swaps, {seen:?}");
    assert_eq!(bench.ringfence(&run), "harmlessexit 0");
}

#[test]
fn unix_sockets_reach_only_what_a_granted_path_holds() {
    const SCRIPT: &str = "
import socket, sys
for name in sys.argv[1:]:
    try:
        s = socket.socket(socket.AF_UNIX)
        s.connect('\\0' + name[1:] if name[0] == '@' else name)
        print('reached', end=' ')
    except OSError as error:
        print(error.errno, end=' ')
";
    let bench = Bench::new().file("in/x", "").file("out/x", "");
    let (inside, outside) = (bench.path().join("in/socket"), bench.path().join("out/socket"));
    let abstract_name = format!("@ringfence-test-{}", std::process::id());
    let named = <std::os::unix::net::SocketAddr as std::os::linux::net::SocketAddrExt>::from_abstract_name(
        abstract_name.trim_start_matches('@'),
    );
    let _listening = [
        UnixListener::bind(&inside).unwrap(),
        UnixListener::bind(&outside).unwrap(),
        UnixListener::bind_addr(&named.unwrap()).unwrap(),
    ];
    let script =
        ["--", "python3", "-c", SCRIPT, inside.to_str().unwrap(), outside.to_str().unwrap(), &abstract_name];
    let run = |flags: &[&str]| bench.ringfence(&[&["run", "--write", "in"], flags, &script].concat());
    // ENOENT for what is not mounted, ECONNREFUSED for a name that only this machine's namespace has.
    assert_eq!(run(&["--unix-sockets"]), "reached 2 111 exit 0");
    let closed = run(&[]);
    assert!(!closed.contains("reached") && closed.ends_with("exit 0"), "{closed}");
}

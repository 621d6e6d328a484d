//! Standard input: what a command can do with what it reads, and what it leaves to whoever started it.

use std::fs::File;
use std::io::{Read, Seek, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt as _;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use ringfence_sandbox::{Ending, Native, Report, Sandbox, Spec, Streams};

/// Opens its own input again, in every way, and writes to whatever that is.
const ATTACK: &str = r"
import os, socket, sys
if sys.argv[1] == 'read': sys.stdin.buffer.read1(1)
made = []
for path in ['/proc/self/fd/0', '/dev/stdin', '/dev/fd/0', '/proc/thread-self/fd/0']:
    for flags in [os.O_WRONLY, os.O_RDWR, os.O_WRONLY | os.O_APPEND | os.O_NONBLOCK]:
        try: made.append(os.open(path, flags))
        except OSError: pass
for fd in made + [0]:
    try: os.write(fd, b'planted\n')
    except OSError: pass
try: socket.socket(fileno=0).send(b'planted\n')
except OSError: pass
try: os.ftruncate(0, 0)
except OSError: pass
try: os.fchmod(0, 0o777)
except OSError: pass
";

fn run(spec: &Spec, input: impl Into<OwnedFd>) -> Report {
    Sandbox::new(Native::new()).run(spec, Streams::default().input_from(input.into())).unwrap()
}

fn python(script: &str, argument: &str) -> Spec {
    Spec::new("/usr/bin/python3").arguments(["-c", script, argument])
}

fn stdout(report: &Report) -> String {
    String::from_utf8_lossy(&report.stdout.bytes).into_owned()
}

fn again(descriptor: &impl AsFd) -> OwnedFd {
    descriptor.as_fd().try_clone_to_owned().unwrap()
}

#[test]
fn nothing_is_written_to_whoever_reads_the_pipe_next() {
    for way in ["read", "leave"] {
        let (mut reader, mut writer) = std::io::pipe().unwrap();
        writer.write_all(b"first\nsecond\n").unwrap();
        run(&python(ATTACK, way), again(&reader));
        drop(writer);
        let mut rest = String::new();
        reader.read_to_string(&mut rest).unwrap();
        assert!(!rest.contains("planted"), "{way}: {rest:?}");
        // What it did not read is the caller's, to the byte.
        if way == "leave" {
            assert_eq!(rest, "first\nsecond\n");
        }
    }
}

#[test]
fn nothing_is_sent_through_a_socket() {
    for way in ["read", "leave"] {
        let (ours, mut other) = UnixStream::pair().unwrap();
        other.write_all(b"first\n").unwrap();
        run(&python(ATTACK, way), again(&ours));
        other.set_nonblocking(true).unwrap();
        let mut sent = [0; 64];
        assert_eq!(other.read(&mut sent).map_err(|error| error.kind()), Err(std::io::ErrorKind::WouldBlock));
        if way == "leave" {
            let mut left = [0; 6];
            (&ours).read_exact(&mut left).unwrap();
            assert_eq!(&left, b"first\n");
        }
    }
}

#[test]
fn a_file_that_can_be_written_is_only_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("list");
    std::fs::write(&path, "first\nsecond\n").unwrap();
    for way in ["read", "leave"] {
        let file = File::options().read(true).write(true).open(&path).unwrap();
        let before = file.metadata().unwrap().permissions();
        run(&python(ATTACK, way), again(&file));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "first\nsecond\n");
        assert_eq!(file.metadata().unwrap().permissions(), before);
    }
}

#[test]
fn a_file_is_left_where_the_command_stopped_reading() {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(&[b'x'; 100_000]).unwrap();
    let read = "import os, sys; n = int(sys.argv[1])\nwhile n > 0: n -= len(os.read(0, n))";
    for count in [0, 1, 4096, 70_000, 100_000] {
        file.seek(std::io::SeekFrom::Start(0)).unwrap();
        let report = run(&python(read, &count.to_string()), again(&file));
        assert_eq!((report.ending, file.stream_position().unwrap()), (Ending::Exited(0), count));
    }
    file.seek(std::io::SeekFrom::Start(10)).unwrap();
    assert_eq!(
        stdout(&run(&python("import sys; print(len(sys.stdin.read()))", ""), again(&file))),
        "99990\n"
    );
    assert_eq!(file.stream_position().unwrap(), 100_000);
}

#[test]
fn a_terminal_is_not_handed_over() {
    let ours =
        rustix::pty::openpt(rustix::pty::OpenptFlags::RDWR | rustix::pty::OpenptFlags::NOCTTY).unwrap();
    rustix::pty::grantpt(&ours).unwrap();
    rustix::pty::unlockpt(&ours).unwrap();
    let path = rustix::pty::ptsname(&ours, Vec::new()).unwrap();
    // It is not to become the terminal of these tests, which would end with it.
    let flags = i32::try_from(rustix::fs::OFlags::NOCTTY.bits()).unwrap();
    let theirs =
        File::options().read(true).write(true).custom_flags(flags).open(path.to_str().unwrap()).unwrap();
    rustix::io::write(&ours, b"typed\n").unwrap();
    // What a terminal echoes comes back to us; then nothing more may.
    let mut echo = [0; 64];
    assert!(rustix::io::read(&ours, &mut echo).unwrap() > 0);
    let report = run(&python("import os; print(os.isatty(0), os.read(0, 9))", ""), again(&theirs));
    assert_eq!(stdout(&report), "False b'typed\\n'\n");
    run(&python(ATTACK, "leave"), again(&theirs));
    rustix::fs::fcntl_setfl(&ours, rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::RDWR).unwrap();
    assert!(rustix::io::read(&ours, &mut echo).is_err(), "something was written to the terminal");
}

#[test]
fn everything_arrives_and_the_end_too() {
    let count = python("import sys; print(len(sys.stdin.buffer.read()))", "");
    for length in [0, 1, 4095, 4096, 4097, 65_536, 1 << 20] {
        let (reader, mut writer) = std::io::pipe().unwrap();
        let writing = std::thread::spawn(move || writer.write_all(&vec![b'x'; length]).unwrap());
        assert_eq!(stdout(&run(&count, reader)), format!("{length}\n"));
        writing.join().unwrap();
        let (ours, mut other) = UnixStream::pair().unwrap();
        let writing = std::thread::spawn(move || other.write_all(&vec![b'x'; length]).unwrap());
        assert_eq!(stdout(&run(&count, ours)), format!("{length}\n"));
        writing.join().unwrap();
    }
    assert_eq!(stdout(&run(&count, File::open("/dev/null").unwrap())), "0\n");
    let three = python("import os; print(os.read(0, 3))", "");
    assert_eq!(stdout(&run(&three, File::open("/dev/zero").unwrap())), "b'\\x00\\x00\\x00'\n");
}

#[test]
fn a_writer_that_says_nothing_keeps_nobody_past_the_deadline() {
    let limits = serde_json::from_str(r#"{"wall": "300ms"}"#).unwrap();
    let cat = Spec::new("/bin/cat").limits(limits);
    let (reader, writer) = std::io::pipe().unwrap();
    let (socket, other) = UnixStream::pair().unwrap();
    for input in [OwnedFd::from(reader), socket.into()] {
        let begun = Instant::now();
        assert_eq!(run(&cat, input).ending, Ending::TimedOut);
        assert!(begun.elapsed() < Duration::from_secs(20));
    }
    drop((writer, other));
}

//! What all programs of a user share: what one sandbox uses of it does not keep another from starting, nor the host from working.

use std::io::IoSlice;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::time::{Duration, Instant};

use ringfence_policy::{HostSet, NetworkCeiling, NetworkGrant, Private};
use ringfence_sandbox::{Ending, Enforcer, LimitName, Native, Report, Sandbox, Spec, Streams};
use rustix::net::{
    AddressFamily, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketFlags, SocketType, sendmsg,
    socketpair,
};

fn run(spec: &Spec) -> Report {
    Sandbox::new(Native::new()).run(spec, Streams::default()).unwrap()
}

fn python(script: &str) -> String {
    let report = run(&Spec::new("/usr/bin/python3").arguments(["-c", script]));
    assert_eq!(report.ending, Ending::Exited(0), "{}", String::from_utf8_lossy(&report.stderr.bytes));
    String::from_utf8_lossy(&report.stdout.bytes).into_owned()
}

#[test]
fn what_reaches_past_the_sandbox_is_refused() {
    let script = r"
import ctypes, errno, fcntl, os, resource, socket, struct
libc = ctypes.CDLL(None, use_errno=True)
def name(code): return 'done' if code in (0, None) else errno.errorcode[code]
def call(number, *arguments):
    ctypes.set_errno(0)
    libc.syscall(number, *arguments)
    return name(ctypes.get_errno())
def tried(act):
    try: act()
    except OSError as error: return name(error.errno)
    return 'done'
import platform
arm = platform.machine() == 'aarch64'
file = os.open('/etc/passwd', os.O_RDONLY)
pipe = os.pipe()
for command in (fcntl.F_SETLEASE, fcntl.F_NOTIFY, 10):
    print(command, tried(lambda: fcntl.fcntl(file, command, 0)))
print('pipe', tried(lambda: fcntl.fcntl(pipe[1], 1031, 1 << 16)))
print('lock', tried(lambda: fcntl.flock(file, fcntl.LOCK_SH)))
print('filter', libc.prctl(22, 1, 0) and name(ctypes.get_errno()))
print('seccomp', call(277 if arm else 317, 2, 0, ctypes.byref(ctypes.c_uint(0x7fff0000))))
print('aio', call(0 if arm else 206, 1, ctypes.byref(ctypes.c_ulong(0))))
udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
code = ctypes.create_string_buffer(struct.pack('HBBI', 6, 0, 0, 0xffff))
program = struct.pack('HxxxxxxQ', 1, ctypes.addressof(code))
print('attach', tried(lambda: udp.setsockopt(socket.SOL_SOCKET, 26, program)))
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
print('core', resource.getrlimit(resource.RLIMIT_CORE))
print('signals', resource.getrlimit(11)[1])
print('inherited', [resource.getrlimit(one) for one in (14, 13, resource.RLIMIT_MEMLOCK)])
";
    let signals = rustix::process::getrlimit(rustix::process::Resource::Sigpending).maximum.unwrap() / 4;
    let locked = rustix::process::getrlimit(rustix::process::Resource::Memlock).maximum;
    let locked = locked.map_or(65_536, |most| most.min(65_536));
    let expected = format!(
        "1024 EPERM\n1026 EPERM\n10 EPERM\npipe EPERM\nlock done\nfilter EINVAL\nseccomp ENOSYS\naio ENOSYS\n\
         attach ENOPROTOOPT\ncore (1, 1)\nsignals {signals}\ninherited [(0, 0), (0, 0), ({locked}, {locked})]\n"
    );
    assert_eq!(python(script), expected);
}

/// What waits in a pipe or a socket without being copied is counted by a control group only.
#[test]
fn pages_are_spliced_only_where_somebody_counts_them() {
    let script = r"
import ctypes, errno, os, platform, shutil, socket
libc = ctypes.CDLL(None, use_errno=True)
arm = platform.machine() == 'aarch64'
def call(number, *arguments):
    ctypes.set_errno(0)
    done = libc.syscall(number, *arguments)
    return 'done' if done >= 0 else errno.errorcode[ctypes.get_errno()]
open('/tmp/x', 'w').write('x' * 100000)
file = os.open('/tmp/x', os.O_RDONLY)
first, second = os.pipe(), os.pipe()
print('splice', call(76 if arm else 275, file, None, first[1], None, 4096, 0))
os.write(first[1], b'x')
print('tee', call(77 if arm else 276, first[0], second[1], 1, 0))
print('vmsplice', call(75 if arm else 278, first[1], None, 0, 0))
pair = socket.socketpair()
print('sendfile', call(71 if arm else 40, pair[0].fileno(), file, None, 4096))
shutil.copyfile('/tmp/x', '/tmp/y')
print('copied', os.path.getsize('/tmp/y'))
";
    let report = run(&Spec::new("/usr/bin/python3").arguments(["-c", script]));
    let told = String::from_utf8_lossy(&report.stdout.bytes).into_owned();
    let expected = match report.limits.get(&LimitName::Memory) {
        Some(Enforcer::Supervisor) => {
            "splice ENOSYS\ntee ENOSYS\nvmsplice ENOSYS\nsendfile EINVAL\ncopied 100000\n"
        }
        _ => "splice done\ntee done\nvmsplice done\nsendfile done\ncopied 100000\n",
    };
    assert_eq!(told, expected, "{}", String::from_utf8_lossy(&report.stderr.bytes));
}

/// Runs a test of this file again as an ordinary user, where root runs it. Tells whether the caller is that user.
fn is_ordinary_user(test: &str) -> bool {
    const NOBODY_SPECIAL: u32 = 1000;
    if !rustix::process::geteuid().is_root() {
        return true;
    }
    let folder = tempfile::tempdir().unwrap();
    let unreadable = folder.path().join(UNREADABLE);
    std::fs::copy("/usr/bin/tail", &unreadable).unwrap();
    for (path, mode) in [(folder.path(), 0o711), (&unreadable, 0o711)] {
        std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
    }
    let (_, module) = module_path!().split_once("::").unwrap();
    let mut again = std::process::Command::new(std::env::current_exe().unwrap());
    again.args(["--exact", &format!("{module}::{test}"), "--nocapture"]).current_dir(folder.path());
    let ran = again.uid(NOBODY_SPECIAL).gid(NOBODY_SPECIAL).output().unwrap();
    let told = String::from_utf8_lossy(&ran.stdout);
    assert!(
        ran.status.success() && told.contains("1 passed"),
        "{told}{}",
        String::from_utf8_lossy(&ran.stderr)
    );
    false
}

/// A program of root's that others may start and not read, in the working directory.
const UNREADABLE: &str = "tail-of-root";

/// A process whose program the user may start and not read cannot be looked into, and is counted all the same. Root sees every
/// process, so that only an ordinary user's looks tell.
#[test]
fn processes_that_nobody_may_look_into_are_counted() {
    if !is_ordinary_user("processes_that_nobody_may_look_into_are_counted") {
        return;
    }
    let tail = std::fs::canonicalize(UNREADABLE).unwrap_or_else(|_| "/usr/bin/tail".into());
    // Each has less than the limit, and all together twice as much.
    let script = format!(
        "for i in 1 2 3 4; do (head -c 30000000 /dev/zero; sleep 60) | {} -c 30000000 > /dev/null & done; wait",
        tail.display()
    );
    let limits = serde_json::from_str(r#"{"memory": "64M", "wall": "30s"}"#).unwrap();
    let spec = Spec::new("/bin/sh").arguments(["-c", &script]).limits(limits).binary(tail);
    let report = run(&spec.binary("/usr/bin/head").binary("/usr/bin/sleep"));
    assert_eq!(report.limits.get(&LimitName::Memory), Some(&Enforcer::Supervisor));
    let said = String::from_utf8_lossy(&report.stderr.bytes);
    assert_eq!(report.exceeded, [LimitName::Memory], "{:?} {said}", report.ending);
}

#[test]
fn no_process_is_hidden_from_the_looks() {
    if !is_ordinary_user("no_process_is_hidden_from_the_looks") {
        return;
    }
    let told =
        python("import os; print(sorted(int(name) for name in os.listdir('/proc') if name.isdigit()))");
    assert_eq!(told, "[1, 2]\n");
    // Which descriptors it has may be seen, and none of them followed.
    let inside = r"
import os
def tried(act, path):
    try: print(path, act(path))
    except OSError: pass
for name in ['environ', 'maps', 'mem', 'auxv']: tried(lambda path: open(path, 'rb').read(1), '/proc/1/' + name)
for name in ['root', 'cwd', 'exe', 'fd/3', 'fd/64']: tried(os.readlink, '/proc/1/' + name)
";
    assert_eq!(python(inside), "");
}

#[test]
fn inotify_is_a_part_of_what_the_user_has() {
    let most = |name: &str| -> u64 {
        let path = format!("/proc/sys/fs/inotify/max_user_{name}");
        std::fs::read_to_string(path).unwrap().trim().parse().unwrap()
    };
    let script = r"
import ctypes
libc = ctypes.CDLL(None)
count = 0
while libc.inotify_init() >= 0: count += 1
print(count)
";
    let report = run(&Spec::new("/usr/bin/python3").arguments(["-c", script]));
    let quarter = most("instances") / 4;
    // Events that wait are in no process: without a control group no more instances than a quarter of the memory holds.
    let expected = match report.limits.get(&LimitName::Memory) {
        Some(Enforcer::Supervisor) => {
            let queued: u64 = std::fs::read_to_string("/proc/sys/fs/inotify/max_queued_events")
                .map_or(16_384, |most| most.trim().parse().unwrap());
            quarter.min(((1 << 30) / 4 / (queued * 512)).max(2))
        }
        _ => quarter,
    };
    assert_eq!(String::from_utf8_lossy(&report.stdout.bytes).trim().parse::<u64>().unwrap(), expected);
}

/// Fills a socket with descriptors that nobody takes out.
fn in_flight(count: usize) -> (OwnedFd, OwnedFd) {
    let pair = socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None).unwrap();
    let sent = vec![pair.0.as_fd(); 200];
    for _ in 0..count / sent.len() {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(200))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        assert!(ancillary.push(SendAncillaryMessage::ScmRights(&sent)));
        sendmsg(&pair.0, &[IoSlice::new(b"x")], &mut ancillary, SendFlags::empty()).unwrap();
    }
    pair
}

/// An ordinary user's are counted where descriptors are sent; root may send more.
#[test]
fn descriptors_in_flight_elsewhere_keep_no_sandbox_from_starting() {
    let begun = Instant::now();
    let _held = in_flight(1_200);
    let sandbox = Sandbox::new(Native::new());
    let cat = Spec::new("/bin/cat");
    let report = sandbox.run(&cat, Streams::default().input(b"here".to_vec())).unwrap();
    assert_eq!(report.stdout.bytes, b"here");
    // The sockets of a gate go the other way.
    let hosts: HostSet = ["acme.io".parse().unwrap()].into_iter().collect();
    let grant = NetworkGrant::meet(&hosts, &NetworkCeiling::new(hosts.clone(), Private::default()));
    let mut listeners = 0;
    let streams = Streams::default().gate(|sockets| {
        listeners = sockets.listeners.len();
        Ok(())
    });
    assert_eq!(sandbox.run(&cat.network(&grant), streams).unwrap().ending, Ending::Exited(0));
    assert!(listeners > 1);
    assert!(begun.elapsed() < Duration::from_secs(20));
}

#[test]
fn proc_tells_of_processes_and_of_little_else() {
    let script = r"
import os
for name in ['cmdline', 'partitions', 'kallsyms', 'modules', 'interrupts', 'diskstats', 'iomem', 'keys', 'locks', 'config.gz',
             'bus', 'fs', 'sysvipc/shm', 'sys/kernel/random/boot_id', 'vmallocinfo', 'driver', 'sysrq-trigger']:
    try: open('/proc/' + name, 'rb').read(1); print(name)
    except OSError: pass
for name in ['cpuinfo', 'meminfo', 'stat', 'filesystems', 'loadavg', 'uptime', 'version', 'mounts', 'net/dev', 'self/mountinfo',
             'self/cgroup', 'thread-self/stat', 'sys/vm/overcommit_memory', 'sys/kernel/cap_last_cap', 'sys/kernel/random/uuid',
             'sys/kernel/osrelease', str(os.getpid()) + '/status']:
    open('/proc/' + name, 'rb').read()
listed = [name for name in os.listdir('/proc') if not name.isdigit()]
print(sorted(listed), len(os.listdir('/proc/self/fd')), os.cpu_count() > 0)
";
    assert_eq!(python(script), "['self', 'thread-self'] 4 True\n");
}

//! What all programs of a user share: what one sandbox uses of it does not keep another from starting, nor the host from working.

use std::io::IoSlice;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use ringfence_policy::{HostSet, NetworkCeiling, NetworkGrant, Private};
use ringfence_sandbox::{Ending, Native, Report, Sandbox, Spec, Streams};
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
    assert_eq!(python(script).trim().parse::<u64>().unwrap(), most("instances") / 4);
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

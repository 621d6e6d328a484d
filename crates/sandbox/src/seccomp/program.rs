//! From the table to the instructions of the kernel's classic BPF.

use super::table::{LAST, LINES};
use super::{
    Architecture, Check, EACCES, EAFNOSUPPORT, EINVAL, ENOPROTOOPT, ENOSYS, EPERM, EPROTONOSUPPORT, NO_ERROR,
    Profile, Verdict,
};

/// One instruction (`struct sock_filter`).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[repr(C)]
pub struct Instruction {
    code: u16,
    if_true: u8,
    if_false: u8,
    value: u32,
}

const LOAD: u16 = 0x20;
const AND: u16 = 0x54;
const JUMP: u16 = 0x05;
const JUMP_EQUAL: u16 = 0x15;
const JUMP_AT_LEAST: u16 = 0x35;
const JUMP_SET: u16 = 0x45;
const RETURN: u16 = 0x06;

const RET_ALLOW: u32 = 0x7fff_0000;
const RET_ERRNO: u32 = 0x0005_0000;
const RET_USER_NOTIFICATION: u32 = 0x7fc0_0000;
const RET_KILL_PROCESS: u32 = 0x8000_0000;

const NUMBER_AT: u32 = 0;
const ARCHITECTURE_AT: u32 = 4;

/// Every namespace: mount, cgroup, uts, ipc, user, pid, net, time.
pub(super) const NAMESPACES: u32 = 0x7e02_0080;
pub(super) const SET_ID_BITS: u32 = 0o6000;
/// `O_CREAT` and the bit of `O_TMPFILE`.
pub(super) const OPEN_MAKES_FILES: u32 = 0o20_000_100;
pub(super) const MFD_NOEXEC_SEAL: u32 = 8;
/// `TIOCSTI`, `TIOCLINUX`, `TIOCCONS`, `TIOCSETD`.
pub(super) const TERMINAL_REQUESTS: [u32; 4] = [0x5412, 0x541c, 0x541d, 0x5423];
/// `F_SETSIG`, `F_SETLEASE`, `F_NOTIFY`, `F_SETPIPE_SZ`. A lease on a file keeps whoever opens it waiting, outside too; how large the
/// pipes of a user are together is counted for all that the user runs.
pub(super) const FILE_CONTROLS: [u32; 4] = [10, 1024, 1026, 1031];
pub(super) const PR_SET_SECCOMP: u32 = 22;
/// What a process shows of a huge page with holes is less than it keeps: see [`Op::SmallPages`](crate::linux::op::Op).
pub(super) const PR_SET_THP_DISABLE: u32 = 41;
pub(super) const SOL_SOCKET: u32 = 1;
/// `SO_ATTACH_FILTER`, `SO_ATTACH_BPF`, `SO_ATTACH_REUSEPORT_CBPF`, `SO_ATTACH_REUSEPORT_EBPF`.
pub(super) const SOCKET_FILTERS: [u32; 4] = [26, 50, 51, 52];
/// `SO_SNDBUF`, `SO_RCVBUF`. Where nobody counts what waits in a socket, it stays as large as it was made, and programs are told that
/// it has grown: they read how large it is, or do not care.
pub(super) const SOCKET_BUFFERS: [u32; 2] = [7, 8];
/// `RLIMIT_CORE`. It is 1, at which the kernel starts no handler of the machine; at 0 it would. Programs that set it to 0, and give up
/// when they cannot, are told that they have.
pub(super) const CORE: u32 = 4;
pub(super) const AF_UNIX: u32 = 1;
pub(super) const AF_INET: u32 = 2;
pub(super) const AF_INET6: u32 = 10;
pub(super) const SOCK_STREAM: u32 = 1;
pub(super) const SOCK_RAW: u32 = 3;
pub(super) const SOCK_SEQPACKET: u32 = 5;
pub(super) const SOCKET_TYPE: u32 = 0xf;
/// The family's own choice, TCP and UDP; no MPTCP, which passes rules made for TCP, and nothing rarer.
pub(super) const PROTOCOLS: [u32; 3] = [0, 6, 17];

/// Makes the program of a profile.
pub fn program(profile: Profile, architecture: Architecture) -> Vec<Instruction> {
    let mut program = vec![
        load(ARCHITECTURE_AT),
        jump_if(JUMP_EQUAL, architecture.audit(), 1, 0),
        ret(RET_KILL_PROCESS),
        load(NUMBER_AT),
    ];
    program.extend(search(&exceptions(architecture), profile));
    program
}

/// Makes a program that has calls told and refuses nothing: each by its number, and some only when an argument is not zero.
pub(super) fn telling(architecture: Architecture, calls: &[(u32, Option<u8>)]) -> Vec<Instruction> {
    let tell = ret(RET_USER_NOTIFICATION);
    let mut program = vec![
        load(ARCHITECTURE_AT),
        // What is made for another processor is the confining filter's to end.
        jump_if(JUMP_EQUAL, architecture.audit(), 1, 0),
        allow(),
        load(NUMBER_AT),
    ];
    for (number, unless_zero) in calls {
        match unless_zero {
            None => program.extend([jump_if(JUMP_EQUAL, *number, 0, 1), tell]),
            Some(argument) => program.extend([
                jump_if(JUMP_EQUAL, *number, 0, 4),
                load_argument(*argument),
                jump_if(JUMP_EQUAL, 0, 0, 1),
                allow(),
                tell,
            ]),
        }
    }
    program.push(allow());
    program
}

/// Neighbouring numbers that are not simply allowed and share a verdict: the first, the last, and the verdict.
type Exception = (u32, u32, Verdict);

fn exceptions(architecture: Architecture) -> Vec<Exception> {
    let mut numbered: Vec<(u32, Verdict)> =
        LINES.iter().filter_map(|line| Some((line.number(architecture)?, line.verdict))).collect();
    numbered.sort_unstable_by_key(|(number, _)| *number);
    let mut exceptions: Vec<Exception> = Vec::new();
    for (number, verdict) in numbered {
        match exceptions.last_mut() {
            Some((_, last, same)) if *same == verdict && *last + 1 == number => *last = number,
            _ => exceptions.push((number, number, verdict)),
        }
    }
    // Whatever came later, and the x32 ABI, whose numbers begin far above.
    exceptions.push((LAST + 1, u32::MAX, Verdict::Refuse(ENOSYS)));
    exceptions
}

/// A balanced tree of comparisons; each leaf returns.
fn search(exceptions: &[Exception], profile: Profile) -> Vec<Instruction> {
    if exceptions.len() <= LEAF {
        return leaf(exceptions, profile);
    }
    let (low, high) = exceptions.split_at(exceptions.len() / 2);
    let Some((first, ..)) = high.first() else { return Vec::new() };
    let below = search(low, profile);
    let mut tree = match u8::try_from(below.len()) {
        Ok(distance) => vec![jump_if(JUMP_AT_LEAST, *first, distance, 0)],
        // A conditional jump reaches 255 instructions; farther goes by way of an unconditional one.
        Err(_) => vec![jump_if(JUMP_AT_LEAST, *first, 0, 1), jump(below.len())],
    };
    tree.extend(below);
    tree.extend(search(high, profile));
    tree
}

/// How many exceptions a leaf tests one after the other: the kernel compiles the program at every start, so that a
/// shorter one is worth a comparison more.
const LEAF: usize = 4;

/// Tests each exception, allows what is none, and ends with what the exceptions lead to.
fn leaf(exceptions: &[Exception], profile: Profile) -> Vec<Instruction> {
    let mut endings: Vec<(Verdict, Vec<Instruction>)> = Vec::new();
    for (.., verdict) in exceptions {
        if !endings.iter().any(|(known, _)| known == verdict) {
            endings.push((*verdict, ending(*verdict, profile)));
        }
    }
    let tests: usize = exceptions.iter().map(|(first, last, _)| if first == last { 1 } else { 2 }).sum();
    let mut code = Vec::new();
    for (first, last, verdict) in exceptions {
        let before = endings.iter().take_while(|(known, _)| known != verdict).map(|(_, ending)| ending.len());
        if first != last && *last != u32::MAX {
            code.push(jump_if(JUMP_AT_LEAST, *last + 1, 1, 0));
        } else if first != last {
            // Nothing is above it; the place is kept so that the distances below are the same for every range.
            code.push(jump(0));
        }
        // Over the rest of the tests, over the allowing return, over the endings before its own.
        let over = tests - code.len() - 1 + 1 + before.sum::<usize>();
        let compare = if first == last { JUMP_EQUAL } else { JUMP_AT_LEAST };
        code.push(jump_if(compare, *first, u8::try_from(over).unwrap_or(u8::MAX), 0));
    }
    code.push(allow());
    code.extend(endings.into_iter().flat_map(|(_, ending)| ending));
    code
}

fn ending(verdict: Verdict, profile: Profile) -> Vec<Instruction> {
    let mut ending = match verdict {
        Verdict::Refuse(errno) => vec![refuse(errno)],
        Verdict::Check(check) => judge(check, profile),
    };
    for instruction in ending.iter_mut().filter(|_| profile.observe) {
        if instruction.code == RETURN && instruction.value != RET_ALLOW {
            instruction.value = RET_USER_NOTIFICATION;
        }
    }
    ending
}

/// Returns the name of a system call and the error that a profile answers it with, if it refuses it.
pub(crate) fn refusal(
    profile: Profile,
    architecture: Architecture,
    number: u32,
    arguments: [u64; 6],
) -> Option<(&'static str, u16)> {
    let silent = Profile { observe: false, ..profile };
    let returned = run(&program(silent, architecture), architecture.audit(), number, arguments)?;
    let name = LINES
        .iter()
        .find(|line| line.number(architecture) == Some(number))
        .map_or("unknown", |line| line.name);
    let errno = u16::try_from(returned & 0xffff).ok()?;
    (returned & 0xffff_0000 == RET_ERRNO).then_some((name, errno))
}

/// Runs a program as the kernel would.
fn run(program: &[Instruction], audit: u32, number: u32, arguments: [u64; 6]) -> Option<u32> {
    let mut accumulator = 0_u32;
    let mut at = 0;
    loop {
        let instruction = program.get(at)?;
        at += 1;
        let jump = |taken: bool| usize::from(if taken { instruction.if_true } else { instruction.if_false });
        match instruction.code {
            LOAD => {
                accumulator = match instruction.value {
                    NUMBER_AT => number,
                    ARCHITECTURE_AT => audit,
                    place => {
                        let place = (place as usize).checked_sub(16)?;
                        (*arguments.get(place / 8)? >> (place % 8 * 8)) as u32
                    }
                }
            }
            AND => accumulator &= instruction.value,
            JUMP => at += instruction.value as usize,
            JUMP_EQUAL => at += jump(accumulator == instruction.value),
            JUMP_AT_LEAST => at += jump(accumulator >= instruction.value),
            JUMP_SET => at += jump(accumulator & instruction.value != 0),
            RETURN => return Some(instruction.value),
            _ => return None,
        }
    }
}

const fn jump(distance: usize) -> Instruction {
    Instruction { code: JUMP, if_true: 0, if_false: 0, value: distance as u32 }
}

fn judge(check: Check, profile: Profile) -> Vec<Instruction> {
    match check {
        Check::CloneFlags => {
            vec![load_argument(0), jump_if(JUMP_SET, NAMESPACES, 0, 1), refuse(EPERM), allow()]
        }
        Check::CoreLimit => {
            vec![load_argument(0), jump_if(JUMP_EQUAL, CORE, 0, 1), refuse(NO_ERROR), allow()]
        }
        Check::CoreLimitOf => vec![
            load_argument(1),
            jump_if(JUMP_EQUAL, CORE, 1, 0),
            allow(),
            load_argument(2),
            jump_if(JUMP_EQUAL, 0, 0, 2),
            load_upper_half(2),
            jump_if(JUMP_EQUAL, 0, 1, 0),
            refuse(NO_ERROR),
            allow(),
        ],
        Check::FileControl => {
            let mut judged = vec![load_argument(1)];
            judged.extend(any_of(&FILE_CONTROLS));
            judged.extend([allow(), refuse(EPERM)]);
            judged
        }
        Check::FileMode(argument) => {
            vec![load_argument(argument), jump_if(JUMP_SET, SET_ID_BITS, 0, 1), refuse(EPERM), allow()]
        }
        // The kernel reads the low half only, so the high half must not be able to hide a request.
        Check::Ioctl => {
            let mut judged = vec![load_argument(1)];
            judged.extend(any_of(&TERMINAL_REQUESTS));
            judged.extend([allow(), refuse(EPERM)]);
            judged
        }
        Check::MemoryFile if !profile.counted_memory => vec![refuse(ENOSYS)],
        Check::MemoryFile => {
            vec![load_argument(1), jump_if(JUMP_SET, MFD_NOEXEC_SEAL, 1, 0), refuse(EACCES), allow()]
        }
        Check::OpenMode(argument) => vec![
            load_argument(argument.saturating_sub(1)),
            jump_if(JUMP_SET, OPEN_MAKES_FILES, 1, 0),
            allow(),
            load_argument(argument),
            jump_if(JUMP_SET, SET_ID_BITS, 0, 1),
            refuse(EPERM),
            allow(),
        ],
        Check::Personality => {
            let mut judged = vec![load_argument(0)];
            judged.extend(any_of(&[0, u32::MAX]));
            judged.extend([refuse(EPERM), allow()]);
            judged
        }
        // As a kernel answers that has no filters.
        Check::ProcessControl => {
            let mut judged = vec![load_argument(0)];
            judged.extend(any_of(process_controls(profile)));
            judged.extend([allow(), refuse(EINVAL)]);
            judged
        }
        Check::Socket => socket(profile),
        Check::SocketOption => {
            let mut judged =
                vec![load_argument(1), jump_if(JUMP_EQUAL, SOL_SOCKET, 1, 0), allow(), load_argument(2)];
            if !profile.counted_memory {
                judged.extend(
                    SOCKET_BUFFERS
                        .iter()
                        .flat_map(|option| [jump_if(JUMP_EQUAL, *option, 0, 1), refuse(NO_ERROR)]),
                );
            }
            judged.extend(any_of(&SOCKET_FILTERS));
            judged.extend([allow(), refuse(ENOPROTOOPT)]);
            judged
        }
        // A pair of datagram sockets could be sent from one of them to any other socket that has a name.
        Check::SocketPair => {
            let mut judged = vec![
                load_argument(0),
                jump_if(JUMP_EQUAL, AF_UNIX, 1, 0),
                refuse(EAFNOSUPPORT),
                load_argument(1),
                Instruction { code: AND, if_true: 0, if_false: 0, value: SOCKET_TYPE },
            ];
            judged.extend(any_of(&[SOCK_STREAM, SOCK_SEQPACKET]));
            judged.extend([refuse(EPERM), allow()]);
            judged
        }
        Check::UncountedMemory | Check::UncountedPages if profile.counted_memory => vec![allow()],
        Check::UncountedMemory => vec![refuse(ENOSYS)],
        // As for a file that cannot be mapped: the one answer after which every library reads and writes instead.
        Check::UncountedPages => vec![refuse(EINVAL)],
    }
}

/// What a process may not have changed of itself.
pub(super) const fn process_controls(profile: Profile) -> &'static [u32] {
    if profile.counted_memory { &[PR_SET_SECCOMP] } else { &[PR_SET_SECCOMP, PR_SET_THP_DISABLE] }
}

fn socket(profile: Profile) -> Vec<Instruction> {
    let families: &[u32] =
        if profile.unix_sockets { &[AF_INET, AF_INET6, AF_UNIX] } else { &[AF_INET, AF_INET6] };
    let mut judged = vec![load_argument(0)];
    judged.extend(any_of(families));
    judged.extend([
        refuse(EAFNOSUPPORT),
        load_argument(1),
        Instruction { code: AND, if_true: 0, if_false: 0, value: SOCKET_TYPE },
        jump_if(JUMP_EQUAL, SOCK_RAW, 0, 1),
        refuse(EPERM),
        load_argument(2),
    ]);
    judged.extend(any_of(&PROTOCOLS));
    judged.extend([refuse(EPROTONOSUPPORT), allow()]);
    judged
}

/// Skips the one instruction that follows when the accumulator is one of `values`.
fn any_of(values: &[u32]) -> impl Iterator<Item = Instruction> {
    let count = values.len();
    values.iter().enumerate().map(move |(place, value)| {
        let over = u8::try_from(count - place).unwrap_or(u8::MAX);
        jump_if(JUMP_EQUAL, *value, over, 0)
    })
}

const fn load(at: u32) -> Instruction {
    Instruction { code: LOAD, if_true: 0, if_false: 0, value: at }
}

/// Loads the low half of an argument (both architectures are little-endian).
const fn load_argument(number: u8) -> Instruction {
    load(16 + 8 * number as u32)
}

const fn load_upper_half(number: u8) -> Instruction {
    load(16 + 8 * number as u32 + 4)
}

const fn jump_if(code: u16, value: u32, if_true: u8, if_false: u8) -> Instruction {
    Instruction { code, if_true, if_false, value }
}

const fn ret(value: u32) -> Instruction {
    Instruction { code: RETURN, if_true: 0, if_false: 0, value }
}

const fn allow() -> Instruction {
    ret(RET_ALLOW)
}

const fn refuse(errno: u16) -> Instruction {
    ret(RET_ERRNO | errno as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(program: &[Instruction], audit: u32, number: u32, arguments: [u64; 6]) -> u32 {
        run(program, audit, number, arguments).unwrap()
    }

    const X86: u32 = 0xc000_003e;
    /// The x32 ABI marks its numbers with this bit.
    const X32: u32 = 0x4000_0000;

    #[test]
    fn agrees_with_the_table_for_every_number() {
        for architecture in [Architecture::X86_64, Architecture::Aarch64] {
            let program = program(Profile::default(), architecture);
            assert!(program.len() < 260, "{}", program.len());
            for number in 0..=LAST + 20 {
                let found = verdict(&program, architecture.audit(), number, [0; 6]);
                let line = LINES.iter().find(|line| line.number(architecture) == Some(number));
                match line.map(|line| line.verdict) {
                    Some(Verdict::Refuse(errno)) => {
                        assert_eq!(found, RET_ERRNO | u32::from(errno), "{number}");
                    }
                    Some(Verdict::Check(_)) => {}
                    None if number > LAST => assert_eq!(found, RET_ERRNO | 38, "{number}"),
                    None => assert_eq!(found, RET_ALLOW, "{number}"),
                }
            }
        }
    }

    #[test]
    fn judges_arguments() {
        let counted = Profile { counted_memory: true, ..Profile::default() };
        let (base, with_unix) = (
            program(counted, Architecture::X86_64),
            program(Profile { unix_sockets: true, ..counted }, Architecture::X86_64),
        );
        let uncounted = program(Profile::default(), Architecture::X86_64);
        // Sizes of buffers are left as they are, huge pages stay off, and no page is lent to a pipe.
        for (number, first, second, third, errno) in
            [(54, 3, 1, 7, 0), (54, 3, 1, 8, 0), (157, 41, 0, 0, EINVAL), (278, 1, 1, 1, ENOSYS)]
        {
            let arguments = [first, second, third, 0, 0, 0];
            let refused = RET_ERRNO | u32::from(errno);
            assert_eq!(verdict(&uncounted, X86, number, arguments), refused, "{number}");
            assert_eq!(verdict(&base, X86, number, arguments), RET_ALLOW, "{number}");
        }
        assert_eq!(verdict(&uncounted, X86, 54, [3, 6, 7, 0, 0, 0]), RET_ALLOW);
        assert_eq!(verdict(&uncounted, X86, 54, [3, 1, 2, 0, 0, 0]), RET_ALLOW);
        for number in [29, 64, 68, 319] {
            assert_eq!(verdict(&uncounted, X86, number, [0, 9, 0, 0, 0, 0]), RET_ERRNO | 38, "{number}");
            assert_eq!(verdict(&base, X86, number, [0, 9, 0, 0, 0, 0]), RET_ALLOW, "{number}");
        }
        let errno = |code: u16| RET_ERRNO | u32::from(code);
        #[rustfmt::skip]
        let cases = [
            // call          arguments                                          verdict
            ("clone",        [0x11, 0, 0, 0, 0, 0],                             RET_ALLOW),
            ("clone",        [0x1000_0011, 0, 0, 0, 0, 0],                      errno(EPERM)),
            ("clone",        [0x2_0000, 0, 0, 0, 0, 0],                         errno(EPERM)),
            ("unshare",      [0x400, 0, 0, 0, 0, 0],                            RET_ALLOW),
            ("unshare",      [0x80, 0, 0, 0, 0, 0],                             errno(EPERM)),
            ("socket",       [2, 1, 0, 0, 0, 0],                                RET_ALLOW),
            ("socket",       [10, 2 | 0o2000000, 0, 0, 0, 0],                   RET_ALLOW),
            ("socket",       [2, 1, 262, 0, 0, 0],                              errno(EPROTONOSUPPORT)),
            ("socket",       [2, 1, 6, 0, 0, 0],                                RET_ALLOW),
            ("socket",       [2, 2, 136, 0, 0, 0],                              errno(EPROTONOSUPPORT)),
            ("socket",       [2, 2, 1, 0, 0, 0],                                errno(EPROTONOSUPPORT)),
            ("socket",       [2, 3, 1, 0, 0, 0],                                errno(EPERM)),
            ("socket",       [2, 3 | 0o4000, 1, 0, 0, 0],                       errno(EPERM)),
            ("socket",       [1, 1, 0, 0, 0, 0],                                errno(EAFNOSUPPORT)),
            ("socket",       [16, 3, 0, 0, 0, 0],                               errno(EAFNOSUPPORT)),
            ("socket",       [40, 1, 0, 0, 0, 0],                               errno(EAFNOSUPPORT)),
            ("socket",       [0x1_0000_0001, 1, 0, 0, 0, 0],                    errno(EAFNOSUPPORT)),
            ("socketpair",   [1, 1, 0, 0, 0, 0],                                RET_ALLOW),
            ("socketpair",   [1, 5 | 0o2000000, 0, 0, 0, 0],                    RET_ALLOW),
            ("socketpair",   [1, 2, 0, 0, 0, 0],                                errno(EPERM)),
            ("socketpair",   [1, 3, 0, 0, 0, 0],                                errno(EPERM)),
            ("socketpair",   [2, 1, 0, 0, 0, 0],                                errno(EAFNOSUPPORT)),
            ("ioctl",        [0, 0x5401, 0, 0, 0, 0],                           RET_ALLOW),
            ("ioctl",        [0, 0x5412, 0, 0, 0, 0],                           errno(EPERM)),
            ("ioctl",        [0, 0xdead_0000_5412, 0, 0, 0, 0],                 errno(EPERM)),
            ("ioctl",        [0, 0x541c, 0, 0, 0, 0],                           errno(EPERM)),
            ("fcntl",        [0, 4, 0o4000, 0, 0, 0],                           RET_ALLOW), // F_SETFL
            ("fcntl",        [0, 1030, 0, 0, 0, 0],                             RET_ALLOW), // F_DUPFD_CLOEXEC
            ("fcntl",        [0, 38, 0, 0, 0, 0],                               RET_ALLOW), // F_OFD_SETLKW
            ("fcntl",        [0, 1025, 0, 0, 0, 0],                             RET_ALLOW), // F_GETLEASE
            ("fcntl",        [0, 1024, 1, 0, 0, 0],                             errno(EPERM)),
            ("fcntl",        [0, 0xbad_0000_0400, 1, 0, 0, 0],                  errno(EPERM)),
            ("fcntl",        [0, 1026, 1, 0, 0, 0],                             errno(EPERM)),
            ("fcntl",        [0, 1031, 1 << 20, 0, 0, 0],                       errno(EPERM)),
            ("fcntl",        [0, 10, 9, 0, 0, 0],                               errno(EPERM)),
            ("prctl",        [38, 1, 0, 0, 0, 0],                               RET_ALLOW), // PR_SET_NO_NEW_PRIVS
            ("prctl",        [21, 0, 0, 0, 0, 0],                               RET_ALLOW), // PR_GET_SECCOMP
            ("prctl",        [22, 2, 1, 0, 0, 0],                               errno(EINVAL)),
            ("prctl",        [0x1_0000_0016, 1, 0, 0, 0, 0],                    errno(EINVAL)),
            ("setsockopt",   [3, 1, 2, 1, 4, 0],                                RET_ALLOW), // SO_REUSEADDR
            ("setsockopt",   [3, 6, 26, 1, 4, 0],                               RET_ALLOW), // of TCP
            ("setsockopt",   [3, 1, 26, 1, 16, 0],                              errno(ENOPROTOOPT)),
            ("setsockopt",   [3, 1, 50, 1, 4, 0],                               errno(ENOPROTOOPT)),
            ("setsockopt",   [3, 1, 51, 1, 16, 0],                              errno(ENOPROTOOPT)),
            ("setsockopt",   [3, 1, 0x7_0000_0034, 1, 4, 0],                    errno(ENOPROTOOPT)),
            ("setrlimit",    [7, 1, 0, 0, 0, 0],                                RET_ALLOW),
            ("setrlimit",    [4, 1, 0, 0, 0, 0],                                errno(NO_ERROR)),
            ("prlimit64",    [0, 7, 1, 0, 0, 0],                                RET_ALLOW),
            ("prlimit64",    [0, 4, 0, 1, 0, 0],                                RET_ALLOW), // only read
            ("prlimit64",    [0, 4, 1, 0, 0, 0],                                errno(NO_ERROR)),
            ("prlimit64",    [0, 4, 0x7fff_0000_0000, 0, 0, 0],                 errno(NO_ERROR)),
            ("prlimit64",    [9, 0x5_0000_0004, 1, 0, 0, 0],                    errno(NO_ERROR)),
            ("memfd_create", [0, 1, 0, 0, 0, 0],                                errno(EACCES)),
            ("memfd_create", [0, 9, 0, 0, 0, 0],                                RET_ALLOW),
            ("personality",  [0xffff_ffff, 0, 0, 0, 0, 0],                      RET_ALLOW),
            ("personality",  [0x0040_0000, 0, 0, 0, 0, 0],                      errno(EPERM)),
            ("chmod",        [0, 0o755, 0, 0, 0, 0],                            RET_ALLOW),
            ("chmod",        [0, 0o4755, 0, 0, 0, 0],                           errno(EPERM)),
            ("fchmodat",     [0, 0, 0o2755, 0, 0, 0],                           errno(EPERM)),
            ("openat",       [0, 0, 0o100, 0o644, 0, 0],                        RET_ALLOW),
            ("openat",       [0, 0, 0o100, 0o6644, 0, 0],                       errno(EPERM)),
            ("openat",       [0, 0, 0o20200000, 0o4644, 0, 0],                  errno(EPERM)),
            ("openat",       [0, 0, 0, 0o6644, 0, 0],                           RET_ALLOW), // read by nobody
            ("open",         [0, 0o101, 0o4755, 0, 0, 0],                       errno(EPERM)),
        ];
        for (name, arguments, expected) in cases {
            let line = LINES.iter().find(|line| line.name == name).unwrap();
            let number = line.number(Architecture::X86_64).unwrap();
            assert_eq!(verdict(&base, X86, number, arguments), expected, "{name} {arguments:x?}");
        }
        assert_eq!(verdict(&with_unix, X86, 41, [1, 1, 0, 0, 0, 0]), RET_ALLOW);
        assert_eq!(verdict(&with_unix, X86, 41, [40, 1, 0, 0, 0, 0]), errno(EAFNOSUPPORT));
    }

    #[test]
    fn an_observed_program_tells_of_what_the_other_refuses() {
        let observe = Profile { observe: true, ..Profile::default() };
        let program = program(observe, Architecture::X86_64);
        for (number, arguments, expected) in [
            (101, [0; 6], Some(("ptrace", EPERM))),
            (41, [1, 1, 0, 0, 0, 0], Some(("socket", EAFNOSUPPORT))),
            (41, [2, 1, 0, 0, 0, 0], None),
            (39, [0; 6], None),
            (460, [0; 6], Some(("unknown", ENOSYS))),
        ] {
            let told = verdict(&program, X86, number, arguments) == RET_USER_NOTIFICATION;
            assert_eq!(told, expected.is_some(), "{number}");
            assert_eq!(refusal(observe, Architecture::X86_64, number, arguments), expected, "{number}");
        }
        assert_eq!(verdict(&program, 0x4000_0003, 1, [0; 6]), RET_KILL_PROCESS);
    }

    #[test]
    fn a_watching_program_tells_of_its_calls_and_refuses_nothing() {
        let program = super::super::watching(Architecture::X86_64);
        let told = |number, arguments| verdict(&program, X86, number, arguments) == RET_USER_NOTIFICATION;
        for number in [2, 4, 42, 59, 82, 257, 262, 322, 332, 439, 452] {
            assert!(told(number, [0; 6]), "{number}");
        }
        // By this one the listener itself is handed out.
        assert!(!told(46, [1; 6]));
        assert!(told(44, [0, 0, 0, 0, 1, 16]) && !told(44, [0; 6]));
        let quiet = (0..=LAST + 20).filter(|number| !told(*number, [1; 6]));
        for number in quiet {
            assert_eq!(verdict(&program, X86, number, [1; 6]), RET_ALLOW, "{number}");
        }
        assert_eq!(verdict(&program, 0x4000_0003, 2, [0; 6]), RET_ALLOW);
    }

    #[test]
    fn other_doors_into_the_kernel_are_shut() {
        let program = program(Profile::default(), Architecture::X86_64);
        let i386 = 0x4000_0003;
        assert_eq!(verdict(&program, i386, 1, [0; 6]), RET_KILL_PROCESS);
        assert_eq!(verdict(&program, X86, X32, [0; 6]), RET_ERRNO | 38);
        assert_eq!(verdict(&program, X86, X32 | 101, [0; 6]), RET_ERRNO | 38);
        assert_eq!(verdict(&program, X86, u32::MAX, [0; 6]), RET_ERRNO | 38);
    }
}

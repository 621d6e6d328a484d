use proptest::prelude::*;
use serde_json::Value;

use super::*;
use crate::seccomp::refusal;

const PROFILES: [Profile; 3] = [
    Profile { unix_sockets: false, counted_memory: true, observe: false },
    Profile { unix_sockets: true, counted_memory: true, observe: false },
    Profile { unix_sockets: false, counted_memory: false, observe: false },
];

/// Reads a profile as an engine does: nothing, or the error. Two rules that both hold would be a matter of luck.
fn answer(document: &Value, name: &str, arguments: [u64; 6]) -> Option<u64> {
    let holds = |condition: &Value| {
        let argument = arguments[condition["index"].as_u64().unwrap() as usize];
        let (value, second) = (condition["value"].as_u64().unwrap(), condition["valueTwo"].as_u64().unwrap());
        match condition["op"].as_str().unwrap() {
            "SCMP_CMP_EQ" => argument == value,
            "SCMP_CMP_GT" => argument > value,
            "SCMP_CMP_MASKED_EQ" => argument & value == second,
            other => panic!("{other}"),
        }
    };
    let found: Vec<&Value> = document["syscalls"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|call| call["names"].as_array().unwrap().iter().any(|one| one == name))
        .filter(|call| call.get("args").is_none_or(|all| all.as_array().unwrap().iter().all(holds)))
        .collect();
    assert!(found.len() <= 1, "{name} {arguments:x?}: {found:?}");
    match found.first() {
        Some(call) if call["action"] == ALLOW => None,
        Some(call) => Some(call["errnoRet"].as_u64().unwrap()),
        None => Some(document["defaultErrnoRet"].as_u64().unwrap()),
    }
}

fn rendered(profile: Profile) -> Value {
    serde_json::from_str(&oci_seccomp(profile, Architecture::X86_64)).unwrap()
}

/// What the native program answers.
fn native(profile: Profile, name: &str, arguments: [u64; 6]) -> Option<u64> {
    let line = LINES.iter().find(|line| line.name == name).unwrap();
    refusal(profile, Architecture::X86_64, line.number(Architecture::X86_64).unwrap(), arguments)
        .map(|(_, errno)| u64::from(errno))
}

#[test]
fn answers_as_the_native_program_does() {
    #[rustfmt::skip]
    let cases: &[(&str, [u64; 3])] = &[
        ("clone",        [0x0010_0f00, 0, 0]),
        ("clone",        [0x1000_0000, 0, 0]),
        ("clone",        [0x7e02_0080, 0, 0]),
        ("unshare",      [0x0002_0000, 0, 0]),
        ("socket",       [2, 0x8_0801, 0]),
        ("socket",       [10, 2, 17]),
        ("socket",       [1, 1, 0]),
        ("socket",       [16, 3, 0]),
        ("socket",       [40, 1, 0]),
        ("socket",       [2, 3, 1]),
        ("socketpair",   [1, 1, 0]),
        ("socketpair",   [2, 1, 0]),
        ("ioctl",        [0, 0x5401, 0]),
        ("ioctl",        [0, 0x5412, 0]),
        ("ioctl",        [0, 0xdead_0000_5412, 0]),
        ("ioctl",        [0, 0x541c, 0]),
        ("ioctl",        [0, 0x5423, 0]),
        ("fcntl",        [0, 4, 0]),
        ("fcntl",        [0, 1024, 0]),
        ("fcntl",        [0, 1026, 0]),
        ("fcntl",        [0, 1031, 0]),
        ("prctl",        [15, 0, 0]),
        ("prctl",        [22, 2, 1]),
        ("setsockopt",   [3, 1, 2]),
        ("setsockopt",   [3, 6, 26]),
        ("setsockopt",   [3, 1, 26]),
        ("setsockopt",   [3, 1, 7]),
        ("setsockopt",   [3, 1, 8]),
        ("setsockopt",   [3, 1, 9]),
        ("prctl",        [41, 0, 0]),
        ("vmsplice",     [1, 1, 1]),
        ("splice",       [1, 0, 2]),
        ("tee",          [1, 2, 1]),
        ("sendfile",     [1, 2, 0]),
        ("setsockopt",   [3, 1, 52]),
        ("setrlimit",    [4, 1, 0]),
        ("setrlimit",    [7, 1, 0]),
        ("prlimit64",    [0, 4, 0]),
        ("prlimit64",    [0, 4, 0x7fff_0000_0000]),
        ("prlimit64",    [0, 7, 1]),
        ("seccomp",      [1, 0, 0]),
        ("io_setup",     [1, 0, 0]),
        ("memfd_create", [0, 9, 0]),
        ("personality",  [0xffff_ffff, 0, 0]),
        ("personality",  [0x0040_0000, 0, 0]),
        ("chmod",        [0, 0o755, 0]),
        ("chmod",        [0, 0o4755, 0]),
        ("chmod",        [0, 0o6755, 0]),
        ("fchmodat",     [0, 0, 0o2755]),
        ("open",         [0, 0o101, 0o4755]),
        ("open",         [0, 0o20_000_101, 0o2755]),
        ("open",         [0, 0, 0o4755]),
        ("open",         [0, 0o100, 0o644]),
        ("ptrace",       [0, 0, 0]),
        ("mount",        [0, 0, 0]),
        ("clone3",       [0, 0, 0]),
        ("openat2",      [0, 0, 0]),
        ("shmget",       [0, 0, 0]),
    ];
    for profile in PROFILES {
        let document = rendered(profile);
        for (name, [a, b, c]) in cases {
            let arguments = [*a, *b, *c, 0, 0, 0];
            assert_eq!(
                answer(&document, name, arguments),
                native(profile, name, arguments),
                "{name} {arguments:x?} {profile:?}"
            );
        }
        assert_eq!(answer(&document, "read", [0; 6]), None);
        assert_eq!(answer(&document, "a_call_of_tomorrow", [0; 6]), Some(38));
    }
}

proptest! {
    #[test]
    fn allows_nothing_that_the_native_program_refuses(
        line in 0..LINES.len(),
        arguments in prop::array::uniform6(prop_oneof![0_u64..0x20, 0_u64..0x10000, any::<u64>()]),
        bits in 0..64_u32,
        profile in 0..PROFILES.len(),
    ) {
        let (line, profile) = (&LINES[line], PROFILES[profile]);
        let arguments = arguments.map(|argument| argument ^ (1 << bits));
        let (theirs, ours) = (answer(&rendered(profile), line.name, arguments), native(profile, line.name, arguments));
        prop_assert!(theirs.is_some() || ours.is_none(), "{} {arguments:x?}", line.name);
        // Only rare kinds of sockets are refused on top.
        prop_assert!(theirs.is_none() || ours.is_some() || line.name == "socket", "{} {arguments:x?}", line.name);
    }
}

#[test]
fn is_short_enough_for_an_engine() {
    let text = oci_seccomp(PROFILES[0], Architecture::X86_64);
    assert!(text.len() < 96 << 10, "{}", text.len());
    let head: String = text.chars().take(163).collect();
    insta::assert_snapshot!(head, @r#"{"defaultAction":"SCMP_ACT_ERRNO","defaultErrnoRet":38,"architectures":["SCMP_ARCH_X86_64"],"syscalls":[{"names":["accept","accept4","access","alarm","arch_prctl","#);
}

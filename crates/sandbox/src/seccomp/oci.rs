//! The same table as a profile of the Open Container Initiative, for engines that install the filter themselves.
//!
//! An engine reads a list of names with conditions, and cannot say "unless": of two rules about one call neither wins by its place. So
//! every call that is judged by an argument is cut into rules that never overlap. What no rule names is answered `ENOSYS`.
//!
//! INVARIANT: what the native program refuses, this profile does not allow.

use serde::Serialize;

use super::name::ALLOWED;
use super::program::{
    AF_INET, AF_INET6, AF_UNIX, CORE, FILE_CONTROLS, MFD_NOEXEC_SEAL, NAMESPACES, OPEN_MAKES_FILES,
    PROTOCOLS, SET_ID_BITS, SOCK_RAW, SOCK_SEQPACKET, SOCK_STREAM, SOCKET_BUFFERS, SOCKET_FILTERS,
    SOCKET_TYPE, SOL_SOCKET, TERMINAL_REQUESTS, process_controls,
};
use super::table::LINES;
use super::{
    Architecture, Check, EACCES, EAFNOSUPPORT, EINVAL, ENOPROTOOPT, ENOSYS, EPERM, NO_ERROR, Profile, Verdict,
};

/// Renders a profile as container engines take it, in JSON. Observing is not part of it: an engine tells nobody.
pub fn oci_seccomp(profile: Profile, architecture: Architecture) -> String {
    let refused = |errno| Call {
        names: LINES
            .iter()
            .filter(|line| line.verdict == Verdict::Refuse(errno))
            .map(|line| line.name)
            .collect(),
        rule: Rule { action: ERRNO, errno: Some(errno), conditions: Vec::new() },
    };
    let allowed = Rule { action: ALLOW, errno: None, conditions: Vec::new() };
    let mut calls = vec![Call { names: ALLOWED.to_vec(), rule: allowed }, refused(EPERM), refused(ENOSYS)];
    for line in LINES {
        if let Verdict::Check(check) = line.verdict {
            calls.extend(judge(check, profile).into_iter().map(|rule| Call { names: vec![line.name], rule }));
        }
    }
    let document = Document {
        default: ERRNO,
        default_errno: ENOSYS,
        // Any other way into the kernel, as that of 32-bit programs, ends the process.
        architectures: [match architecture {
            Architecture::Aarch64 => "SCMP_ARCH_AARCH64",
            Architecture::X86_64 => "SCMP_ARCH_X86_64",
        }],
        calls,
    };
    // Only numbers and names of ours: there is nothing that cannot be written.
    serde_json::to_string(&document).unwrap_or_default()
}

const ALLOW: &str = "SCMP_ACT_ALLOW";
const ERRNO: &str = "SCMP_ACT_ERRNO";
/// The kernel reads the low half of these arguments only, so the high half must not decide.
const LOW: u64 = 0xffff_ffff;

#[derive(Serialize)]
struct Document {
    #[serde(rename = "defaultAction")]
    default: &'static str,
    #[serde(rename = "defaultErrnoRet")]
    default_errno: u16,
    architectures: [&'static str; 1],
    #[serde(rename = "syscalls")]
    calls: Vec<Call>,
}

#[derive(Serialize)]
struct Call {
    names: Vec<&'static str>,
    #[serde(flatten)]
    rule: Rule,
}

#[derive(Clone, Serialize)]
struct Rule {
    action: &'static str,
    #[serde(rename = "errnoRet", skip_serializing_if = "Option::is_none")]
    errno: Option<u16>,
    #[serde(rename = "args", skip_serializing_if = "Vec::is_empty")]
    conditions: Vec<Condition>,
}

/// An argument under a mask, or compared as a whole.
#[derive(Clone, Copy, Serialize)]
struct Condition {
    index: u8,
    value: u64,
    #[serde(rename = "valueTwo")]
    second: u64,
    op: &'static str,
}

impl Condition {
    const fn masked(index: u8, mask: u64, equals: u64) -> Self {
        Self { index, value: mask, second: equals, op: "SCMP_CMP_MASKED_EQ" }
    }

    const fn above(index: u8, value: u64) -> Self {
        Self { index, value, second: 0, op: "SCMP_CMP_GT" }
    }
}

fn allow(conditions: &[Condition]) -> Rule {
    Rule { action: ALLOW, errno: None, conditions: conditions.to_vec() }
}

fn refuse(errno: u16, conditions: &[Condition]) -> Rule {
    Rule { action: ERRNO, errno: Some(errno), conditions: conditions.to_vec() }
}

fn judge(check: Check, profile: Profile) -> Vec<Rule> {
    match check {
        Check::CloneFlags => unless_any(&[], 0, NAMESPACES),
        Check::FileMode(index) => unless_any(&[], index, SET_ID_BITS),
        Check::CoreLimit => unless_one(&[], 0, &[CORE], NO_ERROR),
        Check::CoreLimitOf => {
            let (core, none) =
                (equal(1, CORE), Condition { index: 2, value: 0, second: 0, op: "SCMP_CMP_EQ" });
            let mut rules: Vec<Rule> = all_but(1, &[CORE]).into_iter().map(|rest| allow(&[rest])).collect();
            rules.extend([allow(&[core, none]), refuse(NO_ERROR, &[core, Condition::above(2, 0)])]);
            rules
        }
        Check::FileControl => unless_one(&[], 1, &FILE_CONTROLS, EPERM),
        Check::Ioctl => unless_one(&[], 1, &TERMINAL_REQUESTS, EPERM),
        Check::MemoryFile if !profile.counted_memory => Vec::new(),
        Check::MemoryFile => {
            let seal = u64::from(MFD_NOEXEC_SEAL);
            vec![allow(&[Condition::masked(1, seal, seal)]), refuse(EACCES, &[Condition::masked(1, seal, 0)])]
        }
        Check::OpenMode(index) => {
            let flags = index.saturating_sub(1);
            let mut rules = vec![allow(&[Condition::masked(flags, OPEN_MAKES_FILES.into(), 0)])];
            for makes in first_bits(flags, OPEN_MAKES_FILES) {
                rules.extend(unless_any(&[makes], index, SET_ID_BITS));
            }
            rules
        }
        Check::Personality => {
            let usual = [0, u32::MAX];
            let refused = all_but(0, &usual).into_iter().map(|rest| refuse(EPERM, &[rest]));
            usual.into_iter().map(|value| allow(&[equal(0, value)])).chain(refused).collect()
        }
        Check::ProcessControl => unless_one(&[], 0, process_controls(profile), EINVAL),
        Check::Socket => socket(profile),
        Check::SocketOption => {
            let others = all_but(1, &[SOL_SOCKET]).into_iter().map(|rest| allow(&[rest]));
            if profile.counted_memory {
                let rules = unless_one(&[equal(1, SOL_SOCKET)], 2, &SOCKET_FILTERS, ENOPROTOOPT);
                return others.chain(rules).collect();
            }
            let of_socket = |condition| [equal(1, SOL_SOCKET), condition];
            let filters = SOCKET_FILTERS.map(|option| refuse(ENOPROTOOPT, &of_socket(equal(2, option))));
            let buffers = SOCKET_BUFFERS.map(|option| refuse(NO_ERROR, &of_socket(equal(2, option))));
            let judged: Vec<u32> = SOCKET_FILTERS.into_iter().chain(SOCKET_BUFFERS).collect();
            let rest = all_but(2, &judged).into_iter().map(|rest| allow(&of_socket(rest)));
            others.chain(filters).chain(buffers).chain(rest).collect()
        }
        Check::SocketPair => {
            let kinds = [SOCK_STREAM, SOCK_SEQPACKET];
            let other = all_but(0, &[AF_UNIX]).into_iter().map(|rest| refuse(EAFNOSUPPORT, &[rest]));
            kinds.into_iter().map(|kind| allow(&[equal(0, AF_UNIX), of_kind(kind)])).chain(other).collect()
        }
        Check::UncountedMemory | Check::UncountedPages if profile.counted_memory => vec![allow(&[])],
        Check::UncountedMemory => Vec::new(),
        Check::UncountedPages => vec![refuse(EINVAL, &[])],
    }
}

fn socket(profile: Profile) -> Vec<Rule> {
    let mut families = vec![AF_INET, AF_INET6];
    families.extend(profile.unix_sockets.then_some(AF_UNIX));
    // Compared as a whole: a family that has anything in its high half is above the last, and refused.
    let others = (0..AF_INET6).filter(|family| !families.contains(family));
    let whole = |family: u32| Condition { index: 0, value: family.into(), second: 0, op: "SCMP_CMP_EQ" };
    let mut rules: Vec<Rule> = others.map(|family| refuse(EAFNOSUPPORT, &[whole(family)])).collect();
    rules.push(refuse(EAFNOSUPPORT, &[Condition::above(0, AF_INET6.into())]));
    for family in families {
        rules.push(refuse(EPERM, &[whole(family), of_kind(SOCK_RAW)]));
        for kind in [SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET] {
            rules
                .extend(PROTOCOLS.map(|protocol| allow(&[whole(family), of_kind(kind), equal(2, protocol)])));
        }
    }
    rules
}

const SOCK_DGRAM: u32 = 2;

fn equal(index: u8, value: u32) -> Condition {
    Condition::masked(index, LOW, value.into())
}

fn of_kind(kind: u32) -> Condition {
    Condition::masked(1, SOCKET_TYPE.into(), kind.into())
}

/// Allows when an argument is none of the values, and refuses each of them.
fn unless_one(given: &[Condition], index: u8, values: &[u32], errno: u16) -> Vec<Rule> {
    let with = |condition| given.iter().copied().chain([condition]).collect::<Vec<_>>();
    let refused = values.iter().map(|value| refuse(errno, &with(equal(index, *value))));
    refused.chain(all_but(index, values).into_iter().map(|rest| allow(&with(rest)))).collect()
}

/// Allows when no bit of the mask is set, and refuses when any is.
fn unless_any(given: &[Condition], index: u8, mask: u32) -> Vec<Rule> {
    let with = |condition| given.iter().copied().chain([condition]).collect::<Vec<_>>();
    let refused = first_bits(index, mask).into_iter().map(|bit| refuse(EPERM, &with(bit)));
    std::iter::once(allow(&with(Condition::masked(index, mask.into(), 0)))).chain(refused).collect()
}

/// One condition for each bit of the mask: that it is the lowest one set. Exactly one holds when any bit is.
fn first_bits(index: u8, mask: u32) -> Vec<Condition> {
    let bits = (0..u32::BITS).map(|place| 1_u64 << place).filter(|bit| u64::from(mask) & bit != 0);
    bits.map(|bit| Condition::masked(index, u64::from(mask) & (bit | (bit - 1)), bit)).collect()
}

/// Conditions of which exactly one holds for every value but these: one for each way to leave their common beginnings.
fn all_but(index: u8, values: &[u32]) -> Vec<Condition> {
    let mut conditions = Vec::new();
    for place in (0..u32::BITS).rev() {
        let bit = 1_u64 << place;
        let known = LOW & !(bit - 1);
        for value in values.iter().map(|value| u64::from(*value)) {
            let left = (value ^ bit) & known;
            let is_free = values.iter().all(|other| u64::from(*other) & known != left);
            let is_new = !conditions.iter().any(|one: &Condition| (one.value, one.second) == (known, left));
            if is_free && is_new {
                conditions.push(Condition::masked(index, known, left));
            }
        }
    }
    conditions
}

#[cfg(test)]
mod tests;

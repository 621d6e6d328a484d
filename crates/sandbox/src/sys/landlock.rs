//! Landlock domains.

use super::act::{close, compare, kernel, open};
use crate::linux::op::Beneath;
use crate::step::Step;

/// `struct landlock_ruleset_attr` of the kernel.
#[repr(C)]
struct Ruleset {
    handled_fs: u64,
    handled_net: u64,
    scoped: u64,
}

/// `struct landlock_path_beneath_attr` of the kernel.
#[repr(C, packed)]
struct PathBeneath {
    allowed: u64,
    parent: i32,
}

/// Restricts this process to a domain of these rules.
pub(super) fn landlock(handled: u64, scoped: u64, rules: &[Beneath]) -> Result<(), (Step, isize)> {
    let ruleset = Ruleset { handled_fs: handled, handled_net: 0, scoped };
    let failed = |errno| (Step::Landlock, errno);
    // A kernel that knows less takes a shorter structure; the parent has asked which it knows.
    let size = if scoped == 0 { 8 } else { size_of::<Ruleset>() };
    let domain = kernel(libc::SYS_landlock_create_ruleset, &[(&raw const ruleset) as usize, size, 0])
        .map_err(failed)?;
    for rule in rules {
        let parent = open(&rule.path, libc::O_PATH, 0).map_err(failed)?;
        // What is held is what the rule is on, whatever its name leads to by now.
        let added = rule.identity.map_or(Ok(()), |expected| compare(parent, expected));
        let added = added.and_then(|()| allow_beneath(domain, parent, rule.rights).map_err(failed));
        close(parent);
        added?;
    }
    let restricted = kernel(libc::SYS_landlock_restrict_self, &[domain, 0]);
    close(domain);
    restricted.map(drop).map_err(failed)
}

fn allow_beneath(domain: usize, parent: usize, rights: u64) -> Result<(), isize> {
    const PATH_BENEATH: usize = 1;
    let rule = PathBeneath { allowed: rights, parent: parent as i32 };
    kernel(libc::SYS_landlock_add_rule, &[domain, PATH_BENEATH, (&raw const rule) as usize, 0]).map(drop)
}

//! Who made a container, so that those of a dead gateway can be told from those of a living one.
//!
//! A process is known by the boot it lives in, its namespace of process numbers, its number and when it began: numbers are used again.

use std::fs;
use std::str::FromStr;

/// A gateway that makes containers.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Owner {
    boot: String,
    namespace: String,
    process: u32,
    begun: u64,
}

/// What can be said of an owner.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Life {
    /// It is gone for good.
    Dead,
    /// It runs, or lives where we cannot see.
    Unknown,
}

impl Owner {
    /// Returns this process.
    pub(crate) fn this() -> std::io::Result<Self> {
        let process = std::process::id();
        let begun = begun(process)?.ok_or_else(|| std::io::Error::other("this process is not in `/proc`"))?;
        Ok(Self { boot: boot()?, namespace: namespace()?, process, begun })
    }

    /// Judges whether it still lives. Of another machine, another boot or another namespace nothing is known.
    pub(crate) fn life(&self, seen_by: &Self) -> Life {
        if (&self.boot, &self.namespace) != (&seen_by.boot, &seen_by.namespace) {
            return Life::Unknown;
        }
        match begun(self.process) {
            Ok(Some(begun)) if begun == self.begun => Life::Unknown,
            Ok(_) => Life::Dead,
            Err(_) => Life::Unknown,
        }
    }
}

impl std::fmt::Display for Owner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}/{}/{}", self.boot, self.namespace, self.process, self.begun)
    }
}

impl FromStr for Owner {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let mut parts = text.split('/');
        let mut next = || parts.next().filter(|part| !part.is_empty()).ok_or(());
        let (boot, namespace) = (next()?.to_owned(), next()?.to_owned());
        let (process, begun) = (next()?.parse().map_err(drop)?, next()?.parse().map_err(drop)?);
        if next().is_ok() { Err(()) } else { Ok(Self { boot, namespace, process, begun }) }
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "which boot and which process this is, the kernel says in files"
)]
fn boot() -> std::io::Result<String> {
    Ok(fs::read_to_string("/proc/sys/kernel/random/boot_id")?.trim().to_owned())
}

#[expect(
    clippy::disallowed_methods,
    reason = "which boot and which process this is, the kernel says in files"
)]
fn namespace() -> std::io::Result<String> {
    let link = fs::read_link("/proc/self/ns/pid")?;
    Ok(link.to_string_lossy().chars().filter(char::is_ascii_digit).collect())
}

/// Returns when a process began, in ticks since the boot; nothing when there is none, or only what is left of one.
#[expect(
    clippy::disallowed_methods,
    reason = "which boot and which process this is, the kernel says in files"
)]
fn begun(process: u32) -> std::io::Result<Option<u64>> {
    let stat = match fs::read_to_string(format!("/proc/{process}/stat")) {
        Ok(stat) => stat,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    // The name, which may hold anything, ends with the last parenthesis; the state is the first field after it.
    let fields: Vec<&str> = stat.rsplit_once(')').map_or("", |(_, rest)| rest).split_whitespace().collect();
    if matches!(fields.first(), Some(&("Z" | "X"))) {
        return Ok(None);
    }
    let begun = fields.get(19).and_then(|field| field.parse().ok());
    begun.map(Some).ok_or_else(|| std::io::Error::other("`/proc` says no beginning"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_it_writes() {
        let this = Owner::this().unwrap();
        assert_eq!(this.to_string().parse(), Ok(this));
        for text in ["", "a", "a/1/2", "a/1/2/3/4", "a/1/x/3", "//2/3", "a/1/2/-3"] {
            assert_eq!(text.parse::<Owner>(), Err(()), "{text}");
        }
    }

    #[test]
    fn only_a_process_that_is_gone_from_here_is_dead() {
        let this = Owner::this().unwrap();
        let cases = [
            (this.clone(), Life::Unknown),
            (Owner { begun: this.begun + 1, ..this.clone() }, Life::Dead),
            (Owner { process: 4_194_304, ..this.clone() }, Life::Dead),
            (Owner { process: 4_194_304, boot: "another".into(), ..this.clone() }, Life::Unknown),
            (Owner { process: 4_194_304, namespace: "1".into(), ..this.clone() }, Life::Unknown),
        ];
        for (owner, life) in cases {
            assert_eq!(owner.life(&this), life, "{owner}");
        }
    }
}

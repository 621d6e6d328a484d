//! What became of one probe: judged by what is seen on the host, not by what the probe says.

use std::path::Path;
use std::{fmt, fs};

use ringfence_e2e::{Ends, PAYLOAD, Probe, Proof, Scene};

use crate::matrix::process::Ended;

/// What became of a probe.
#[derive(Clone, Debug)]
pub(crate) enum Verdict {
    /// What it needs is not on this machine: a program, or a feature of the kernel.
    Absent(String),
    /// It could not be tried, or lied.
    Broken(String),
    Confined(String),
    Escaped(String),
    /// It got out where it is known to.
    Weak(String),
}

impl fmt::Display for Verdict {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (word, reason) = match self {
            Self::Absent(reason) => ("absent", reason),
            Self::Broken(reason) => ("BROKEN", reason),
            Self::Confined(reason) => ("confined", reason),
            Self::Escaped(reason) => ("ESCAPED", reason),
            Self::Weak(reason) => ("weak", reason),
        };
        write!(formatter, "{word}: {}", reason.chars().take(160).collect::<String>())
    }
}

/// Judges a run of `probe`, which may end by `ends`; `token` is the secret.
pub(crate) fn judge(probe: &Probe, ends: Ends, scene: &Scene, ended: &Ended, token: &str) -> Verdict {
    let seen = match probe.proof {
        Proof::Flood(limit) => {
            let bytes = ended.stdout.len() + ended.stderr.len();
            return match bytes {
                0 => Verdict::Broken(format!("no output at all: {ended:?}")),
                bytes if bytes > limit => Verdict::Escaped(format!("{bytes} bytes")),
                bytes => Verdict::Confined(format!("{bytes} bytes")),
            };
        }
        Proof::Gone(path) => fs::symlink_metadata(scene.expand(path)).is_err(),
        Proof::Holds(path) => fs::read(scene.expand(path)).is_ok_and(|bytes| holds(&bytes, PAYLOAD)),
        Proof::Later(path) | Proof::Made(path) | Proof::Outlives(path) => {
            fs::symlink_metadata(scene.expand(path)).is_ok()
        }
        Proof::Token => ended.stdout.contains(token),
        Proof::Word => ended.line("escaped:").is_some(),
    };
    if seen {
        return Verdict::Escaped(ended.line("escaped:").unwrap_or("seen on the host").trim().to_owned());
    }
    if let Some(reason) = ended.line("confined:") {
        return Verdict::Confined(reason.trim().to_owned());
    }
    if let Some(claim) = ended.line("escaped:") {
        return match probe.proof {
            Proof::Token | Proof::Word => {
                Verdict::Broken(format!("claims `{}` without the secret", claim.trim()))
            }
            _ => Verdict::Confined(format!("nothing of it on the host (inside: {})", claim.trim())),
        };
    }
    if let Some(reason) = ended.line("broken:") {
        return Verdict::Broken(reason.trim().to_owned());
    }
    match (ends, ended.code) {
        (_, Some(159)) => Verdict::Confined("killed by the system call filter".to_owned()),
        (Ends::Killed, Some(124)) => Verdict::Confined("the deadline passed".to_owned()),
        (Ends::Killed, Some(code)) if code > 128 => {
            Verdict::Confined(format!("killed by signal {}", code - 128))
        }
        (Ends::Refused, Some(3)) => Verdict::Confined(format!("refused: {}", ended.stderr.trim())),
        _ => Verdict::Broken(format!("{ended:?}")),
    }
}

fn holds(bytes: &[u8], word: &str) -> bool {
    bytes.windows(word.len()).any(|window| window == word.as_bytes())
}

/// Whether the file grew between two looks.
pub(crate) fn length(path: &Path) -> u64 {
    fs::metadata(path).map_or(0, |metadata| metadata.len())
}

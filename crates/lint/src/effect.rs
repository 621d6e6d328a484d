//! What code can do to the world, as the two engines and the report name it.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// One way in which code touches something outside itself, or hides whether it does.
///
/// The first group says what is touched. The second ([`Effect::is_opaque`]) says that the analysis ends there: such a thing
/// must be declared or waived, and never counts as clean.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
pub enum Effect {
    /// Reads a file, a directory or what is known of either.
    #[serde(rename = "fs.read")]
    FsRead,
    /// Writes, makes, moves or removes a file.
    #[serde(rename = "fs.write")]
    FsWrite,
    /// Opens a connection or sends a datagram.
    #[serde(rename = "net.connect")]
    NetConnect,
    /// Waits for connections or datagrams.
    #[serde(rename = "net.listen")]
    NetListen,
    /// Asks for the address of a name.
    #[serde(rename = "net.dns")]
    NetDns,
    /// Starts a program.
    #[serde(rename = "exec")]
    Exec,
    /// Reads the environment, the working directory or the home folder's name.
    #[serde(rename = "env.read")]
    EnvRead,
    /// Changes the environment or the working directory.
    #[serde(rename = "env.write")]
    EnvWrite,
    /// Asks the system for randomness.
    #[serde(rename = "random")]
    Random,
    /// Reads a clock.
    #[serde(rename = "clock")]
    Clock,
    /// Calls a function of another language that no table knows.
    #[serde(rename = "ffi")]
    Ffi,
    /// Holds assembly.
    #[serde(rename = "asm")]
    Asm,
    /// Loads code while running.
    #[serde(rename = "dlopen")]
    Dlopen,
    /// Makes a system call by its number.
    #[serde(rename = "syscall")]
    Syscall,
    /// Calls something that cannot be known before it runs.
    #[serde(rename = "dyn-unresolved")]
    DynUnresolved,
    /// Was not analysed.
    #[serde(rename = "unanalyzed")]
    Unanalyzed,
    /// Brings compiled code along.
    #[serde(rename = "native-addon")]
    NativeAddon,
    /// Runs a program of its own while it is built.
    #[serde(rename = "build-script")]
    BuildScript,
    /// Runs inside the compiler while its users are built.
    #[serde(rename = "proc-macro")]
    ProcMacro,
    /// Ends the process it runs in.
    #[serde(rename = "exit")]
    Exit,
}

impl Effect {
    /// Every effect, in the order of reports.
    pub const ALL: [Self; 20] = [
        Self::FsRead,
        Self::FsWrite,
        Self::NetConnect,
        Self::NetListen,
        Self::NetDns,
        Self::Exec,
        Self::EnvRead,
        Self::EnvWrite,
        Self::Random,
        Self::Clock,
        Self::Ffi,
        Self::Asm,
        Self::Dlopen,
        Self::Syscall,
        Self::DynUnresolved,
        Self::Unanalyzed,
        Self::NativeAddon,
        Self::BuildScript,
        Self::ProcMacro,
        Self::Exit,
    ];

    /// Says whether the analysis ends here.
    pub const fn is_opaque(self) -> bool {
        matches!(
            self,
            Self::Ffi
                | Self::Asm
                | Self::Dlopen
                | Self::Syscall
                | Self::DynUnresolved
                | Self::Unanalyzed
                | Self::NativeAddon
                | Self::BuildScript
                | Self::ProcMacro
        )
    }

    /// Returns the name that reports, waivers and manifests write.
    pub const fn name(self) -> &'static str {
        match self {
            Self::FsRead => "fs.read",
            Self::FsWrite => "fs.write",
            Self::NetConnect => "net.connect",
            Self::NetListen => "net.listen",
            Self::NetDns => "net.dns",
            Self::Exec => "exec",
            Self::EnvRead => "env.read",
            Self::EnvWrite => "env.write",
            Self::Random => "random",
            Self::Clock => "clock",
            Self::Ffi => "ffi",
            Self::Asm => "asm",
            Self::Dlopen => "dlopen",
            Self::Syscall => "syscall",
            Self::DynUnresolved => "dyn-unresolved",
            Self::Unanalyzed => "unanalyzed",
            Self::NativeAddon => "native-addon",
            Self::BuildScript => "build-script",
            Self::ProcMacro => "proc-macro",
            Self::Exit => "exit",
        }
    }
}

impl fmt::Display for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A name that is no effect.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("`{0}` is not an effect")]
pub struct UnknownEffect(pub String);

impl FromStr for Effect {
    type Err = UnknownEffect;

    fn from_str(text: &str) -> Result<Self, UnknownEffect> {
        Self::ALL.into_iter().find(|effect| effect.name() == text).ok_or_else(|| UnknownEffect(text.into()))
    }
}

/// A set of effects.
#[derive(Clone, Copy, Default, Eq, Hash, PartialEq)]
pub struct EffectSet(u32);

impl EffectSet {
    /// Nothing.
    pub const NONE: Self = Self(0);

    /// Returns the set of one effect.
    pub const fn of(effect: Effect) -> Self {
        Self(1 << effect as u32)
    }

    /// Adds an effect.
    pub const fn insert(&mut self, effect: Effect) {
        self.0 |= Self::of(effect).0;
    }

    /// Says whether an effect is in it.
    pub const fn contains(self, effect: Effect) -> bool {
        self.0 & Self::of(effect).0 != 0
    }

    /// Returns what is in either.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns what is in this one and not in the other.
    #[must_use]
    pub const fn minus(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Says whether nothing is in it.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns the effects in the order of reports.
    pub fn iter(self) -> impl Iterator<Item = Effect> {
        Effect::ALL.into_iter().filter(move |effect| self.contains(*effect))
    }
}

impl FromIterator<Effect> for EffectSet {
    fn from_iter<I: IntoIterator<Item = Effect>>(effects: I) -> Self {
        effects.into_iter().fold(Self::NONE, |set, effect| set.union(Self::of(effect)))
    }
}

impl Extend<Effect> for EffectSet {
    fn extend<I: IntoIterator<Item = Effect>>(&mut self, effects: I) {
        *self = self.union(effects.into_iter().collect());
    }
}

impl fmt::Debug for EffectSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter().map(Effect::name)).finish()
    }
}

impl Serialize for EffectSet {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

impl<'de> Deserialize<'de> for EffectSet {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Vec::<Effect>::deserialize(deserializer)?.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_the_serialised_form_and_parse_back() {
        for effect in Effect::ALL {
            assert_eq!(serde_json::to_value(effect).unwrap(), effect.name());
            assert_eq!(effect.name().parse(), Ok(effect));
        }
        let all: EffectSet = Effect::ALL.into_iter().collect();
        assert_eq!(all.iter().count(), Effect::ALL.len());
        assert!(all.minus(all).is_empty());
    }
}

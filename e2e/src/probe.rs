//! One probe: what it tries, and what would prove that it got out.
//!
//! INVARIANT: an error while a probe *prepares* is [`Stop::Broken`], never [`Stop::Confined`]: a probe that could not
//! be tried has shown nothing.

use std::fmt::Write as _;
use std::io;

use crate::scene::Scene;

/// What a probe leaves behind where it got out.
pub const PAYLOAD: &str = "rf-payload";

/// How the canary's secret begins; the rest is not known to the probe.
pub const TOKEN_PREFIX: &str = "rf-canary-";

/// The evidence of an escape, or why there is none.
pub type Outcome = Result<String, Stop>;

/// Why a probe did not get out.
#[derive(Debug)]
pub enum Stop {
    /// It could not be tried at all.
    Broken(String),
    /// It was tried and refused.
    Confined(String),
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        Self::Confined(error.to_string())
    }
}

/// A step of the preparation: when it fails, the probe was not tried.
pub(crate) fn setup<T>(result: io::Result<T>) -> Result<T, Stop> {
    result.map_err(|error| Stop::Broken(format!("preparation: {error}")))
}

/// The escape did not happen.
pub(crate) fn confined<T>(why: impl Into<String>) -> Result<T, Stop> {
    Err(Stop::Confined(why.into()))
}

/// Who gets out when there is no sandbox.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Needs {
    /// Anyone.
    Nothing,
    /// Anyone, on a kernel that has the feature at all.
    Kernel,
    /// Root only.
    Root,
    /// Root only, on a kernel that has the feature at all.
    RootAndKernel,
}

/// How a confined probe may end.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Ends {
    /// It was killed for trying.
    Killed,
    /// It says so itself.
    Line,
    /// It was never started, because what was asked for cannot be had safely.
    Refused,
}

/// What the test looks for to believe an escape.
#[derive(Clone, Copy, Debug)]
pub enum Proof {
    /// More than this many bytes of output reached the caller.
    Flood(usize),
    /// The file is no longer there.
    Gone(&'static str),
    /// The file holds [`PAYLOAD`].
    Holds(&'static str),
    /// The file appears after everything should have ended.
    Later(&'static str),
    /// The file exists.
    Made(&'static str),
    /// The file still grows after whoever started the probe was killed.
    Outlives(&'static str),
    /// The canary's secret is in the line.
    Token,
    /// The probe's own word: the system call succeeded.
    Word,
}

/// What a probe does.
#[derive(Clone, Copy, Debug)]
pub enum Attempt {
    /// Calls a function.
    Call(fn(&Scene) -> Outcome),
    /// Starts a declared program with arguments that make it do something else.
    Command(Command),
    /// Changes a protected file that exists below the writable grant.
    Edit(&'static str),
    /// Makes a protected file that does not exist yet.
    Plant(&'static str),
}

/// A declared program and hostile arguments.
#[derive(Clone, Copy, Debug)]
pub struct Command {
    /// Its name, searched on the system's path.
    pub program: &'static str,
    /// Its arguments, with `{name}` for values of the scene.
    pub arguments: &'static [&'static str],
    /// What it reads from standard input.
    pub input: &'static str,
    /// Makes what the arguments speak of.
    pub prepare: fn(&Scene) -> Result<(), Stop>,
}

/// One way out of a sandbox.
#[derive(Clone, Copy, Debug)]
pub struct Probe {
    /// `family::what`.
    pub name: &'static str,
    /// What it does.
    pub attempt: Attempt,
    /// Flags of `ringfence run` it needs beyond the usual grant, with `{name}` for values of the scene.
    pub flags: &'static [&'static str],
    /// Who gets out without a sandbox.
    pub needs: Needs,
    /// What proves that it got out.
    pub proof: Proof,
    /// How a sandbox may end it other than by its line.
    pub ends: Ends,
    /// Whether it needs a controlling terminal.
    pub terminal: bool,
}

impl Probe {
    /// A probe that calls a function and must show the canary's secret.
    pub(crate) const fn new(name: &'static str, call: fn(&Scene) -> Outcome) -> Self {
        Self::of(name, Attempt::Call(call), Proof::Token)
    }

    /// A probe that starts a declared program, which must not start `touch`.
    pub(crate) const fn command(
        name: &'static str,
        program: &'static str,
        arguments: &'static [&'static str],
    ) -> Self {
        let command = Command { program, arguments, input: "", prepare: |_| Ok(()) };
        Self::of(name, Attempt::Command(command), Proof::Made("{mark}"))
    }

    /// A probe of a protected name that exists.
    pub(crate) const fn edit(name: &'static str, path: &'static str, proof: &'static str) -> Self {
        Self::of(name, Attempt::Edit(path), Proof::Holds(proof))
    }

    /// A probe of a protected name that does not exist.
    pub(crate) const fn plant(name: &'static str, path: &'static str, proof: &'static str) -> Self {
        Self::of(name, Attempt::Plant(path), Proof::Holds(proof))
    }

    const fn of(name: &'static str, attempt: Attempt, proof: Proof) -> Self {
        Self { name, attempt, flags: &[], needs: Needs::Nothing, proof, ends: Ends::Line, terminal: false }
    }

    pub(crate) const fn flags(self, flags: &'static [&'static str]) -> Self {
        Self { flags, ..self }
    }

    pub(crate) const fn needs(self, needs: Needs) -> Self {
        Self { needs, ..self }
    }

    pub(crate) const fn proof(self, proof: Proof) -> Self {
        Self { proof, ..self }
    }

    /// The probe's word is enough.
    pub(crate) const fn word(self) -> Self {
        self.proof(Proof::Word)
    }

    /// Being killed for it counts as confined.
    pub(crate) const fn or_killed(self) -> Self {
        Self { ends: Ends::Killed, ..self }
    }

    /// Being refused before the start counts as confined.
    pub(crate) const fn or_refused(self) -> Self {
        Self { ends: Ends::Refused, ..self }
    }

    pub(crate) const fn on_terminal(self) -> Self {
        Self { terminal: true, ..self }
    }

    /// What the declared program reads.
    pub(crate) const fn input(self, input: &'static str) -> Self {
        match self.attempt {
            Attempt::Command(command) => {
                Self { attempt: Attempt::Command(Command { input, ..command }), ..self }
            }
            _ => self,
        }
    }

    /// What must be there before the declared program starts.
    pub(crate) const fn prepare(self, prepare: fn(&Scene) -> Result<(), Stop>) -> Self {
        match self.attempt {
            Attempt::Command(command) => {
                Self { attempt: Attempt::Command(Command { prepare, ..command }), ..self }
            }
            _ => self,
        }
    }

    /// The part of the name before `::`.
    pub fn family(&self) -> &'static str {
        self.name.split("::").next().unwrap_or(self.name)
    }

    /// Tries it.
    pub fn run(&self, scene: &Scene) -> Outcome {
        match self.attempt {
            Attempt::Call(call) => call(scene),
            Attempt::Command(command) => crate::family::inject::run(&command, self.proof, scene),
            Attempt::Edit(path) => crate::family::protect::edit(scene, path),
            Attempt::Plant(path) => crate::family::protect::plant(scene, path),
        }
    }
}

/// Finds the canary's secret in what was read.
pub(crate) fn token_in(bytes: &[u8]) -> Outcome {
    let prefix = TOKEN_PREFIX.as_bytes();
    let Some(start) = bytes.windows(prefix.len()).position(|window| window == prefix) else {
        return confined(format!("no canary in {} bytes", bytes.len()));
    };
    let mut token = String::new();
    let tail = bytes.iter().skip(start).take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'-');
    for byte in tail {
        let _written = write!(token, "{}", char::from(*byte));
    }
    Ok(token)
}

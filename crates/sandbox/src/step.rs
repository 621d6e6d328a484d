//! The steps of a launch, so that an error can name the one that failed.

use serde::Serialize;

/// What a step was for. An error names it.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[repr(u32)]
pub enum Step {
    /// Clone into new namespaces.
    Clone = 1,
    /// Arrange to die with the parent.
    ParentDeath,
    /// Receive the instructions.
    Control,
    /// Map user and group ids.
    IdMap,
    /// Make mounts private.
    PrivateMounts,
    /// Build the root.
    Root,
    /// Bind a path.
    Bind,
    /// A path is not what it was when the parent looked.
    Changed,
    /// Make device nodes.
    Devices,
    /// Mount `/proc`.
    Proc,
    /// Leave the old root.
    Pivot,
    /// Raise the loopback interface.
    Loopback,
    /// Make the sockets of the gate.
    Gate,
    /// Join the control groups.
    Cgroup,
    /// Start a session.
    Session,
    /// Set a limit.
    Limit,
    /// Enter the working directory.
    WorkingDirectory,
    /// Reset signals.
    Signals,
    /// Close descriptors.
    Descriptors,
    /// Drop capabilities.
    Capabilities,
    /// Give up new privileges.
    NoNewPrivileges,
    /// Restrict by Landlock.
    Landlock,
    /// Restrict by seccomp.
    Seccomp,
    /// Execute the program.
    Exec,
    /// Start process 1.
    Init,
    /// Write down what the command names.
    Record,
    /// Send the instructions.
    Instruct,
}

impl Step {
    /// All steps, by number.
    const ALL: [Self; 27] = [
        Self::Clone,
        Self::ParentDeath,
        Self::Control,
        Self::IdMap,
        Self::PrivateMounts,
        Self::Root,
        Self::Bind,
        Self::Changed,
        Self::Devices,
        Self::Proc,
        Self::Pivot,
        Self::Loopback,
        Self::Gate,
        Self::Cgroup,
        Self::Session,
        Self::Limit,
        Self::WorkingDirectory,
        Self::Signals,
        Self::Descriptors,
        Self::Capabilities,
        Self::NoNewPrivileges,
        Self::Landlock,
        Self::Seccomp,
        Self::Exec,
        Self::Init,
        Self::Record,
        Self::Instruct,
    ];

    pub(crate) fn from_number(number: u32) -> Option<Self> {
        Self::ALL.into_iter().find(|step| *step as u32 == number)
    }
}

impl std::fmt::Display for Step {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Clone => "cloning into new namespaces",
            Self::ParentDeath => "setting the parent-death signal",
            Self::Control => "receiving the instructions",
            Self::IdMap => "mapping user ids",
            Self::PrivateMounts => "making mounts private",
            Self::Root => "building the root",
            Self::Bind => "binding",
            Self::Changed => "comparing with what was granted",
            Self::Devices => "making device nodes",
            Self::Proc => "mounting /proc",
            Self::Pivot => "leaving the old root",
            Self::Loopback => "raising the loopback interface",
            Self::Gate => "making the sockets of the egress gate",
            Self::Cgroup => "joining the control group",
            Self::Session => "starting a session",
            Self::Limit => "setting a limit",
            Self::WorkingDirectory => "entering the working directory",
            Self::Signals => "resetting signals",
            Self::Descriptors => "closing descriptors",
            Self::Capabilities => "dropping capabilities",
            Self::NoNewPrivileges => "giving up new privileges",
            Self::Landlock => "restricting by Landlock",
            Self::Seccomp => "restricting by seccomp",
            Self::Exec => "executing the program",
            Self::Init => "starting process 1",
            Self::Record => "recording what the command names",
            Self::Instruct => "sending the instructions",
        })
    }
}

//! As whom the cells run: root, or an ordinary user.

use std::process::Command;

use crate::matrix::sys;

/// The user that root's tests become; made when it is missing.
const NAME: &str = "rf-e2e";

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum User {
    Ordinary,
    Root,
}

impl User {
    /// The numbers of the user, or `None` when the tests cannot run as that one.
    pub(crate) fn ids(self) -> Option<(u32, u32)> {
        match (self, sys::uid()) {
            (Self::Root, 0) => Some((0, 0)),
            (Self::Root, _) => None,
            (Self::Ordinary, 0) => Some(ordinary()),
            (Self::Ordinary, uid) => Some((uid, number("id", &["-g"]).unwrap())),
        }
    }

    /// A command that runs as this user.
    pub(crate) fn command(self, program: &str) -> Command {
        if self == Self::Root || sys::uid() != 0 {
            return Command::new(program);
        }
        let (uid, gid) = ordinary();
        let mut command = Command::new("setpriv");
        command.arg(format!("--reuid={uid}")).arg(format!("--regid={gid}")).args([
            "--clear-groups",
            "--",
            program,
        ]);
        command
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Ordinary => "user",
            Self::Root => "root",
        }
    }
}

fn ordinary() -> (u32, u32) {
    if number("id", &["-u", NAME]).is_none() {
        let made =
            Command::new("useradd").args(["--create-home", "--shell", "/bin/sh", NAME]).output().unwrap();
        // Another test may have been faster.
        assert!(made.status.success() || number("id", &["-u", NAME]).is_some(), "{made:?}");
    }
    (number("id", &["-u", NAME]).unwrap(), number("id", &["-g", NAME]).unwrap())
}

fn number(program: &str, arguments: &[&str]) -> Option<u32> {
    let output = Command::new(program).args(arguments).output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim().parse().ok()
}

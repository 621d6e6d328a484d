//! What this machine can enforce, by trying, with the fix for what is missing.

use std::path::Path;

use ringfence_policy::{HostPattern, HostSet, HostShape, NetworkCeiling, NetworkGrant, Private};
use serde::Serialize;

use crate::backend::{Bwrap, Firejail, Native};
use crate::host::SearchPath;
use crate::linux::cgroup::Cgroups;
use crate::linux::kernel;
use crate::plan::DEVICES;
use crate::probe::by_program;
use crate::sandbox::Sandbox;
use crate::select::{Choice, Selector};
use crate::spec::{Spec, default_limits};
use crate::stream::Streams;

/// One thing that was looked at.
#[derive(Clone, Debug, Serialize)]
pub struct Finding {
    /// What.
    pub subject: &'static str,
    /// How it is.
    pub state: State,
    /// What was seen.
    pub detail: String,
    /// What would make it better.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
}

/// How something is.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// It works.
    Works,
    /// It works in part.
    Partly,
    /// It does not work or is not there.
    Missing,
}

impl State {
    /// Returns the word for a table.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Missing => "missing",
            Self::Partly => "partly",
            Self::Works => "works",
        }
    }
}

/// Looks at everything. Each backend is tried anew.
pub fn examine(selector: &Selector) -> Vec<Finding> {
    vec![
        backend(selector, Choice::Native, "native sandbox", namespace_fix),
        backend(selector, Choice::Bwrap, "bwrap sandbox", || {
            absent(Bwrap::PROGRAM, "install bubblewrap, not set-uid")
        }),
        backend(selector, Choice::Firejail, "firejail sandbox", || {
            absent(Firejail::PROGRAM, "install firejail; it is used where neither of the others works")
        }),
        automatic(selector),
        egress_gate(selector),
        landlock(),
        seccomp(),
        control_groups(),
    ]
}

/// Says to install a program that is not there. Why one that is there does not work is said already.
fn absent(program: &str, fix: &str) -> Option<String> {
    (!std::path::Path::new(program).exists()).then(|| fix.to_owned())
}

fn backend(
    selector: &Selector,
    choice: Choice,
    subject: &'static str,
    fix: impl Fn() -> Option<String>,
) -> Finding {
    match selector.try_again(choice) {
        Ok(sandbox) => Finding {
            subject,
            state: State::Works,
            detail: format!(
                "tier `{}`: reading, writing and starting what was not granted was tried and failed",
                sandbox.backend().tier()
            ),
            fix: None,
        },
        Err(error) => Finding { subject, state: State::Missing, detail: error.to_string(), fix: fix() },
    }
}

/// Says which backend is used where none is asked for, and whether that is a weaker one.
fn automatic(selector: &Selector) -> Finding {
    let subject = "automatic choice";
    match selector.select(Choice::Auto) {
        Ok(sandbox) => {
            let (name, tier) = (sandbox.backend().name(), sandbox.backend().tier());
            let detail = format!("{name}, tier `{tier}`");
            match sandbox.fallback() {
                None => Finding { subject, state: State::Works, detail, fix: None },
                Some(_) => Finding {
                    subject,
                    state: State::Partly,
                    detail: format!("{detail}: names of files outside can be seen"),
                    fix: Some("make the native or the bwrap sandbox work".to_owned()),
                },
            }
        }
        Err(_) => Finding { subject, state: State::Missing, detail: "no backend works".into(), fix: None },
    }
}

/// What a root lacks, and the rules by which distributions keep user namespaces from ordinary users.
fn namespace_fix() -> Option<String> {
    if !Path::new("/proc/self").exists() {
        return Some("mount a proc file system on /proc".into());
    }
    if let Some(device) = DEVICES.iter().find(|device| !Path::new(device).exists()) {
        return Some(format!("`{device}` is missing: a sandbox needs {}", DEVICES.join(", ")));
    }
    let setting = |path: &str| std::fs::read_to_string(path).ok().map(|text| text.trim().to_owned());
    #[rustfmt::skip]
    let rules = [
        ("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1",
         "AppArmor keeps user namespaces from programs without a profile: give `ringfence` a profile with `userns,`, or set kernel.apparmor_restrict_unprivileged_userns=0"),
        ("/proc/sys/kernel/unprivileged_userns_clone", "0",
         "user namespaces are off for ordinary users: set kernel.unprivileged_userns_clone=1"),
        ("/proc/sys/user/max_user_namespaces", "0",
         "no user namespaces may be made: set user.max_user_namespaces to a larger number"),
        ("/proc/sys/user/max_net_namespaces", "0",
         "no network namespaces may be made: set user.max_net_namespaces to a larger number"),
    ];
    let found = rules.iter().find(|(path, bad, _)| setting(path).as_deref() == Some(bad));
    found.map(|(.., fix)| (*fix).to_owned()).or_else(|| {
        Some("a chroot gets no namespaces, and a container may hide /proc or refuse them: run outside it, or give the container `--security-opt` for them".into())
    })
}

/// Makes the sockets of a gate in a sandbox of its own. Only the native backend has them.
fn egress_gate(selector: &Selector) -> Finding {
    let name = "example.com".parse().map(|name| HostPattern::new(HostShape::Name(name), None));
    let hosts: HostSet = name.into_iter().collect();
    let grant = NetworkGrant::meet(&hosts, &NetworkCeiling::new(hosts.clone(), Private::default()));
    let spec = match SearchPath::default().find("true") {
        Some(program) => Spec::new(program),
        // Which program it is does not matter: ours finds nothing here that it could do.
        None => by_program(selector.inner(), Path::new("/"), Path::new("/")),
    };
    let spec = spec.network(&grant);
    match Sandbox::new(Native::new()).run(&spec, Streams::default().gate(|_| Ok(()))) {
        Ok(_) => Finding {
            subject: "egress gate",
            state: State::Works,
            detail: "its sockets can be made; commands reach granted hosts with the native sandbox".into(),
            fix: None,
        },
        Err(error) => Finding {
            subject: "egress gate",
            state: State::Missing,
            detail: format!("commands with hosts are refused: {error}"),
            fix: namespace_fix(),
        },
    }
}

fn landlock() -> Finding {
    let version = kernel::landlock_version();
    let (state, fix) = match version {
        0 => {
            (State::Missing, Some("a kernel of 5.13 or later with `landlock` in the `lsm=` list".to_owned()))
        }
        1..6 => (
            State::Partly,
            Some("a kernel of 6.12 or later also confines signals and abstract sockets by it".to_owned()),
        ),
        _ => (State::Works, None),
    };
    Finding { subject: "Landlock", state, detail: format!("version {version}"), fix }
}

fn seccomp() -> Finding {
    const ACTIONS: &str = "/proc/sys/kernel/seccomp/actions_avail";
    let actions = match std::fs::read_to_string(ACTIONS) {
        Ok(actions) => actions,
        Err(error) => {
            let detail = format!("unknown: cannot read `{ACTIONS}`: {error}");
            let fix = "mount a proc file system on /proc, on a kernel built with CONFIG_SECCOMP_FILTER";
            return Finding { subject: "seccomp", state: State::Missing, detail, fix: Some(fix.into()) };
        }
    };
    let works =
        ["errno", "kill_process"].iter().all(|wanted| actions.split_whitespace().any(|one| one == *wanted));
    Finding {
        subject: "seccomp",
        state: if works { State::Works } else { State::Missing },
        detail: if works { "filters with errno and kill".into() } else { "no filters".into() },
        fix: (!works).then(|| "a kernel built with CONFIG_SECCOMP_FILTER".into()),
    }
}

fn control_groups() -> Finding {
    let user = rustix::process::geteuid().as_raw();
    match Cgroups::for_user(user, &default_limits()) {
        Some(groups) => Finding {
            subject: "control groups",
            state: State::Works,
            detail: format!("memory and processes of a whole tree are limited by {:?}", groups.enforcer()),
            fix: None,
        },
        None => Finding {
            subject: "control groups",
            state: State::Partly,
            detail: "memory is limited for each process and sampled for the tree, processes by the namespace".into(),
            fix: Some(
                "delegate a group: run in `systemd-run --user --scope -p Delegate=yes`, or in a service with Delegate=yes"
                    .into(),
            ),
        },
    }
}

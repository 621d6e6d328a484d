//! The container that a plan asks for, as the engine's API writes it.
//!
//! Pure. Everything a container can be given and is not named here is left at nothing.
//!
//! INVARIANT: values of the environment are in `Env` and nowhere else: not in the command, a label or a name.

use std::collections::BTreeMap;
use std::ffi::OsStr;

use ringfence_sandbox::{Plan, Resource};
use serde::Serialize;

use crate::error::ContainerError;
use crate::mount::Mounts;
use crate::nature::{Make, Nature, Users};
use crate::owner::Owner;

/// The label that says who made a container.
pub(crate) const OWNER_LABEL: &str = "ringfence.owner";
const CALL_LABEL: &str = "ringfence.call";
/// Who a command is inside: nobody whose files an image holds.
const USER: u32 = 1000;
/// What a user may have where the plan says nothing: an engine that is not allowed to raise its own limits must be told.
const PROCESSES: u64 = 4096;
const OPEN_FILES: u64 = 1024;
/// How many user ids a container gets. An engine that is not told looks into the image for it, and Podman 4.3 can lock itself up
/// for good while it does (its issue 16062).
const IDS: u32 = 65536;

/// What is decided outside the plan.
#[derive(Debug)]
pub(crate) struct Around<'a> {
    pub(crate) nature: &'a Nature,
    /// The engine's own name of the image.
    pub(crate) image: &'a str,
    /// The profile, or the path of it.
    pub(crate) seccomp: &'a str,
    /// `none`, or a namespace to join.
    pub(crate) network: &'a str,
    pub(crate) owner: &'a Owner,
    pub(crate) call: u64,
    /// The user and group whose files are granted.
    pub(crate) user: (u32, u32),
    pub(crate) reads_input: bool,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Body {
    image: String,
    entrypoint: Vec<String>,
    cmd: Vec<String>,
    env: Vec<String>,
    working_dir: String,
    hostname: &'static str,
    user: String,
    labels: BTreeMap<&'static str, String>,
    healthcheck: Healthcheck,
    attach_stdin: bool,
    attach_stdout: bool,
    attach_stderr: bool,
    open_stdin: bool,
    stdin_once: bool,
    tty: bool,
    network_disabled: bool,
    host_config: HostConfig,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
struct Healthcheck {
    test: [&'static str; 1],
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
struct HostConfig {
    readonly_rootfs: bool,
    privileged: bool,
    auto_remove: bool,
    init: bool,
    cap_drop: [&'static str; 1],
    security_opt: Vec<String>,
    userns_mode: String,
    network_mode: String,
    dns: Vec<&'static str>,
    dns_options: Vec<&'static str>,
    ipc_mode: &'static str,
    cgroupns_mode: &'static str,
    binds: Vec<String>,
    tmpfs: BTreeMap<String, String>,
    ulimits: Vec<Ulimit>,
    log_config: LogConfig,
    #[serde(skip_serializing_if = "Option::is_none")]
    memory: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    memory_swap: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pids_limit: Option<u32>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
struct LogConfig {
    r#type: &'static str,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
struct Ulimit {
    name: &'static str,
    soft: u64,
    hard: u64,
}

impl Body {
    /// Makes the container of a plan.
    pub(crate) fn of(plan: &Plan, around: &Around<'_>) -> Result<Self, ContainerError> {
        let mounts = Mounts::of(plan, around.nature.make)?;
        let program = text(plan.program.as_os_str(), "the program")?;
        let mut arguments = plan.arguments.iter();
        if arguments.next().is_some_and(|name| name != plan.program.as_os_str()) {
            let what = "a name to call the program by: in a container it is called by its own".to_owned();
            return Err(ContainerError::Untold { what });
        }
        let env = plan.environment.iter().map(|(name, value)| {
            Ok(format!("{}={}", text(name, "a variable")?, text(value, "a variable's value")?))
        });
        let memory = plan.limits.memory.map(ringfence_policy::Size::bytes);
        Ok(Self {
            image: around.image.to_owned(),
            entrypoint: vec![program],
            cmd: arguments.map(|one| text(one, "an argument")).collect::<Result<_, _>>()?,
            env: env.collect::<Result<_, ContainerError>>()?,
            working_dir: text(plan.directory.as_os_str(), "the working directory")?,
            hostname: "ringfence",
            user: format!("{USER}:{USER}"),
            labels: BTreeMap::from([
                (OWNER_LABEL, around.owner.to_string()),
                (CALL_LABEL, around.call.to_string()),
            ]),
            // What an image wants run beside the command is not run.
            healthcheck: Healthcheck { test: ["NONE"] },
            attach_stdin: around.reads_input,
            attach_stdout: true,
            attach_stderr: true,
            open_stdin: around.reads_input,
            stdin_once: around.reads_input,
            tty: false,
            network_disabled: false,
            host_config: HostConfig {
                readonly_rootfs: true,
                privileged: false,
                auto_remove: false,
                init: false,
                cap_drop: ["ALL"],
                security_opt: vec!["no-new-privileges".into(), format!("seccomp={}", around.seccomp)],
                userns_mode: users(around.nature, around.user),
                network_mode: around.network.to_owned(),
                dns: if mounts.asks_gate { vec!["127.0.0.1"] } else { Vec::new() },
                dns_options: if mounts.asks_gate { vec!["timeout:2", "attempts:2"] } else { Vec::new() },
                ipc_mode: "private",
                cgroupns_mode: "private",
                binds: mounts.binds,
                tmpfs: mounts.memory,
                ulimits: ulimits(plan),
                // An engine that kept the output would fill its disk with it.
                log_config: LogConfig { r#type: "none" },
                memory,
                memory_swap: memory,
                pids_limit: plan.limits.processes,
            },
        })
    }
}

/// Whose files the granted ones are, seen from inside: the command's own.
fn users(nature: &Nature, (user, group): (u32, u32)) -> String {
    match (nature.make, nature.users) {
        (Make::Podman, Users::Own) => {
            format!("auto:size={IDS},uidmapping={USER}:{user}:1,gidmapping={USER}:{group}:1")
        }
        (Make::Podman, Users::Ordinary) => format!("keep-id:uid={USER},gid={USER}"),
        // The engine's own map, which nobody can choose for one container.
        (Make::Docker, _) | (Make::Podman, Users::Shared | Users::TheMachines) => String::new(),
    }
}

fn ulimits(plan: &Plan) -> Vec<Ulimit> {
    let limit = |name, value| Ulimit { name, soft: value, hard: value };
    let mut all: Vec<Ulimit> = plan
        .process_limits
        .iter()
        .map(|one| {
            let name = match one.resource {
                Resource::Core => "core",
                Resource::Cpu => "cpu",
                Resource::Data => "data",
                Resource::FileSize => "fsize",
                Resource::MessageQueue => "msgqueue",
                Resource::OpenFiles => "nofile",
                Resource::Processes => "nproc",
            };
            limit(name, one.value)
        })
        .collect();
    for (name, value) in [("nofile", OPEN_FILES), ("nproc", PROCESSES)] {
        if !all.iter().any(|one| one.name == name) {
            all.push(limit(name, value));
        }
    }
    all
}

fn text(part: &OsStr, place: &'static str) -> Result<String, ContainerError> {
    match part.to_str() {
        Some(text) if !text.contains('\0') => Ok(text.to_owned()),
        _ => Err(ContainerError::Untold { what: format!("{place} that is no text") }),
    }
}

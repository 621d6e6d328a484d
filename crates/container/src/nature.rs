//! What an engine is, and which parts of a plan it enforces because of that.
//!
//! Nothing here is tried: it is read from what the engine says of itself, and so is a claim.

use std::collections::BTreeSet;
use std::time::Duration;

use hyper::Method;
use ringfence_sandbox::{Architecture, Enforcer, Entry, LimitName, Network, Part, Plan};
use serde::Deserialize;

use crate::client::{Client, Question};
use crate::engine::UNSUPPORTED;
use crate::error::ContainerError;

/// What an engine is.
#[derive(Clone, Debug)]
pub(crate) struct Nature {
    /// The version of the API that it speaks.
    pub(crate) api: String,
    pub(crate) make: Make,
    pub(crate) users: Users,
    /// For which processor it filters system calls; nothing where it does not.
    pub(crate) seccomp: Option<Architecture>,
    /// What its control groups limit.
    pub(crate) limits: BTreeSet<LimitName>,
    pub(crate) groups: Enforcer,
    pub(crate) processors: u32,
    /// Whether it has this machine's files and processes.
    pub(crate) is_here: bool,
}

/// Who made an engine.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Make {
    /// Docker, and whatever is not known to be Podman.
    Docker,
    /// Podman.
    Podman,
}

/// Whose ids a container's are.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Users {
    /// The whole engine runs in the user namespace of an ordinary user.
    Ordinary,
    /// Each container gets a user namespace.
    Own,
    /// All containers share a user namespace.
    Shared,
    /// The machine's: there is no user namespace.
    TheMachines,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Version {
    api_version: String,
    #[serde(default)]
    components: Vec<Component>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Component {
    name: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Info {
    #[serde(default)]
    security_options: Option<Vec<String>>,
    #[serde(default)]
    rootless: bool,
    #[serde(default)]
    memory_limit: bool,
    #[serde(default)]
    swap_limit: bool,
    #[serde(default)]
    pids_limit: bool,
    #[serde(default)]
    cgroup_version: String,
    #[serde(default)]
    architecture: String,
    #[serde(default, rename = "NCPU")]
    processors: u32,
}

impl Nature {
    /// Asks an engine what it is.
    pub(crate) async fn of(client: &Client) -> Result<Self, ContainerError> {
        let ask = |place, path: String| Question {
            place,
            method: Method::GET,
            path,
            body: None,
            within: Duration::from_secs(10),
        };
        let version: Version = client.ask(ask("asking for its version", "/version".into())).await?;
        let api = version.api_version;
        if api.is_empty() || !api.chars().all(|one| one.is_ascii_digit() || one == '.') {
            let why = "the version of its API is no number".to_owned();
            return Err(ContainerError::Garbled { place: "asking for its version", why });
        }
        let info: Info = client.ask(ask("asking what it can do", format!("/v{api}/info"))).await?;
        let is_podman = version.components.iter().any(|component| component.name.contains("Podman"));
        Ok(Self::read(
            api,
            if is_podman { Make::Podman } else { Make::Docker },
            &info,
            client.address().is_here(),
        ))
    }

    fn read(api: String, make: Make, info: &Info, is_here: bool) -> Self {
        let options = info.security_options.as_deref().unwrap_or_default();
        let has = |name: &str| {
            options
                .iter()
                .any(|option| option.split(',').any(|part| part.strip_prefix("name=") == Some(name)))
        };
        let users = if info.rootless || has("rootless") {
            Users::Ordinary
        } else if make == Make::Podman {
            Users::Own
        } else if has("userns") {
            Users::Shared
        } else {
            Users::TheMachines
        };
        let architecture = match info.architecture.as_str() {
            "aarch64" | "arm64" => Some(Architecture::Aarch64),
            "amd64" | "x86_64" => Some(Architecture::X86_64),
            _ => None,
        };
        let mut limits = BTreeSet::new();
        // Without a limit of swap, what does not fit into memory goes there.
        limits.extend((info.memory_limit && info.swap_limit).then_some(LimitName::Memory));
        limits.extend(info.pids_limit.then_some(LimitName::Processes));
        Self {
            api,
            make,
            users,
            seccomp: architecture.filter(|_| has("seccomp")),
            limits,
            groups: if info.cgroup_version == "2" { Enforcer::CgroupV2 } else { Enforcer::CgroupV1 },
            processors: info.processors.max(1),
            is_here,
        }
    }

    /// Returns the parts of a plan that such an engine enforces.
    pub(crate) fn enforces(&self, plan: &Plan) -> BTreeSet<Part> {
        let mut parts = plan.parts();
        parts.retain(|part| !UNSUPPORTED.contains(part) && self.does(*part, plan));
        parts
    }

    fn does(&self, part: Part, plan: &Plan) -> bool {
        let is_podman = self.make == Make::Podman;
        let binds = || plan.root.iter().filter(|entry| matches!(entry, Entry::Bind { .. }));
        // Docker has no `noexec` for a path of the machine.
        let is_bare = |entry: &Entry| matches!(entry, Entry::Bind { access, .. } if !access.execute);
        match part {
            // An engine mounts what has a name at that moment. Only where its containers can be looked into before they begin is it known
            // what that was.
            Part::Files => binds().next().is_none() || self.can_be_looked_into(),
            // The gate's network namespace belongs to this machine's root, or to a user namespace that another cannot enter.
            Part::Hosts => is_podman && self.is_here && self.users == Users::Own,
            Part::Image => is_podman || !binds().any(is_bare),
            Part::Limit(limit @ (LimitName::Memory | LimitName::Processes)) => self.limits.contains(&limit),
            Part::Limit(_) => true,
            // A command with hosts has no other way out than them.
            Part::Network => matches!(plan.network, Network::Loopback) || self.does(Part::Hosts, plan),
            Part::Privileges => self.users != Users::TheMachines,
            // Podman reads the profile from a path of ours; Docker takes it as it is.
            Part::SystemCalls => self.seccomp.is_some() && (self.is_here || !is_podman),
            Part::Written => is_podman,
            _ => false,
        }
    }

    /// Podman mounts before it starts, and root may look at the mounts of every process of this machine.
    fn can_be_looked_into(&self) -> bool {
        let (is_podman, is_root) = (self.make == Make::Podman, rustix::process::geteuid().is_root());
        is_podman && is_root && self.is_here && self.users == Users::Own
    }
}

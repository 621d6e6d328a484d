//! The grant: what a tool declared and its personality permits, and nothing else.
//!
//! Every enforcer consumes a grant and nothing else decides. It is pure data, computed once per call.
//!
//! INVARIANT: a grant admits nothing that its declaration or its personality does not admit.

use crate::{
    BinarySet, Capabilities, Code, FsGrant, FsReach, HostPattern, HostShape, Network, NetworkGrant,
    PathReach, Personality, Process, Refusal, SecretSet, Storage, VariableSet,
};

/// What one call may reach. A surface that is `None` was not declared.
#[derive(Clone, Debug, Default)]
pub struct Grant {
    /// Hosts.
    pub network: Option<NetworkGrant>,
    /// Secrets.
    pub secrets: Option<SecretSet>,
    /// Storage.
    pub storage: Option<Storage>,
    /// Paths.
    pub fs: Option<FsGrant>,
    /// Binaries.
    pub process: Option<BinarySet>,
    /// Environment variables.
    pub environment: Option<VariableSet>,
}

impl Grant {
    /// Returns what a tool that declares everything would get: the personality itself.
    ///
    /// # Errors
    ///
    /// As [`resolve_capabilities`].
    pub fn ceiling(personality: &Personality) -> Result<Self, Refusal> {
        let everything = Capabilities {
            network: Some(Network {
                allowed_hosts: std::iter::once(HostPattern::new(HostShape::Everything, None)).collect(),
            }),
            secrets: Some(personality.secrets.clone().unwrap_or_default()),
            storage: None,
            fs_reach: Some(FsReach {
                read: Some(PathReach::FromPersonality),
                write: Some(PathReach::FromPersonality),
                ..FsReach::default()
            }),
            process: Some(Process { allowed_binaries: personality.process.clone().unwrap_or_default() }),
            environment: Some(personality.environment.clone().unwrap_or_default()),
        };
        resolve_capabilities(&everything, personality)
    }
}

/// Computes the grant: for each declared surface the meet of what the tool asks and the personality permits.
///
/// # Errors
///
/// A declaration no grant can express, such as a jail without exactly one root.
///
/// # Examples
///
/// ```
/// use ringfence_policy::{Capabilities, Personality, Reach, resolve_capabilities};
///
/// let tool: Capabilities = serde_json::from_str(
///     r#"{"network": {"allowedHosts": ["api.github.com", "api.stripe.com"]}}"#,
/// )?;
/// let role: Personality = serde_json::from_str(r#"{"network": {"allow": ["*.github.com"]}}"#)?;
/// let grant = resolve_capabilities(&tool, &role)?;
///
/// assert!(grant.judge(&Reach::Url("https://api.github.com/".into())).is_ok());
/// let refusal = grant.judge(&Reach::Url("https://api.stripe.com/".into())).unwrap_err();
/// assert_eq!(refusal.to_string(), "HOST_NOT_ALLOWED: api.stripe.com is not in the declared allowedHosts");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn resolve_capabilities(declared: &Capabilities, personality: &Personality) -> Result<Grant, Refusal> {
    let network =
        declared.network.as_ref().map(|own| NetworkGrant::meet(&own.allowed_hosts, &personality.network));
    let fs = match &declared.fs_reach {
        Some(own) => Some(
            FsGrant::meet(own, &personality.fs_reach)
                .map_err(|error| Refusal::new(Code::PathNotReachable, error.to_string()))?,
        ),
        None => None,
    };
    let secrets = declared.secrets.as_ref().map(|own| match &personality.secrets {
        Some(ceiling) => own.meet(ceiling),
        None => own.clone(),
    });
    let process = declared.process.as_ref().map(|own| match &personality.process {
        Some(ceiling) => own.allowed_binaries.meet(ceiling),
        None => own.allowed_binaries.without_any(),
    });
    let environment = declared.environment.as_ref().map(|own| match &personality.environment {
        Some(ceiling) => own.meet(ceiling),
        None => own.clone(),
    });
    Ok(Grant { network, secrets, storage: declared.storage, fs, process, environment })
}

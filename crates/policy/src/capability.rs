//! What a tool declares it touches, in the shape its author writes it.
//!
//! A surface that is absent is not touched; `{}` touches nothing. The spellings are those of the source documents
//! (`allowedHosts`, `ttlSecondsDefault`) and their snake_case twins; any other key is an error.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{
    BinarySet, FsReach, HostSet, PathError, PathReach, SafetyClass, SecretSet, VariableSet, Variables,
};

/// The surfaces a tool touches.
///
/// # Examples
///
/// ```
/// use ringfence_policy::Capabilities;
///
/// let weather: Capabilities = serde_json::from_str(
///     r#"{"network": {"allowedHosts": ["api.weather.gov"]}, "secrets": ["WEATHER_API_KEY"]}"#,
/// )?;
/// assert!(weather.needs_backends());
///
/// let typo = serde_json::from_str::<Capabilities>(r#"{"netwrok": {}}"#).unwrap_err();
/// assert!(typo.to_string().starts_with("unknown field `netwrok`"));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Capabilities {
    /// Hosts it talks to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network: Option<Network>,
    /// Secrets it reads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secrets: Option<SecretSet>,
    /// Key-value storage it keeps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub storage: Option<Storage>,
    /// Paths it reads and writes.
    #[serde(alias = "fsReach", skip_serializing_if = "Option::is_none")]
    pub fs_reach: Option<FsReach>,
    /// Binaries it starts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub process: Option<Process>,
    /// Environment variables it reads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub environment: Option<VariableSet>,
}

impl Capabilities {
    /// Says whether any surface is declared, so that backends must be there before the tool runs.
    pub fn needs_backends(&self) -> bool {
        self.surfaces().next().is_some()
    }

    /// Goes through the declared surfaces.
    pub fn surfaces(&self) -> impl Iterator<Item = Surface> {
        let declared = [
            (self.network.is_some(), Surface::Network),
            (self.secrets.is_some(), Surface::Secrets),
            (self.storage.is_some(), Surface::Storage),
            (self.fs_reach.is_some(), Surface::FsReach),
            (self.process.is_some(), Surface::Process),
            (self.environment.is_some(), Surface::Environment),
        ];
        declared.into_iter().filter_map(|(is_declared, surface)| is_declared.then_some(surface))
    }

    /// Returns the least class these capabilities permit a tool to claim.
    ///
    /// Writing paths and keeping storage imply `write`, hosts imply `network`; a confined process alone raises nothing.
    pub fn implied_class(&self) -> SafetyClass {
        self.implied_classes().max().unwrap_or(SafetyClass::Read)
    }

    /// Goes through every class that some surface implies. A tool that talks and writes is held to the routes of both.
    pub fn implied_classes(&self) -> impl Iterator<Item = SafetyClass> {
        let talks = self.network.as_ref().is_some_and(|network| !network.allowed_hosts.is_empty());
        let write = self.fs_reach.as_ref().and_then(|reach| reach.write.as_ref());
        let writes_files = write.is_some_and(|write| match write {
            PathReach::FromPersonality => true,
            PathReach::Listed(paths) => !paths.is_empty(),
        });
        // Storage has no read-only form: whoever has it can write it.
        let writes = writes_files || self.storage.is_some();
        let implied = [(talks, SafetyClass::Network), (writes, SafetyClass::Write)];
        implied.into_iter().filter_map(|(is_implied, class)| is_implied.then_some(class))
    }

    /// Replaces the variables in declared paths.
    ///
    /// # Errors
    ///
    /// A variable that has no value.
    pub fn expand(&self, variables: &Variables) -> Result<Self, PathError> {
        let fs_reach = self.fs_reach.as_ref().map(|reach| reach.expand(variables)).transpose()?;
        Ok(Self { fs_reach, ..self.clone() })
    }
}

/// A surface a tool can touch.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Surface {
    /// Environment variables.
    Environment,
    /// Files.
    FsReach,
    /// Hosts.
    Network,
    /// Processes.
    Process,
    /// Secrets.
    Secrets,
    /// Key-value storage.
    Storage,
}

impl Surface {
    /// Returns the surface as it is written in a declaration.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Environment => "environment",
            Self::FsReach => "fs_reach",
            Self::Network => "network",
            Self::Process => "process",
            Self::Secrets => "secrets",
            Self::Storage => "storage",
        }
    }
}

impl fmt::Display for Surface {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Hosts a tool talks to.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Network {
    /// `*` means whatever the personality allows.
    #[serde(rename = "allowedHosts", alias = "allowed_hosts", alias = "allow")]
    pub allowed_hosts: HostSet,
}

/// Binaries a tool starts.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Process {
    /// `*` means whatever the personality allows.
    #[serde(rename = "allowedBinaries", alias = "allowed_binaries", alias = "allow")]
    pub allowed_binaries: BinarySet,
}

/// Key-value storage a tool keeps.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Storage {
    /// Whose namespace it is.
    pub scope: StorageScope,
    /// Always `kv`.
    #[serde(default)]
    pub kind: StorageKind,
    /// How long an entry lives where `set` does not say; absent = for ever.
    #[serde(
        rename = "ttlSecondsDefault",
        alias = "ttl_seconds_default",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub ttl_seconds_default: Option<u64>,
}

/// Who shares a tool's storage.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum StorageScope {
    /// The personality, across sessions; the session when no personality is active.
    Personality,
    /// Every tool of the session, until it ends.
    Session,
    /// This tool alone, across sessions.
    ToolPrivate,
}

impl fmt::Display for StorageScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Personality => "personality",
            Self::Session => "session",
            Self::ToolPrivate => "tool-private",
        })
    }
}

/// What kind of storage it is.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum StorageKind {
    /// Keys and string values.
    #[default]
    Kv,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_shapes_of_the_source_documents() {
        let text = r#"{
            "network": {"allowedHosts": ["api.github.com", "*.github.com", "*"]},
            "secrets": ["WEATHER_API_KEY"],
            "storage": {"scope": "tool-private", "kind": "kv", "ttlSecondsDefault": 60},
            "fs_reach": {"read": "from-personality", "write": ["/srv/out"]},
            "process": {"allowedBinaries": ["git", "*"]},
            "environment": ["LANG"]
        }"#;
        let read: Capabilities = serde_json::from_str(text).unwrap();
        assert_eq!(read.surfaces().count(), 6);
        assert_eq!(read.implied_class(), SafetyClass::Network);
        let again: Capabilities = serde_json::from_str(&serde_json::to_string(&read).unwrap()).unwrap();
        assert_eq!(again, read);

        let snake: Capabilities = toml::from_str(
            r#"
            network = { allowed_hosts = ["api.github.com", "*.github.com", "*"] }
            secrets = ["WEATHER_API_KEY"]
            storage = { scope = "tool-private", ttl_seconds_default = 60 }
            fs_reach = { read = "from-personality", write = ["/srv/out"] }
            process = { allowed_binaries = ["git", "*"] }
            environment = { allow = ["LANG"] }
            "#,
        )
        .unwrap();
        assert_eq!(snake, read);
    }

    #[test]
    fn errors_name_line_and_key() {
        let twice = toml::from_str::<Capabilities>("secrets = [\"A\"]\nsecrets = [\"B\"]\n").unwrap_err();
        assert!(twice.to_string().contains("line 2"), "{twice}");
        let both = "network = { allowedHosts = [],\n  allowed_hosts = [] }";
        let both = toml::from_str::<Capabilities>(both).unwrap_err();
        assert!(both.to_string().contains("duplicate field `allowedHosts`"), "{both}");
        let scope = toml::from_str::<Capabilities>("\nstorage = { scope = \"global\" }").unwrap_err();
        assert!(scope.to_string().contains("line 2"), "{scope}");
        assert!(scope.to_string().contains("unknown variant `global`"), "{scope}");
    }

    #[test]
    fn what_can_be_written_implies_write() {
        #[rustfmt::skip]
        let cases = [
            (r#"{"storage": {"scope": "session"}}"#,                          SafetyClass::Write),
            (r#"{"storage": {"scope": "tool-private"}, "secrets": ["A"]}"#,   SafetyClass::Write),
            (r#"{"fs_reach": {"write": ["/srv/out"]}}"#,                      SafetyClass::Write),
            (r#"{"fs_reach": {"write": "from-personality"}}"#,                SafetyClass::Write),
            (r#"{"fs_reach": {"read": ["/srv"], "write": []}}"#,              SafetyClass::Read),
            (r#"{"process": {"allowedBinaries": ["rg"]}}"#,                   SafetyClass::Read),
            (r#"{"storage": {"scope": "personality"}, "network": {"allowedHosts": ["a.example"]}}"#, SafetyClass::Network),
        ];
        for (text, class) in cases {
            let capabilities: Capabilities = serde_json::from_str(text).unwrap();
            assert_eq!(capabilities.implied_class(), class, "{text}");
        }
    }

    #[test]
    fn touching_nothing_needs_no_backend() {
        assert!(!Capabilities::default().needs_backends());
        assert_eq!(Capabilities::default().implied_class(), SafetyClass::Read);
    }
}

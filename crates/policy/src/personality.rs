//! A personality: the ceiling an operator sets for an agent's role.
//!
//! Hosts and paths that are not listed are not permitted. Secrets, binaries and variables are limited to the
//! declaration alone where the personality does not mention them, and by its list where it does.

use serde::{Deserialize, Serialize};

use crate::{
    Approvals, BinarySet, FsCeiling, Limits, NetworkCeiling, PathError, Reach, SecretSet, ToolName,
    VariableSet, Variables,
};

/// What a role may reach at most, whatever its tools declare.
///
/// # Examples
///
/// ```
/// use ringfence_policy::Personality;
///
/// let personality: Personality = toml::from_str(
///     r#"
///     id = "researcher"
///     network = { allow = ["*.github.com"] }
///     fs_reach = { read = ["/srv/data"] }
///     "#,
/// )?;
/// assert!(personality.permits_tool("grep")); // no toolset: every tool
/// # Ok::<(), toml::de::Error>(())
/// ```
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(try_from = "Document")]
pub struct Personality {
    /// What it is called; names the `personality` storage scope.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The tools of the role; absent = every registered tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<ToolName>>,
    /// Hosts.
    pub network: NetworkCeiling,
    /// Paths.
    pub fs_reach: FsCeiling,
    /// Secrets; absent = what each tool declares.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secrets: Option<SecretSet>,
    /// Binaries; absent = what each tool declares by name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub process: Option<BinarySet>,
    /// Environment variables; absent = what each tool declares.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub environment: Option<VariableSet>,
    /// Whether servers may open Unix sockets; absent = what each server declares.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unix_sockets: Option<bool>,
    /// Who must agree, by class.
    pub approvals: Approvals,
    /// What one call may spend.
    pub limits: Limits,
    /// Cases that must come out as written, checked when the personality is loaded.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub example: Vec<Example>,
}

impl Personality {
    /// Says whether the toolset holds `tool`.
    pub fn permits_tool(&self, tool: &str) -> bool {
        self.tools.as_ref().is_none_or(|tools| tools.iter().any(|name| name.as_str() == tool))
    }

    /// Replaces the variables in permitted paths.
    ///
    /// # Errors
    ///
    /// A variable that has no value.
    pub fn expand(&self, variables: &Variables) -> Result<Self, PathError> {
        let example =
            self.example.iter().map(|example| example.expand(variables)).collect::<Result<_, _>>()?;
        Ok(Self { fs_reach: self.fs_reach.expand(variables)?, example, ..self.clone() })
    }
}

/// A case that a personality promises to allow or to refuse.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Example {
    /// The tool it is about; absent = a tool that declares everything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<ToolName>,
    /// What must be allowed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allow: Option<Reach>,
    /// What must be refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refuse: Option<Reach>,
}

impl Example {
    fn expand(&self, variables: &Variables) -> Result<Self, PathError> {
        let expand = |reach: &Option<Reach>| reach.as_ref().map(|reach| reach.expand(variables)).transpose();
        Ok(Self { tool: self.tool.clone(), allow: expand(&self.allow)?, refuse: expand(&self.refuse)? })
    }
}

/// The shape on disk, which also takes the source documents' `safety.network.allow`.
#[derive(Deserialize)]
#[serde(default, deny_unknown_fields)]
#[derive(Default)]
struct Document {
    id: Option<String>,
    #[serde(alias = "toolset")]
    tools: Option<Vec<ToolName>>,
    network: Option<NetworkCeiling>,
    #[serde(alias = "fsReach")]
    fs_reach: FsCeiling,
    secrets: Option<SecretSet>,
    process: Option<BinarySet>,
    environment: Option<VariableSet>,
    #[serde(alias = "unixSockets")]
    unix_sockets: Option<bool>,
    approvals: Approvals,
    limits: Limits,
    #[serde(alias = "examples")]
    example: Vec<Example>,
    safety: Option<Safety>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Safety {
    network: NetworkCeiling,
}

#[derive(Debug, thiserror::Error)]
enum DocumentFault {
    #[error("`network` and `safety.network` are both set; keep one")]
    NetworkTwice,
    #[error("`id` is empty; leave it out or name the personality")]
    EmptyId,
    #[error("an example needs `allow` or `refuse`")]
    EmptyExample,
}

impl TryFrom<Document> for Personality {
    type Error = DocumentFault;

    fn try_from(document: Document) -> Result<Self, DocumentFault> {
        let network = match (document.network, document.safety) {
            (Some(_), Some(_)) => return Err(DocumentFault::NetworkTwice),
            (Some(network), None) | (None, Some(Safety { network })) => network,
            (None, None) => NetworkCeiling::default(),
        };
        if document.id.as_deref() == Some("") {
            return Err(DocumentFault::EmptyId);
        }
        if document.example.iter().any(|example| example.allow.is_none() && example.refuse.is_none()) {
            return Err(DocumentFault::EmptyExample);
        }
        Ok(Self {
            id: document.id,
            tools: document.tools,
            network,
            fs_reach: document.fs_reach,
            secrets: document.secrets,
            process: document.process,
            environment: document.environment,
            unix_sockets: document.unix_sockets,
            approvals: document.approvals,
            limits: document.limits,
            example: document.example,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_the_spelling_of_the_source_documents() {
        let seeds: Personality = serde_json::from_str(
            r#"{"safety": {"network": {"allow": ["*.github.com"]}}, "toolset": ["grep"]}"#,
        )
        .unwrap();
        let ours: Personality =
            serde_json::from_str(r#"{"network": {"allow": ["*.github.com"]}, "tools": ["grep"]}"#).unwrap();
        assert_eq!(seeds, ours);
        assert!(ours.permits_tool("grep"));
        assert!(!ours.permits_tool("rm"));
    }

    #[test]
    fn says_what_is_wrong() {
        #[rustfmt::skip]
        let cases = [
            (r#"{"network": {}, "safety": {"network": {}}}"#, "`network` and `safety.network` are both set; keep one"),
            (r#"{"id": ""}"#,                                 "`id` is empty; leave it out or name the personality"),
            (r#"{"example": [{}]}"#,                          "an example needs `allow` or `refuse`"),
            (r#"{"netwrk": {}}"#,                             "unknown field `netwrk`"),
            (r#"{"network": {"alow": []}}"#,                  "unknown field `alow`"),
            (r#"{"limits": {"wall": "soon"}}"#,               "`soon` is not a duration"),
            (r#"{"approvals": {"financial": "maybe"}}"#,      "unknown variant `maybe`"),
        ];
        for (text, message) in cases {
            let error = serde_json::from_str::<Personality>(text).unwrap_err().to_string();
            assert!(error.starts_with(message), "{text}: {error}");
        }
    }
}

//! Safety classes, risk, and the decision they lead to.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{Capabilities, Span, ToolName};

/// How consequential a tool is. Ordered: later is graver.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SafetyClass {
    /// Looks and changes nothing: free.
    Read,
    /// Changes something it was granted: logged and checked against policy.
    Write,
    /// Talks to hosts: by allowlist.
    Network,
    /// Moves money or commitments: one human agrees first.
    Financial,
    /// Changes who may do what: two different humans agree first.
    Privileged,
}

impl SafetyClass {
    /// Every class, least grave first.
    pub const ALL: [Self; 5] = [Self::Read, Self::Write, Self::Network, Self::Financial, Self::Privileged];

    /// Returns the class as it is written.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Network => "network",
            Self::Financial => "financial",
            Self::Privileged => "privileged",
        }
    }

    /// Returns what happens to a call of this class where a personality names no route.
    pub const fn default_decision(self) -> Decision {
        match self {
            Self::Read | Self::Write | Self::Network => Decision::Allow,
            Self::Financial => Decision::Ask,
            Self::Privileged => Decision::AskTwo,
        }
    }
}

/// What the author thinks a tool could do at worst, for reviewers and denials.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Risk {
    /// Nothing anybody would miss.
    Low,
    /// Something somebody would have to repair.
    Medium,
    /// Real damage.
    High,
    /// Damage that cannot be undone.
    Critical,
    /// Nobody said. Sorted above everything that was thought about.
    #[default]
    Unknown,
}

/// What is to happen to a call. Ordered: combining decisions is `max`.
///
/// # Examples
///
/// ```
/// use ringfence_policy::Decision;
///
/// assert_eq!(Decision::Ask.max(Decision::Allow), Decision::Ask);
/// assert!(Decision::Forbid > Decision::AskTwo);
/// ```
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Decision {
    /// The call goes ahead.
    Allow,
    /// One person must agree.
    Ask,
    /// Two different people must agree, neither of them the proposer.
    AskTwo,
    /// The call is refused whoever agrees.
    Forbid,
}

impl Decision {
    /// Returns how many people must agree.
    pub const fn approvals(self) -> usize {
        match self {
            Self::Allow | Self::Forbid => 0,
            Self::Ask => 1,
            Self::AskTwo => 2,
        }
    }
}

/// The operator's word for a decision.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Route {
    /// Nobody is asked.
    Auto,
    /// Always refused.
    Deny,
    /// Two people.
    Dual,
    /// One person.
    Human,
}

impl From<Route> for Decision {
    fn from(route: Route) -> Self {
        match route {
            Route::Auto => Self::Allow,
            Route::Deny => Self::Forbid,
            Route::Dual => Self::AskTwo,
            Route::Human => Self::Ask,
        }
    }
}

/// The approval routes of a personality, by class and by tool. A class that is not named keeps its default; of the route of a
/// class and that of a tool, the stricter holds.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Approvals {
    /// For `read` tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read: Option<Route>,
    /// For `write` tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub write: Option<Route>,
    /// For `network` tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network: Option<Route>,
    /// For `financial` tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub financial: Option<Route>,
    /// For `privileged` tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub privileged: Option<Route>,
    /// For single tools.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub tools: BTreeMap<ToolName, Route>,
    /// How long a request waits for people before it expires.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires: Option<Span>,
    /// Whether the person at an MCP client may be the one who agrees; absent = where the client was started by its user, and
    /// for agents of a gateway whose entry says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client: Option<bool>,
}

impl Approvals {
    /// Returns what happens to a call of `tool`, which is of `class`.
    pub fn decision(&self, class: SafetyClass, tool: &ToolName) -> Decision {
        let own = self.tools.get(tool).map_or(Decision::Allow, |route| Decision::from(*route));
        self.class_decision(class).max(own)
    }

    /// Returns what happens to a call of `tool`, which is of `class` and has these capabilities.
    ///
    /// Of the routes of its class and of every class that its capabilities imply, the strictest holds: a tool that
    /// talks to hosts and writes files is not let past a route for `write`.
    pub fn decision_with(
        &self,
        class: SafetyClass,
        capabilities: &Capabilities,
        tool: &ToolName,
    ) -> Decision {
        let implied = capabilities.implied_classes().map(|implied| self.class_decision(implied));
        implied.fold(self.decision(class, tool), Decision::max)
    }

    /// Returns what happens to a call of `class`, where nothing is said of its tool.
    pub fn class_decision(&self, class: SafetyClass) -> Decision {
        let route = match class {
            SafetyClass::Read => self.read,
            SafetyClass::Write => self.write,
            SafetyClass::Network => self.network,
            SafetyClass::Financial => self.financial,
            SafetyClass::Privileged => self.privileged,
        };
        route.map_or(class.default_decision(), Decision::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn routes_fall_back_to_the_defaults_of_the_class() {
        let approvals: Approvals =
            serde_json::from_str(r#"{"write": "human", "financial": "deny"}"#).unwrap();
        let tool = "any".parse().unwrap();
        let decisions = SafetyClass::ALL.map(|class| approvals.decision(class, &tool));
        assert_eq!(
            decisions,
            [Decision::Allow, Decision::Ask, Decision::Allow, Decision::Forbid, Decision::AskTwo]
        );
    }

    #[test]
    fn of_all_implied_classes_the_strictest_route_holds() {
        let approvals: Approvals = serde_json::from_str(r#"{"write": "deny", "network": "human"}"#).unwrap();
        #[rustfmt::skip]
        let cases = [
            (r#"{}"#,                                                                              SafetyClass::Read,      Decision::Allow),
            (r#"{"network": {"allowedHosts": ["a.example"]}}"#,                                    SafetyClass::Network,   Decision::Ask),
            (r#"{"network": {"allowedHosts": ["a.example"]}, "fs_reach": {"write": ["/out"]}}"#,   SafetyClass::Network,   Decision::Forbid),
            (r#"{"network": {"allowedHosts": ["a.example"]}, "storage": {"scope": "session"}}"#,   SafetyClass::Network,   Decision::Forbid),
            (r#"{"storage": {"scope": "session"}}"#,                                               SafetyClass::Write,     Decision::Forbid),
            (r#"{"fs_reach": {"write": ["/out"]}}"#,                                               SafetyClass::Financial, Decision::Forbid),
        ];
        for (capabilities, class, decision) in cases {
            let read: Capabilities = serde_json::from_str(capabilities).unwrap();
            let tool = "any".parse().unwrap();
            assert_eq!(approvals.decision_with(class, &read, &tool), decision, "{capabilities} {class:?}");
        }
    }

    #[test]
    fn of_class_and_tool_the_stricter_holds() {
        let approvals: Approvals = serde_json::from_str(
            r#"{"write": "human", "tools": {"loose": "auto", "pair": "dual", "never": "deny"}, "expires": "15m"}"#,
        )
        .unwrap();
        #[rustfmt::skip]
        let cases = [
            // tool      class                    decision
            ("loose",    SafetyClass::Write,      Decision::Ask),
            ("loose",    SafetyClass::Read,       Decision::Allow),
            ("pair",     SafetyClass::Read,       Decision::AskTwo),
            ("pair",     SafetyClass::Financial,  Decision::AskTwo),
            ("never",    SafetyClass::Read,       Decision::Forbid),
            ("other",    SafetyClass::Write,      Decision::Ask),
        ];
        for (tool, class, decision) in cases {
            assert_eq!(approvals.decision(class, &tool.parse().unwrap()), decision, "{tool} {class:?}");
        }
    }
}

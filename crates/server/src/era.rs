//! The two eras of the protocol, and what a message needs to pass from one to the other.
//!
//! In the legacy era a connection begins with `initialize` and either side asks the other things. In the modern era every
//! request stands for itself, and a server that needs something answers `input_required`.

use std::sync::Arc;

use serde_json::value::RawValue;

use crate::raw::{Raw, RawObject, raw};

/// The versions with a handshake, oldest first.
pub const LEGACY: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];
/// The version in which every request stands for itself.
pub const MODERN: &str = "2026-07-28";

/// The members of `_meta` that describe a modern request.
pub(crate) const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
pub(crate) const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
pub(crate) const CLIENT: &str = "io.modelcontextprotocol/clientInfo";
pub(crate) const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
pub(crate) const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";
pub(crate) const SERVER: &str = "io.modelcontextprotocol/serverInfo";

/// How a side of a connection speaks.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Era {
    Legacy,
    Modern,
}

/// Who a client is and what it can do, as a server is told.
#[derive(Debug)]
pub(crate) struct Hello {
    /// How the client speaks.
    pub(crate) era: Era,
    /// What it said when it came, as it was written: the parameters of `initialize`.
    pub(crate) initialize: RawObject,
    /// What it can do.
    capabilities: Arc<RawObject>,
}

impl Hello {
    /// A legacy client, by the parameters of its `initialize`.
    pub(crate) fn legacy(params: RawObject) -> Arc<Self> {
        Self::new(Era::Legacy, params)
    }

    fn new(era: Era, initialize: RawObject) -> Arc<Self> {
        let capabilities = Arc::new(initialize.object("capabilities").unwrap_or_default());
        Arc::new(Self { era, initialize, capabilities })
    }

    /// A modern client, by the `_meta` of one of its requests.
    pub(crate) fn modern(meta: &RawObject) -> Arc<Self> {
        let mut params = RawObject::default();
        params.set("protocolVersion", raw(LEGACY.last().unwrap_or(&"")));
        let empty = || raw(&serde_json::json!({}));
        params.set("capabilities", meta.get(CAPABILITIES).map_or_else(empty, RawValue::to_owned));
        let unnamed =
            || raw(&serde_json::json!({ "name": "ringfence", "version": env!("CARGO_PKG_VERSION") }));
        params.set("clientInfo", meta.get(CLIENT).map_or_else(unnamed, RawValue::to_owned));
        Self::new(Era::Modern, params)
    }

    /// Returns the capabilities of the client.
    pub(crate) fn capabilities(&self) -> Arc<RawObject> {
        Arc::clone(&self.capabilities)
    }

    /// Returns what every request to a modern server carries.
    pub(crate) fn envelope(&self, level: Option<&str>) -> Vec<(&'static str, Raw)> {
        let empty = || raw(&serde_json::json!({}));
        let mut members = vec![
            (VERSION, raw(MODERN)),
            (CAPABILITIES, self.initialize.get("capabilities").map_or_else(empty, RawValue::to_owned)),
        ];
        members.extend(self.initialize.get("clientInfo").map(|info| (CLIENT, info.to_owned())));
        members.extend(level.map(|level| (LOG_LEVEL, raw(level))));
        members
    }
}

/// Takes from parameters what only a modern server understands.
pub(crate) fn strip_envelope(params: &mut RawObject) {
    for member in ["inputResponses", "requestState"] {
        params.remove(member);
    }
    if let Some(mut meta) = params.object("_meta") {
        for member in [VERSION, CAPABILITIES, CLIENT, LOG_LEVEL] {
            meta.remove(member);
        }
        if meta.is_empty() {
            params.remove("_meta");
        } else {
            params.set("_meta", meta.to_raw());
        }
    }
}

/// Makes a result fit for a client of an era. Returns nothing where it does already.
pub(crate) fn fit_result(result: &RawValue, era: Era, cacheable: bool) -> Option<Raw> {
    let mut object = RawObject::parse(result).ok()?;
    match era {
        Era::Legacy => {
            object.remove("resultType")?;
        }
        Era::Modern => {
            let complete = object.get("resultType").is_some();
            let hinted = !cacheable || (object.get("ttlMs").is_some() && object.get("cacheScope").is_some());
            if complete && hinted {
                return None;
            }
            if !complete {
                object.set("resultType", raw("complete"));
            }
            if cacheable {
                // What is filtered by a policy is for this client alone, and may change when somebody accepts something.
                if object.get("ttlMs").is_none() {
                    object.set("ttlMs", raw(&0));
                }
                if object.get("cacheScope").is_none() {
                    object.set("cacheScope", raw("private"));
                }
            }
        }
    }
    Some(object.to_raw())
}

/// Says whether results of a method carry cache hints in the modern era.
pub(crate) fn is_cacheable(method: &str) -> bool {
    matches!(
        method,
        "server/discover"
            | "tools/list"
            | "prompts/list"
            | "resources/list"
            | "resources/templates/list"
            | "resources/read"
    )
}

/// Says whether the modern era has done away with a method.
pub(crate) fn is_gone(method: &str) -> bool {
    matches!(
        method,
        "initialize"
            | "ping"
            | "logging/setLevel"
            | "resources/subscribe"
            | "resources/unsubscribe"
            | "tasks/list"
            | "tasks/result"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(text: &str) -> RawObject {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn results_fit_the_era_of_the_client() {
        #[rustfmt::skip]
        let cases = [
            (r#"{"a":1}"#,                                                     Era::Legacy, false, None),
            (r#"{"resultType":"complete","a":1}"#,                             Era::Legacy, false, Some(r#"{"a":1}"#)),
            (r#"{"a":1}"#,                                                     Era::Modern, false, Some(r#"{"a":1,"resultType":"complete"}"#)),
            (r#"{"a":1}"#,                                                     Era::Modern, true,  Some(r#"{"a":1,"resultType":"complete","ttlMs":0,"cacheScope":"private"}"#)),
            (r#"{"resultType":"complete","ttlMs":5,"cacheScope":"public"}"#,   Era::Modern, true,  None),
        ];
        for (result, era, cacheable, fitted) in cases {
            let result: Raw = serde_json::from_str(result).unwrap();
            assert_eq!(fit_result(&result, era, cacheable).as_deref().map(RawValue::get), fitted);
        }
    }

    #[test]
    fn an_envelope_is_taken_off_and_the_rest_stays() {
        let mut params = object(
            r#"{"name":"x","requestState":"s","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","progressToken":1}}"#,
        );
        strip_envelope(&mut params);
        assert_eq!(params.to_raw().get(), r#"{"name":"x","_meta":{"progressToken":1}}"#);
    }
}

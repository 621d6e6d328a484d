//! What answers in place of the host when an author's code runs outside a component, as in its tests.
//!
//! INVARIANT: every surface is refused, because nothing was granted.

fn refused<T>(surface: &str) -> Result<T, String> {
    Err(format!("NOT_AVAILABLE: {surface} can only be reached from inside a component"))
}

pub(crate) mod context {
    pub(crate) fn run() -> String {
        "outside".to_owned()
    }

    pub(crate) fn idempotency_key() -> Option<String> {
        None
    }
}

pub(crate) mod log {
    pub(crate) use crate::bindings::ringfence::tool::log::Level;

    pub(crate) fn write(level: Level, message: &str) {
        use std::io::Write;
        // A line that cannot be written is no reason for a test to fail.
        let _lost = writeln!(std::io::stderr(), "{level:?}: {message}");
    }
}

pub(crate) mod secrets {
    pub(crate) fn get(_name: &str) -> Result<String, String> {
        super::refused("secrets")
    }
}

pub(crate) mod storage {
    pub(crate) fn get(_key: &str) -> Result<Option<String>, String> {
        super::refused("storage")
    }

    pub(crate) fn set(_key: &str, _value: &str, _seconds: Option<u64>) -> Result<(), String> {
        super::refused("storage")
    }

    pub(crate) fn delete(_key: &str) -> Result<(), String> {
        super::refused("storage")
    }

    pub(crate) fn list(_prefix: &str) -> Result<Vec<String>, String> {
        super::refused("storage")
    }
}

pub(crate) mod http {
    use crate::http::{HttpError, Request, Response};

    pub(crate) fn send(_request: &Request, _address: &crate::http::Address) -> Result<Response, HttpError> {
        super::refused("network").map_err(HttpError::Refused)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use crate::{http, secrets, storage};

    #[test]
    fn refuses_every_surface() {
        let refusals = [
            secrets::get("KEY").unwrap_err().to_string(),
            storage::get("key").unwrap_err().to_string(),
            storage::set("key", "value").unwrap_err().to_string(),
            storage::set_for("key", "value", Duration::from_secs(1)).unwrap_err().to_string(),
            storage::delete("key").unwrap_err().to_string(),
            storage::list("").unwrap_err().to_string(),
            http::get("https://example.test/").unwrap_err().to_string(),
        ];
        for refusal in refusals {
            assert!(refusal.starts_with("NOT_AVAILABLE: "), "{refusal}");
        }
    }
}

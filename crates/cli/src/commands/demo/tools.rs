//! The demo's tools that are Rust code: one with a secret, one that moves money, one that panics.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use ringfence::policy::{IdempotencyMode, SafetyClass};
use ringfence::{
    Approval, ApprovalRequest, Approver, Registry, Secret, SecretError, SecretSource, ToolError, Verdict,
    tool,
};
use serde_json::{Value, json};

/// Counts the payments that were really made.
#[derive(Clone, Default)]
pub(super) struct Ledger(Arc<AtomicUsize>);

impl Ledger {
    pub(super) fn count(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

/// Registers the tools.
pub(super) fn register(registry: &Registry, ledger: &Ledger) -> Result<(), String> {
    let weather = tool("weather")
        .description("The weather, by a secret key")
        .secrets(["WEATHER_API_KEY"])
        .input_schema(
            json!({"type": "object", "properties": {"secret": {"type": "string"}}, "required": ["secret"]}),
        )
        .output::<String>()
        .run(|arguments: Value, context| async move {
            let name = arguments.get("secret").and_then(Value::as_str).unwrap_or_default().to_owned();
            let key = context.secrets()?.get(&name).await?;
            Ok(format!("sunny (asked with a key of {} characters)", key.expose().len()))
        });
    registry.register(weather.map_err(|error| error.to_string())?).map_err(|error| error.to_string())?;

    let ledger = ledger.clone();
    let pay = tool("pay")
        .description("Pay an invoice")
        .class(SafetyClass::Financial)
        .idempotency(IdempotencyMode::Required)
        .input_schema(json!({
            "type": "object",
            "properties": {"to": {"type": "string"}, "cents": {"type": "integer", "minimum": 1}},
            "required": ["to", "cents"],
            "additionalProperties": false,
        }))
        .output::<String>()
        .run(move |_arguments: Value, _context| {
            let ledger = ledger.clone();
            async move {
                let number = ledger.0.fetch_add(1, Ordering::SeqCst) + 1;
                Ok(format!("payment {number} made"))
            }
        });
    registry.register(pay.map_err(|error| error.to_string())?).map_err(|error| error.to_string())?;

    #[expect(clippy::panic, reason = "the demo shows that a panicking tool is a failed call and no more")]
    let crash = tool("crash").description("Panic").input_schema(json!({})).output::<String>().run(
        |_arguments: Value, _context| async move {
            if true {
                panic!("boom");
            }
            Err(ToolError::new("never reached"))
        },
    );
    registry.register(crash.map_err(|error| error.to_string())?).map_err(|error| error.to_string())
}

/// The person who is asked: agrees once she was told to.
#[derive(Default)]
pub(super) struct Maria(AtomicBool);

impl Maria {
    pub(super) fn agree(&self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

impl Approver for Maria {
    fn decide<'a>(&'a self, request: &'a ApprovalRequest) -> Answer<'a, Verdict> {
        let verdict = if self.0.swap(false, Ordering::SeqCst) {
            Verdict::Approved(vec![Approval { by: "maria".to_owned(), digest: request.digest.clone() }])
        } else {
            Verdict::Pending
        };
        Box::pin(std::future::ready(verdict))
    }
}

type Answer<'a, T> = std::pin::Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// One secret, so that there is something to steal.
pub(super) struct DemoSecrets;

impl SecretSource for DemoSecrets {
    fn describe(&self) -> String {
        "the demo".to_owned()
    }

    fn secret<'a>(&'a self, name: &'a str) -> Answer<'a, Result<Option<Secret>, SecretError>> {
        let known = (name == "WEATHER_API_KEY").then(|| Secret::new("sunshine-1234".to_owned()));
        Box::pin(std::future::ready(Ok(known)))
    }
}

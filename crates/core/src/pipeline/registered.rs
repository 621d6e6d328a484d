//! Stage one: a tool whose schemas compile and whose definition has a digest.

use std::sync::{Arc, OnceLock};

use ringfence_policy::{
    Capabilities, Code, Decision, Declaration, Gap, Grant, Limits, Personality, Refusal, SafetyClass,
    resolve_capabilities, validate_registration,
};
use ringfence_text::{Definition, Scan, Verdict};

use super::output::cleaned_text;

use crate::backend::Backends;
use crate::digest::digest;
use crate::handle::ScopedEnvironment;
use crate::in_force::InForce;
use crate::pin::{Change, PinStatus, Pins, summed_up};
use crate::schema::Schema;
use crate::tool::Tool;

/// A tool that has been registered. Only [`Registry::register`](crate::Registry::register) makes one.
///
/// ```compile_fail,E0624
/// fn skip(tool: std::sync::Arc<dyn ringfence::Tool>) {
///     let registered = ringfence::Registered::new(tool);
/// }
/// ```
pub struct Registered {
    pub(super) tool: Arc<dyn Tool>,
    pub(super) input: Schema,
    pub(super) output: Schema,
    pub(super) class: SafetyClass,
    pub(super) digest: Arc<str>,
    /// The description as a model may see it.
    pub(super) description: Arc<str>,
    /// What the scan says, once somebody has asked: whoever has judged the definition has scanned it already.
    scan: OnceLock<Scan>,
    quarantine: Option<Quarantine>,
}

/// Why a tool may not be called until somebody has looked at it.
#[derive(Clone, Debug, PartialEq)]
pub struct Quarantine {
    /// The refusal that its calls get.
    pub refusal: Refusal,
    /// What differs from the accepted definition, where there is one.
    pub changes: Vec<Change>,
}

impl Registered {
    /// Takes a tool in. What is wrong with it is returned all at once.
    pub(crate) fn new(
        tool: Arc<dyn Tool>,
        pins: Option<&Pins>,
        in_force: &InForce,
    ) -> Result<Self, Vec<Gap>> {
        let mut registered = Self::judged(tool, None)?;
        let declaration = registered.tool.declaration();
        registered.quarantine = in_force
            .quarantine(&declaration.name)
            .or_else(|| quarantine(declaration, &registered.digest, registered.scan(), pins));
        Ok(registered)
    }

    /// Takes a tool in that somebody else has judged.
    pub(crate) fn judged(tool: Arc<dyn Tool>, quarantine: Option<Quarantine>) -> Result<Self, Vec<Gap>> {
        let declaration = tool.declaration();
        let mut gaps = Vec::new();
        let mut schema = |field: &'static str, document| match Schema::compile(document) {
            Ok(schema) => Some(schema),
            Err(error) => {
                gaps.push(Gap {
                    tool: declaration.name.clone(),
                    capability: field.into(),
                    message: error.to_string(),
                    fix: format!("correct the `{field}` schema"),
                });
                None
            }
        };
        let input = schema("input", &declaration.input);
        let output = schema("output", &declaration.output);
        let digest = digest(declaration);
        if let Err(error) = &digest {
            gaps.push(Gap {
                tool: declaration.name.clone(),
                capability: "definition".into(),
                message: format!("the definition has no digest: {error}"),
                fix: "use numbers that every JSON reader sees alike".into(),
            });
        }
        match (input, output, digest) {
            (Some(input), Some(output), Ok(digest)) => {
                let class = declaration.class();
                let scan = OnceLock::new();
                let description = ringfence_text::visible_description(&declaration.description);
                let description = cleaned_text(description.into_owned()).into();
                Ok(Self { scan, quarantine, input, output, class, digest: digest.into(), description, tool })
            }
            _ => Err(gaps),
        }
    }

    /// Returns what the tool says of itself.
    pub fn declaration(&self) -> &Declaration {
        self.tool.declaration()
    }

    pub(crate) fn is_available(&self, environment: &ScopedEnvironment) -> bool {
        self.tool.is_available(environment)
    }

    /// Returns what the scan of the definition said.
    pub fn scan(&self) -> &Scan {
        self.scan.get_or_init(|| scan_declaration(self.tool.declaration()))
    }

    /// Returns the description as a model may see it: cut to its maximum, and clean.
    pub fn visible_description(&self) -> String {
        self.description.to_string()
    }

    /// Returns why the tool may not be called yet, if so.
    pub const fn quarantine(&self) -> Option<&Quarantine> {
        self.quarantine.as_ref()
    }

    /// Returns its class, declared or implied.
    pub const fn class(&self) -> SafetyClass {
        self.class
    }

    /// Returns the SHA-256 of its definition in hexadecimal.
    pub fn digest(&self) -> &str {
        &self.digest
    }
}

/// Scans everything that a tool says of itself, as registration does.
pub fn scan_declaration(declaration: &Declaration) -> Scan {
    ringfence_text::scan(&Definition {
        name: declaration.name.as_str(),
        title: declaration.title.as_deref(),
        description: Some(&declaration.description),
        input_schema: Some(&declaration.input),
        output_schema: Some(&declaration.output),
    })
}

/// Says whether a person must look at a definition first: a hostile one always, and with pins in force every one that
/// is not the accepted one. What somebody has accepted is free, whatever the scan says.
fn quarantine(
    declaration: &Declaration,
    digest: &str,
    scan: &Scan,
    pins: Option<&Pins>,
) -> Option<Quarantine> {
    let name = &declaration.name;
    let (message, changes) = match pins.map(|pins| pins.status(declaration, digest)) {
        Some(PinStatus::Changed(changes)) => {
            let places = summed_up(&changes);
            (format!("the definition of `{name}` is not the accepted one: {places} changed"), changes)
        }
        Some(PinStatus::New) | None if scan.verdict == Verdict::Quarantine => {
            let worst = scan.findings.iter().max_by_key(|finding| finding.weight);
            let found =
                worst.map_or_else(String::new, |worst| format!(": {} {}", worst.field, worst.message));
            (format!("the definition of `{name}` looks hostile{found}"), Vec::new())
        }
        Some(PinStatus::New) => (format!("the definition of `{name}` was not accepted yet"), Vec::new()),
        Some(PinStatus::Rejected) => (format!("the definition of `{name}` was rejected"), Vec::new()),
        Some(PinStatus::Accepted) | None => return None,
    };
    let hint = format!(
        "review it with `ringfence scan` and `ringfence pins diff {name}`, then `ringfence pins accept {name}`"
    );
    Some(Quarantine { refusal: Refusal::new(Code::ToolQuarantined, message).hint(hint), changes })
}

impl std::fmt::Debug for Registered {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Registered").field("name", &self.declaration().name).finish_non_exhaustive()
    }
}

/// How a tool fits the personality in force. Computed once for each pair, since both are immutable.
#[derive(Debug)]
pub(crate) struct Fit {
    /// Enforcement point 2: declared ∩ permitted, or why there is no such thing.
    pub(super) grant: Result<Arc<Grant>, Refusal>,
    /// Enforcement point 3: the first declared surface whose backend is missing.
    pub(super) missing: Option<Refusal>,
    /// Enforcement point 1: where the declaration asks for more than the personality permits.
    pub(crate) gaps: Vec<Gap>,
    pub(crate) in_toolset: bool,
    pub(super) decision: Decision,
    pub(super) limits: Limits,
}

/// Fits a tool to a personality.
pub(crate) fn fit(registered: &Registered, personality: &Personality, backends: &Backends) -> Fit {
    let declaration = registered.declaration();
    let nothing = Capabilities::default();
    let capabilities = declaration.capabilities.as_ref().unwrap_or(&nothing);
    let grant = resolve_capabilities(capabilities, personality).map(|mut grant| {
        if let (Some(fs), Some(files)) = (&mut grant.fs, &backends.files) {
            *fs = files.named_both_ways(fs);
        }
        Arc::new(grant)
    });
    Fit {
        grant,
        missing: backends.missing_for(declaration, capabilities),
        gaps: validate_registration(declaration, personality),
        in_toolset: personality.permits_tool(declaration.name.as_str()),
        decision: personality.approvals.decision_with(registered.class, capabilities, &declaration.name),
        limits: declaration.limits.meet(&personality.limits),
    }
}

impl Fit {
    pub(crate) const fn decision(&self) -> Decision {
        self.decision
    }

    pub(crate) fn grant(&self) -> Option<Arc<Grant>> {
        self.grant.as_ref().ok().cloned()
    }

    pub(super) fn not_permitted(&self, tool: &str) -> Option<Refusal> {
        if !self.in_toolset {
            return Some(
                Refusal::new(
                    Code::ToolNotPermitted,
                    format!("tool `{tool}` is not in the personality's toolset"),
                )
                .hint(format!("add \"{tool}\" to the personality's `tools`")),
            );
        }
        let gap = self.gaps.first()?;
        let message = format!("tool `{tool}` asks for more than the personality permits: {}", gap.message);
        Some(Refusal::new(Code::ToolNotPermitted, message).hint(gap.fix.clone()))
    }
}

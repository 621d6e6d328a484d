//! Making a tool from a function: a builder that starts from nothing.
//!
//! The input and the output must be given before `run` exists, so a tool without schemas does not compile.

mod native;
mod process;

pub use process::process_tool;

use std::marker::PhantomData;
use std::num::NonZeroU32;

use futures_util::future::BoxFuture;
use ringfence_policy::{
    Assurance, BinarySet, Capabilities, Constraints, FsReach, HostPattern, Idempotency, IdempotencyMode,
    Jail, Limits, Network, PathPattern, PathReach, Process, Risk, SafetyClass, SecretSet, Storage,
    StorageKind, StorageScope, ToolName, VariableSet,
};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::context::Context;
use crate::error::ToolError;
use crate::handle::ScopedEnvironment;
use crate::tool::Reconciled;

/// Starts a tool that touches nothing: no hosts, no paths, no secrets, no storage, no processes, no variables.
///
/// # Examples
///
/// ```
/// use ringfence::tool;
/// use schemars::JsonSchema;
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Deserialize, JsonSchema)]
/// struct Place {
///     city: String,
/// }
///
/// #[derive(Serialize, JsonSchema)]
/// struct Weather {
///     celsius: f64,
/// }
///
/// let weather = tool("fetch_weather")
///     .description("The weather of a city")
///     .network(["api.weather.gov"])
///     .secrets(["WEATHER_API_KEY"])
///     .input::<Place>()
///     .output::<Weather>()
///     .run(|place: Place, context| async move {
///         let key = context.secrets()?.get("WEATHER_API_KEY").await?;
///         let url = format!("https://api.weather.gov/{}?key={}", place.city, key.expose());
///         Ok(context.fetch()?.get(&url).await?.json::<serde_json::Value>().await.map(|_| Weather { celsius: 4.0 })?)
///     })?;
/// # Ok::<(), ringfence::ToolBuildError>(())
/// ```
pub fn tool(name: &str) -> ToolBuilder<Missing, Missing> {
    let mut faults = Vec::new();
    let name = name.parse::<ToolName>().map_err(|error| faults.push(error.to_string())).ok();
    ToolBuilder {
        name,
        title: None,
        description: String::new(),
        input: Value::Null,
        output: Value::Null,
        capabilities: Capabilities::default(),
        class: None,
        risk: Risk::Unknown,
        idempotency: Idempotency::default(),
        constraints: Constraints::default(),
        limits: Limits::default(),
        assurance: None,
        available: None,
        reconcile: None,
        faults,
        types: PhantomData,
    }
}

/// A schema that has not been given yet, so that a tool without both does not compile.
///
/// ```compile_fail,E0599
/// use ringfence::tool;
///
/// tool("blind").input::<String>().run(|text, _context| async move { Ok(text) });
/// ```
#[derive(Debug)]
pub enum Missing {}

/// What is wrong with a tool that was being built, all at once.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{}", .0.join("; "))]
pub struct ToolBuildError(Vec<String>);

pub(crate) type Availability = Box<dyn Fn(&ScopedEnvironment) -> bool + Send + Sync>;
pub(crate) type Found<'a> = BoxFuture<'a, Result<Reconciled<Value>, ToolError>>;
pub(crate) type Reconcile = Box<dyn for<'a> Fn(&'a Value, Context) -> Found<'a> + Send + Sync>;

/// A tool that is being built.
#[must_use = "a builder does nothing until `run` is called"]
pub struct ToolBuilder<I, O> {
    name: Option<ToolName>,
    title: Option<String>,
    description: String,
    input: Value,
    output: Value,
    capabilities: Capabilities,
    class: Option<SafetyClass>,
    risk: Risk,
    idempotency: Idempotency,
    constraints: Constraints,
    limits: Limits,
    assurance: Option<Assurance>,
    available: Option<Availability>,
    reconcile: Option<Reconcile>,
    faults: Vec<String>,
    types: PhantomData<fn(I) -> O>,
}

impl<I, O> ToolBuilder<I, O> {
    /// Says what the tool does, for the model.
    pub fn description(mut self, description: &str) -> Self {
        self.description = description.to_owned();
        self
    }

    /// Names the tool for people.
    pub fn title(mut self, title: &str) -> Self {
        self.title = Some(title.to_owned());
        self
    }

    /// Sets the class; left out, it is what the capabilities imply.
    pub fn class(mut self, class: SafetyClass) -> Self {
        self.class = Some(class);
        self
    }

    /// Says what the tool could do at worst.
    pub fn risk(mut self, risk: Risk) -> Self {
        self.risk = risk;
        self
    }

    /// Declares hosts; `*` means whatever the personality allows.
    pub fn network<'a>(mut self, hosts: impl IntoIterator<Item = &'a str>) -> Self {
        let hosts = self.parsed::<HostPattern>(hosts);
        self.capabilities.network = Some(Network { allowed_hosts: hosts.into_iter().collect() });
        self
    }

    /// Declares secrets by ref.
    pub fn secrets<'a>(mut self, refs: impl IntoIterator<Item = &'a str>) -> Self {
        self.capabilities.secrets = self.kept(SecretSet::new(refs));
        self
    }

    /// Declares key-value storage.
    pub fn storage(mut self, scope: StorageScope) -> Self {
        let ttl_seconds_default = self.capabilities.storage.and_then(|storage| storage.ttl_seconds_default);
        self.capabilities.storage = Some(Storage { scope, kind: StorageKind::Kv, ttl_seconds_default });
        self
    }

    /// Declares key-value storage whose entries live `seconds` unless `set` says otherwise.
    pub fn storage_for(mut self, scope: StorageScope, seconds: u64) -> Self {
        self.capabilities.storage =
            Some(Storage { scope, kind: StorageKind::Kv, ttl_seconds_default: Some(seconds) });
        self
    }

    /// Declares paths it reads.
    pub fn read<'a>(mut self, paths: impl IntoIterator<Item = &'a str>) -> Self {
        let paths = self.parsed::<PathPattern>(paths);
        self.reach().read = Some(PathReach::Listed(paths.into_iter().collect()));
        self
    }

    /// Declares that it reads whatever the personality lets it read.
    pub fn read_from_personality(mut self) -> Self {
        self.reach().read = Some(PathReach::FromPersonality);
        self
    }

    /// Declares paths it writes.
    pub fn write<'a>(mut self, paths: impl IntoIterator<Item = &'a str>) -> Self {
        let paths = self.parsed::<PathPattern>(paths);
        self.reach().write = Some(PathReach::Listed(paths.into_iter().collect()));
        self
    }

    /// Declares that it writes whatever the personality lets it write.
    pub fn write_from_personality(mut self) -> Self {
        self.reach().write = Some(PathReach::FromPersonality);
        self
    }

    /// Asks for a jail: paths relative to the one declared root, and no others.
    pub fn jail(mut self) -> Self {
        self.reach().jail = Jail::SoleRoot;
        self
    }

    /// Declares binaries it starts; `*` means whatever the personality allows.
    pub fn binaries<'a>(mut self, binaries: impl IntoIterator<Item = &'a str>) -> Self {
        let binaries = self.kept(BinarySet::new(binaries));
        self.capabilities.process = binaries.map(|allowed_binaries| Process { allowed_binaries });
        self
    }

    /// Declares environment variables it reads.
    pub fn environment<'a>(mut self, names: impl IntoIterator<Item = &'a str>) -> Self {
        self.capabilities.environment = self.kept(VariableSet::new(names));
        self
    }

    /// Declares all capabilities at once, in place of what was declared so far.
    pub fn capabilities(mut self, capabilities: Capabilities) -> Self {
        self.capabilities = capabilities;
        self
    }

    /// Lets the tool run at most `times` in one run.
    pub fn max_invocations(mut self, times: u32) -> Self {
        self.constraints.max_invocations = Some(times);
        self
    }

    /// Lets the tool run only after these have completed in the same run.
    pub fn only_after<'a>(mut self, tools: impl IntoIterator<Item = &'a str>) -> Self {
        self.constraints.only_after = self.parsed(tools);
        self
    }

    /// Makes the tool call `step` of every run, counted from 1: until it has run, no other tool is that call or a later one.
    ///
    /// 0 is refused when the tool is finished.
    pub fn force_at_step(mut self, step: u32) -> Self {
        let step = NonZeroU32::new(step).ok_or("`force_at_step` counts calls from 1");
        self.constraints.force_at_step = self.kept(step);
        self
    }

    /// Lets code call the tool, and no model.
    pub fn forbidden_to_models(mut self) -> Self {
        self.constraints.forbidden = true;
        self
    }

    /// Says whether calls carry an idempotency key.
    pub fn idempotency(mut self, mode: IdempotencyMode) -> Self {
        self.idempotency.mode = Some(mode);
        self
    }

    /// Names the arguments that together are the key, for callers that send none.
    pub fn business_key<'a>(mut self, fields: impl IntoIterator<Item = &'a str>) -> Self {
        self.idempotency.key = fields.into_iter().map(str::to_owned).collect();
        self
    }

    /// Limits what one call may spend.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Says how sure it must be that what the tool starts is confined; left out, a claim is enough.
    pub fn assurance(mut self, assurance: Assurance) -> Self {
        self.assurance = Some(assurance);
        self
    }

    /// Offers the tool only where `available` says so, from the declared environment variables.
    pub fn available_when(
        mut self,
        available: impl Fn(&ScopedEnvironment) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.available = Some(Box::new(available));
        self
    }

    /// Takes the input as a Rust type.
    pub fn input<T: JsonSchema + DeserializeOwned>(mut self) -> ToolBuilder<T, O> {
        self.input = schemars::schema_for!(T).to_value();
        self.retyped()
    }

    /// Takes the input as JSON that fits a schema.
    pub fn input_schema(mut self, schema: Value) -> ToolBuilder<Value, O> {
        self.input = schema;
        self.retyped()
    }

    /// Returns the output as a Rust type.
    pub fn output<T: JsonSchema + Serialize>(mut self) -> ToolBuilder<I, T> {
        self.output = schemars::schema_for!(T).to_value();
        self.retyped()
    }

    /// Returns the output as JSON that fits a schema.
    pub fn output_schema(mut self, schema: Value) -> ToolBuilder<I, Value> {
        self.output = schema;
        self.retyped()
    }

    fn retyped<J, P>(self) -> ToolBuilder<J, P> {
        ToolBuilder {
            name: self.name,
            title: self.title,
            description: self.description,
            input: self.input,
            output: self.output,
            capabilities: self.capabilities,
            class: self.class,
            risk: self.risk,
            idempotency: self.idempotency,
            constraints: self.constraints,
            limits: self.limits,
            assurance: self.assurance,
            available: self.available,
            // It was for other types.
            reconcile: None,
            faults: self.faults,
            types: PhantomData,
        }
    }

    fn reach(&mut self) -> &mut FsReach {
        self.capabilities.fs_reach.get_or_insert_default()
    }

    fn kept<T, E: std::fmt::Display>(&mut self, result: Result<T, E>) -> Option<T> {
        result.map_err(|error| self.faults.push(error.to_string())).ok()
    }

    fn parsed<'a, T: std::str::FromStr>(&mut self, texts: impl IntoIterator<Item = &'a str>) -> Vec<T>
    where
        T::Err: std::fmt::Display,
    {
        texts.into_iter().filter_map(|text| self.kept(text.parse::<T>())).collect()
    }
}

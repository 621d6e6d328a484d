//! Tools that are WebAssembly components, by the engine that the program brought.

use std::fmt::Debug;
use std::path::Path;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};

use ringfence::Tool;
use ringfence::policy::{ComponentFile, Declaration, Runtime, Surface};

use super::cache::component_cache;
use crate::beside::become_components;
use crate::error::CommandError;

/// An engine for components. `ringfence-components` brings one; `ringfence` has none, and becomes that program when it meets a component.
pub trait ComponentEngine: Debug + Send + Sync {
    /// Reads a component, which runs nothing.
    ///
    /// # Errors
    ///
    /// When it is no component, or says nothing of itself.
    fn read(&self, bytes: Vec<u8>) -> Result<Arc<dyn Component>, EngineError>;

    /// Asks a component, with nothing granted, for its declaration, and returns its bytes with the declaration in them.
    ///
    /// # Errors
    ///
    /// When it does not answer, or wants what the declaration does not name.
    fn seal<'a>(&'a self, bytes: &'a [u8], cache: Option<&'a Path>) -> Sealing<'a>;
}

/// The bytes of a sealed component, once it has answered.
pub type Sealing<'a> = Pin<Box<dyn Future<Output = Result<Vec<u8>, EngineError>> + Send + 'a>>;

/// A component that was read.
pub trait Component: Debug + Send + Sync {
    /// Returns the declaration that its file holds, as JSON.
    fn declaration(&self) -> &str;

    /// Returns its digest.
    fn digest(&self) -> &str;

    /// Returns what it imports.
    ///
    /// # Errors
    ///
    /// When the component is broken.
    fn imports(&self) -> Result<Vec<ComponentImport>, EngineError>;

    /// Makes a tool of it. Compiled code is kept in `cache`.
    ///
    /// # Errors
    ///
    /// When it imports more than is declared, or cannot be compiled.
    fn tool(&self, declaration: Declaration, cache: Option<&Path>) -> Result<Arc<dyn Tool>, EngineError>;
}

/// One import of a component.
#[derive(Clone, Debug)]
pub struct ComponentImport {
    /// Its name, down to the function.
    pub name: String,
    /// Whether the engine knows it; what is not known is refused.
    pub known: bool,
    /// What must be declared for it.
    pub needs: Option<Surface>,
}

/// Why an engine did not do something, and what to do about it.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{message}")]
pub struct EngineError {
    /// One sentence.
    pub message: String,
    /// Advice, where there is some.
    pub hint: Option<&'static str>,
}

static ENGINE: OnceLock<&'static dyn ComponentEngine> = OnceLock::new();

/// Says which engine this program has; the first one counts.
pub(crate) fn bring(engine: &'static dyn ComponentEngine) {
    let _first = ENGINE.set(engine);
}

/// Says whether this program has an engine of its own.
pub(crate) fn has_engine() -> bool {
    ENGINE.get().is_some()
}

/// Returns the engine. Where this program has none, one that has takes its place, and this returns only when there is no such program.
pub(crate) fn engine() -> Result<&'static dyn ComponentEngine, EngineError> {
    match ENGINE.get() {
        Some(engine) => Ok(*engine),
        None => Err(become_components()),
    }
}

/// A component of a toolbox.
#[derive(Clone, Debug)]
pub(crate) struct Plugin(Arc<dyn Component>);

impl Plugin {
    /// Reads a component, which runs nothing.
    pub(crate) fn read(bytes: Vec<u8>) -> Result<Self, String> {
        let read = engine().and_then(|engine| engine.read(bytes));
        read.map(Self).map_err(|error| match error.hint {
            Some(hint) => format!("{error}; {hint}"),
            None => error.to_string(),
        })
    }

    /// Returns what the policy wants to know of it.
    pub(crate) fn file(&self) -> ComponentFile {
        ComponentFile { declaration: self.0.declaration().to_owned(), digest: self.0.digest().to_owned() }
    }
}

/// What makes tools of components.
pub(crate) fn plugin_tools(
    plugins: &[Plugin],
) -> impl FnMut(Declaration) -> Result<Arc<dyn Tool>, CommandError> + '_ {
    let mut cache = None;
    move |declaration| {
        let input = |message: String| CommandError::Input { message, hint: None };
        let name = declaration.name.clone();
        let Runtime::Wasm { component } = &declaration.runtime else {
            return Err(input(format!("tool `{name}` is no component")));
        };
        let plugin = plugins.iter().find(|plugin| plugin.0.digest() == component);
        let plugin = plugin.ok_or_else(|| input(format!("the component of tool `{name}` was not read")))?;
        let cache = cache.get_or_insert_with(component_cache).as_deref();
        plugin.0.tool(declaration, cache).map_err(|error| CommandError::Input {
            message: format!("tool `{name}`: {error}"),
            hint: error.hint,
        })
    }
}

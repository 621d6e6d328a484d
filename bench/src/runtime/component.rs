//! The tool as a component, and a clock around it.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures_util::future::{BoxFuture, FutureExt};
use ringfence::policy::ComponentFile;
use ringfence::{Context, Declaration, Tool, ToolError};
use ringfence_wasm::{Host, Package};
use serde_json::Value;

/// Returns the bytes of a guest that `script/wasm-guests` built.
///
/// # Errors
///
/// It is not there.
pub fn guest(name: &str) -> Result<Vec<u8>, Box<dyn Error>> {
    let folder = std::env::var_os("RINGFENCE_TEST_GUESTS")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/wasm"), PathBuf::from);
    let path = folder.join(format!("{name}.wasm"));
    std::fs::read(&path)
        .map_err(|error| format!("{}: {error}; run `script/wasm-guests` first", path.display()).into())
}

/// Makes a tool of a component: reads, compiles and asks it.
///
/// # Errors
///
/// It is refused.
pub fn component(host: &Host, bytes: Vec<u8>) -> Result<Arc<dyn Tool>, Box<dyn Error>> {
    let package = Package::read(bytes)?;
    let file =
        ComponentFile { declaration: package.declaration().to_owned(), digest: package.digest().to_owned() };
    Ok(host.tool(&package, file.declared(None)?)?)
}

/// A tool that notes how long each of its calls takes, without what the registry does around it.
pub struct Timed {
    inner: Arc<dyn Tool>,
    times: Mutex<Vec<Duration>>,
}

impl Timed {
    /// Puts a clock around a tool.
    pub fn new(inner: Arc<dyn Tool>) -> Self {
        Self { inner, times: Mutex::default() }
    }

    /// Returns the times since the last time this was asked.
    pub fn take(&self) -> Vec<Duration> {
        std::mem::take(&mut *self.times.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Tool for Timed {
    fn declaration(&self) -> &Declaration {
        self.inner.declaration()
    }

    fn call<'a>(&'a self, arguments: &'a Value, context: Context) -> BoxFuture<'a, Result<Value, ToolError>> {
        async move {
            let begun = Instant::now();
            let answer = self.inner.call(arguments, context).await;
            let took = begun.elapsed();
            self.times.lock().unwrap_or_else(PoisonError::into_inner).push(took);
            answer
        }
        .boxed()
    }
}

//! Tools that are WebAssembly components.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;

use ringfence::Tool;
use ringfence::policy::{ComponentFile, Declaration, Runtime};
use ringfence_wasm::{Host, Package, WasmError};

use crate::error::CommandError;
use crate::sandbox::private_folder;

/// A component that was read.
#[derive(Clone, Debug)]
pub(crate) struct Plugin(Arc<Package>);

impl Plugin {
    /// Reads a component, which runs nothing.
    pub(crate) fn read(bytes: Vec<u8>) -> Result<Self, String> {
        Package::read(bytes).map(|package| Self(Arc::new(package))).map_err(|error| said(&error))
    }

    /// Returns what the policy wants to know of it.
    pub(crate) fn file(&self) -> ComponentFile {
        ComponentFile { declaration: self.0.declaration().to_owned(), digest: self.0.digest().to_owned() }
    }
}

/// What makes tools of components. The engine is made when the first one is asked for.
pub(crate) fn plugin_tools(
    plugins: &[Plugin],
) -> impl FnMut(Declaration) -> Result<Arc<dyn Tool>, CommandError> + '_ {
    let mut host = None;
    move |declaration| {
        let input = |message: String| CommandError::Input { message, hint: None };
        let name = declaration.name.clone();
        let Runtime::Wasm { component } = &declaration.runtime else {
            return Err(input(format!("tool `{name}` is no component")));
        };
        let plugin = plugins.iter().find(|plugin| plugin.0.digest() == component);
        let plugin = plugin.ok_or_else(|| input(format!("the component of tool `{name}` was not read")))?;
        let host = match &host {
            Some(host) => host,
            None => &*host.insert(self::host().map_err(|error| input(said(&error)))?),
        };
        let tool = host.tool(&plugin.0, declaration.clone());
        tool.map_err(|error| CommandError::Input {
            message: format!("tool `{name}`: {error}"),
            hint: error.hint(),
        })
    }
}

/// Returns the engine, with a private folder for compiled code where there can be one.
pub(crate) fn host() -> Result<Host, WasmError> {
    let folder = private_folder().join("components");
    let builder = Host::builder();
    // Without the folder everything is compiled again, which takes time and nothing else.
    match crate::book::private_folder(&folder) {
        // What is in there is run as it is: nobody else may exchange it, or a folder above it.
        Ok(()) if is_ours_all_the_way(&folder).unwrap_or(false) => builder.cache(folder).build(),
        Ok(()) | Err(_) => builder.build(),
    }
}

/// Says whether nobody but this user and root can put something else where a folder is.
fn is_ours_all_the_way(folder: &Path) -> std::io::Result<bool> {
    let own = rustix::process::geteuid().as_raw();
    let folder = folder.canonicalize()?;
    let mut held = true;
    for path in folder.ancestors() {
        let found = std::fs::symlink_metadata(path)?;
        let is_known = found.uid() == own || found.uid() == 0;
        // Where others may write, only what is theirs may be exchanged, if the folder says so.
        let is_shut = found.mode() & 0o022 == 0 || (found.mode() & 0o1000 != 0 && path != folder);
        held &= found.is_dir() && is_known && is_shut;
    }
    Ok(held)
}

fn said(error: &WasmError) -> String {
    match error.hint() {
        Some(hint) => format!("{error}; {hint}"),
        None => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, chown, symlink};

    use super::*;

    #[test]
    fn compiled_code_is_kept_only_where_nobody_else_can_exchange_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cache/ringfence/components");
        std::fs::create_dir_all(&path).unwrap();
        let mode = |name: &str, mode: u32| {
            std::fs::set_permissions(folder.path().join(name), PermissionsExt::from_mode(mode)).unwrap();
        };
        for name in ["cache", "cache/ringfence", "cache/ringfence/components"] {
            mode(name, 0o755);
        }
        assert!(is_ours_all_the_way(&path).unwrap());
        for (name, wide) in
            [("cache/ringfence", 0o777), ("cache", 0o775), ("cache/ringfence/components", 0o1777)]
        {
            mode(name, wide);
            assert!(!is_ours_all_the_way(&path).unwrap(), "{name}");
            mode(name, 0o755);
        }
        // As in a shared scratch folder: what is ours in it cannot be exchanged by others.
        mode("cache", 0o1777);
        assert!(is_ours_all_the_way(&path).unwrap());
        let link = folder.path().join("link");
        symlink(folder.path().join("cache"), &link).unwrap();
        mode("cache", 0o777);
        assert!(!is_ours_all_the_way(&link.join("ringfence/components")).unwrap());
        mode("cache", 0o755);
        if rustix::process::geteuid().is_root() {
            chown(folder.path().join("cache/ringfence"), Some(65_534), None).unwrap();
            assert!(!is_ours_all_the_way(&path).unwrap(), "a folder of somebody else");
        }
    }
}

//! From the command line of `ringfence run` to what the sandbox is asked to grant.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use ringfence::policy::{NetworkGrant, resolve_capabilities};
use ringfence::sandbox::{Access, SearchPath, Spec};

use super::{RunArgs, limits};
use crate::error::CommandError;
use crate::load::Place;
use crate::secrets;

/// What the command line asks for.
pub(super) struct Request {
    /// What is granted.
    pub(super) spec: Spec,
    /// Which hosts are.
    pub(super) network: NetworkGrant,
    /// Whether somebody has set a limit of output.
    pub(super) limits_output: bool,
}

/// Reads the command line.
pub(super) fn specify(args: &RunArgs, place: &Place) -> Result<Request, CommandError> {
    let input = |message: String, hint| CommandError::Input { message, hint };
    let (program, arguments) =
        args.command.split_first().ok_or_else(|| input("no command is given".into(), None))?;
    let search = SearchPath::default().and(std::env::var_os("PATH").iter().flat_map(std::env::split_paths));
    let find =
        |name: &str| search.find(name).or_else(|| absolute(Path::new(name)).filter(|_| name.contains('/')));
    // A name that nothing is found for is refused with the plan, as a path that is not a program is.
    let here = program.to_str().filter(|_| args.image.is_none()).and_then(&find);
    let mut spec = Spec::new(here.unwrap_or_else(|| PathBuf::from(program)))
        .called(program)
        .arguments(arguments.iter().cloned())
        .limits(limits(&args.limit)?);
    let mut limits_output = limits(&args.limit)?.output.is_some();
    if let Some(image) = &args.image {
        spec = spec.in_image(image.as_str());
    }
    let mut tool_hosts = None;
    if let Some(tool) = &args.tool {
        let loaded = place.load()?.sound()?;
        let names = [tool.clone()];
        let declarations = loaded.named(&names)?;
        for declaration in declarations {
            let declared = declaration.capabilities.clone().unwrap_or_default();
            let grant = resolve_capabilities(&declared, &loaded.personality)
                .map_err(|refusal| input(refusal.to_string(), None))?;
            let limits = limits(&args.limit)?.meet(&declaration.limits).meet(&loaded.personality.limits);
            limits_output = limits.output.is_some();
            spec = spec
                .limits(limits)
                .grant(&grant, find)
                .map_err(|error| input(error.to_string(), error.hint()))?;
            tool_hosts = grant.network;
        }
    }
    let network = args.network.grant(tool_hosts.as_ref())?;
    spec = spec.network(&network);
    for (paths, access) in [(&args.read, Access::READ), (&args.write, Access::WRITE)] {
        for path in paths {
            let path = absolute(path).ok_or_else(|| {
                input("the current directory is gone".into(), Some("go to a folder that is there"))
            })?;
            spec = spec.tree(path, access);
        }
    }
    for name in &args.exec {
        let path = find(name);
        spec = match path {
            _ if name == "*" => spec.any_binary(),
            Some(path) if path.is_dir() => spec.tree(path, Access::EXECUTE),
            Some(path) => spec.binary(path),
            None => {
                return Err(input(
                    format!("no program is named `{name}`"),
                    Some("`--exec` takes a program, a folder or `*`"),
                ));
            }
        };
    }
    for variable in &args.env {
        let (name, value) = match variable.split_once('=') {
            Some((name, value)) => (name, Some(OsString::from(value))),
            None => (variable.as_str(), std::env::var_os(variable)),
        };
        if name.is_empty() {
            return Err(input(
                format!("`{variable}` is not NAME or NAME=VALUE"),
                Some("write it as `--env LANG`, with the value it has here, or `--env LANG=C`"),
            ));
        }
        // A variable that is not set here is not set there.
        if let Some(value) = value {
            spec = spec.variable(name, value);
        }
    }
    for (name, secret) in secrets::given(&args.secret)? {
        spec = spec.variable(name, secret.expose());
    }
    match &args.cwd {
        Some(directory) => {
            let directory = absolute(directory).ok_or_else(|| {
                input("the current directory is gone".into(), Some("go to a folder that is there"))
            })?;
            spec = spec.directory(directory);
        }
        // Where we are, if that or something below it is granted; the scratch folder otherwise.
        None => {
            if let Ok(here) = std::env::current_dir() {
                spec = spec.directory_if_possible(here);
            }
        }
    }
    if args.observe {
        spec = spec.observe();
    }
    if args.unix_sockets {
        spec = spec.unix_sockets();
    }
    if args.tty {
        spec = spec.terminal();
    }
    Ok(Request { spec, network, limits_output })
}

fn absolute(path: &Path) -> Option<PathBuf> {
    let joined = std::env::current_dir().ok()?.join(path);
    ringfence::policy::normalise(&joined).ok()
}

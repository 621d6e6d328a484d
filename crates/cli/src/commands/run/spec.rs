//! From the command line of `ringfence run` to what the sandbox is asked to grant.

use std::ffi::OsString;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use ringfence::policy::{Direction, Floor, Limits, NetworkGrant, Size, Span, resolve_capabilities};
use ringfence::sandbox::{Access, Spec};

use super::{RunArgs, limits, variables};
use crate::error::CommandError;
use crate::exposed::{hide_policy, refuse_writable_policy};
use crate::load::Place;
use crate::program::{find_program, held_folders, own_interpreter};
use crate::secrets;

/// What the command line asks for.
pub(super) struct Request {
    /// What is granted.
    pub(super) spec: Spec,
    /// Which hosts are.
    pub(super) network: NetworkGrant,
    /// The file that the command was found at.
    pub(super) program: Option<PathBuf>,
}

/// Reads the command line.
pub(super) fn specify(args: &RunArgs, place: &Place) -> Result<Request, CommandError> {
    let input = |message: String, hint| CommandError::Input { message, hint };
    let (program, arguments) =
        args.command.split_first().ok_or_else(|| input("no command is given".into(), None))?;
    // The program that a shell would start.
    let find = |name: &str| match name {
        "." | ".." => absolute(Path::new(name)),
        _ if name.contains('/') => absolute(Path::new(name)),
        _ => find_program(name),
    };
    // A name that nothing is found for is refused with the plan, as a path that is not a program is.
    let here = program.to_str().filter(|_| args.image.is_none()).and_then(find);
    let mut spec = match here.as_deref().and_then(own_interpreter) {
        // `env` would look in the folders of the system only, and find another interpreter than a shell.
        Some(interpreter) => {
            let script = here.clone().unwrap_or_default();
            Spec::new(interpreter).arguments([&script]).tree(script, Access::READ)
        }
        None => Spec::new(here.clone().unwrap_or_else(|| PathBuf::from(program))).called(program),
    };
    spec = spec.arguments(arguments.iter().cloned());
    let unset = Limits {
        wall: Some(Span::UNLIMITED),
        cpu: Some(Span::UNLIMITED),
        // What is passed on is held nowhere, and needs no limit; what is kept for the JSON does.
        output: Some(Size::UNLIMITED).filter(|_| !args.json),
        ..Limits::default()
    };
    let mut limited = limits(&args.limit)?;
    if let Some(image) = &args.image {
        spec = spec.in_image(image.as_str());
    }
    let mut tool_hosts = None;
    if let Some(tool) = &args.tool {
        let loaded = place.load()?.sound()?;
        refuse_writable_policy(&loaded, &place.policy)?;
        if !args.write.is_empty() {
            hide_policy(&place.policy);
        }
        let names = [tool.clone()];
        let declarations = loaded.named(&names)?;
        for declaration in declarations {
            let declared = declaration.capabilities.clone().unwrap_or_default();
            let grant = resolve_capabilities(&declared, &loaded.personality)
                .map_err(|refusal| input(refusal.to_string(), None))?;
            limited = limited.meet(&declaration.limits).meet(&loaded.personality.limits);
            spec = spec.grant(&grant, find).map_err(|error| input(error.to_string(), error.hint()))?;
            tool_hosts = grant.network;
        }
    }
    spec = spec.limits(limited.over(&args.entry_limits).over(&unset));
    let network = args.network.grant(tool_hosts.as_ref())?;
    spec = spec.network(&network);
    let mut trees = Vec::new();
    for (paths, access) in [(&args.read, Access::READ), (&args.write, Access::WRITE)] {
        for path in paths {
            let path = absolute(path).ok_or_else(|| {
                input("the current directory is gone".into(), Some("go to a folder that is there"))
            })?;
            if access.write && !args.print_plan {
                make_folder(&path)?;
            }
            trees.push(path.clone());
            spec = spec.tree(path, access);
        }
    }
    if let Some(home) = &args.home {
        let home = absolute(home).ok_or_else(|| {
            input("the current directory is gone".into(), Some("go to a folder that is there"))
        })?;
        if !args.print_plan {
            make_folder(&home)?;
        }
        trees.push(home.clone());
        spec = spec.variable("HOME", &home).tree(home, Access::WRITE);
    }
    let mut programs: Vec<PathBuf> = here.clone().into_iter().collect();
    for name in &args.exec {
        let path = find(name);
        spec = match path {
            _ if name == "*" => spec.any_binary(),
            Some(path) if path.is_dir() => {
                trees.push(path.clone());
                spec.tree(path, Access::EXECUTE)
            }
            Some(path) => {
                programs.push(path.clone());
                spec.binary(path)
            }
            None => {
                return Err(input(
                    format!("no program is named `{name}`"),
                    Some("`--exec` takes a program, a folder or `*`"),
                ));
            }
        };
    }
    spec = spec.look_first_in(held_folders(&programs, &trees));
    if args.tty {
        spec =
            variables::of_terminal().into_iter().fold(spec, |spec, (name, value)| spec.variable(name, value));
    }
    if !network.is_empty() {
        for (name, file) in variables::of_authorities() {
            spec = spec.variable(name, &file).tree(file, Access::READ);
        }
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
    Ok(Request { spec, network, program: here })
}

/// Makes a folder that is to be written and is not there, in a folder that is. Says so. Through a link nothing is made: it may be a
/// project's, and lead anywhere.
fn make_folder(path: &Path) -> Result<(), CommandError> {
    let is_missing = path.symlink_metadata().is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound);
    let is_plain = path.parent().is_some_and(|parent| parent.canonicalize().is_ok_and(|real| real == parent));
    let is_protected = Floor::denies_unless_named(path, Direction::Write, &std::iter::empty()).is_some();
    if !is_missing || !is_plain || is_protected {
        return Ok(());
    }
    std::fs::create_dir(path).map_err(CommandError::Start)?;
    let shown = path.to_string_lossy().escape_debug().to_string();
    let _told = writeln!(crate::print::errors(), "ringfence: made the folder `{shown}`, which was not there");
    Ok(())
}

fn absolute(path: &Path) -> Option<PathBuf> {
    let joined = std::env::current_dir().ok()?.join(path);
    ringfence::policy::normalise(&joined).ok()
}

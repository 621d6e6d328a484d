//! What the standard library of Python does, by path; and a few clients whose own source may not be there.

use std::collections::HashSet;
use std::sync::LazyLock;

use crate::dynamic::{Arguments, Catalog, Special, Table};
use crate::{Effect, EffectSet};

static TABLE: LazyLock<Table> = LazyLock::new(|| Table::parse(include_str!("library.txt")));

/// The modules that come with Python.
static MODULES: LazyLock<HashSet<&'static str>> =
    LazyLock::new(|| include_str!("modules.txt").split_whitespace().collect());

/// Names that so many things have that they say nothing.
const COMMON: [&str; 40] = [
    "add",
    "append",
    "clear",
    "close",
    "copy",
    "count",
    "decode",
    "discard",
    "encode",
    "endswith",
    "extend",
    "find",
    "format",
    "get",
    "group",
    "index",
    "insert",
    "items",
    "join",
    "keys",
    "lower",
    "match",
    "pop",
    "read",
    "remove",
    "replace",
    "reverse",
    "search",
    "sort",
    "split",
    "start",
    "startswith",
    "stop",
    "strip",
    "sub",
    "update",
    "upper",
    "values",
    "write",
    "flush",
];

/// What leads to a path again.
const PATH_METHODS: [&str; 16] = [
    "absolute",
    "expanduser",
    "glob",
    "iterdir",
    "joinpath",
    "readlink",
    "relative_to",
    "rename",
    "replace",
    "resolve",
    "rglob",
    "walk",
    "with_name",
    "with_stem",
    "with_suffix",
    "with_segments",
];

/// What the library of Python does.
#[derive(Debug)]
pub(super) struct Library;

impl Library {
    /// Says whether a module comes with Python.
    pub(super) fn has_module(name: &str) -> bool {
        MODULES.contains(name.split('.').next().unwrap_or(name))
    }
}

impl Catalog for Library {
    fn call(&self, path: &str, arguments: Option<&Arguments>) -> EffectSet {
        // What is only named of compiled or absent code is data as often as not; calling it counts.
        if path.starts_with("native:") {
            return if arguments.is_some() { EffectSet::of(Effect::Ffi) } else { EffectSet::NONE };
        }
        if let Some(name) = path.strip_prefix("missing:") {
            // A client that the table knows does what the table says, and nothing is said of its name alone.
            let known = TABLE.effects(name);
            let is_known = TABLE.leads(name) || TABLE.leads(&format!("{name}.x"));
            let counts = arguments.is_some() || !name.contains('.');
            return match (is_known, counts) {
                (true, _) => known,
                (false, true) => EffectSet::of(Effect::Unanalyzed),
                (false, false) => EffectSet::NONE,
            };
        }
        let mode = match path {
            "pathlib.Path().open" => Some((0, "mode")),
            "open"
            | "gzip.open"
            | "bz2.open"
            | "lzma.open"
            | "tarfile.open"
            | "zipfile.ZipFile"
            | "gzip.GzipFile"
            | "bz2.BZ2File"
            | "lzma.LZMAFile"
            | "wave.open"
            | "os.fdopen"
            | "tarfile.TarFile"
            | "tarfile.TarFile.open"
            | "io.FileIO" => Some((1, "mode")),
            _ => None,
        };
        if let Some((position, name)) = mode {
            return of_mode(path, arguments.and_then(|given| given.text(position, name)), arguments);
        }
        if path == "logging.basicConfig" {
            let to_file =
                arguments.is_some_and(|given| given.named_texts.iter().any(|(name, _)| name == "filename"));
            return if to_file { EffectSet::of(Effect::FsWrite) } else { EffectSet::NONE };
        }
        if matches!(path, "operator.attrgetter" | "operator.methodcaller") {
            let name = arguments.and_then(|given| given.text(0, "")).flatten();
            let is_power = |name: &str| {
                !TABLE.effects(&format!("os.{name}")).is_empty()
                    || !TABLE.effects(&format!("subprocess.{name}")).is_empty()
            };
            let hides = name.is_none_or(|name| name.contains("__") || name.split('.').any(is_power));
            return if hides { EffectSet::of(Effect::DynUnresolved) } else { EffectSet::NONE };
        }
        // A function that reaches into others by name, handed on as a value, can be called on anything.
        if arguments.is_none() && matches!(path, "getattr" | "__import__" | "importlib.import_module") {
            return EffectSet::of(Effect::DynUnresolved);
        }
        if path.ends_with(".__getattribute__") {
            return EffectSet::of(Effect::DynUnresolved);
        }
        // A clock is only read when no time is given.
        if matches!(path, "time.localtime" | "time.gmtime" | "time.ctime")
            && arguments.is_some_and(|given| !given.positional.is_empty())
        {
            return EffectSet::NONE;
        }
        TABLE.effects(path)
    }

    fn read(&self, path: &str) -> EffectSet {
        match path {
            "os.environ" | "os.environb" => EffectSet::of(Effect::EnvRead),
            _ => EffectSet::NONE,
        }
    }

    fn write(&self, path: &str) -> EffectSet {
        match path {
            "os.environ" | "os.environb" => EffectSet::of(Effect::EnvWrite),
            _ => EffectSet::NONE,
        }
    }

    fn is_module(&self, path: &str) -> bool {
        !path.contains("()")
            && (Self::has_module(path) && MODULE_PATHS.contains(path) || path == "sys.modules")
    }

    fn is_live(&self, path: &str) -> bool {
        // What an unknown package gives is data; what a known client gives is still the client.
        let is_special = path.rsplit('.').next().is_some_and(|last| last.starts_with("__"));
        if let Some(name) = path.strip_prefix("missing:") {
            return !is_special && (!name.contains("()") || TABLE.leads(name));
        }
        path.starts_with("native:") && !is_special && !path.contains("()")
            || TABLE.leads(path)
            || !self.call(path, None).is_empty()
            || !self.read(path).is_empty()
            || self.special(path).is_some()
            || Self::has_module(path) && !path.contains('.')
            || MODULE_PATHS.contains(path)
            || path.starts_with("sys.modules")
            || self.drives(path)
    }

    fn alias(&self, path: &str) -> Option<String> {
        if let Some(rest) = path.strip_prefix("missing:missing:") {
            return Some(format!("missing:{rest}"));
        }
        let roots = [
            ("builtins.", ""),
            ("posix.", "os."),
            ("nt.", "os."),
            ("_io.", "io."),
            ("posixpath.", "os.path."),
            ("ntpath.", "os.path."),
            ("_socket.", "socket."),
            ("_random.", "random."),
            ("sys.modules.", ""),
        ];
        for (from, to) in roots {
            if let Some(rest) = path.strip_prefix(from)
                && (from != "sys.modules." || Self::has_module(rest))
            {
                return Some(format!("{to}{rest}"));
            }
        }
        match path {
            "posix" | "nt" => return Some("os".into()),
            "_io" => return Some("io".into()),
            "posixpath" | "ntpath" => return Some("os.path".into()),
            "io.open" | "codecs.open" => return Some("open".into()),
            "asyncio.get_event_loop()"
            | "asyncio.get_running_loop()"
            | "asyncio.new_event_loop()"
            | "asyncio.SelectorEventLoop()"
            | "asyncio.events.get_event_loop()" => return Some("asyncio.loop()".into()),
            "socket.SocketType" => return Some("socket.socket".into()),
            "datetime.datetime.datetime" => return Some("datetime.datetime".into()),
            _ => {}
        }
        for (suffix, kept) in [
            (".__dict__", ""),
            (".__init__", ""),
            (".__new__", ""),
            (".__call__", ""),
            (".__enter__()", ""),
            (".__aenter__()", ""),
        ] {
            if let Some(rest) = path.strip_suffix(suffix) {
                return Some(format!("{rest}{kept}"));
            }
        }
        alias_of_path_class(path)
    }

    fn method(&self, name: &str) -> EffectSet {
        match name {
            "read_text" | "read_bytes" | "iterdir" | "rglob" | "is_file" | "is_dir" | "is_symlink" => {
                EffectSet::of(Effect::FsRead)
            }
            "write_text" | "write_bytes" | "unlink" | "rmdir" | "mkdir" | "touch" | "symlink_to"
            | "hardlink_to" | "extractall" => EffectSet::of(Effect::FsWrite),
            "urlopen" | "connect_ex" | "sendto" => EffectSet::of(Effect::NetConnect),
            "getaddrinfo" | "gethostbyname" => EffectSet::of(Effect::NetDns),
            "create_subprocess_exec" | "create_subprocess_shell" | "check_output" | "Popen" => {
                EffectSet::of(Effect::Exec)
            }
            "exec_module" | "load_module" | "__subclasses__" => EffectSet::of(Effect::DynUnresolved),
            _ => EffectSet::NONE,
        }
    }

    fn drives(&self, path: &str) -> bool {
        let last = path.rsplit('.').next().unwrap_or(path);
        let is_driver = matches!(
            last,
            "start"
                | "run"
                | "serve_forever"
                | "handle_request"
                | "visit"
                | "generic_visit"
                | "feed"
                | "cmdloop"
        );
        // A function of a module is no method of a class.
        is_driver
            && path.rsplit_once('.').is_some_and(|(class, _)| !self.is_module(class) && class.contains('.'))
    }

    fn constructors(&self) -> &'static [&'static str] {
        &["__init__", "__new__", "__post_init__", "__del__"]
    }

    fn caller(&self) -> Option<&'static str> {
        Some("__call__")
    }

    fn special(&self, path: &str) -> Option<Special> {
        Some(match path {
            "__import__" | "importlib.import_module" | "importlib.__import__" => Special::Import(0),
            "getattr" | "inspect.getattr_static" | "object.__getattribute__" => Special::Member(0, 1),
            "setattr" => Special::SetMember(0, 1, 2),
            "vars"
            | "functools.partial"
            | "functools.wraps"
            | "functools.lru_cache"
            | "functools.cache"
            | "iter"
            | "next"
            | "contextlib.closing"
            | "contextlib.contextmanager"
            | "contextlib.asynccontextmanager"
            | "staticmethod"
            | "classmethod"
            | "asyncio.create_task"
            | "asyncio.ensure_future"
            | "asyncio.wait_for"
            | "asyncio.run"
            | "asyncio.shield"
            | "copy.copy"
            | "copy.deepcopy"
            | "types.MappingProxyType"
            | "type"
            | "weakref.ref" => Special::Same(0),
            "typing.cast" => Special::Same(1),
            "map" | "filter" | "functools.reduce" | "asyncio.to_thread" | "threading.Thread"
            | "threading.Timer" | "atexit.register" | "sorted" | "max" | "min" => Special::Apply(0, 1),
            _ => return None,
        })
    }

    fn is_common(&self, name: &str) -> bool {
        COMMON.contains(&name) || name.starts_with("__")
    }
}

/// The modules below others, and those of the first level.
static MODULE_PATHS: LazyLock<HashSet<&'static str>> = LazyLock::new(|| {
    let below = [
        "os.path",
        "asyncio.subprocess",
        "concurrent.futures",
        "http.client",
        "http.server",
        "importlib.util",
        "importlib.machinery",
        "urllib.request",
        "xmlrpc.client",
        "xmlrpc.server",
        "logging.handlers",
        "multiprocessing.connection",
        "importlib.resources",
        "importlib.metadata",
        "ctypes.util",
    ];
    MODULES.iter().copied().chain(below).collect()
});

fn alias_of_path_class(path: &str) -> Option<String> {
    for other in ["pathlib.PosixPath", "pathlib.WindowsPath"] {
        if let Some(rest) = path.strip_prefix(other) {
            return Some(format!("pathlib.Path{rest}"));
        }
    }
    if matches!(path, "pathlib.Path.home()" | "pathlib.Path.cwd()") {
        return Some("pathlib.Path()".into());
    }
    if let Some(member) = path.strip_prefix("pathlib.Path.")
        && !matches!(member, "home" | "cwd")
    {
        return Some(format!("pathlib.Path().{member}"));
    }
    let member = path.strip_prefix("pathlib.Path().")?;
    let is_path =
        member == "parent" || member.strip_suffix("()").is_some_and(|name| PATH_METHODS.contains(&name));
    is_path.then(|| "pathlib.Path()".into())
}

/// What opening with a mode does: reads, writes, or whatever an unknown mode may say.
fn of_mode(path: &str, mode: Option<Option<&str>>, arguments: Option<&Arguments>) -> EffectSet {
    let both = [Effect::FsRead, Effect::FsWrite].into_iter().collect();
    if path == "os.fdopen" {
        return EffectSet::NONE;
    }
    // `open(*arguments)` may hold a mode; so may the function handed on as a value.
    let hides = arguments.is_none_or(|given| given.named_texts.iter().any(|(name, _)| name == "**"));
    match mode {
        None if hides => both,
        None => EffectSet::of(Effect::FsRead),
        Some(None) => both,
        Some(Some(mode)) => {
            let writes = mode.contains(['w', 'a', 'x', '+']);
            let reads = mode.contains('r') || mode.contains('+') || !writes;
            let mut effects = EffectSet::NONE;
            if reads {
                effects.insert(Effect::FsRead);
            }
            if writes {
                effects.insert(Effect::FsWrite);
            }
            effects
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_table_is_understood() {
        assert_eq!(TABLE.refused, Vec::<String>::new());
    }

    #[test]
    fn modes_say_whether_a_file_is_read_or_written() {
        #[rustfmt::skip]
        let cases = [
            // mode         reads  writes
            ("r",           true,  false),
            ("rb",          true,  false),
            ("w",           false, true),
            ("ab",          false, true),
            ("x",           false, true),
            ("r+",          true,  true),
            ("w+b",         true,  true),
            ("r:gz",        true,  false),
        ];
        for (mode, reads, writes) in cases {
            let effects = of_mode("open", Some(Some(mode)), Some(&Arguments::default()));
            assert_eq!(
                (effects.contains(Effect::FsRead), effects.contains(Effect::FsWrite)),
                (reads, writes),
                "{mode}"
            );
        }
        assert_eq!(of_mode("open", Some(None), Some(&Arguments::default())).iter().count(), 2);
        assert_eq!(of_mode("open", None, Some(&Arguments::default())).iter().count(), 1);
    }
}

//! The little that must be known of the types of the standard library to follow a value through it.

use std::rc::Rc;

use super::kind::Kind;

pub(crate) const CONTAINERS: &[&str] =
    &["std::option::Option", "std::result::Result", "std::task::Poll", "std::io::Result", "std::fmt::Result"];

const POINTERS: &[&str] = &[
    "std::boxed::Box",
    "std::rc::Rc",
    "std::sync::Arc",
    "std::pin::Pin",
    "std::borrow::Cow",
    "std::cell::Ref",
    "std::cell::RefMut",
    "std::sync::MutexGuard",
    "std::sync::RwLockReadGuard",
    "std::sync::RwLockWriteGuard",
    "std::sync::LazyLock",
    "std::cell::LazyCell",
    "std::mem::ManuallyDrop",
    "std::io::BufReader",
    "std::io::BufWriter",
];

const CELLS: &[&str] = &[
    "std::sync::Mutex",
    "std::sync::RwLock",
    "std::cell::RefCell",
    "std::cell::Cell",
    "std::sync::OnceLock",
    "std::cell::OnceCell",
];

/// Types whose methods return the value itself, for the next call of a chain.
const BUILDERS: &[&str] = &["std::process::Command", "std::fs::OpenOptions", "std::fs::DirBuilder"];

fn outside(path: &str, arguments: Vec<Kind>) -> Kind {
    Kind::Outside(path.into(), arguments.into())
}

/// Returns what a smart pointer points to.
pub(crate) fn target(path: &str, arguments: &Rc<[Kind]>) -> Option<Kind> {
    match path {
        "std::path::PathBuf" => Some(outside("std::path::Path", Vec::new())),
        "std::string::String" => Some(outside("str", Vec::new())),
        "std::vec::Vec" => arguments.first().map(|one| Kind::List(Rc::new(one.clone()))),
        _ if POINTERS.contains(&path) => arguments.first().cloned(),
        _ => None,
    }
}

/// Returns what `?`, `.await` and `unwrap` leave of a value.
pub(crate) fn peeled(kind: &Kind) -> Kind {
    match kind {
        Kind::Outside(path, arguments) if CONTAINERS.contains(&&**path) => {
            arguments.first().cloned().unwrap_or(Kind::Unknown)
        }
        other => other.clone(),
    }
}

/// Returns what an iteration yields.
pub(crate) fn element(kind: &Kind) -> Kind {
    match kind {
        Kind::List(element) => (**element).clone(),
        Kind::Outside(path, arguments) => match &**path {
            "std::fs::ReadDir" => {
                outside("std::result::Result", vec![outside("std::fs::DirEntry", Vec::new())])
            }
            "std::collections::HashMap" | "std::collections::BTreeMap" => Kind::Tuple(Rc::clone(arguments)),
            _ => arguments.first().cloned().unwrap_or(Kind::Unknown),
        },
        _ => Kind::Unknown,
    }
}

/// Returns what a call of a path of the standard library yields.
pub(crate) fn called(path: &str, arguments: Vec<Kind>) -> Kind {
    match path {
        "std::fs::read_dir" => return outside("std::fs::ReadDir", Vec::new()),
        "std::fs::File::options" => return outside("std::fs::OpenOptions", Vec::new()),
        "std::env::current_dir"
        | "std::env::temp_dir"
        | "std::env::current_exe"
        | "std::fs::canonicalize" => {
            return outside("std::path::PathBuf", Vec::new());
        }
        _ => {}
    }
    // `Type::function` mostly makes a `Type`; whether inside a `Result` does not matter, since only containers are peeled.
    match path.rsplit_once("::") {
        Some((owner, _))
            if owner.rsplit("::").next().is_some_and(|last| last.starts_with(char::is_uppercase)) =>
        {
            outside(owner, arguments)
        }
        _ => Kind::Unknown,
    }
}

/// Returns what a method of a type of the standard library yields.
pub(crate) fn method(kind: &Kind, name: &str) -> Kind {
    match name {
        "clone" | "to_owned" | "as_ref" | "as_mut" | "borrow" | "borrow_mut" | "by_ref" | "deref"
        | "deref_mut" | "as_deref" | "as_deref_mut" | "iter" | "iter_mut" | "into_iter" | "drain"
        | "filter" | "rev" | "skip" | "take" | "peekable" | "cloned" | "copied" | "ok" | "map_err"
        | "ok_or" | "ok_or_else" | "context" | "with_context" | "or" | "or_else" | "inspect"
        | "inspect_err" | "as_path" | "to_path_buf" | "as_mut_slice" | "as_slice" => {
            return match (name, kind) {
                ("borrow" | "borrow_mut", Kind::Outside(path, arguments)) if CELLS.contains(&&**path) => {
                    arguments.first().cloned().unwrap_or(Kind::Unknown)
                }
                _ => kind.clone(),
            };
        }
        "unwrap" | "expect" | "unwrap_or" | "unwrap_or_else" | "unwrap_or_default" | "unwrap_unchecked" => {
            return peeled(kind);
        }
        "next" | "first" | "last" | "pop" | "get" | "get_mut" | "iter_next" | "nth" | "find" | "min"
        | "max" => {
            return match kind {
                Kind::Outside(path, arguments) if path.ends_with("Map") => {
                    outside("std::option::Option", arguments.get(1).cloned().into_iter().collect())
                }
                Kind::Outside(path, arguments) if CELLS.contains(&&**path) => {
                    arguments.first().cloned().unwrap_or(Kind::Unknown)
                }
                other => outside("std::option::Option", vec![element(other)]),
            };
        }
        _ => {}
    }
    let Kind::Outside(path, arguments) = kind else { return Kind::Unknown };
    match (&**path, name) {
        (cell, "lock" | "read" | "write" | "get_or_init" | "into_inner" | "get_mut")
            if CELLS.contains(&cell) =>
        {
            arguments.first().cloned().unwrap_or(Kind::Unknown)
        }
        (
            "std::path::Path" | "std::path::PathBuf",
            "join" | "with_extension" | "with_file_name" | "canonicalize",
        )
        | ("std::fs::DirEntry", "path") => outside("std::path::PathBuf", Vec::new()),
        ("std::path::Path" | "std::path::PathBuf", "parent") => {
            outside("std::option::Option", vec![outside("std::path::Path", Vec::new())])
        }
        ("std::path::Path" | "std::path::PathBuf", "read_dir") => outside("std::fs::ReadDir", Vec::new()),
        (builder, _) if BUILDERS.contains(&builder) => kind.clone(),
        _ => Kind::Unknown,
    }
}

/// Methods whose names say enough even where nothing is known of the value.
#[rustfmt::skip]
pub(crate) const TELLING: &[(&str, &str)] = &[
    ("to_socket_addrs",  "std::net::ToSocketAddrs::to_socket_addrs"),
    ("symlink_metadata", "std::path::Path::symlink_metadata"),
    ("try_exists",       "std::path::Path::try_exists"),
    ("canonicalize",     "std::path::Path::canonicalize"),
    ("read_dir",         "std::path::Path::read_dir"),
    ("read_link",        "std::path::Path::read_link"),
    ("is_file",          "std::path::Path::is_file"),
    ("is_dir",           "std::path::Path::is_dir"),
    ("exists",           "std::path::Path::exists"),
];

/// Methods that say enough once the same body names their type.
#[rustfmt::skip]
pub(crate) const TOGETHER: &[(&str, &str)] = &[
    ("spawn",    "std::process::Command"),
    ("status",   "std::process::Command"),
    ("output",   "std::process::Command"),
    ("exec",     "std::process::Command"),
    ("open",     "std::fs::OpenOptions"),
    ("create",   "std::fs::DirBuilder"),
    ("send_to",  "std::net::UdpSocket"),
    ("connect",  "std::net::UdpSocket"),
    ("elapsed",  "std::time::Instant"),
];

/// Names of methods that values of the standard library have too, so that they say nothing of a value that is not known.
pub(crate) const ORDINARY: &[&str] = &[
    "add",
    "all",
    "and_then",
    "any",
    "append",
    "args",
    "as_bytes",
    "as_mut",
    "as_ptr",
    "as_ref",
    "as_slice",
    "as_str",
    "borrow",
    "build",
    "bytes",
    "capacity",
    "chain",
    "chars",
    "clear",
    "clone",
    "close",
    "cmp",
    "collect",
    "connect",
    "contains",
    "copy",
    "count",
    "create",
    "deref",
    "drain",
    "drop",
    "end",
    "entry",
    "enumerate",
    "eq",
    "err",
    "expect",
    "extend",
    "fetch",
    "filter",
    "find",
    "finish",
    "first",
    "flush",
    "fmt",
    "fold",
    "for_each",
    "from",
    "get",
    "get_mut",
    "get_ref",
    "hash",
    "id",
    "index",
    "insert",
    "inner",
    "into",
    "into_inner",
    "into_iter",
    "is_empty",
    "is_none",
    "is_some",
    "iter",
    "iter_mut",
    "join",
    "keys",
    "kind",
    "last",
    "len",
    "load",
    "lock",
    "lines",
    "map",
    "map_err",
    "max",
    "metadata",
    "min",
    "name",
    "new",
    "next",
    "ok",
    "open",
    "or_else",
    "output",
    "parse",
    "path",
    "peek",
    "poll",
    "pop",
    "position",
    "push",
    "push_str",
    "read",
    "recv",
    "remove",
    "replace",
    "reset",
    "resize",
    "rev",
    "run",
    "seek",
    "send",
    "set",
    "skip",
    "sort",
    "spawn",
    "split",
    "start",
    "status",
    "store",
    "sum",
    "swap",
    "take",
    "then",
    "to_owned",
    "to_string",
    "to_vec",
    "trim",
    "try_into",
    "truncate",
    "unwrap",
    "unwrap_or",
    "update",
    "values",
    "wait",
    "with",
    "write",
    "write_all",
    "zip",
    "read_to_end",
    "read_to_string",
    "write_str",
    "write_fmt",
    "read_exact",
    "as_path",
    "reserve",
    "retain",
    "starts_with",
    "ends_with",
];

//! What Node, Deno, Bun and browsers offer to JavaScript, by path; and a few clients whose own source may not be there.

use std::sync::LazyLock;

use crate::dynamic::{Arguments, Catalog, Special, Table};
use crate::{Effect, EffectSet};

static TABLE: LazyLock<Table> = LazyLock::new(|| Table::parse(include_str!("library.txt")));

const MODULES: [&str; 48] = [
    "assert",
    "async_hooks",
    "buffer",
    "child_process",
    "cluster",
    "console",
    "constants",
    "crypto",
    "dgram",
    "diagnostics_channel",
    "dns",
    "domain",
    "events",
    "fs",
    "http",
    "http2",
    "https",
    "inspector",
    "module",
    "net",
    "os",
    "path",
    "perf_hooks",
    "process",
    "punycode",
    "querystring",
    "readline",
    "repl",
    "sea",
    "sqlite",
    "stream",
    "string_decoder",
    "sys",
    "test",
    "timers",
    "tls",
    "trace_events",
    "tty",
    "url",
    "util",
    "v8",
    "vm",
    "wasi",
    "worker_threads",
    "zlib",
    "quic",
    "bun",
    "ffi",
];

/// Names that so many things have that they say nothing.
const COMMON: &str = "add all apply bind call catch clear close concat decode delete emit encode end entries every exec filter find \
    flush forEach from get has includes indexOf join keys listen map match next off on once open parse pipe pop push read reduce \
    remove replace resolve reject run send set setHeader shift slice some sort splice split start status stop stringify test then \
    toJSON toString trim update use valueOf values write json text handle add register init create destroy reset";

/// What the platforms of JavaScript do.
#[derive(Debug)]
pub(super) struct Platform;

impl Platform {
    /// Returns the path of a module that comes with the platform.
    pub(super) fn module(name: &str) -> Option<String> {
        if name.starts_with("bun:") {
            return Some(name.to_owned());
        }
        let bare = name.strip_prefix("node:").unwrap_or(name);
        let first = bare.split('/').next().unwrap_or(bare);
        MODULES.contains(&first).then(|| format!("node:{bare}"))
    }
}

impl Catalog for Platform {
    fn call(&self, path: &str, arguments: Option<&Arguments>) -> EffectSet {
        // What is only named of compiled or absent code is data as often as not; calling it counts.
        if path.starts_with("native:") {
            return if arguments.is_some() { EffectSet::of(Effect::Ffi) } else { EffectSet::NONE };
        }
        if let Some(name) = path.strip_prefix("missing:") {
            let below = format!("{name}.x");
            let is_known = TABLE.leads(&below)
                || name.split('.').next().is_some_and(|root| TABLE.leads(&format!("{root}.x")));
            let counts = arguments.is_some() || !name.contains('.');
            return match (is_known, counts) {
                (true, _) => TABLE.effects(&below),
                (false, true) => EffectSet::of(Effect::Unanalyzed),
                (false, false) => EffectSet::NONE,
            };
        }
        let first = |given: &Arguments| given.texts.first().cloned();
        match (path, arguments) {
            ("node:fs.open" | "node:fs.openSync", _) => {
                of_flags(arguments.and_then(|given| given.text(1, "flags")), arguments)
            }
            ("Date", Some(given)) if given.positional.is_empty() => EffectSet::of(Effect::Clock),
            ("setTimeout" | "setInterval" | "setImmediate", Some(given))
                if first(given).flatten().is_some() =>
            {
                EffectSet::of(Effect::DynUnresolved)
            }
            // A function that reaches into others by name, handed on as a value, can be called on anything.
            ("require" | "Reflect.get" | "node:module._load", None) => EffectSet::of(Effect::DynUnresolved),
            _ => TABLE.effects(path),
        }
    }

    fn read(&self, path: &str) -> EffectSet {
        match path {
            "process.env" | "Bun.env" => EffectSet::of(Effect::EnvRead),
            _ => EffectSet::NONE,
        }
    }

    fn write(&self, path: &str) -> EffectSet {
        match path {
            "process.env" | "Bun.env" => EffectSet::of(Effect::EnvWrite),
            _ => EffectSet::NONE,
        }
    }

    fn is_module(&self, path: &str) -> bool {
        let is_module = |name: &str| Self::module(name).is_some() && !name.contains('.');
        !path.contains("()")
            && (path.strip_prefix("node:").is_some_and(is_module)
                || matches!(path, "process" | "globalThis" | "Deno" | "Bun" | "crypto" | "Reflect"))
    }

    fn is_live(&self, path: &str) -> bool {
        // What an unknown package gives is data; what a known client gives is still the client.
        if let Some(name) = path.strip_prefix("missing:") {
            return !name.contains("()") || TABLE.leads(&format!("{}.x", name.trim_end_matches("()")));
        }
        path.starts_with("native:") && !path.contains("()")
            || matches!(path, "globalThis" | "Object" | "Reflect" | "Date" | "require" | "Promise" | "Array")
            || TABLE.leads(path)
            || self.special(path).is_some()
            || self.is_module(path)
            || !self.call(path, None).is_empty()
            || !self.read(path).is_empty()
    }

    fn alias(&self, path: &str) -> Option<String> {
        for (from, to) in [
            ("globalThis.", ""),
            ("global.", "globalThis."),
            ("window.", "globalThis."),
            ("self.", "globalThis."),
            ("top.", "globalThis."),
            ("frames.", "globalThis."),
            ("node:process.", "process."),
            ("node:sys", "node:util"),
            ("node:dns/promises", "node:dns"),
            ("node:dns.promises", "node:dns"),
            ("node:fs/promises", "node:fs"),
            ("node:fs.promises", "node:fs"),
            ("node:perf_hooks.performance", "performance"),
            ("node:crypto.webcrypto", "crypto"),
            ("node:timers.", ""),
            ("node:module.createRequire()", "require"),
            ("node:bun.", "Bun."),
            ("process.mainModule.require", "require"),
            ("require.main.require", "require"),
            ("process.getBuiltinModule", "require"),
            ("node:module.Module.", "node:module."),
            ("node:module.prototype.", "node:module."),
        ] {
            if let Some(rest) = path.strip_prefix(from) {
                return Some(format!("{to}{rest}"));
            }
        }
        match path {
            "global" | "window" | "self" | "top" | "frames" => return Some("globalThis".into()),
            "node:process" => return Some("process".into()),
            "node:module._load" | "node:module.require" => return Some("require".into()),
            _ => {}
        }
        for (suffix, kept) in
            [(".default", ""), (".constructor()", ""), (".__proto__", ""), (".prototype", "")]
        {
            if let Some(rest) = path.strip_suffix(suffix) {
                return Some(format!("{rest}{kept}"));
            }
        }
        None
    }

    fn method(&self, name: &str) -> EffectSet {
        let path = format!("node:fs.{name}");
        let is_plain = name.len() > 7 && !matches!(name, "realpath" | "truncate" | "readlink" | "watchFile");
        let effects = TABLE.effects(&path);
        if is_plain && !effects.is_empty() {
            return effects;
        }
        match name {
            "execSync" | "spawnSync" | "execFile" | "execFileSync" => EffectSet::of(Effect::Exec),
            "dlopen" => EffectSet::of(Effect::Dlopen),
            "runInThisContext" | "runInNewContext" | "runInContext" | "_compile" => {
                EffectSet::of(Effect::DynUnresolved)
            }
            _ => EffectSet::NONE,
        }
    }

    fn drives(&self, path: &str) -> bool {
        let last = path.rsplit('.').next().unwrap_or(path);
        matches!(last, "pipe" | "write" | "end" | "resume") && path.starts_with("node:stream.")
    }

    fn constructors(&self) -> &'static [&'static str] {
        &["constructor()"]
    }

    fn caller(&self) -> Option<&'static str> {
        None
    }

    fn special(&self, path: &str) -> Option<Special> {
        Some(match path {
            "require" => Special::Import(0),
            "Reflect.get" => Special::Member(0, 1),
            "Reflect.set" => Special::SetMember(0, 1, 2),
            "Reflect.apply" => Special::Apply(0, 2),
            "Reflect.construct" => Special::Apply(0, 1),
            "Object.assign" | "Object.setPrototypeOf" => Special::Assign,
            "Object.freeze"
            | "Object.seal"
            | "Object.values"
            | "Object.entries"
            | "Promise.resolve"
            | "Promise.all"
            | "Promise.race"
            | "Promise.allSettled"
            | "Promise.any"
            | "Array.from"
            | "node:util.promisify"
            | "node:util.callbackify"
            | "node:util.deprecate"
            | "structuredClone"
            | "Object"
            | "Proxy"
            | "Object.fromEntries"
            | "node:path.toNamespacedPath" => Special::Same(0),
            "setTimeout" | "setInterval" | "setImmediate" | "queueMicrotask" | "process.nextTick" => {
                Special::Apply(0, 2)
            }
            _ => return None,
        })
    }

    fn is_common(&self, name: &str) -> bool {
        COMMON.split_whitespace().any(|common| common == name)
    }
}

/// What opening with flags does: reads, writes, or whatever unknown flags may say.
fn of_flags(flags: Option<Option<&str>>, arguments: Option<&Arguments>) -> EffectSet {
    let both = [Effect::FsRead, Effect::FsWrite].into_iter().collect();
    match flags {
        None if arguments.is_some() => EffectSet::of(Effect::FsRead),
        None | Some(None) => both,
        Some(Some(flags)) if flags.contains('+') => both,
        Some(Some(flags)) if flags.contains(['w', 'a', 'x']) => EffectSet::of(Effect::FsWrite),
        Some(Some(_)) => EffectSet::of(Effect::FsRead),
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
    fn modules_of_the_platform_are_known_under_both_names() {
        #[rustfmt::skip]
        let cases = [
            ("fs",             Some("node:fs")),
            ("node:fs",        Some("node:fs")),
            ("fs/promises",    Some("node:fs/promises")),
            ("fs-extra",       None),
            ("./fs",           None),
            ("bun:ffi",        Some("bun:ffi")),
        ];
        for (name, path) in cases {
            assert_eq!(Platform::module(name).as_deref(), path, "{name}");
        }
    }
}

//! The engine for JavaScript and TypeScript: which effects a package and the packages that it needs can have.
//!
//! Source is parsed and never executed. Names, calls, members and what containers hold are followed as values flow; what cannot be
//! known before a program runs (`eval`, an import under a computed name, compiled addons) is reported as opaque.

mod call;
mod catalog;
mod expression;
mod find;
mod fold;
mod function;
mod markup;
mod module;
mod nesting;
mod pattern;
mod resolve;
mod scope;
mod walk;

use std::rc::Rc;

use oxc_allocator::Allocator;
use oxc_parser::Parser;
use oxc_span::SourceType;

use self::catalog::Platform;
use self::find::Found;
pub use self::find::{Closure, find};
use self::resolve::Modules;
use self::walk::Walk;
use crate::dynamic::{Flow, Node, ObjectId, PackageId, ScriptError, Site, read_text, with_big_stack};
use crate::{Analysis, Effect, EffectSet, FunctionKind, Package};

/// Finds what a package and what it needs can do.
pub fn analyse(closure: &Closure) -> Result<Analysis, ScriptError> {
    with_big_stack(|| analyse_here(closure))
}

/// One file that is about to be read.
struct File {
    path: String,
    text: Option<String>,
    start: Site,
    namespace: ObjectId,
    holder: Node,
    own: bool,
}

fn analyse_here(closure: &Closure) -> Result<Analysis, ScriptError> {
    let mut flow = Flow::new(&Platform);
    let mut modules = Modules::default();
    let mut files = Vec::new();
    for (number, package) in closure.packages.iter().enumerate() {
        flow.is_own(package.own);
        for below in &package.files {
            let text = read_text(&package.folder.join(below))?;
            let shown = if package.own {
                below.clone()
            } else {
                format!("{}-{}/{below}", package.name, package.version)
            };
            let file = flow.file(&shown, text.as_deref().unwrap_or(""));
            let stem = below.rsplit_once('.').map_or(below.as_str(), |(stem, _)| stem);
            let function =
                flow.function(stem.to_owned(), FunctionKind::Module, PackageId(number as u32), (file, 0));
            // The object that importers get, and the variable `module` that can put another in its place.
            let (namespace, holder) = (flow.object(), flow.object());
            let exports = flow.symbol("exports");
            let field = flow.define(holder, exports);
            let held = flow.node_of(namespace);
            flow.copy(held, field);
            modules.insert(file, number, below, (holder, function));
            let holder = flow.node_of(holder);
            let start = Site { function, file, offset: 0 };
            files.push(File { path: below.clone(), text, start, namespace, holder, own: package.own });
        }
    }
    let modules = Rc::new(modules);
    flow.import_by(Box::new(move |file, name| modules.import(closure, file, name)));
    flow.import_member("exports");
    for file in files {
        flow.is_own(file.own);
        walk(&mut flow, &file);
    }
    flow.is_own(false);
    flow.solve()?;
    Ok(flow.analysis(closure.packages.iter().map(package).collect()))
}

fn walk(flow: &mut Flow<'_>, file: &File) {
    let start = file.start;
    let Some(text) = &file.text else {
        flow.direct(Effect::Unanalyzed, "a file that is too large or is no text", start, &[]);
        return;
    };
    if !nesting::is_shallow(text) {
        flow.direct(Effect::Unanalyzed, "a file that is nested too deeply", start, &[]);
        return;
    }
    let allocator = Allocator::default();
    let kind = SourceType::from_path(&file.path).unwrap_or_default();
    let mut parsed = Parser::new(&allocator, text, kind).parse();
    // A `.js` file may be of either kind, whatever its name says.
    if parsed.panicked || !parsed.diagnostics.is_empty() {
        let other =
            if kind.is_typescript() { kind.with_jsx(true) } else { kind.with_script(true).with_jsx(true) };
        let again = Parser::new(&allocator, text, other).parse();
        if again.diagnostics.len() < parsed.diagnostics.len() || parsed.panicked {
            parsed = again;
        }
    }
    if parsed.panicked {
        flow.direct(Effect::Unanalyzed, "a file that cannot be parsed", start, &[]);
        return;
    }
    let package = flow.function_at(start.function).map_or(PackageId(0), |data| data.package);
    let prefix = flow.function_at(start.function).map(|data| data.name.clone()).unwrap_or_default();
    let mut walk = Walk {
        flow,
        package,
        file: start.file,
        namespace: file.namespace,
        holder: file.holder,
        function: start.function,
        scopes: Vec::new(),
        prefix,
        above: None,
        this: None,
        depth: 0,
    };
    walk.program(&parsed.program);
}

fn package(found: &Found) -> Package {
    let holds: EffectSet = found.holds.iter().map(|(effect, _)| *effect).collect();
    let mut places = found.holds.clone();
    places.sort_by_key(|(effect, _)| *effect);
    places.dedup_by_key(|(effect, _)| *effect);
    Package {
        name: found.name.clone(),
        version: found.version.clone(),
        checksum: found.checksum.clone(),
        own: found.own,
        holds,
        places,
        doubt: None,
    }
}

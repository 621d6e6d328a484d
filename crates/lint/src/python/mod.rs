//! The engine for Python: which effects a project and the distributions that it needs can have.
//!
//! Source is parsed and never executed. Names, calls, attributes and the members of containers are followed as values flow;
//! what cannot be known before a program runs (`eval`, an import under a computed name, compiled modules) is reported as opaque.

mod call;
mod catalog;
mod definition;
mod expression;
mod find;
mod fold;
mod import;
mod nesting;
mod requirement;
mod scope;
mod walk;

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use self::catalog::Library;
pub use self::find::{Closure, find, find_installed};
use self::find::{Distribution, Module};
use self::walk::Walk;
use crate::dynamic::{
    Flow, FunctionId, Imported, ObjectId, PackageId, ScriptError, Site, read_text, with_big_stack,
};
use crate::{Analysis, Effect, EffectSet, FunctionKind, Package};

/// Finds what a project and what it needs can do.
pub fn analyse(closure: &Closure) -> Result<Analysis, ScriptError> {
    with_big_stack(|| analyse_here(closure))
}

/// The modules by name: what they hold, and the function that is their own code.
type Modules = HashMap<String, (ObjectId, Option<FunctionId>)>;

fn analyse_here(closure: &Closure) -> Result<Analysis, ScriptError> {
    let mut flow = Flow::new(&Library);
    let mut modules = Modules::new();
    let mut files = Vec::new();
    let mut texts = Vec::new();
    for (number, distribution) in closure.distributions.iter().enumerate() {
        flow.is_own(distribution.own);
        for module in &distribution.modules {
            let text = read_text(&module.path)?;
            let file = flow.file(&module.shown, text.as_deref().unwrap_or(""));
            let function =
                flow.function(module.name.clone(), FunctionKind::Module, PackageId(number as u32), (file, 0));
            let object = flow.object();
            modules.insert(module.name.clone(), (object, Some(function)));
            files.push((module, file, function, object, distribution.own));
            texts.push(text);
        }
    }
    let names: Vec<String> = modules.keys().cloned().collect();
    names.iter().for_each(|name| link(&mut flow, &mut modules, name));
    let natives: HashSet<String> =
        closure.distributions.iter().flat_map(|one| one.natives.iter().cloned()).collect();
    let own: HashSet<String> = closure
        .distributions
        .iter()
        .filter(|one| one.own)
        .flat_map(|one| one.modules.iter().map(|module| top(&module.name).to_owned()))
        .collect();
    let modules = Rc::new(modules);
    let known = Rc::clone(&modules);
    flow.import_by(Box::new(move |_, name| imported(&known, &natives, &own, name)));
    for ((module, file, function, object, own), text) in files.into_iter().zip(texts) {
        flow.is_own(own);
        let start = Site { function, file, offset: 0 };
        match text {
            Some(text) => walk(&mut flow, module, start, object, &text),
            None => flow.direct(Effect::Unanalyzed, "a file that is too large or is no text", start, &[]),
        }
    }
    flow.is_own(false);
    flow.solve()?;
    Ok(flow.analysis(closure.distributions.iter().map(package).collect()))
}

/// Lets each package hold its modules, and makes those that have no file.
fn link(flow: &mut Flow<'_>, modules: &mut Modules, name: &str) {
    let Some((parent, last)) = name.rsplit_once('.') else { return };
    if !modules.contains_key(parent) {
        let object = flow.object();
        modules.insert(parent.to_owned(), (object, None));
        link(flow, modules, parent);
    }
    if let (Some((parent, _)), Some((child, _))) = (modules.get(parent).copied(), modules.get(name).copied())
    {
        let symbol = flow.symbol(last);
        let field = flow.define(parent, symbol);
        let held = flow.node_of(child);
        flow.copy(held, field);
    }
}

fn imported(modules: &Modules, natives: &HashSet<String>, own: &HashSet<String>, name: &str) -> Imported {
    // A module of the language goes before an installed one, and behind one of the project.
    if Library::has_module(name) && !own.contains(top(name)) {
        return Imported::Library(name.to_owned());
    }
    if let Some((object, _)) = modules.get(name) {
        let ends = name.match_indices('.').map(|(at, _)| at).chain([name.len()]);
        let functions = ends.filter_map(|end| modules.get(name.get(..end)?)?.1).collect();
        return Imported::Module(*object, functions);
    }
    if natives.contains(name) {
        return Imported::Library(format!("native:{name}"));
    }
    Imported::Missing(format!("missing:{name}"))
}

fn top(name: &str) -> &str {
    name.split('.').next().unwrap_or(name)
}

fn walk(flow: &mut Flow<'_>, module: &Module, start: Site, object: ObjectId, text: &str) {
    if !nesting::is_shallow(text) {
        flow.direct(Effect::Unanalyzed, "a file that is nested too deeply", start, &[]);
        return;
    }
    let parsed = match ruff_python_parser::parse_module(text) {
        Ok(parsed) => parsed,
        Err(error) => {
            let offset = error.location.start().to_u32();
            flow.direct(Effect::Unanalyzed, "a file that cannot be parsed", Site { offset, ..start }, &[]);
            return;
        }
    };
    let package = flow.function_at(start.function).map_or(PackageId(0), |data| data.package);
    let mut walk = Walk {
        flow,
        package,
        file: start.file,
        module: module.name.clone(),
        is_package: module.is_package,
        module_object: object,
        function: start.function,
        scopes: Vec::new(),
        prefix: module.name.clone(),
        class: None,
        receiver: None,
    };
    walk.module(&parsed.syntax().body);
}

fn package(distribution: &Distribution) -> Package {
    let holds: EffectSet = distribution.holds.iter().map(|(effect, _)| *effect).collect();
    let mut places = distribution.holds.clone();
    places.sort_by_key(|(effect, _)| *effect);
    places.dedup_by_key(|(effect, _)| *effect);
    Package {
        name: distribution.name.clone(),
        version: distribution.version.clone(),
        checksum: distribution.checksum.clone(),
        own: distribution.own,
        holds,
        places,
        doubt: None,
    }
}

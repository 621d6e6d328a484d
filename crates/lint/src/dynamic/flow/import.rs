//! Modules: what a file gets when it imports one.

use super::{Flow, Node, Site};
use crate::Effect;
use crate::dynamic::library::{Arguments, Imported, Importer};

impl<'c> Flow<'c> {
    /// Sets how imports are found.
    pub(crate) fn import_by(&mut self, importer: Box<Importer<'c>>) {
        self.importer = Some(importer);
    }

    /// Says that importing a module gives this member of it.
    pub(crate) fn import_member(&mut self, member: &'static str) {
        self.import_member = Some(member);
    }

    /// Imports a module by name; `None` is a name that is not known before the program runs.
    pub(crate) fn import(&mut self, name: Option<&str>, site: Site) -> Node {
        let Some(name) = name else {
            self.direct(Effect::DynUnresolved, "import", site, &[]);
            return self.node();
        };
        let found = self.find_import(site.file, name);
        if let Imported::Library(path) | Imported::Missing(path) = &found
            && let Some(package) = self.function_at(site.function).map(|data| data.package)
        {
            self.imports.insert((package, path.clone()));
        }
        match found {
            Imported::Library(path) => self.node_of_path(&path),
            Imported::Missing(path) => {
                if self.catalog.call(&path, Some(&Arguments::default())).contains(Effect::Unanalyzed) {
                    self.direct(Effect::Unanalyzed, name, site, &[]);
                }
                self.node_of_path(&path)
            }
            Imported::Module(object, functions) => {
                functions.into_iter().for_each(|function| self.edge(function, site));
                let module = self.node_of(object);
                match self.import_member {
                    Some(member) => self.load(module, member, None),
                    None => module,
                }
            }
            Imported::Nothing => self.node(),
        }
    }

    /// Finds what a file imports under a name, and runs nothing.
    pub(crate) fn find_import(&self, file: u32, name: &str) -> Imported {
        self.importer.as_ref().map_or(Imported::Nothing, |find| find(file, name))
    }

    /// Returns the node of a module that is only named.
    pub(crate) fn module_node(&mut self, file: u32, name: &str) -> Node {
        match self.find_import(file, name) {
            Imported::Library(path) | Imported::Missing(path) => self.node_of_path(&path),
            Imported::Module(object, _) => self.node_of(object),
            Imported::Nothing => self.node(),
        }
    }
}

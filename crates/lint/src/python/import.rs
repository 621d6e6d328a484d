//! What import statements bind.

use ruff_python_ast::{StmtImport, StmtImportFrom};
use ruff_text_size::Ranged;

use super::walk::Walk;
use crate::dynamic::{Imported, Site};

impl<'a> Walk<'a, '_, '_> {
    pub(super) fn import_names(&mut self, statement: &'a StmtImport) {
        for alias in &statement.names {
            let whole = alias.name.as_str();
            let site = self.site(alias.range());
            let module = self.flow.import(Some(whole), site);
            match &alias.asname {
                Some(name) => {
                    let variable = self.variable(name.as_str());
                    self.flow.copy(module, variable);
                }
                None => {
                    let first = whole.split('.').next().unwrap_or(whole);
                    let variable = self.variable(first);
                    let top = if first == whole { module } else { self.flow.import(Some(first), site) };
                    self.flow.copy(top, variable);
                }
            }
        }
    }

    pub(super) fn import_from(&mut self, statement: &'a StmtImportFrom) {
        let Some(from) = self.absolute(statement) else { return };
        let site = self.site(statement.range());
        let module = self.flow.import(Some(&from), site);
        for alias in &statement.names {
            let name = alias.name.as_str();
            if name == "*" {
                self.star(module);
                continue;
            }
            let variable = self.variable(alias.asname.as_ref().unwrap_or(&alias.name).as_str());
            let member = self.flow.load(module, name, Some(site));
            self.flow.copy(member, variable);
            let below = format!("{from}.{name}");
            self.import_below(&below, site);
        }
    }

    /// `from package import module` also loads the module.
    fn import_below(&mut self, name: &str, site: Site) {
        if let Imported::Module(_, functions) = self.flow.find_import(site.file, name) {
            functions.into_iter().for_each(|function| self.flow.edge(function, site));
        }
    }

    /// Binds names for annotations alone: the modules do not run.
    pub(super) fn import_types(&mut self, statement: &'a StmtImport) {
        for alias in &statement.names {
            let whole = alias.name.as_str();
            let first = whole.split('.').next().unwrap_or(whole);
            let (name, module) = alias.asname.as_ref().map_or((first, first), |name| (name.as_str(), whole));
            let node = self.flow.module_node(self.file, module);
            let variable = self.variable(name);
            self.flow.copy(node, variable);
        }
    }

    pub(super) fn import_types_from(&mut self, statement: &'a StmtImportFrom) {
        let Some(from) = self.absolute(statement) else { return };
        let module = self.flow.module_node(self.file, &from);
        for alias in statement.names.iter().filter(|alias| alias.name.as_str() != "*") {
            let variable = self.variable(alias.asname.as_ref().unwrap_or(&alias.name).as_str());
            let member = self.flow.load(module, alias.name.as_str(), None);
            self.flow.copy(member, variable);
        }
    }

    /// Returns the whole name of the module that names come from.
    fn absolute(&self, statement: &StmtImportFrom) -> Option<String> {
        let named = statement.module.as_ref().map(|name| name.as_str());
        if statement.level == 0 {
            return named.map(str::to_owned);
        }
        let mut parts: Vec<&str> = self.module.split('.').collect();
        let up = statement.level as usize - usize::from(self.is_package);
        parts.truncate(parts.len().checked_sub(up)?);
        parts.extend(named);
        Some(parts.join("."))
    }
}

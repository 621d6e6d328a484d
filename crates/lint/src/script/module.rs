//! What imports bind and what exports offer.

use oxc_ast::ast::{
    ExportDefaultDeclarationKind, ImportDeclarationSpecifier, ModuleDeclaration, ModuleExportName, Statement,
    TSImportEqualsDeclaration, TSModuleReference,
};

use super::catalog::Platform;
use super::scope::Names;
use super::walk::Walk;
use crate::dynamic::Node;

impl<'a> Walk<'a, '_, '_> {
    /// Binds what all imports of a file bring, before anything runs.
    pub(super) fn imports(&mut self, statements: &'a [Statement<'a>]) {
        for statement in statements {
            let Statement::ImportDeclaration(import) = statement else { continue };
            let specifiers = import.specifiers.as_ref().map_or(&[][..], |all| all.as_slice());
            let is_type = |one: &&ImportDeclarationSpecifier<'_>| matches!(one, ImportDeclarationSpecifier::ImportSpecifier(one) if one.import_kind.is_type());
            let only_types = !specifiers.is_empty() && specifiers.iter().all(|one| is_type(&one));
            if import.import_kind.is_type() || only_types {
                continue;
            }
            let site = self.site(import.span);
            let module = self.flow.import(Some(import.source.value.as_str()), site);
            for specifier in specifiers {
                let (name, value) = match specifier {
                    ImportDeclarationSpecifier::ImportSpecifier(one) => {
                        let member = exported(&one.imported);
                        let mut value = self.flow.load(module, member, Some(site));
                        if member == "default" {
                            value = self.with_default(module, value);
                        }
                        (one.local.name.as_str(), value)
                    }
                    ImportDeclarationSpecifier::ImportDefaultSpecifier(one) => {
                        let member = self.flow.load(module, "default", None);
                        (one.local.name.as_str(), self.with_default(module, member))
                    }
                    ImportDeclarationSpecifier::ImportNamespaceSpecifier(one) => (
                        one.local.name.as_str(),
                        self.interoperable(module, Some(import.source.value.as_str())),
                    ),
                };
                if let Some(scope) = self.scopes.last_mut() {
                    scope.nodes.insert(name, value);
                }
            }
        }
    }

    /// The default of a module of the older kind is the module itself.
    fn with_default(&mut self, module: Node, default: Node) -> Node {
        let both = self.flow.node();
        self.flow.copy(module, both);
        self.flow.copy(default, both);
        both
    }

    /// Returns something that has the members of a module, and the module as its default.
    pub(super) fn interoperable(&mut self, module: Node, name: Option<&str>) -> Node {
        // A module of the platform is its own default.
        if name.is_some_and(|name| Platform::module(name).is_some()) {
            return module;
        }
        let object = self.flow.object();
        self.flow.inherit(object, module);
        let default = self.flow.symbol("default");
        let field = self.flow.define(object, default);
        self.flow.copy(module, field);
        let inner = self.flow.load(module, "default", None);
        self.flow.copy(inner, field);
        let both = self.flow.node_of(object);
        self.flow.copy(module, both);
        both
    }

    pub(super) fn import_equals(&mut self, import: &'a TSImportEqualsDeclaration<'a>) {
        let site = self.site(import.span);
        let value = match &import.module_reference {
            TSModuleReference::ExternalModuleReference(reference) => {
                self.flow.import(Some(reference.expression.value.as_str()), site)
            }
            TSModuleReference::IdentifierReference(name) => self.lookup(name.name.as_str()),
            TSModuleReference::QualifiedName(name) => {
                let oxc_ast::ast::TSTypeName::IdentifierReference(left) = &name.left else { return };
                let left = self.lookup(left.name.as_str());
                self.flow.load(left, name.right.name.as_str(), Some(site))
            }
        };
        let variable = self.lookup(import.id.name.as_str());
        self.flow.copy(value, variable);
    }

    pub(super) fn export(&mut self, declaration: &'a ModuleDeclaration<'a>) {
        match declaration {
            ModuleDeclaration::ExportAllDeclaration(export) if !export.export_kind.is_type() => {
                let site = self.site(export.span);
                let module = self.flow.import(Some(export.source.value.as_str()), site);
                match &export.exported {
                    Some(name) => self.offer(exported(name), module),
                    None => self.flow.inherit(self.namespace, module),
                }
            }
            ModuleDeclaration::ExportDefaultDeclaration(export) => {
                let value = match &export.declaration {
                    ExportDefaultDeclarationKind::FunctionDeclaration(function) => {
                        let name = function.id.as_ref().map_or("default", |id| id.name.as_str());
                        let (_, value) = self.function_value(function, Some(name), None);
                        if function.id.is_some() {
                            let variable = self.lookup(name);
                            self.flow.copy(value, variable);
                        }
                        value
                    }
                    ExportDefaultDeclarationKind::ClassDeclaration(class) => {
                        let name = class.id.as_ref().map_or("default", |id| id.name.as_str());
                        let value = self.class(class, Some(name));
                        if class.id.is_some() {
                            let variable = self.lookup(name);
                            self.flow.copy(value, variable);
                        }
                        value
                    }
                    other => match other.as_expression() {
                        Some(expression) => self.named(expression, Some("default")),
                        None => return,
                    },
                };
                self.offer("default", value);
            }
            ModuleDeclaration::ExportDeclaration(export) => {
                self.declaration(&export.declaration);
                let mut names = Names::default();
                names.declaration(&export.declaration);
                for name in names.names {
                    let variable = self.lookup(name);
                    self.offer(name, variable);
                }
            }
            ModuleDeclaration::ExportNamedDeclaration(export) if !export.export_kind.is_type() => {
                for specifier in export.specifiers.iter().filter(|one| !one.export_kind.is_type()) {
                    let variable = self.lookup(exported(&specifier.local));
                    self.offer(exported(&specifier.exported), variable);
                }
            }
            ModuleDeclaration::ExportFromDeclaration(export) if !export.export_kind.is_type() => {
                let site = self.site(export.span);
                let module = self.flow.import(Some(export.source.value.as_str()), site);
                for specifier in export.specifiers.iter().filter(|one| !one.export_kind.is_type()) {
                    let name = exported(&specifier.local);
                    let mut value = self.flow.load(module, name, None);
                    if name == "default" {
                        value = self.with_default(module, value);
                    }
                    self.offer(exported(&specifier.exported), value);
                }
            }
            ModuleDeclaration::TSExportAssignment(export) => {
                let value = self.named(&export.expression, Some("exports"));
                let holder = self.holder;
                self.flow.store(holder, "exports", value, None);
            }
            _ => {}
        }
    }

    fn offer(&mut self, name: &str, value: Node) {
        let symbol = self.flow.symbol(name);
        let field = self.flow.define(self.namespace, symbol);
        self.flow.copy(value, field);
    }
}

fn exported<'a>(name: &'a ModuleExportName<'a>) -> &'a str {
    match name {
        ModuleExportName::IdentifierName(name) => name.name.as_str(),
        ModuleExportName::IdentifierReference(name) => name.name.as_str(),
        ModuleExportName::StringLiteral(name) => name.value.as_str(),
    }
}

//! The facts of code: what it copies, reads, puts away and calls, and what it does itself.

use std::rc::Rc;

use super::{Call, Direct, Flow, FunctionId, Node, Rule, Site};
use crate::Effect;
use crate::dynamic::library::Arguments;

impl Flow<'_> {
    /// Says that what `from` holds, `to` holds.
    pub(crate) fn copy(&mut self, from: Node, to: Node) {
        if from != to {
            self.rule(from, Rule::Copy(to));
        }
    }

    /// Returns the node of a field of whatever `object` holds.
    pub(crate) fn load(&mut self, object: Node, name: &str, site: Option<Site>) -> Node {
        let (name, result) = (self.symbol(name), self.node());
        self.rule(object, Rule::Load(name, result, site));
        if let Some(site) = site {
            self.reads.push((object, name, site));
        }
        result
    }

    /// Returns the node of a field from which something more is taken: reading it does nothing by itself.
    pub(crate) fn load_base(&mut self, object: Node, name: &str, site: Site) -> Node {
        let result = self.load(object, name, None);
        let name = self.symbol(name);
        self.reads.push((object, name, site));
        result
    }

    /// Returns the node of what `object` holds under a name that is not known.
    pub(crate) fn load_any(&mut self, object: Node, site: Option<Site>) -> Node {
        let result = self.node();
        self.rule(object, Rule::LoadAny(result, site));
        result
    }

    /// Puts `value` into a field of whatever `object` holds.
    pub(crate) fn store(&mut self, object: Node, name: &str, value: Node, site: Option<Site>) {
        let name = self.symbol(name);
        self.rule(object, Rule::Store(name, value, site));
        if let Some(site) = site {
            self.reads.push((object, name, site));
            self.stores.push((object, value, site));
        }
    }

    /// Puts `value` into whatever `object` holds, under a name that is not known.
    pub(crate) fn store_any(&mut self, object: Node, value: Node, site: Option<Site>) {
        self.rule(object, Rule::StoreAny(value, site));
        if let Some(site) = site {
            self.stores.push((object, value, site));
        }
    }

    /// Returns the node of the instances of whatever classes `class` holds.
    pub(crate) fn instances(&mut self, class: Node) -> Node {
        let result = self.node();
        self.rule(class, Rule::Instance(result));
        result
    }

    /// Says that whatever `object` holds has what `parent` has.
    pub(crate) fn inherit_all(&mut self, object: Node, parent: Node) {
        self.rule(object, Rule::Inherit(parent));
    }

    /// Calls whatever `callee` holds, and returns the node of the result.
    pub(crate) fn call(
        &mut self,
        callee: Node,
        method: Option<&str>,
        arguments: Arguments,
        site: Site,
    ) -> Node {
        let result = self.node();
        let method = method.map(|name| self.symbol(name));
        self.calls.push(Call { arguments: Rc::new(arguments), result, method, site, callee });
        self.rule(callee, Rule::Call(self.calls.len() as u32 - 1, site));
        result
    }

    /// Calls a method that the language itself calls, where the object has it.
    pub(crate) fn call_method(&mut self, object: Node, method: &str, given: &[Node], site: Site) -> Node {
        let callee = self.load(object, method, None);
        let arguments = Arguments {
            receiver: Some(object),
            positional: given.to_vec(),
            texts: vec![None; given.len()],
            ..Arguments::default()
        };
        self.call(callee, None, arguments, site)
    }

    /// Says that what `node` holds is used as a value, and may be called by whoever gets it.
    pub(crate) fn mention(&mut self, node: Node, site: Site) {
        self.rule(node, Rule::Mention(site));
    }

    /// Says that a function calls another.
    pub(crate) fn edge(&mut self, callee: FunctionId, site: Site) {
        if callee != site.function {
            self.edges.entry((site.function, callee)).or_insert(site);
        }
    }

    /// Says that a function does something itself.
    pub(crate) fn direct(&mut self, effect: Effect, name: &str, site: Site, literals: &[String]) {
        let key = (site.function, effect, name.to_owned());
        let index = *self.known_directs.entry(key).or_insert(self.directs.len());
        if index == self.directs.len() {
            let direct = Direct {
                function: site.function,
                effect,
                name: name.into(),
                site: Some(site),
                literals: Vec::new(),
            };
            self.directs.push(direct);
        }
        if let Some(direct) = self.directs.get_mut(index) {
            for literal in literals {
                if direct.literals.len() < 20 && !direct.literals.contains(literal) {
                    direct.literals.push(literal.clone());
                }
            }
        }
    }
}

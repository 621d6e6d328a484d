//! Nodes, objects and functions: how each is made, and what an object has.

use super::{
    Field, Flow, Function, FunctionId, Node, NodeData, Object, ObjectId, PackageId, Rule, Symbol, Value,
};
use crate::FunctionKind;

impl Flow<'_> {
    /// Makes a node that holds nothing yet.
    pub(crate) fn node(&mut self) -> Node {
        self.node_within(self.limit)
    }

    pub(in crate::dynamic) fn node_within(&mut self, limit: u8) -> Node {
        self.nodes.push(NodeData { limit, ..NodeData::default() });
        Node(self.nodes.len() as u32 - 1)
    }

    /// Makes a node that holds one object.
    pub(crate) fn node_of(&mut self, object: ObjectId) -> Node {
        let node = self.node();
        self.add(node, Value::Object(object));
        node
    }

    /// Returns the one node that holds an object and nothing else, to be read from.
    pub(in crate::dynamic) fn lone_node(&mut self, object: ObjectId) -> Node {
        if let Some(known) = self.objects.get(object.0 as usize).and_then(|data| data.node) {
            return known;
        }
        let node = self.node_of(object);
        if let Some(data) = self.objects.get_mut(object.0 as usize) {
            data.node = Some(node);
        }
        node
    }

    /// Makes a node that holds something of the library.
    pub(crate) fn node_of_path(&mut self, path: &str) -> Node {
        let node = self.node();
        let path = self.path(path);
        self.add(node, Value::Path(path));
        node
    }

    /// Makes an object without fields.
    pub(crate) fn object(&mut self) -> ObjectId {
        self.objects.push(Object { limit: self.limit, ..Object::default() });
        ObjectId(self.objects.len() as u32 - 1)
    }

    /// Adds a function, which is also an object.
    pub(crate) fn function(
        &mut self,
        name: String,
        kind: FunctionKind,
        package: PackageId,
        at: (u32, u32),
    ) -> FunctionId {
        let id = FunctionId(self.functions.len() as u32);
        let object = self.object();
        let (this, returns) = (self.node(), self.node());
        if let Some(data) = self.objects.get_mut(object.0 as usize) {
            data.function = Some(id);
        }
        self.functions.push(Function {
            name,
            kind,
            package,
            file: at.0,
            offset: at.1,
            object,
            parameters: Vec::new(),
            rest: None,
            this,
            returns,
            takes_self: false,
            is_method: false,
        });
        id
    }

    /// Returns a function, to be read.
    pub(crate) fn function_at(&self, id: FunctionId) -> Option<&Function> {
        self.functions.get(id.0 as usize)
    }

    /// Returns a function, to be filled in.
    pub(crate) fn function_mut(&mut self, id: FunctionId) -> Option<&mut Function> {
        self.functions.get_mut(id.0 as usize)
    }

    /// Makes a class of an object: calling it gives an instance, which is returned.
    pub(crate) fn instance_of(&mut self, class: ObjectId) -> ObjectId {
        if let Some(known) = self.objects.get(class.0 as usize).and_then(|data| data.instance) {
            return known;
        }
        let instance = self.object();
        let parent = self.node_of(class);
        if let Some(data) = self.objects.get_mut(instance.0 as usize) {
            data.class = Some(class);
        }
        if let Some(data) = self.objects.get_mut(class.0 as usize) {
            data.instance = Some(instance);
        }
        self.inherit(instance, parent);
        instance
    }

    /// Says that `object` has what the values of `parent` have.
    pub(crate) fn inherit(&mut self, object: ObjectId, parent: Node) {
        let Some(data) = self.objects.get_mut(object.0 as usize) else { return };
        data.parents.push(parent);
        let inherited: Vec<(Symbol, Node)> = data
            .fields
            .iter()
            .filter(|(_, field)| !field.is_own)
            .map(|(name, field)| (*name, field.node))
            .collect();
        let all = data.all;
        for (name, node) in inherited {
            self.rule(parent, Rule::Load(name, node, None));
        }
        if let Some(all) = all {
            self.rule(parent, Rule::LoadAny(all, None));
        }
    }

    /// Returns the node of a field, which the object itself defines.
    pub(crate) fn define(&mut self, object: ObjectId, name: Symbol) -> Node {
        let known = self.objects.get_mut(object.0 as usize).and_then(|data| data.fields.get_mut(&name));
        if let Some(field) = known {
            field.is_own = true;
            return field.node;
        }
        let node = self.node();
        if let Some(data) = self.objects.get_mut(object.0 as usize) {
            data.fields.insert(name, Field { node, is_own: true });
            if let Some(all) = data.all {
                self.rule(node, Rule::Copy(all));
            }
        }
        node
    }

    /// Says that reading a field runs a function.
    pub(crate) fn getter(&mut self, object: ObjectId, name: Symbol, function: FunctionId) {
        if let Some(data) = self.objects.get_mut(object.0 as usize) {
            data.getters.push((name, function));
        }
    }

    /// Returns the node of what the object holds under names that are not known.
    pub(crate) fn any_of(&mut self, object: ObjectId) -> Node {
        if let Some(any) = self.objects.get(object.0 as usize).and_then(|data| data.any) {
            return any;
        }
        let any = self.node();
        if let Some(data) = self.objects.get_mut(object.0 as usize) {
            data.any = Some(any);
            if let Some(all) = data.all {
                self.rule(any, Rule::Copy(all));
            }
        }
        any
    }
}

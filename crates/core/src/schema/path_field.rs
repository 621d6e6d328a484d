//! The fields of a schema that say `"format": "path"`, found again in a value.

use std::collections::BTreeSet;

use serde_json::Value;

use super::graph::{Graph, PathMark};

/// Goes through a value beside its schema.
#[derive(Debug)]
pub(crate) struct PathFields(Graph);

/// The subschemas that apply at one place of a value.
pub(crate) type Place = BTreeSet<usize>;

impl PathFields {
    pub(super) const fn new(graph: Graph) -> Self {
        Self(graph)
    }

    /// Returns the subschemas that apply to the whole value.
    pub(crate) fn root(&self) -> Place {
        self.closed([0].into())
    }

    /// Returns the mark at a place. Where marks differ, the first that names a direction counts.
    pub(crate) fn mark(&self, place: &Place) -> Option<PathMark> {
        let marks = || place.iter().filter_map(|&id| self.0.nodes.get(id)?.path);
        marks().find(|mark| matches!(mark, PathMark::One(_))).or_else(|| marks().next())
    }

    /// Returns the subschemas that apply to a property.
    pub(crate) fn property(&self, place: &Place, name: &str) -> Place {
        let mut below = Place::new();
        for node in place.iter().filter_map(|&id| self.0.nodes.get(id)) {
            match node.properties.get(name) {
                Some(targets) => below.extend(targets),
                None => below.extend(&node.any_property),
            }
        }
        self.closed(below)
    }

    /// Returns the subschemas that apply to an array item.
    pub(crate) fn item(&self, place: &Place, index: usize) -> Place {
        let mut below = Place::new();
        for node in place.iter().filter_map(|&id| self.0.nodes.get(id)) {
            match node.prefix.get(index) {
                Some(&target) => {
                    below.insert(target);
                }
                None => below.extend(&node.any_item),
            }
        }
        self.closed(below)
    }

    fn closed(&self, mut place: Place) -> Place {
        let mut pending: Vec<usize> = place.iter().copied().collect();
        while let Some(id) = pending.pop() {
            for &target in self.0.nodes.get(id).into_iter().flat_map(|node| &node.in_place) {
                if place.insert(target) {
                    pending.push(target);
                }
            }
        }
        place
    }
}

/// Calls `visit` for every string of a value, with the place it stands at and its mark.
pub(crate) fn for_each_string<E>(
    value: &Value,
    fields: Option<&PathFields>,
    visit: &mut impl FnMut(&str, Option<PathMark>) -> Result<(), E>,
) -> Result<(), E> {
    walk(value, fields.map(|fields| (fields, fields.root())), visit)
}

fn walk<E>(
    value: &Value,
    at: Option<(&PathFields, Place)>,
    visit: &mut impl FnMut(&str, Option<PathMark>) -> Result<(), E>,
) -> Result<(), E> {
    match value {
        Value::String(text) => visit(text, at.and_then(|(fields, place)| fields.mark(&place))),
        Value::Array(list) => list.iter().enumerate().try_for_each(|(index, item)| {
            walk(item, at.as_ref().map(|(fields, place)| (*fields, fields.item(place, index))), visit)
        }),
        Value::Object(map) => map.iter().try_for_each(|(name, item)| {
            walk(item, at.as_ref().map(|(fields, place)| (*fields, fields.property(place, name))), visit)
        }),
        Value::Bool(_) | Value::Null | Value::Number(_) => Ok(()),
    }
}

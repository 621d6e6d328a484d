//! What the code says literally: the program of a command, how a file is opened.

use super::super::kind::texts;
use super::super::model::{Argument, Body, Mention, Value};
use crate::{Effect, EffectSet};

/// Returns the texts that the first call of a chain is given.
pub(super) fn literals(body: &Body, value: &Value, depth: usize) -> Vec<String> {
    if depth > 100 {
        return Vec::new();
    }
    match value {
        Value::Call(_, arguments) => texts(arguments),
        Value::Method(inner, ..) | Value::Peeled(inner) => literals(body, inner, depth + 1),
        Value::Local(number) => {
            body.variables.get(*number).map_or_else(Vec::new, |value| literals(body, value, depth + 1))
        }
        _ => Vec::new(),
    }
}

/// Returns what the switches of `OpenOptions` say, where all of them are seen.
pub(super) fn opened(body: &Body, value: &Value) -> Option<EffectSet> {
    let mut effects = EffectSet::NONE;
    let mut at = value;
    for _ in 0..100 {
        match at {
            Value::Method(inner, name, arguments) => {
                let is_off = matches!(arguments.first(), Some(Argument::Flag(false)));
                match name.as_str() {
                    _ if is_off => {}
                    "read" => effects.insert(Effect::FsRead),
                    "write" | "append" | "truncate" | "create" | "create_new" => {
                        effects.insert(Effect::FsWrite);
                    }
                    _ => {}
                }
                at = inner;
            }
            // A variable may be switched by other statements.
            Value::Local(number) => {
                let switched = switches(body, *number);
                effects = effects.union(switched);
                at = body.variables.get(*number)?;
            }
            Value::Call(route, _) if route.last() == "new" || route.last() == "options" => break,
            _ => return None,
        }
    }
    (!effects.is_empty()).then_some(effects)
}

fn switches(body: &Body, number: usize) -> EffectSet {
    let mut effects = EffectSet::NONE;
    for mention in body.blocks.iter().flat_map(|block| &block.mentions) {
        let Mention::Method { receiver, name, arguments, .. } = mention else { continue };
        let mut at = receiver;
        while let Value::Method(inner, ..) = at {
            at = inner;
        }
        if !matches!(at, Value::Local(own) if *own == number)
            || matches!(arguments.first(), Some(Argument::Flag(false)))
        {
            continue;
        }
        match name.as_str() {
            "read" => effects.insert(Effect::FsRead),
            "write" | "append" | "truncate" | "create" | "create_new" => effects.insert(Effect::FsWrite),
            _ => {}
        }
    }
    effects
}

//! Ids of requests that speak for themselves: each client counts its own, and several clients of one agent share a room.
//!
//! A request whose id is in use goes into the room under another one, and whatever comes of it carries its own again.
//!
//! INVARIANT: no two requests that are under way in a room have the same id there.

use std::sync::Arc;

use super::session::{Held, Session};
use super::token::random;
use crate::era::SUBSCRIPTION;
use crate::message::Id;
use crate::raw::RawObject;

/// The place of an id in a room, until this is dropped.
pub(super) struct ConnectionSlot {
    session: Arc<Session>,
    id: Id,
}

impl ConnectionSlot {
    /// Takes the place of an id, or of another one where that is taken.
    pub(super) fn take(held: &Held, id: &Id) -> Self {
        let session = Arc::clone(held.session());
        let mut inner = id.clone();
        while !session.ids().insert(inner.clone()) {
            inner = Id::Text(format!("ringfence-{:032x}", u128::from_ne_bytes(random())));
        }
        Self { session, id: inner }
    }

    /// Returns the id in the room.
    pub(super) const fn id(&self) -> &Id {
        &self.id
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        self.session.ids().remove(&self.id);
    }
}

/// Puts the id of the client in the place of the one in the room: of an answer, and of what belongs to a subscription.
pub(super) fn restored(line: &str, inner: &Id, outer: &Id) -> Option<String> {
    let mut object: RawObject = serde_json::from_str(line).ok()?;
    let is_inner = |object: &RawObject, name: &str| {
        object.get(name).and_then(|raw| Id::parse(raw.get())).is_some_and(|id| id == *inner)
    };
    if is_inner(&object, "id") && object.get("method").is_none() {
        object.set("id", outer.to_raw());
    }
    for name in ["params", "result"] {
        let Some(mut member) = object.object(name) else { continue };
        let Some(mut meta) = member.object("_meta").filter(|meta| is_inner(meta, SUBSCRIPTION)) else {
            continue;
        };
        meta.set(SUBSCRIPTION, outer.to_raw());
        member.set("_meta", meta.to_raw());
        object.set(name, member.to_raw());
    }
    Some(object.to_raw().get().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_id_is_put_back() {
        let sub = "io.modelcontextprotocol/subscriptionId";
        let listened = |id: &str| {
            format!(r#"{{"jsonrpc":"2.0","method":"n","params":{{"_meta":{{"{sub}":{id},"x":1.0}}}}}}"#)
        };
        let ended =
            |id: &str| format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"_meta":{{"{sub}":{id}}}}}}}"#);
        #[rustfmt::skip]
        let cases = [
            (r#"{"jsonrpc":"2.0","id":"in","result":{"a":1.50,"id":"in"}}"#.to_owned(), r#"{"jsonrpc":"2.0","id":7,"result":{"a":1.50,"id":"in"}}"#.to_owned()),
            (r#"{"jsonrpc":"2.0","id":"in","error":{"code":1}}"#.to_owned(),            r#"{"jsonrpc":"2.0","id":7,"error":{"code":1}}"#.to_owned()),
            (r#"{"jsonrpc":"2.0","id":"other","result":{}}"#.to_owned(),                r#"{"jsonrpc":"2.0","id":"other","result":{}}"#.to_owned()),
            (listened("\"in\""),                                                        listened("7")),
            (listened("\"other\""),                                                     listened("\"other\"")),
            (ended("\"in\""),                                                           ended("7")),
        ];
        for (line, expected) in cases {
            assert_eq!(restored(&line, &Id::Text("in".into()), &Id::Number(7)), Some(expected), "{line}");
        }
        assert_eq!(restored("no JSON", &Id::Number(1), &Id::Number(2)), None);
    }
}

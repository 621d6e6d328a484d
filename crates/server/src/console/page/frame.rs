//! What stands around every page.

use super::super::front::{Caller, Front};
use super::asset::{SCRIPT, STYLE};

/// What stands around a page.
pub(crate) struct Frame {
    /// The title of the page.
    pub(crate) title: String,
    /// Which entry of the list of pages it belongs to, by its path.
    pub(crate) place: &'static str,
    /// Who looks at it; nobody on the login page.
    pub(crate) caller: Option<Caller>,
    /// How many requests wait for people.
    pub(crate) waiting: usize,
    pub(crate) style: &'static str,
    pub(crate) script: &'static str,
}

/// The pages, by path and name, in their order.
pub(crate) const PLACES: [(&str, &str); 10] = [
    ("/approvals", "Approvals"),
    ("/activity", "Activity"),
    ("/runs", "Runs"),
    ("/charts", "Charts"),
    ("/tools", "Tools"),
    ("/policy", "Policy"),
    ("/idempotency", "Idempotency"),
    ("/audit", "Audit"),
    ("/people", "People"),
    ("/health", "Health"),
];

impl Frame {
    /// Makes the frame of a page, with how many requests wait.
    pub(crate) async fn new(front: &Front, caller: &Caller, title: &str, place: &'static str) -> Self {
        Self { waiting: front.waiting().await, ..Self::still(front, Some(caller), title, place) }
    }

    /// Makes a frame without asking anything.
    pub(crate) fn still(_front: &Front, caller: Option<&Caller>, title: &str, place: &'static str) -> Self {
        Self {
            title: title.to_owned(),
            place,
            caller: caller.cloned(),
            waiting: 0,
            style: &STYLE,
            script: &SCRIPT,
        }
    }

    /// Returns what forms must bring along.
    pub(crate) fn form(&self) -> &str {
        self.caller.as_ref().and_then(|caller| caller.form.as_deref()).unwrap_or_default()
    }

    /// Returns the pages by the keys that open them: the digits, in the order of the list.
    pub(crate) fn keys(&self) -> impl Iterator<Item = (u8, &'static str)> {
        (1..=10).map(|place: u8| place % 10).zip(PLACES.iter().map(|(_, name)| *name))
    }

    /// Returns the list of pages.
    pub(crate) const fn places(&self) -> [(&'static str, &'static str); 10] {
        PLACES
    }
}

//! One line of the activity: an entry of the log, as far as it fits into a line.

use askama::Template;
use ringfence::audit::{Filter, Stored};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::enter::encode;
use super::super::fault::Fault;
use super::super::front::now;
use super::time::{self, Moment};
use super::what::{Head, short, what};

/// How much of a name a line shows, in characters.
const NAME: usize = 48;

/// One entry of the log in a line.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize, Template)]
#[template(path = "row.html")]
pub(crate) struct Row {
    /// Its place in the log.
    pub(crate) index: u64,
    /// When, in milliseconds since 1970.
    pub(crate) at_ms: u64,
    /// `approval`, `approver`, `call`, `connection`, `console`, `policy`, `server` or `settlement`.
    pub(crate) kind: String,
    /// What happened, in a few words.
    pub(crate) what: String,
    /// `done`, `failed`, `refused` or another word for how it went.
    pub(crate) state: String,
    /// The run it belongs to.
    pub(crate) run: Option<String>,
    /// The tool it is about.
    pub(crate) tool: Option<String>,
    /// The code of what was not done.
    pub(crate) code: Option<String>,
    /// The safety class.
    pub(crate) class: Option<String>,
    /// The host.
    pub(crate) host: Option<String>,
    /// Who.
    pub(crate) principal: Option<String>,
    /// How long it took, in microseconds.
    pub(crate) duration_us: Option<u64>,
}

impl Row {
    /// Reads a row from an entry.
    pub(crate) fn of(stored: &Stored) -> Self {
        let head = Head::read(&stored.record);
        // A list is not given what is large.
        let is_large = stored.record.is_empty();
        let what = if is_large { "a large entry".to_owned() } else { what(&stored.kind, &head) };
        let state = match (is_large, &stored.code) {
            (true, Some(_)) => "refused",
            _ => head.state(),
        };
        Self {
            index: stored.index,
            at_ms: stored.at,
            kind: stored.kind.clone(),
            what,
            state: state.to_owned(),
            run: stored.run.clone(),
            tool: stored.tool.clone(),
            code: stored.code.clone(),
            class: stored.class.clone(),
            host: stored.host.clone(),
            principal: stored.principal.clone(),
            duration_us: head.duration_us(),
        }
    }

    /// Writes the row of the activity page.
    pub(crate) fn html(&self) -> String {
        self.render().unwrap_or_default()
    }

    /// Returns when it happened.
    pub(crate) const fn at(&self) -> Moment {
        Moment(self.at_ms)
    }

    /// Says whether something was refused.
    pub(crate) fn is_refused(&self) -> bool {
        matches!(self.state.as_str(), "refused" | "denied" | "withheld")
    }

    /// Says how long it took.
    pub(crate) fn duration(&self) -> String {
        self.duration_us.map(time::micros).unwrap_or_default()
    }

    /// Returns the address of what it is about.
    pub(crate) fn href(&self) -> String {
        if self.kind == "call" {
            format!("/calls/{}", self.index)
        } else {
            format!("/entries/{}", self.index)
        }
    }

    /// Cuts a name that is too long for a line.
    #[expect(clippy::unused_self, reason = "templates call what belongs to a value")]
    pub(crate) fn short(&self, name: &str) -> String {
        short(name, NAME)
    }

    /// Writes a name so that it can stand in an address.
    #[expect(clippy::unused_self, reason = "templates call what belongs to a value")]
    pub(crate) fn encoded(&self, name: &str) -> String {
        encode(name)
    }
}

/// Which entries are wanted.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(default)]
pub(crate) struct RowQuery {
    /// The kind of entry.
    pub(crate) kind: Option<String>,
    /// The run: the name, or its beginning where no entry has that name. `*` stands for any rest.
    pub(crate) run: Option<String>,
    /// The tool: the name, or its beginning where no entry has that name. `*` stands for any rest.
    pub(crate) tool: Option<String>,
    /// The code of what was not done: the name, or its beginning where no entry has that name. `*` stands for any rest.
    pub(crate) code: Option<String>,
    /// The host: the name, or its beginning where no entry has that name. `*` stands for any rest.
    pub(crate) host: Option<String>,
    /// The safety class.
    pub(crate) class: Option<String>,
    /// Who: the name, or its beginning where no entry has that name. `*` stands for any rest.
    pub(crate) principal: Option<String>,
    /// From when on: `2026-03-01T12:30` in UTC, `2h` ago, or milliseconds since 1970.
    pub(crate) since: Option<String>,
    /// Until before when, written the same way.
    pub(crate) until: Option<String>,
    /// The lowest index.
    pub(crate) from: Option<u64>,
    /// Only indexes smaller than this.
    pub(crate) below: Option<u64>,
}

impl RowQuery {
    /// Returns the filter.
    pub(crate) fn filter(&self) -> Result<Filter, Fault> {
        // An empty field of a form is one that was left out.
        let given = |field: &Option<String>| field.clone().filter(|text| !text.is_empty());
        let now = u64::try_from(now().as_millis()).unwrap_or(u64::MAX);
        let at = |field: &Option<String>| {
            given(field).map(|text| {
                time::read(&text, now).ok_or_else(|| {
                    Fault::input(format!("`{text}` is no time"))
                        .hint("write `2026-03-01T12:30` in UTC, or `15m`, `2h` or `7d` for how long ago")
                })
            })
        };
        Ok(Filter {
            kind: given(&self.kind),
            run: given(&self.run),
            tool: given(&self.tool),
            code: given(&self.code),
            host: given(&self.host),
            class: given(&self.class),
            principal: given(&self.principal),
            since_ms: at(&self.since).transpose()?,
            until_ms: at(&self.until).transpose()?,
            light: true,
            from: self.from,
            below: self.below,
            text: None,
        })
    }

    /// Returns the fields that say which entries are wanted, by name, without those that say where to begin.
    pub(crate) const fn fields(&self) -> [(&'static str, &Option<String>); 9] {
        [
            ("kind", &self.kind),
            ("run", &self.run),
            ("tool", &self.tool),
            ("code", &self.code),
            ("host", &self.host),
            ("class", &self.class),
            ("principal", &self.principal),
            ("since", &self.since),
            ("until", &self.until),
        ]
    }

    /// Writes the fields as a query.
    pub(crate) fn written(&self) -> String {
        let given = self.fields().into_iter().filter_map(|(name, value)| {
            let value = value.as_deref().filter(|value| !value.is_empty())?;
            Some(format!("{name}={}", encode(value)))
        });
        given.collect::<Vec<_>>().join("&")
    }
}

//! The policy of today, and the lines of it that decide.

use ringfence::policy::{Capabilities, JsonAsToml, ListKind, ListOwner, Places, ServerEntry, ServerName};
use ringfence::{Declaration, Personality};
use serde::Serialize;

use super::draft::Owner;
use crate::error::CommandError;
use crate::load::{Loaded, Place};

/// The policy file as it is, or as it would be.
pub(super) struct Policy<'a> {
    pub(super) place: &'a Place,
    pub(super) loaded: Loaded,
    pub(super) form: Form,
    /// The tools are those of the only server, under their own names, as `ringfence wrap` offers them.
    is_wrapped: bool,
}

/// What the policy file is written in.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Form {
    Json(JsonAsToml),
    /// JSON with something in it whose lines nobody can name.
    OtherJson,
    Toml,
}

/// One line that decides.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub(super) struct Rule {
    /// Whose rule it is: `personality`, or a tool or server with its name.
    pub(super) owner: String,
    /// The field.
    pub(super) field: String,
    /// The line and column, where the file has them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) line: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) column: Option<usize>,
    /// The text of the line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) text: Option<String>,
    /// What it says about the call.
    pub(super) says: String,
}

/// Who declares what the call wanted.
#[derive(Clone, Copy)]
pub(super) enum Subject<'a> {
    Server(&'a ServerEntry),
    Tool(&'a Declaration),
}

impl<'a> Subject<'a> {
    pub(super) fn capabilities(self) -> Capabilities {
        match self {
            Self::Server(server) => server.capabilities.clone(),
            Self::Tool(tool) => tool.capabilities.clone().unwrap_or_default(),
        }
    }

    pub(super) fn owner(self) -> Owner {
        match self {
            Self::Server(server) => Owner::Server(server.name.to_string()),
            Self::Tool(tool) => Owner::Tool(tool.name.to_string()),
        }
    }

    pub(super) const fn tool(self) -> Option<&'a Declaration> {
        match self {
            Self::Server(_) => None,
            Self::Tool(tool) => Some(tool),
        }
    }
}

impl Form {
    fn of(place: &Place, loaded: &Loaded) -> Self {
        if !place.is_json() {
            return Self::Toml;
        }
        JsonAsToml::of(loaded.text()).map_or(Self::OtherJson, Self::Json)
    }
}

impl<'a> Policy<'a> {
    /// Reads the policy file, for a call of a run.
    pub(super) fn read(place: &'a Place, run: &str) -> Result<Self, CommandError> {
        let loaded = place.load()?;
        let is_wrapped = run.starts_with("mcp-") && loaded.servers.len() == 1;
        Ok(Self { place, form: Form::of(place, &loaded), loaded, is_wrapped })
    }

    /// Reads a text as if it were the policy file.
    pub(super) fn draft(&self, text: &str) -> Self {
        let loaded = self.place.read(text);
        Self { place: self.place, form: Form::of(self.place, &loaded), loaded, is_wrapped: self.is_wrapped }
    }

    pub(super) const fn personality(&self) -> &Personality {
        &self.loaded.personality
    }

    /// Finds what a name stands for that callers use.
    pub(super) fn subject(&self, tool: &str) -> Option<Subject<'_>> {
        if let Some(own) = self.loaded.declarations.iter().find(|own| own.name.as_str() == tool) {
            return Some(Subject::Tool(own));
        }
        let server = ServerName::split(tool).map_or(tool, |(server, _)| server);
        let named = self.loaded.servers.iter().find(|entry| entry.name.as_str() == server);
        named.or_else(|| self.loaded.servers.first().filter(|_| self.is_wrapped)).map(Subject::Server)
    }

    /// Returns the rule that a list is.
    pub(super) fn list_rule(&self, owner: &Owner, kind: ListKind, says: String) -> Rule {
        let list_owner = match owner {
            Owner::Personality => ListOwner::Personality,
            Owner::Server(name) => ListOwner::Server(name),
            Owner::Tool(name) => ListOwner::Tool(name),
        };
        let place = self.places().and_then(|places| places.list_place(list_owner, kind));
        self.rule(owner, kind.field(), place, says)
    }

    /// Returns the rule that a field is.
    pub(super) fn field_rule(&self, owner: &Owner, field: &str, says: String) -> Rule {
        let place = self.places().and_then(|places| match owner {
            Owner::Personality => places.personality(field),
            Owner::Server(name) => places.server(name, field),
            Owner::Tool(name) => places.tool(name, field),
        });
        self.rule(owner, field, place, says)
    }

    fn places(&self) -> Option<Places<'_>> {
        match &self.form {
            Form::Json(json) => json.places(),
            Form::OtherJson => None,
            Form::Toml => Places::read(self.loaded.text()),
        }
    }

    fn rule(&self, owner: &Owner, field: &str, place: Option<(usize, usize)>, says: String) -> Rule {
        let (line, column) = place.unzip();
        let text = line.and_then(|line| self.loaded.text().lines().nth(line.checked_sub(1)?));
        Rule {
            owner: match owner {
                Owner::Personality => "personality".to_owned(),
                Owner::Server(name) => format!("server `{name}`"),
                Owner::Tool(name) => format!("tool `{name}`"),
            },
            field: field.to_owned(),
            line,
            column,
            text: text.map(|text| text.trim_end().to_owned()),
            says,
        }
    }
}

//! Accepting and rejecting definitions.
//!
//! INVARIANT: what is pinned has the digest that was named, whatever happens to the files meanwhile.

use ringfence_server::console::{DefinitionId, DeskError, Judgement};

use super::fault::{files, input, whole_digest};
use super::{FileDesk, sent};
use crate::error::CommandError;

/// A fault of the book or of the request, while the book is locked.
struct Fault(DeskError);

impl From<CommandError> for Fault {
    fn from(error: CommandError) -> Self {
        Self(files(error))
    }
}

impl FileDesk {
    pub(super) fn judged(
        &self,
        id: &DefinitionId,
        digest: &str,
        judgement: Judgement,
    ) -> Result<(), DeskError> {
        whole_digest(digest)?;
        match &id.server {
            Some(server) => self.judge_sent(server, &id.key, digest, judgement),
            None => self.judge_own(&id.key, digest, judgement),
        }
    }

    fn judge_sent(
        &self,
        server: &str,
        key: &str,
        digest: &str,
        judgement: Judgement,
    ) -> Result<(), DeskError> {
        let changed = self.book.change(|pins, file| {
            let known = sent::current(pins, file, server);
            let Some(one) = known.iter().find(|one| one.key == key) else {
                let message = format!("nothing named `{key}` of server `{server}` is known");
                return Err(Fault(DeskError::Missing(message)));
            };
            if one.digest != digest {
                let message = format!("`{key}` of server `{server}` is not what was looked at");
                return Err(Fault(DeskError::Changed(message)));
            }
            let definition = one.definition.clone();
            let written = match judgement {
                Judgement::Accept => pins.accept_definition(server, key, &definition),
                Judgement::Reject => pins.reject_definition(server, key, &definition),
            };
            written.map_err(|error| Fault(input(error.to_string())))?;
            file.forget(server, key);
            Ok(())
        });
        changed.map_err(|Fault(error)| error)
    }

    fn judge_own(&self, key: &str, digest: &str, judgement: Judgement) -> Result<(), DeskError> {
        let loaded = self.loaded()?;
        let name = key.strip_prefix("tool:").unwrap_or_default();
        let Some(tool) = loaded.declarations.iter().find(|own| own.name.as_str() == name) else {
            return Err(DeskError::Missing(format!("the policy file has no `{key}`")));
        };
        if matches!(judgement, Judgement::Reject) {
            return Err(DeskError::Input {
                message: "only what a server sent can be rejected".to_owned(),
                hint: Some("a tool of the toolbox is taken out of its file".to_owned()),
            });
        }
        if ringfence::definition_digest(tool).map_err(input)? != digest {
            return Err(DeskError::Changed(format!("`{key}` is not what was looked at")));
        }
        let failed =
            |error: ringfence::PinError| CommandError::Input { message: error.to_string(), hint: None };
        self.book.change_pins(|pins| pins.accept(tool).map_err(failed)).map_err(files)
    }
}

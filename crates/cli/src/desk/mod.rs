//! The console's desk over files: the policy, the pins beside it, and the manifest.
//!
//! INVARIANT: every answer is read from the files as they are now, and a change is made only to what was looked at.

mod definition;
mod enforcement;
mod fault;
mod grant;
mod judge;
mod line;
mod manifest;
mod policy;
mod question;
mod sent;

#[cfg(test)]
mod tests;

use ringfence::Pins;
use ringfence_server::console::{
    Definition, DefinitionId, DefinitionPage, Desk, DeskError, Enforcement, Judgement, ManifestPage,
    PolicyAnswer, PolicyPage, PolicyQuestion, ReachRow,
};

use self::enforcement::Doctor;
use self::fault::files;
use crate::book::{Book, SeenFile};
use crate::held::Held;
use crate::load::{Loaded, Place};

pub(crate) use line::{declares, permits};
pub(crate) use question::{Case, judge_reach, understood};

/// Answers the console from the policy file and what lies beside it.
#[derive(Debug)]
pub(crate) struct FileDesk {
    place: Place,
    book: Book,
    doctor: Doctor,
}

/// Everything that is known at one moment.
struct View {
    loaded: Loaded,
    pins: Pins,
    seen: SeenFile,
    held: Held,
}

impl FileDesk {
    /// Makes a desk over a policy file and the pins beside it.
    pub(crate) fn new(place: Place) -> Self {
        let book = Book::beside(&place.policy);
        Self { place, book, doctor: Doctor::default() }
    }

    fn loaded(&self) -> Result<Loaded, DeskError> {
        self.place.load().and_then(Loaded::sound).map_err(files)
    }

    fn view(&self) -> Result<View, DeskError> {
        let loaded = self.loaded()?;
        Ok(View {
            held: self.place.held(&loaded).map_err(files)?,
            loaded,
            pins: self.book.read_pins().map_err(files)?,
            seen: self.book.read_seen().map_err(files)?,
        })
    }
}

impl Desk for FileDesk {
    fn definitions(&self) -> Result<Vec<Definition>, DeskError> {
        let pages = self.pages()?;
        Ok(pages.into_iter().map(|page| page.definition).collect())
    }

    fn definition(&self, id: &DefinitionId) -> Result<Option<DefinitionPage>, DeskError> {
        Ok(self.pages()?.into_iter().find(|page| page.definition.id == *id))
    }

    fn judge(&self, id: &DefinitionId, digest: &str, judgement: Judgement) -> Result<(), DeskError> {
        self.judged(id, digest, judgement)
    }

    fn grant(&self, tool: &str) -> Result<Option<Vec<ReachRow>>, DeskError> {
        self.granted(tool)
    }

    fn policy(&self) -> Result<PolicyPage, DeskError> {
        self.policy_page()
    }

    fn ask(&self, question: &PolicyQuestion) -> Result<PolicyAnswer, DeskError> {
        self.answer(question)
    }

    fn manifest(&self) -> Result<ManifestPage, DeskError> {
        self.manifest_page()
    }

    fn accept_manifest(&self, hash: &str) -> Result<(), DeskError> {
        self.accept_hash(hash)
    }

    fn enforcement(&self) -> Result<Vec<Enforcement>, DeskError> {
        Ok(self.doctor.findings())
    }
}

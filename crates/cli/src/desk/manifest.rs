//! The manifest of the policy as it is now, beside the accepted one.

use ringfence::policy::manifest::diff::Change;
use ringfence_server::console::{DeskError, ManifestChange, ManifestPage};

use super::FileDesk;
use super::fault::{files, whole_digest};
use crate::commands::manifest::Proposal;

impl FileDesk {
    pub(super) fn manifest_page(&self) -> Result<ManifestPage, DeskError> {
        let proposal = Proposal::of(&self.place).map_err(files)?;
        let mut changes = proposal.changes().map_err(files)?;
        // Stable: what is equally bad stays in the order of the comparison.
        changes.sort_by_key(|change| change.level);
        Ok(ManifestPage {
            file: proposal.lock.path.display().to_string(),
            accepted: proposal.accepted().map(|manifest| manifest.hash().to_owned()),
            current: proposal.now.hash().to_owned(),
            changes: changes.iter().map(told).collect(),
        })
    }

    pub(super) fn accept_hash(&self, hash: &str) -> Result<(), DeskError> {
        whole_digest(hash)?;
        let proposal = Proposal::of(&self.place).map_err(files)?;
        if proposal.now.hash() != hash {
            return Err(DeskError::Changed("the manifest is not the one that was looked at".to_owned()));
        }
        proposal.lock.write(&proposal.now, None, &mut std::io::sink()).map_err(files)?;
        Ok(())
    }
}

fn told(change: &Change) -> ManifestChange {
    ManifestChange {
        code: change.code.as_str().to_owned(),
        level: change.level.as_str().to_owned(),
        direction: change.direction.to_string(),
        subject: change.subject.to_string(),
        message: change.message.clone(),
    }
}

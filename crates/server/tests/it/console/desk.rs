//! A desk whose answers the test sets.

use std::sync::Mutex;

use ringfence_server::console::{
    Definition, DefinitionId, DefinitionPage, Desk, DeskError, Enforcement, Judgement, ManifestPage,
    PolicyAnswer, PolicyPage, PolicyQuestion, ReachRow,
};

/// What the test wants to be answered.
#[derive(Default)]
pub(crate) struct TestDesk {
    pub(crate) definitions: Mutex<Vec<DefinitionPage>>,
    /// What was judged.
    pub(crate) judged: Mutex<Vec<(DefinitionId, String, Judgement)>>,
    /// What any tool is granted.
    pub(crate) grant: Mutex<Option<Vec<ReachRow>>>,
    pub(crate) policy: Mutex<Option<PolicyPage>>,
    pub(crate) answer: Mutex<Option<PolicyAnswer>>,
    pub(crate) manifest: Mutex<Option<ManifestPage>>,
    /// Which manifests were accepted.
    pub(crate) accepted: Mutex<Vec<String>>,
    pub(crate) enforcement: Mutex<Vec<Enforcement>>,
    /// Why nothing is answered, where nothing is.
    pub(crate) broken: Mutex<Option<DeskError>>,
}

impl TestDesk {
    fn answered<T>(&self, answer: T) -> Result<T, DeskError> {
        match self.broken.lock().unwrap().clone() {
            Some(error) => Err(error),
            None => Ok(answer),
        }
    }

    fn found<T: Clone>(&self, answer: &Mutex<Option<T>>) -> Result<T, DeskError> {
        let missing = || DeskError::Missing("the test has not set this".to_owned());
        self.answered(())?;
        answer.lock().unwrap().clone().ok_or_else(missing)
    }
}

impl Desk for TestDesk {
    fn definitions(&self) -> Result<Vec<Definition>, DeskError> {
        let all = self.definitions.lock().unwrap();
        self.answered(all.iter().map(|page| page.definition.clone()).collect())
    }

    fn definition(&self, id: &DefinitionId) -> Result<Option<DefinitionPage>, DeskError> {
        let all = self.definitions.lock().unwrap();
        self.answered(all.iter().find(|page| page.definition.id == *id).cloned())
    }

    fn judge(&self, id: &DefinitionId, digest: &str, judgement: Judgement) -> Result<(), DeskError> {
        let found = self
            .definition(id)?
            .ok_or_else(|| DeskError::Missing("there is no such definition".to_owned()))?;
        if found.definition.digest != digest {
            return Err(DeskError::Changed("it is another definition by now".to_owned()));
        }
        self.judged.lock().unwrap().push((id.clone(), digest.to_owned(), judgement));
        Ok(())
    }

    fn grant(&self, _tool: &str) -> Result<Option<Vec<ReachRow>>, DeskError> {
        self.answered(self.grant.lock().unwrap().clone())
    }

    fn policy(&self) -> Result<PolicyPage, DeskError> {
        self.found(&self.policy)
    }

    fn ask(&self, _question: &PolicyQuestion) -> Result<PolicyAnswer, DeskError> {
        self.found(&self.answer)
    }

    fn manifest(&self) -> Result<ManifestPage, DeskError> {
        self.found(&self.manifest)
    }

    fn accept_manifest(&self, hash: &str) -> Result<(), DeskError> {
        if self.manifest()?.current != hash {
            return Err(DeskError::Changed("it is another manifest by now".to_owned()));
        }
        self.accepted.lock().unwrap().push(hash.to_owned());
        Ok(())
    }

    fn enforcement(&self) -> Result<Vec<Enforcement>, DeskError> {
        self.answered(self.enforcement.lock().unwrap().clone())
    }
}

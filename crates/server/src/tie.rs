//! One request of a client while it lasts: the way back to whoever made it.
//!
//! INVARIANT: what a server asks in the course of a request goes to the client that made it, and to no other.

use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use serde_json::Value;
use serde_json::value::RawValue;
use tokio::sync::{mpsc, oneshot};

use crate::era::Era;
use crate::message::{Answer, error_code, notification_line, rpc_error};
use crate::outlet::Outlet;
use crate::raw::{Raw, RawObject};
use crate::session::Session;

tokio::task_local! {
    /// The request in whose course something is decided.
    pub(crate) static TIE: Arc<Tie>;
}

/// One request of a client while it lasts.
pub(crate) struct Tie {
    pub(crate) session: Weak<Session>,
    pub(crate) era: Era,
    /// The parameters as the client sent them.
    pub(crate) params: RawObject,
    /// What the client can do, for this request.
    pub(crate) capabilities: Arc<RawObject>,
    /// The least level of log messages that the client wants with this request; the session decides where absent.
    pub(crate) level: Option<String>,
    outlet: Mutex<Outlet>,
    /// Where questions to a modern client go, which are answered by a further request.
    questions: Option<mpsc::UnboundedSender<Question>>,
    /// The arguments of a call, as they were read.
    pub(crate) arguments: OnceLock<Arc<Value>>,
    /// What the server answered, as it was written.
    pub(crate) answer: Mutex<Option<Answer>>,
}

/// A question to a modern client.
pub(crate) struct Question {
    /// What the server calls it, where it has a name for it.
    pub(crate) name: Option<String>,
    pub(crate) method: String,
    pub(crate) params: Raw,
    pub(crate) tell: oneshot::Sender<Raw>,
}

impl Tie {
    pub(crate) fn new(
        session: Weak<Session>,
        era: Era,
        params: RawObject,
        capabilities: Arc<RawObject>,
        outlet: Outlet,
    ) -> (Arc<Self>, Option<mpsc::UnboundedReceiver<Question>>) {
        let (questions, asked) = match era {
            Era::Legacy => (None, None),
            Era::Modern => {
                let (questions, asked) = mpsc::unbounded_channel();
                (Some(questions), Some(asked))
            }
        };
        let level = match era {
            Era::Legacy => None,
            Era::Modern => params.object("_meta").and_then(|meta| meta.text(crate::era::LOG_LEVEL)),
        };
        let tie = Self {
            session,
            era,
            params,
            capabilities,
            level,
            outlet: Mutex::new(outlet),
            questions,
            arguments: OnceLock::new(),
            answer: Mutex::default(),
        };
        (Arc::new(tie), asked)
    }

    /// Says whether these are the very arguments that the client sent.
    pub(crate) fn sent(&self, arguments: &Value) -> bool {
        self.arguments.get().is_some_and(|own| std::ptr::eq(&**own, arguments))
    }

    /// Returns the token by which the client wants to hear of progress.
    pub(crate) fn progress_token(&self) -> Option<Raw> {
        self.params.object("_meta")?.remove("progressToken")
    }

    /// Returns where messages that belong to the request go now.
    pub(crate) fn outlet(&self) -> Outlet {
        self.outlet.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Lets messages go another way from now on: the request goes on in another one.
    pub(crate) fn redirect(&self, outlet: Outlet) {
        *self.outlet.lock().unwrap_or_else(PoisonError::into_inner) = outlet;
    }

    /// Tells the client something that belongs to the request. A client that is gone is told nothing.
    pub(crate) async fn notify(&self, method: &str, params: Option<&RawValue>) {
        let _sent = self.outlet().send(notification_line(method, params)).await;
    }

    /// Says whether the client can be asked for this.
    pub(crate) fn can(&self, capability: &str) -> bool {
        self.capabilities.get(capability).is_some()
    }

    /// Asks the client something, and waits for its answer.
    pub(crate) async fn ask(&self, name: Option<&str>, method: &str, params: Raw) -> Answer {
        match self.era {
            Era::Legacy => match self.session.upgrade() {
                Some(session) => session.ask(&self.outlet(), method, &params).await,
                None => Err(gone()),
            },
            Era::Modern => {
                let (tell, told) = oneshot::channel();
                let name = name.map(str::to_owned);
                let question = Question { name, method: method.to_owned(), params, tell };
                let questions = self.questions.as_ref().ok_or_else(gone)?;
                questions.send(question).map_err(|_| gone())?;
                told.await.map_err(|_| gone())
            }
        }
    }
}

fn gone() -> Raw {
    rpc_error(error_code::INTERNAL, "the client is gone or cannot be asked")
}

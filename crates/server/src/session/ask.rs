//! What a client is asked and told by us.

use std::sync::atomic::Ordering;

use serde_json::value::RawValue;
use tokio::sync::oneshot;

use super::{Session, lock};
use crate::era::Era;
use crate::message::{Answer, Id, Response, error_code, notification_line, request_line, rpc_error};
use crate::outlet::Outlet;
use crate::raw::raw;

impl Session {
    /// Asks a legacy client something, and waits for its answer.
    pub(crate) async fn ask(&self, outlet: &Outlet, method: &str, params: &RawValue) -> Answer {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let (tell, told) = oneshot::channel();
        lock(&self.asked).insert(number, tell);
        let mut question = Question { session: self, outlet, number: Some(number) };
        let gone = || rpc_error(error_code::INTERNAL, "the client is gone");
        outlet.send(request_line(&Id::Number(number), method, Some(params))).await.map_err(|_| gone())?;
        let answer = tokio::time::timeout(self.house.options.question, told).await;
        let answered = answer.ok().and_then(Result::ok);
        if answered.is_some() {
            question.number = None;
        }
        answered.unwrap_or_else(|| Err(gone()))
    }

    pub(super) fn answered(&self, response: Response) {
        let Some(Id::Number(number)) = response.id else { return };
        if let Some(tell) = lock(&self.asked).remove(&number) {
            // Whoever asked may have given up.
            let _told = tell.send(response.answer);
        }
    }

    /// Asks a client something that belongs to none of its requests.
    pub(crate) async fn ask_anywhere(&self, method: &str, params: &RawValue) -> Answer {
        let outlet = lock(&self.outlet).clone();
        let legacy = self.hello().is_some_and(|hello| hello.era == Era::Legacy);
        match outlet.filter(|_| legacy) {
            Some(outlet) => self.ask(&outlet, method, params).await,
            None => {
                let message = "the client cannot be asked outside a request";
                Err(rpc_error(error_code::METHOD_NOT_FOUND, message))
            }
        }
    }

    /// Tells the client something that belongs to none of its requests.
    pub(crate) async fn notify(&self, method: &str, params: Option<&RawValue>) {
        let modern = self.hello().is_some_and(|hello| hello.era == Era::Modern);
        if modern {
            self.tell_listeners(method, params).await;
            return;
        }
        let outlet = lock(&self.outlet).clone();
        if let Some(outlet) = outlet.filter(|_| self.is_ready()) {
            let _sent = outlet.send(notification_line(method, params)).await;
        }
    }
}

/// A question to a legacy client. One that is given up is called off.
struct Question<'a> {
    session: &'a Session,
    outlet: &'a Outlet,
    /// Its number, until it is answered.
    number: Option<i64>,
}

impl Drop for Question<'_> {
    fn drop(&mut self) {
        let Some(number) = self.number else { return };
        lock(&self.session.asked).remove(&number);
        let params =
            raw(&serde_json::json!({ "requestId": number, "reason": "no answer is needed any more" }));
        self.outlet.try_send(notification_line("notifications/cancelled", Some(&params)));
    }
}

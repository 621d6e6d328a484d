//! Telling whom the toolbox wants told when a call waits for people.

use std::io::Write as _;
use std::sync::Arc;
use std::time::Duration;

use ringfence::notify::{Channel, CommandChannel, Notifier, Told, WebhookChannel};
use ringfence::policy::Notify;
use ringfence::{ApprovalStore, Launcher, SandboxLauncher, SecretSource as _, SystemClock};
use tokio_util::sync::CancellationToken;

use crate::error::CommandError;
use crate::load::Loaded;
use crate::sandbox::{BackendChoice, choose};

/// How long a call that has ended still tells people.
const LAST_ROUND: Duration = Duration::from_secs(3);

/// Makes the notifier of a toolbox. What cannot be made is an error: somebody who should be told would not be.
pub(crate) async fn notifier(
    loaded: &Loaded,
    store: Arc<dyn ApprovalStore>,
) -> Result<Notifier, CommandError> {
    let mut notifier = Notifier::new(store);
    for (index, entry) in loaded.notify.iter().enumerate() {
        let input = |message: String| CommandError::Input {
            message: format!("`notify` entry {}: {message}", index + 1),
            hint: None,
        };
        let channel: Arc<dyn Channel> = match entry {
            Notify::Command { command, network } => {
                let sandbox = choose(BackendChoice::Auto, loaded.text());
                let sandbox = sandbox
                    .map_err(|error| input(format!("there is no sandbox to run its command in: {error}")))?;
                let launcher: Arc<dyn Launcher> = Arc::new(SandboxLauncher::new(sandbox));
                Arc::new(CommandChannel::new(command, network.clone(), launcher).map_err(input)?)
            }
            Notify::Webhook { url, secret, private } => {
                let found = crate::secrets::source().secret(secret).await;
                let found = found.map_err(|error| input(format!("the secret `{secret}`: {error}")))?;
                let found = found.ok_or_else(|| input(format!("there is no secret `{secret}`")))?;
                let client = ringfence::egress::Client::builder().build();
                let made = WebhookChannel::new(url, found, private.clone(), client, Arc::new(SystemClock));
                Arc::new(made.map_err(input)?)
            }
        };
        notifier = notifier.channel(channel);
    }
    Ok(notifier)
}

/// Does some work and tells people meanwhile, and once more when it is done: a call that does not wait has asked by then.
pub(crate) async fn telling<T>(notifier: &Notifier, work: impl Future<Output = T>) -> T {
    if notifier.is_empty() {
        return work.await;
    }
    let done = CancellationToken::new();
    let work = async {
        let found = work.await;
        done.cancel();
        found
    };
    let (found, mut unheard) = tokio::join!(work, notifier.run(&done));
    let mut failed: Vec<String> = Vec::new();
    // What is not heard by then is told by the next call.
    let last = tokio::time::timeout(LAST_ROUND, notifier.round()).await;
    match last.unwrap_or_else(|_| Ok(Told::default())) {
        Ok(round) => {
            for told in round.told {
                unheard.remove(&told);
            }
            unheard.extend(round.failed.into_iter().map(|(channel, id, why)| ((channel, id), why)));
        }
        Err(error) => failed.push(error.to_string()),
    }
    failed.extend(unheard.into_iter().map(|((channel, id), why)| format!("{channel}: {id}: {why}")));
    for why in failed {
        let why = crate::shown::one_line(&why);
        let _told =
            writeln!(crate::print::errors(), "warning: somebody could not be told of a waiting call: {why}");
    }
    found
}

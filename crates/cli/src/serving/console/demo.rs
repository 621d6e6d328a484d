//! The console over what a demo has played.

use std::sync::Arc;

use ringfence::policy::ConsoleEntry;
use ringfence_server::console::{ConsoleParts, Live};
use ringfence_store::Database;
use tokio_util::sync::CancellationToken;

use super::{ConsoleArgs, ConsoleStanding, Running, Wanted, console_store, own_name, person};
use crate::desk::FileDesk;
use crate::error::CommandError;
use crate::load::Place;

/// A console that runs, and how whoever has started us gets in.
pub(crate) struct DemoConsole {
    /// Where it is.
    pub(crate) url: String,
    /// The same, with a word that lets somebody in once.
    pub(crate) link: String,
    running: Running,
}

impl DemoConsole {
    pub(crate) async fn start(
        store: &Arc<dyn Database>,
        place: &Place,
        live: &Arc<Live>,
    ) -> Result<Self, CommandError> {
        let wanted = Wanted::new(&ConsoleArgs::default(), &ConsoleEntry::default(), place, None, false);
        let (live, access) = (Arc::clone(live), Arc::default());
        let parts = ConsoleParts {
            store: console_store(store),
            desk: Arc::new(FileDesk::new(place.clone())),
            live: Arc::clone(&live),
            access: Arc::clone(&access),
        };
        let console = wanted.bind(parts).await?;
        let link = match person(&**store, &own_name()).await? {
            Some(person) => console.login_link(person),
            None => console.url(),
        };
        let (url, standing) = (console.url(), ConsoleStanding { address: console.address(), access, live });
        let stop = CancellationToken::new();
        let task = tokio::spawn(console.run(stop.clone().cancelled_owned()));
        Ok(Self { url, link, running: Running { standing, stop, task } })
    }

    /// Ends it.
    pub(crate) async fn stop(self) {
        self.running.stop().await;
    }
}

//! What the measurement of the console needs: a large log, a gateway, and browsers that only count.

mod browser;
mod gateway;
mod log;

pub use browser::{Connection, follow};
pub use gateway::Gateway;
pub use log::{fill, step};

type Outcome<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

//! What has had its time goes, a part in each turn, so that nobody waits long.

use crate::entry::KeepRaw;

use super::error::SqliteError;
use super::turn::Turn;
use super::{approval, idempotency, log, value};

/// Removes a part of what has had its time, and returns how much; none is left when that is nothing.
pub(super) fn sweep(turn: &mut Turn<'_>, raw: KeepRaw) -> Result<u64, SqliteError> {
    let now = turn.now();
    let mut swept = turn.sql(|transaction| value::sweep(transaction, now))?;
    swept += turn.sql(|transaction| idempotency::sweep(transaction, now))?;
    swept += turn.sql(|transaction| approval::sweep(transaction, now))?;
    if let KeepRaw::For(time) = raw {
        swept += turn.sql(|transaction| log::forget_raw(transaction, now.saturating_sub(time)))?;
    }
    Ok(swept)
}

//! Settling a call in doubt.
//!
//! INVARIANT: only the call that was looked at is settled, by its scope, key and fence, and only with JSON that can be read.

use std::time::Duration;

use ringfence::policy::{JsonLimits, parse_json};
use ringfence::{Fence, KeyFilter, KeyFinding, KeyState, Role, Settled, Settlement};

use super::super::fault::Fault;
use super::super::front::{Caller, Front};
use super::super::view::{Found, SettlementSent};

/// What a person settled is kept for a day at least, as for financial tools.
const SHORTEST: Duration = Duration::from_hours(24);
/// It is kept for ten years at most.
const LONGEST: Duration = Duration::from_hours(24 * 3660);
/// How long a reason may be, in characters.
const REASON: usize = 4000;

/// Says what became of a call in doubt.
pub(crate) async fn settle(front: &Front, caller: &Caller, sent: SettlementSent) -> Result<(), Fault> {
    caller.at_least(Role::Approver)?;
    let reason = sent.reason.trim();
    if reason.is_empty() {
        return Err(Fault::input("the reason is missing").hint("say how you know what became of the call"));
    }
    if reason.chars().count() > REASON {
        return Err(Fault::input(format!("the reason is longer than {REASON} characters")));
    }
    let settlement = match sent.found {
        Found::Done => Settlement::Committed { output: output(&sent.output)?, keep: keep(sent.keep_days)? },
        Found::NotDone => Settlement::Failed,
    };
    let filter = KeyFilter { state: None, key: Some(sent.key.clone()), most: 0 };
    // No key holds this character, and not every database can be asked for one.
    let keys = if sent.key.contains('\0') { Vec::new() } else { front.store.keys.keys(&filter).await? };
    let entry = keys.into_iter().find(|entry| entry.name.scope == sent.scope);
    let entry = entry.ok_or_else(|| {
        Fault::missing(format!("no call used the key `{}` in the scope `{}`", sent.key, sent.scope))
    })?;
    if entry.state != KeyState::Unknown {
        let text = format!("the key `{}` is not in doubt: it is {}", sent.key, entry.state.as_str());
        return Err(
            Fault::conflict(text).hint("only what nobody knows is settled; what is executing settles itself")
        );
    }
    if entry.fence != Fence(sent.fence) {
        return Err(stale(&sent.key));
    }
    let finding = KeyFinding {
        name: entry.name,
        fence: entry.fence,
        settlement,
        by: caller.name().to_owned(),
        reason: reason.to_owned(),
    };
    match front.store.keys.find_out(&finding).await? {
        Settled::Kept => Ok(()),
        Settled::Stale => Err(stale(&sent.key)),
    }
}

fn stale(key: &str) -> Fault {
    Fault::conflict(format!("the key `{key}` is no longer in doubt as it was looked at"))
        .hint("somebody settled it meanwhile, or another call has it; look again")
}

/// Reads what the call returned.
fn output(text: &str) -> Result<String, Fault> {
    let output = parse_json(text, JsonLimits::DOCUMENT).map_err(|error| {
        Fault::input(format!("the output is not JSON: {error}"))
            .hint("a text is JSON in double quotes, such as \"sent\"")
    })?;
    Ok(output.to_string())
}

/// Reads for how long a call that comes again is answered with the output.
fn keep(days: u64) -> Result<Duration, Fault> {
    let keep = days.checked_mul(24 * 60 * 60).map(Duration::from_secs).filter(|keep| *keep <= LONGEST);
    let keep = keep.ok_or_else(|| Fault::input("the output is kept for 3660 days at most"))?;
    Ok(keep.max(SHORTEST))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_json_is_an_output_and_only_so_many_days_are_kept() {
        #[rustfmt::skip]
        let outputs = [
            ("\"sent\"",           Some("\"sent\"")),
            (" {\"a\": 1} ",       Some("{\"a\":1}")),
            ("null",               Some("null")),
            ("",                   None),
            ("sent",               None),
            ("{\"a\":1,\"a\":2}",  None),
            ("1 2",                None),
        ];
        for (text, expected) in outputs {
            assert_eq!(output(text).ok().as_deref(), expected, "{text:?}");
        }
        let hours = |days| keep(days).ok().map(|keep| keep.as_secs() / 3600);
        assert_eq!(
            [0, 1, 30, 3660, 3661, u64::MAX].map(hours),
            [Some(24), Some(24), Some(720), Some(87_840), None, None]
        );
    }
}

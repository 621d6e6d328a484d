//! What is reached, compared by coverage: a narrower entry under a granted one is no finding.

use super::ChangeCode::{
    ToolEnvironmentNarrowed, ToolEnvironmentWidened, ToolExecNarrowed, ToolExecWidened,
    ToolFilesystemReadNarrowed, ToolFilesystemReadWidened, ToolFilesystemWriteNarrowed,
    ToolFilesystemWriteWidened, ToolNetworkNarrowed, ToolNetworkWidened, ToolSecretsNarrowed,
    ToolSecretsWidened, ToolStorageNarrowed, ToolStorageWidened,
};
use super::change::{Changes, Sets, arrow};
use crate::manifest::{Listed, Reached, ReachedHosts, ReachedPaths, Sourced};
use crate::{Direction, OnUnknown, Storage, StorageScope};

/// Compares every surface.
pub(super) fn compare(changes: &mut Changes<'_>, old: &Reached, new: &Reached) {
    sets(
        changes,
        [ToolEnvironmentWidened, ToolEnvironmentNarrowed],
        "environment",
        &old.environment,
        &new.environment,
    );
    sets(changes, [ToolExecWidened, ToolExecNarrowed], "programs", &old.process, &new.process);
    sets(changes, [ToolSecretsWidened, ToolSecretsNarrowed], "secrets", &old.secrets, &new.secrets);
    network(changes, &old.network, &new.network);
    paths(changes, &old.fs_reach, &new.fs_reach);
    storage(changes, old.storage, new.storage);
}

fn sets<S: Listed>(
    changes: &mut Changes<'_>,
    codes: [super::ChangeCode; 2],
    what: &str,
    old: &Sourced<S>,
    new: &Sourced<S>,
) {
    changes.sets(codes, what, &Sets::of(old.set(), new.set()));
}

fn network(changes: &mut Changes<'_>, old: &ReachedHosts, new: &ReachedHosts) {
    let codes = [ToolNetworkWidened, ToolNetworkNarrowed];
    sets(changes, codes, "hosts", &old.hosts, &new.hosts);
    sets(changes, codes, "private addresses", &old.private, &new.private);
    match (old.on_unknown, new.on_unknown) {
        (OnUnknown::Refuse, OnUnknown::Ask) => {
            changes.widened(ToolNetworkWidened, "hosts that nothing names: `refuse` → `ask`");
        }
        (OnUnknown::Ask, OnUnknown::Refuse) => {
            changes.narrowed(ToolNetworkNarrowed, "hosts that nothing names: `ask` → `refuse`");
        }
        (OnUnknown::Ask, OnUnknown::Ask) | (OnUnknown::Refuse, OnUnknown::Refuse) => {}
    }
}

fn paths(changes: &mut Changes<'_>, old: &ReachedPaths, new: &ReachedPaths) {
    for (direction, codes) in [
        (Direction::Read, [ToolFilesystemReadWidened, ToolFilesystemReadNarrowed]),
        (Direction::Write, [ToolFilesystemWriteWidened, ToolFilesystemWriteNarrowed]),
    ] {
        let (before, now) = (old.direction(direction), new.direction(direction));
        let sets = Sets {
            was: before.shown(),
            is: now.shown(),
            gained: now.beyond(before, direction),
            lost: before.beyond(now, direction),
        };
        changes.sets(codes, "paths", &sets);
        // Where there was nothing to keep in a jail, the lists say it all.
        if before.is_empty() || now.is_empty() || old.jail == new.jail {
            continue;
        }
        let root = |paths: &ReachedPaths| {
            paths.jail_root().map_or_else(|| "none".to_owned(), |root| root.to_string())
        };
        let message = format!("jail: {}", arrow(&root(old), &root(new)));
        let is_tighter = match (old.jail_root(), new.jail_root()) {
            (_, None) => false,
            (None, Some(_)) => old.jail.is_none(),
            (Some(before), Some(now)) => before.covers(&now),
        };
        if is_tighter {
            changes.narrowed(codes[1], message);
        } else {
            changes.widened(codes[0], message);
        }
    }
}

fn storage(changes: &mut Changes<'_>, old: Option<Storage>, new: Option<Storage>) {
    let scope = |storage: Option<Storage>| storage.map_or("none".to_owned(), |one| one.scope.to_string());
    let ttl = |storage: Storage| {
        storage.ttl_seconds_default.map_or("for ever".to_owned(), |seconds| format!("{seconds}s"))
    };
    let scopes = arrow(&scope(old), &scope(new));
    match (old, new) {
        (None, None) => {}
        (None, Some(_)) => changes.widened(ToolStorageWidened, format!("scope: {scopes}")),
        (Some(_), None) => changes.narrowed(ToolStorageNarrowed, format!("scope: {scopes}")),
        (Some(before), Some(now)) => {
            if before.scope != now.scope {
                if is_within(now.scope, before.scope) {
                    changes.narrowed(ToolStorageNarrowed, format!("scope: {scopes}"));
                } else {
                    changes.widened(ToolStorageWidened, format!("scope: {scopes}"));
                }
            }
            let age = |one: Storage| one.ttl_seconds_default.unwrap_or(u64::MAX);
            let message = format!("kept: {}", arrow(&ttl(before), &ttl(now)));
            match age(now).cmp(&age(before)) {
                std::cmp::Ordering::Equal => {}
                std::cmp::Ordering::Greater => changes.widened(ToolStorageWidened, message),
                std::cmp::Ordering::Less => changes.narrowed(ToolStorageNarrowed, message),
            }
        }
    }
}

/// Says whether one scope is shared with nobody else and kept no longer than the other.
const fn is_within(inner: StorageScope, outer: StorageScope) -> bool {
    match (inner, outer) {
        (_, StorageScope::Personality)
        | (StorageScope::Session, StorageScope::Session)
        | (StorageScope::ToolPrivate, StorageScope::ToolPrivate) => true,
        // What a session forgets and what one tool keeps to itself are not to be compared.
        (StorageScope::Personality, StorageScope::Session | StorageScope::ToolPrivate)
        | (StorageScope::Session, StorageScope::ToolPrivate)
        | (StorageScope::ToolPrivate, StorageScope::Session) => false,
    }
}

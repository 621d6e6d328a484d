//! The rules beside hosts, as the command takes them: private addresses, bytes, connections, time.

mod ask;
mod limit;
mod reach;

use super::ends::{Ends, NEAR, Ran};

type Rule = fn(&mut Ends<'_>) -> Result<(), String>;

/// Every rule.
pub(crate) const RULES: &[(&str, Rule)] = &[
    ("rule::private_must_be_named", reach::private),
    ("rule::star_is_public_only", reach::star),
    ("rule::bytes_sent", limit::sent),
    ("rule::bytes_received", limit::received),
    ("rule::connections_at_once", limit::connections),
    ("rule::connection_time", limit::connection_time),
    ("rule::idle", limit::idle),
    ("rule::requests_per_minute", limit::requests),
    ("rule::far_end_is_gone", reach::gone),
    ("rule::evidence_counts_bytes", limit::bytes),
    ("rule::last_words_arrive", limit::last_words),
    ("rule::ends_with_the_command", limit::ends_with_it),
    ("rule::own_addresses_are_not_public", reach::own),
    ("rule::wildcard_is_not_the_apex", reach::wildcard),
    ("rule::address_of_loopback_by_itself", reach::loopback),
    ("rule::port_of_names_is_a_port_too", reach::port_53),
    ("rule::curl_that_says_another_name", reach::crossed),
    ("rule::other_backends_refuse", reach::backends),
    ("rule::asked_on_the_terminal", ask::answers),
    ("rule::asked_where_there_is_no_terminal", ask::nobody),
];

fn python(script: &str) -> Vec<String> {
    let prelude = "import socket, sys, time\nnear = sys.argv[1]\n";
    ["python3", "-c", &format!("{prelude}{script}"), NEAR].map(str::to_owned).to_vec()
}

fn curl(url: &str) -> Vec<String> {
    ["curl", "-sS", "--fail", "--max-time", "10", url].map(str::to_owned).to_vec()
}

fn is_refused(ran: &Ran) -> Result<(), String> {
    if ran.code == Some(0) || ran.dialled().count() > 0 { Err(format!("{ran:?}")) } else { Ok(()) }
}

//! The host cases of `tests/corpora`, decided as the gate decides them.

mod spoken;

use std::net::IpAddr;
use std::sync::Arc;

use ringfence_egress::{Dialer, Request, Resolver, StaticResolver, StatusCode};
use ringfence_policy::{Host, HostPattern, HostSet, NetworkCeiling, NetworkGrant, Private, Target};
use serde::Deserialize;

const CORPUS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/corpora/hosts.jsonl");

#[derive(Deserialize)]
struct Case {
    id: String,
    allow: Vec<String>,
    input: Input,
    expect: String,
    #[serde(default)]
    either: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase", tag = "kind")]
#[rustfmt::skip]
enum Input {
    Connect { authority: String },
    Dns { host: String, answers: Vec<String> },
    Intersect { declared: Vec<String>, permitted: Vec<String>, host: String },
    Raw { request: String },
    Rebind { host: String, first: Vec<String>, second: Vec<String> },
    Redirect { chain: Vec<String> },
    Socks5 { atyp: String, host: String, port: Option<u16> },
    Tunnel { authority: String, sni: Option<String>, inner_host: Option<String> },
    Url { url: String },
    #[serde(other)]
    Other,
}

#[tokio::test]
#[expect(clippy::disallowed_methods, reason = "the cases are in a file")]
async fn every_case_of_the_corpus_is_decided_as_expected() {
    let corpus = std::fs::read_to_string(CORPUS).unwrap_or_else(|error| panic!("`{CORPUS}`: {error}"));
    let (mut judged, mut wrong) = (0, Vec::new());
    for line in corpus.lines() {
        let case: Case = serde_json::from_str(line).unwrap();
        let Some(admitted) = decide(&case).await else { continue };
        if !case.either {
            judged += 1;
            if admitted != (case.expect == "allow") {
                wrong.push(case.id);
            }
        }
    }
    println!("{judged} cases judged");
    assert!(wrong.is_empty(), "{wrong:?}");
    assert!(judged > 50);
}

async fn decide(case: &Case) -> Option<bool> {
    let (declared, permitted) = match &case.input {
        Input::Intersect { declared, permitted, .. } => (declared, permitted),
        _ => (&case.allow, &case.allow),
    };
    let (Ok(declared), Ok(permitted)) = (set(declared), set(permitted)) else { return Some(false) };
    let grant = NetworkGrant::meet(&declared, &NetworkCeiling::new(permitted, Private::default()));
    let judge = |target: Target| grant.judge(&target).is_ok();
    match &case.input {
        Input::Connect { authority } => Some(Target::from_authority(authority).is_ok_and(judge)),
        Input::Dns { host, answers } => Some(pinned(&grant, host, answers).await.is_some()),
        Input::Intersect { host, .. } => Some(match host.parse() {
            Ok(address) => judge(Target::new(Host::Address(address), 443)),
            Err(_) => Target::from_url(&format!("https://{host}/")).is_ok_and(judge),
        }),
        Input::Raw { request } => Some(spoken::raw(&grant, request)),
        // Whatever becomes of the first answer, the second is never dialled.
        Input::Rebind { host, first, second } => {
            let pinned = pinned(&grant, host, first).await.unwrap_or_default();
            let fresh = second.iter().filter(|answer| !first.contains(answer));
            Some(
                fresh.filter_map(|answer| answer.parse().ok()).any(|answer: IpAddr| pinned.contains(&answer)),
            )
        }
        Input::Redirect { chain } => Some(follows(&grant, chain)),
        Input::Socks5 { atyp, host, port } => Some(spoken::socks(&grant, atyp, host, *port)),
        Input::Tunnel { authority, sni, inner_host } => {
            spoken::tunnel(&grant, authority, sni.as_deref(), inner_host.as_deref())
        }
        Input::Url { url } => Some(Target::from_url(url).is_ok_and(judge)),
        Input::Other => None,
    }
}

fn set(patterns: &[String]) -> Result<HostSet, ringfence_policy::HostError> {
    patterns.iter().map(|text| text.parse::<HostPattern>()).collect()
}

/// Returns the addresses that would be dialled. An answer that is no address fails the lookup.
async fn pinned(grant: &NetworkGrant, host: &str, answers: &[String]) -> Option<Vec<IpAddr>> {
    let target = Target::from_authority(&format!("{host}:443")).ok()?;
    let answers: Result<Vec<IpAddr>, _> = answers.iter().map(|text| text.parse()).collect();
    let table = match (host.parse(), answers) {
        (Ok(name), Ok(answers)) => StaticResolver::new().with(name, answers),
        _ => StaticResolver::new(),
    };
    let table = Arc::new(table);
    let dialer = Dialer::new(Arc::clone(&table) as Arc<dyn Resolver>);
    let pinned = dialer.pin(grant, &target).await.ok()?;
    assert!(table.asked() <= 1);
    Some(pinned.iter().map(|address| address.ip()).collect())
}

fn follows(grant: &NetworkGrant, chain: &[String]) -> bool {
    let Some((first, rest)) = chain.split_first() else { return false };
    let Ok(mut request) = Request::get(first) else { return false };
    if rest.len() > 10 {
        return false; // the client's own limit
    }
    for location in rest {
        if grant.judge(request.target()).is_err() {
            return false;
        }
        match request.redirected(StatusCode::FOUND, location) {
            Ok(next) => request = next,
            Err(_) => return false,
        }
    }
    grant.judge(request.target()).is_ok()
}

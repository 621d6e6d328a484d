//! Who somebody is, and what their role lets them do.

use std::time::Duration;

use ringfence::{
    ApprovalError, ApproverName, ApproverToken, Code, PersonDecision, Principal, Proof, RequestState, Role,
    TokenHash, Word,
};

use super::{on_each, on_each_database, request};

fn person(name: &str) -> ApproverName {
    name.parse().unwrap()
}

fn token(name: &str) -> TokenHash {
    ApproverToken::new(name).hash()
}

#[tokio::test]
async fn somebody_is_known_by_token_or_by_name() {
    on_each(async |made| {
        let approvals = made.approvals();
        for (name, role) in [("ada", Role::Admin), ("bob", Role::Approver), ("cyd", Role::Viewer)] {
            approvals.add_approver(&person(name), token(name), role).await.unwrap();
        }
        let proofs = |name: &str| [Proof::Named(person(name)), Proof::Token(token(name))];
        for (name, role) in [
            ("ada", Some(Role::Admin)),
            ("bob", Some(Role::Approver)),
            ("cyd", Some(Role::Viewer)),
            ("eve", None),
        ] {
            for proof in proofs(name) {
                let found = approvals.principal(&proof).await.unwrap();
                let found = found.map(|found| (found.name, found.role));
                assert_eq!(found, role.map(|role| (person(name), role)), "{proof:?}");
            }
        }
        let before = approvals.principal(&Proof::Named(person("ada"))).await.unwrap().unwrap();
        approvals.revoke_approver(&person("ada")).await.unwrap();
        made.advance(std::time::Duration::from_secs(1)).await;
        for proof in proofs("ada") {
            assert_eq!(approvals.principal(&proof).await.unwrap(), None, "{proof:?}");
        }
        // Whoever comes back has the role that they come back with, and only the new token.
        approvals.add_approver(&person("ada"), token("new"), Role::Viewer).await.unwrap();
        let listed = approvals.approvers().await.unwrap();
        let since = listed.iter().find(|entry| entry.name == person("ada")).unwrap().added;
        assert!(since > before.since, "whoever comes back is somebody else");
        let back = Principal { name: person("ada"), role: Role::Viewer, since };
        assert_eq!(approvals.principal(&Proof::Named(person("ada"))).await.unwrap(), Some(back.clone()));
        assert_eq!(approvals.principal(&Proof::Token(token("new"))).await.unwrap(), Some(back));
        assert_eq!(approvals.principal(&Proof::Token(token("ada"))).await.unwrap(), None);
        let listed = approvals.approvers().await.unwrap();
        let roles: Vec<_> = listed.iter().map(|entry| (entry.name.as_str(), entry.role)).collect();
        assert_eq!(roles, [("ada", Role::Viewer), ("bob", Role::Approver), ("cyd", Role::Viewer)]);
    })
    .await;
}

#[tokio::test]
async fn a_viewer_decides_nothing() {
    on_each(async |made| {
        let approvals = made.approvals();
        for (name, role) in [("ada", Role::Admin), ("cyd", Role::Viewer), ("eve", Role::Approver)] {
            approvals.add_approver(&person(name), token(name), role).await.unwrap();
        }
        approvals.revoke_approver(&person("eve")).await.unwrap();
        let asked = request(serde_json::json!(1), ringfence::policy::Decision::Ask);
        let id = approvals.file(&asked, Duration::from_secs(60)).await.unwrap();
        let viewer = ApprovalError::Role { by: person("cyd") };
        let nobody = |name| ApprovalError::Nobody { name: person(name) };
        #[rustfmt::skip]
        let cases = [
            // proof                         request           why
            (Proof::Token(token("cyd")),     id.as_str(),      viewer.clone()),
            (Proof::Named(person("cyd")),    id.as_str(),      viewer.clone()),
            (Proof::Named(person("cyd")),    "none",           viewer),
            (Proof::Named(person("eve")),    id.as_str(),      nobody("eve")),
            (Proof::Named(person("none")),   id.as_str(),      nobody("none")),
            (Proof::Token(token("eve")),     id.as_str(),      ApprovalError::Token),
        ];
        for (by, id, why) in cases {
            for word in [Word::Approve, Word::Change, Word::Deny] {
                let (id, by) = (id.to_owned(), by.clone());
                let decision = PersonDecision { id, by, word, changed: None, reason: String::new() };
                let error = approvals.decide(&decision).await.unwrap_err();
                assert_eq!((error.code(), &error), (Code::Forbidden, &why));
            }
        }
        let filed = approvals.request(&id).await.unwrap().unwrap();
        assert_eq!((filed.state, filed.decided.len()), (RequestState::Open, 0));
        let by = Proof::Named(person("ada"));
        let decision = PersonDecision { id, by, word: Word::Approve, changed: None, reason: "fine".into() };
        let filed = approvals.decide(&decision).await.unwrap();
        assert_eq!((filed.state, filed.decided[0].by.as_str()), (RequestState::Approved, "ada"));
    })
    .await;
}

#[tokio::test]
async fn the_log_says_which_role_somebody_was_given() {
    on_each_database(async |database| {
        database.add_approver(&person("ada"), token("ada"), Role::Admin).await.unwrap();
        database.revoke_approver(&person("ada")).await.unwrap();
        let told = database.entries(&ringfence_store::Filter::default(), 0, 10).await.unwrap();
        let told: Vec<_> = told.iter().map(|stored| stored.record.as_str()).collect();
        assert_eq!(
            told,
            [
                r#"{"kind":"approver","at_ms":0,"name":"ada","change":"added","role":"admin"}"#,
                r#"{"kind":"approver","at_ms":0,"name":"ada","change":"revoked"}"#,
            ]
        );
    })
    .await;
}

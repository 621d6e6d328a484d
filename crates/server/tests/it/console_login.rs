//! Coming in, and what every page has around it.

use crate::it::console::{Scene, client, token};

#[tokio::test]
async fn people_come_in_and_leave_under_their_names() {
    let scene = Scene::new().await;
    let ada = scene.login("ada").await;
    assert!(ada.get("/activity").await.body.contains("<span class=\"name\">ada</span>"));
    assert_eq!(ada.post_form("/logout", &[]).await.status, 303);
    assert_eq!(ada.get("/activity").await.header("location"), Some("/login?next=%2Factivity"));
    assert_eq!(scene.log.actions(), ["login", "logout"]);
    assert_eq!(client(scene.address).send("GET", "/api/v1/me", "").await.status, 401);
}

#[tokio::test]
async fn wrong_logins_keep_nobody_out_who_has_a_token() {
    let scene = Scene::new().await;
    let wrong = async || {
        let sending = client(scene.address).header("origin", &format!("http://{}", scene.address));
        let sending = sending.header("content-type", "application/x-www-form-urlencoded");
        sending.send("POST", "/login", "token=rfa_wrong").await.status
    };
    for _ in 0..20 {
        assert_eq!(wrong().await, 403);
    }
    assert_eq!(wrong().await, 429, "failures are limited");
    let ada = scene.login("ada").await;
    assert_eq!(ada.get("/approvals").await.status, 200);
    let bearer = |token: &str| client(scene.address).header("authorization", &format!("Bearer {token}"));
    assert_eq!(bearer("rfa_wrong").send("GET", "/api/v1/me", "").await.status, 429);
    assert_eq!(bearer(&token("bob")).send("GET", "/api/v1/me", "").await.status, 200);
    assert_eq!(wrong().await, 429, "who was let in does not refill it");
    let refused = scene.log.actions().iter().filter(|action| **action == "login refused").count();
    assert_eq!(refused, 20, "the audit is not filled by whoever guesses");
}

//! Coming in, and what every page has around it.

use crate::it::console::{Scene, client};

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

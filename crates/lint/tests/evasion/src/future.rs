//! Futures.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

async fn read() -> bool { std::fs::read("a").is_ok() }
async fn quiet() -> u8 { 1 }
struct Waits;
impl Future for Waits { type Output = bool; fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<bool> { Poll::Ready(std::env::var("A").is_ok()) } }
fn boxed() -> Pin<Box<dyn Future<Output = bool> + Send>> { Box::pin(async { std::process::Command::new("a").status().is_ok() }) }
trait Later { async fn later(&self) -> bool; }
impl Later for Waits { async fn later(&self) -> bool { std::fs::remove_file("a").is_ok() } }

pub async fn fs_read__async() -> bool { std::fs::read("a").is_ok() }
pub async fn fs_read__awaited() -> bool { read().await }
pub async fn env_read__own_future() -> bool { Waits.await }
pub async fn exec__boxed_future() -> bool { boxed().await }
pub fn fs_read__returned() -> impl Future<Output = bool> { async { read().await } }
pub async fn fs_write__async_in_a_trait() -> bool { Waits.later().await }
pub async fn clean__async() -> u8 { quiet().await }

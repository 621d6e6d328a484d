//! What runs without being called.

use std::ops::{Add, Deref, Index, Neg};
struct Odd;
impl Add for Odd { type Output = Odd; fn add(self, _: Odd) -> Odd { let _ = std::fs::read("a"); Odd } }
impl Neg for Odd { type Output = u8; fn neg(self) -> u8 { let _ = std::env::var("A"); 1 } }
impl Index<usize> for Odd { type Output = u8; fn index(&self, _: usize) -> &u8 { let _ = std::process::Command::new("a").status(); &1 } }
struct Behind(String);
impl Deref for Behind { type Target = str; fn deref(&self) -> &str { let _ = std::fs::metadata("a"); &self.0 } }
struct Many;
impl IntoIterator for Many { type Item = u8; type IntoIter = std::vec::IntoIter<u8>; fn into_iter(self) -> Self::IntoIter { let _ = std::fs::write("a", ""); vec![1].into_iter() } }
struct Failed;
impl From<std::num::ParseIntError> for Failed { fn from(_: std::num::ParseIntError) -> Self { let _ = std::net::TcpStream::connect("a.test:1"); Failed } }
#[derive(PartialEq, PartialOrd)] struct Weighed(Odd2);
struct Odd2;
impl PartialEq for Odd2 { fn eq(&self, _: &Self) -> bool { std::env::var("A").is_ok() } }
impl PartialOrd for Odd2 { fn partial_cmp(&self, _: &Self) -> Option<std::cmp::Ordering> { std::fs::read("a").ok(); None } }

pub fn fs_read__addition() { let _ = Odd + Odd; }
pub fn env_read__negation() -> u8 { -Odd }
pub fn exec__index() -> u8 { Odd[0] }
pub fn fs_read__deref() -> usize { Behind("a".into()).len() }
pub fn fs_write__loop() -> u8 { let mut sum = 0; for one in Many { sum += one; } sum }
pub fn net_connect__question_mark(text: &str) -> Result<u8, u8> { fn inner(text: &str) -> Result<u8, Failed> { Ok(text.parse::<u8>()?) } inner(text).map_err(|_| 1) }
pub fn env_read__compared() -> bool { Odd2 == Odd2 }
pub fn fs_read__derived_order() -> bool { Weighed(Odd2) < Weighed(Odd2) }
pub fn clean__operators(a: u32, b: u32) -> u32 { (a + b) * a - [a, b][1] }

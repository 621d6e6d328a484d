//! The console in a real browser, and under attack.
//!
//! A gateway with real tools runs, Chromium is driven through WebDriver, and people log in, look, decide and prove. Chromium and
//! its driver are Debian's; axe-core and Schemathesis are installed by `script/console-tools`, or lie in `RINGFENCE_TEST_CONSOLE`;
//! none of them is ever left out. Pictures of every page are put into `target/console/pictures`.

mod access;
mod agent;
mod api;
mod approval;
mod attack;
mod browser;
mod definition;
mod foreign;
mod full;
mod history;
mod job;
mod limit;
mod page;
mod scene;
mod wire;

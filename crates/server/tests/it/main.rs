//! The gateway and the console, tried from outside.

mod console;
mod console_activity;
mod console_approvals;
mod console_audit;
mod console_calls;
mod console_health;
mod console_keys;
mod console_login;
mod console_policy;
mod console_reference;
mod console_tools;
mod console_work;
mod http;
mod session;
mod wait;

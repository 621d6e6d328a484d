//! The core crate from outside.

mod approval;
mod approval_store;
mod argument_gate;
mod backend;
mod bounds;
mod constraint;
mod envelope;
mod idempotency;
mod in_force;
mod interceptor;
mod lost_answer;
mod network;
mod notify;
mod output_budget;
mod parallel;
mod record;
mod registration;
mod retry;
mod review;
mod schema;
mod scoped_fs;
mod secret;
mod stage;
mod storage;
mod touch;
mod wait;

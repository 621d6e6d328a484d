//! What git would honour, by git's own rules: which folders are repositories, which of their files decide what runs, and
//! which other files an existing configuration names.

mod config;
mod folder;
mod plain;
mod pointer;
mod setting;
mod state;

pub(crate) use config::parse;
pub(crate) use folder::{Folder, common_folder, git_file_target, is_named, is_repository_at, is_same_name};
pub(crate) use plain::{is_inside, is_plain, is_plain_modules};
pub(crate) use pointer::{Pointers, Target, trace};
pub(crate) use state::is_plain_state;

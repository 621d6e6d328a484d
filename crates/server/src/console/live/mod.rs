//! What goes on now: the newest entries of the log for whoever looks, and what this process counts.

mod child;
mod count;
mod feed;
mod fit;
mod guest;
mod histogram;
mod stream;

pub use child::Child;
pub(crate) use child::ChildSeen;
pub use count::Live;
pub(crate) use count::{ClassCounted, OUTCOMES};
pub(crate) use feed::Feed;
pub(crate) use histogram::{Counted, STEPS};
pub(crate) use stream::subscribe;

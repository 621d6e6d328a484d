//! A link of the chain.

pub fn read(path: &str) -> bool {
    three::read(path)
}

pub fn quiet(text: &str) -> usize {
    three::quiet(text) + 1
}

pub fn generic<T: three::Acts>(actor: &T) -> bool {
    three::generic(actor)
}

pub use three::Acts;

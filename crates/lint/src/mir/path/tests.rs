use super::*;

/// Writes a type so that a table can hold it: names with their arguments, and one letter for what is around them.
fn show(found: &Type<'_>) -> String {
    let list = |items: &[Type<'_>]| items.iter().map(show).collect::<Vec<_>>().join(",");
    match found {
        Type::Closure(place) => format!("closure {place}"),
        Type::Dyn(traits) => format!("dyn {}", traits.iter().map(show_path).collect::<Vec<_>>().join("+")),
        Type::Function(signature) => format!(
            "{}fn({}){}{}",
            if signature.foreign { "foreign " } else { "" },
            list(&signature.inputs),
            signature.output.as_ref().map_or_else(String::new, |output| format!("->{}", show(output))),
            signature.item.as_ref().map_or_else(String::new, |item| format!(" is {}", show_path(item))),
        ),
        Type::List(item) => format!("[{}]", show(item)),
        Type::Opaque(traits) => {
            format!("impl {}", traits.iter().map(show_path).collect::<Vec<_>>().join("+"))
        }
        Type::Other => "?".into(),
        Type::Path(path) => show_path(path),
        Type::Pointer(inner) => format!("*{}", show(inner)),
        Type::Reference(inner) => format!("&{}", show(inner)),
        Type::Tuple(items) => format!("({})", list(items)),
    }
}

fn show_path(path: &Path<'_>) -> String {
    let block = |one: &Qualified<'_>| match &one.of {
        Some(of) => format!("<{} as {}>", show(&one.subject), show_path(of)),
        None => format!("<{}>", show(&one.subject)),
    };
    let mut parts: Vec<String> = path.qualified.iter().map(|one| block(one)).collect();
    for segment in &path.segments {
        let args = segment.args.iter().map(show).collect::<Vec<_>>().join(",");
        let name = segment.block.as_ref().map_or_else(|| segment.name.to_owned(), |one| block(one));
        parts.push(if args.is_empty() { name } else { format!("{name}<{args}>") });
    }
    parts.join("::")
}

#[test]
fn types_as_the_compiler_prints_them() {
    #[rustfmt::skip]
    let cases = [
        ("u8",                                                   "u8"),
        ("&'a mut std::vec::Vec<T>",                             "&std::vec::Vec<T>"),
        ("&'{erased} str",                                       "&str"),
        ("[for<'a> fn(&'a str) -> bool; 1]",                     "[fn(&str)->bool]"),
        ("(&str, u16)",                                          "(&str,u16)"),
        ("(A,)",                                                 "(A)"),
        ("()",                                                   "()"),
        ("std::boxed::Box<(dyn std::any::Any + std::marker::Send + 'static)>", "std::boxed::Box<dyn std::any::Any+std::marker::Send>"),
        ("std::boxed::Box<dyn std::ops::Fn(u8) -> bool>",        "std::boxed::Box<dyn std::ops::Fn<u8,bool>>"),
        ("dyn std::iter::Iterator<Item = m::S> + 'a",            "dyn std::iter::Iterator<m::S>"),
        ("std::iter::Map<std::ops::Range<i32>, {closure@src/lib.rs:51:61: 51:64}>", "std::iter::Map<std::ops::Range<i32>,closure src/lib.rs:51:61: 51:64>"),
        ("{coroutine@src/lib.rs:29:35: 29:53 (#0)}",             "closure src/lib.rs:29:35: 29:53"),
        ("{async fn body of asy()}",                             "?"),
        ("unsafe extern \"C\" fn() -> i32 {getpid}",             "foreign fn()->i32 is getpid"),
        ("for<'a> fn(&'a D) {genr::<D>}",                        "fn(&D) is genr<D>"),
        ("fn(&str) -> D {<&str as std::convert::Into<D>>::into}", "fn(&str)->D is <&str as std::convert::Into<D>>::into"),
        ("for<'a> fn(&'a [u8]) -> X<'a> {core::slice::<impl [u8]>::iter}", "fn(&[u8])->X is core::slice::<[u8]>::iter"),
        ("fn() -> impl A<B = u8> + C {make}",                    "fn()->impl A<u8>+C is make"),
        ("fn(&dyn A) {<dyn A as A>::run}",                       "fn(&dyn A) is <dyn A as A>::run"),
        ("fn(u8) -> for<'a> fn(&'a str) -> bool {choose}",       "fn(u8)->fn(&str)->bool is choose"),
        ("fn(&u8) -> ! {stop::<u8>}",                            "fn(&u8)->? is stop<u8>"),
        ("<T as std::iter::Iterator>::Item",                     "<T as std::iter::Iterator>::Item"),
        ("impl FnOnce() -> u8",                                  "impl FnOnce<u8>"),
        ("generic::Array<u8, 32, true, {N + 1}>",                "generic::Array<u8>"),
        ("*const core::ffi::c_void",                             "*core::ffi::c_void"),
        ("&dyn Fn(&D) -> std::result::Result<(), E> + Send",     "&dyn Fn<&D,std::result::Result<(),E>>+Send"),
        ("$t",                                                   "$t"),
        ("std::option::Option<extern \"C\" fn(i32)>",            "std::option::Option<foreign fn(i32)>"),
        ("A/#1",                                                 "A"),
        ("!",                                                    "?"),
    ];
    for (text, expected) in cases {
        assert_eq!(show(&Type::read(text)), expected, "{text}");
    }
}

#[test]
fn paths_as_the_compiler_prints_them() {
    #[rustfmt::skip]
    let cases = [
        ("m::<impl at src/lib.rs:48:27: 48:33>::C::{closure#0}",  "m::<closure src/lib.rs:48:27: 48:33>::C::{closure#0}"),
        ("core::fmt::rt::Argument::<'_>::new_display::<&D>",      "core::fmt::rt::Argument::new_display<&D>"),
        ("std::result::Result::<std::string::String, std::io::Error>::unwrap", "std::result::Result<std::string::String,std::io::Error>::unwrap"),
        ("a::<impl b::Tr<u8> for c::T>::run::promoted[0]",        "a::<c::T as b::Tr<u8>>::run::promoted[0]"),
        ("<[T; 3] as a::Tr>::m::<{closure@a.rs:1:2: 3:4}, 5>",    "<[T] as a::Tr>::m<closure a.rs:1:2: 3:4>"),
        ("TABLE::{constant#0}",                                   "TABLE::{constant#0}"),
        ("<std::iter::Map<I, for<'a> fn(&'a P) -> bool {P::exists}> as Iterator>::count", "<std::iter::Map<I,fn(&P)->bool is P::exists> as Iterator>::count"),
    ];
    for (text, expected) in cases {
        assert_eq!(show_path(&Path::read(text)), expected, "{text}");
    }
}

#[test]
fn nonsense_is_read_to_an_end() {
    for text in [
        "<", "<<<", "{", "((", "dyn", "fn(", "a::<", "&", "[", "<a as", "<impl ", "\"", "::", "a<b",
        "*const ", "&&&&", "é::<ü>", "for<", "a<->", "(,)", "<>::a",
    ] {
        let _type = Type::read(text);
        let _path = Path::read(text);
    }
    let deep = "a<".repeat(5000);
    let _type = Type::read(&deep);
}

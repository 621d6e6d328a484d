//! A macro that runs inside the compiler, and writes code that starts programs.

use proc_macro::TokenStream;

#[proc_macro]
pub fn starts(_: TokenStream) -> TokenStream {
    "::std::process::Command::new(\"true\").status().is_ok()".parse().unwrap_or_default()
}

#[proc_macro_derive(Removes)]
pub fn removes(item: TokenStream) -> TokenStream {
    let text = item.to_string();
    let name = text.split_whitespace().skip_while(|word| *word != "struct").nth(1).unwrap_or("X");
    let name = name.trim_end_matches(';');
    format!("impl {name} {{ pub fn go(&self) {{ let _ = ::std::fs::remove_file(\"a\"); }} }}").parse().unwrap_or_default()
}

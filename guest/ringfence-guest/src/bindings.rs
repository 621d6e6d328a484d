//! What the world `ringfence:tool/tool` becomes in Rust. Nothing of it is public but through the other modules.
#![expect(missing_docs, reason = "the world documents itself in wit/world.wit")]

wit_bindgen::generate!({
    path: "wit",
    world: "tool",
    pub_export_macro: true,
    export_macro_name: "export",
});

use std::io::BufRead;
fn main() {
    for line in std::io::stdin().lock().lines() {
        let v: serde_json::Value = serde_json::from_str(&line.unwrap()).unwrap();
        let d = ringfence_text::Definition {
            name: v["name"].as_str().unwrap_or(""),
            title: v["title"].as_str(),
            description: v["description"].as_str(),
            input_schema: v.get("inputSchema"),
            output_schema: v.get("outputSchema"),
        };
        let s = ringfence_text::scan(&d);
        let mut o = serde_json::to_value(&s).unwrap();
        o["id"] = v["id"].clone();
        println!("{o}");
    }
}

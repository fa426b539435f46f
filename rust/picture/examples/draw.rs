//! temporary
fn main() {
    let args: Vec<String> = std::env::args().collect();
    for name in &args[2..] {
        let text = std::fs::read_to_string(format!("{}/{name}.json", args[1])).unwrap();
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        let report = serde_json::from_value(value["data"].clone()).unwrap();
        let at = std::time::Instant::now();
        let picture = headwater_picture::Picture::of_trace(&report);
        let laid = at.elapsed();
        let svg = picture.svg();
        let html = picture.html();
        let before = std::time::Instant::now();
        let png = picture.png().unwrap();
        println!(
            "{name}: layout {laid:?}, svg {}, html {}, png {} in {:?}",
            svg.len(),
            html.len(),
            png.len(),
            before.elapsed()
        );
        std::fs::write(format!("{}/{name}.svg", args[1]), svg).unwrap();
        std::fs::write(format!("{}/{name}.html", args[1]), html).unwrap();
        std::fs::write(format!("{}/{name}.png", args[1]), png).unwrap();
    }
}

//! SVG as a file of its own, and SVG as pixels.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use gloo::events::EventListener;
use wasm_bindgen::JsCast;
use web_sys::{CanvasRenderingContext2d, Element, HtmlCanvasElement, HtmlImageElement, XmlSerializer};

use crate::page::download;

/// Properties that the style sheet sets on the map, carried over into a file that has no style sheet.
const STYLES: [&str; 12] = [
    "fill",
    "fill-opacity",
    "stroke",
    "stroke-width",
    "stroke-dasharray",
    "stroke-opacity",
    "opacity",
    "font-family",
    "font-size",
    "font-weight",
    "display",
    "visibility",
];

/// The map as it is drawn, as SVG that needs nothing else.
pub(crate) fn map() -> Result<String, String> {
    let scene = gloo::utils::document().get_element_by_id("map-scene").ok_or("The map is not on the screen.")?;
    let copy = scene.clone_node_with_deep(true).ok().and_then(|n| n.dyn_into::<Element>().ok());
    let copy = copy.ok_or("The map could not be copied.")?;
    let window = gloo::utils::window();
    let originals = scene.query_selector_all("*").map_err(|_| "The map could not be read.")?;
    let copies = copy.query_selector_all("*").map_err(|_| "The map could not be read.")?;
    for i in 0..originals.length() {
        let pair = (originals.get(i), copies.get(i));
        let (Some(from), Some(to)) =
            (pair.0.and_then(|n| n.dyn_into::<Element>().ok()), pair.1.and_then(|n| n.dyn_into::<Element>().ok()))
        else {
            continue;
        };
        let Ok(Some(style)) = window.get_computed_style(&from) else { continue };
        for name in STYLES {
            let value = style.get_property_value(name).unwrap_or_default();
            if !value.is_empty() {
                // A property that cannot be carried over changes how the picture looks, not what it says.
                let _ = to.set_attribute(name, &value);
            }
        }
    }
    let ground = window.get_computed_style(&gloo::utils::body()).ok().flatten();
    let ground = ground.and_then(|s| s.get_property_value("background-color").ok()).unwrap_or_default();
    let xml = XmlSerializer::new().and_then(|s| s.serialize_to_string(&copy)).map_err(|_| "The map could not be written.")?;
    let start = xml.find('>').ok_or("The map could not be written.")?;
    Ok(format!("{}><rect width=\"100%\" height=\"100%\" fill=\"{ground}\"/>{}", &xml[..start], &xml[start + 1..]))
}

/// Pixels per pixel of the drawing.
const SCALE: f64 = 2.0;

/// Draws an SVG on a canvas and hands the pixels out as a file, when the browser has loaded it.
pub(crate) fn png(svg: &str, name: String) -> Result<(), String> {
    let image = HtmlImageElement::new().map_err(|_| "The browser made no picture.")?;
    let on = image.clone();
    EventListener::once(&on, "load", move |_| draw(&image, name)).forget();
    let encoded = js_sys::encode_uri_component(svg);
    on.set_src(&format!("data:image/svg+xml;charset=utf-8,{encoded}"));
    Ok(())
}

fn draw(image: &HtmlImageElement, name: String) {
    let canvas = gloo::utils::document().create_element("canvas").ok().and_then(|e| e.dyn_into::<HtmlCanvasElement>().ok());
    let Some(canvas) = canvas else { return };
    let (w, h) = (f64::from(image.natural_width()) * SCALE, f64::from(image.natural_height()) * SCALE);
    canvas.set_width(w as u32);
    canvas.set_height(h as u32);
    let context = canvas.get_context("2d").ok().flatten().and_then(|c| c.dyn_into::<CanvasRenderingContext2d>().ok());
    let drawn = context.map(|c| c.draw_image_with_html_image_element_and_dw_and_dh(image, 0.0, 0.0, w, h));
    if !matches!(drawn, Some(Ok(()))) {
        return;
    }
    // Pixels as text: four thirds of the size, and no callback that may never come.
    let url = canvas.to_data_url().unwrap_or_default();
    let encoded = url.strip_prefix("data:image/png;base64,").unwrap_or_default();
    if let Ok(bytes) = STANDARD.decode(encoded) {
        download(&name, "image/png", &bytes);
    }
}

//! The words do what they say: each is tried on things put into the page for it, so that a story that fails tells of the page.

use serde_json::json;
use zonefall_browser::page::{PHONE, Page, story, story_on};

/// A button, a field, a list, a field for files, a link to a download, a shape; what is done to them is written into `log`.
const THINGS: &str = r#"
    const put = (tag, id, properties = {}, parent = document.body, space = "http://www.w3.org/1999/xhtml") => {
        const thing = document.createElementNS(space, tag);
        thing.setAttribute("data-testid", id);
        Object.assign(thing, properties);
        parent.append(thing);
        return thing;
    };
    document.body.replaceChildren();
    // Without it a telephone lays the page out as wide as a desk's and draws it small.
    put("meta", "viewport", { name: "viewport", content: "width=device-width" }, document.head);
    const log = put("p", "log", { textContent: "nothing yet" });
    const say = text => { log.textContent = text; log.setAttribute("data-said", text); };
    put("button", "button", { textContent: "Button", onclick: () => setTimeout(() => say("clicked"), 200) });
    put("input", "field", { value: "old", oninput: event => say(`typed ${event.target.value}`) });
    const list = put("select", "list", { onchange: event => say(`chose ${event.target.value}`) });
    for (const name of ["one", "two"]) put("option", name, { textContent: name }, list);
    put("input", "file", { type: "file", onchange: event => event.target.files[0].text().then(text => say(`opened ${text}`)) });
    const url = URL.createObjectURL(new Blob(["content"], { type: "text/plain" }));
    put("a", "download", { textContent: "Download", href: url, download: "chart.txt" });
    const picture = put("svg", "picture", {}, document.body, "http://www.w3.org/2000/svg");
    const shape = put("rect", "shape", { onclick: () => say("shape clicked") }, picture, "http://www.w3.org/2000/svg");
    shape.setAttribute("width", "50"); shape.setAttribute("height", "50");
    addEventListener("keydown", event => { if (event.ctrlKey && event.key === "k") say("Control and k"); });
    addEventListener("keydown", event => { if (event.key === " ") say("Space"); });
    addEventListener("pointermove", event => { if (event.buttons === 1) say(`dragged to ${event.clientX}`); });
"#;

fn open_with_things(page: &Page) {
    page.driver().go("about:blank#behind").expect("an empty page");
    page.run(THINGS, &[]);
}

#[test]
fn words_do_what_they_say() {
    story(|page| {
        open_with_things(page);
        assert_eq!(page.fragment(), "behind");
        page.click("button");
        page.see("log", "clicked");
        page.see_attribute("log", "data-said", "clicked");
        page.fill("field", "new \"text\", ünïcode");
        page.see("log", "typed new \"text\", ünïcode");
        page.choose("list", "two");
        page.see("log", "chose two");
        page.choose_file("file", "mine.json", b"{}");
        page.see("log", "opened {}");
        page.click("shape");
        page.see("log", "shape clicked");
        page.press("Control+k");
        page.see("log", "Control and k");
        assert_eq!(page.attribute("button", "nothing"), None);
        assert_eq!(page.texts("option"), ["one", "two"]);
        page.run("document.querySelector('[data-testid=shape]').remove()", &[]);
        page.see_no("shape");
        assert_eq!(page.download(|| page.click("download")), ("chart.txt".to_owned(), b"content".to_vec()));
    });
}

#[test]
fn all_is_reached_with_keys_alone() {
    story(|page| {
        open_with_things(page);
        page.tab_to("button");
        assert_eq!(page.focused().as_deref(), Some("button"));
        page.press("Space");
        page.see("log", "clicked");
    });
}

#[test]
fn a_pointer_drags() {
    story(|page| {
        open_with_things(page);
        page.driver().drag((20, 300), (220, 300)).expect("the pointer moves");
        page.see("log", "dragged to 220");
    });
}

#[test]
fn a_telephone_is_as_wide_as_one() {
    story_on(PHONE, |page| {
        page.open("");
        page.see_first_view();
        assert_eq!(page.run("return [innerWidth, innerHeight, devicePixelRatio]", &[]), json!([390, 844, 2]));
    });
}

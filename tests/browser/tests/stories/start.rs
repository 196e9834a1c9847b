//! The page starts, anywhere, under its content security policy; and the harness notices when something is wrong.

use zonefall_browser::page::{DESK, Page, story, story_without_site_data};

#[track_caller]
fn see_heading(page: &Page) {
    // A telephone has no room for it, but says it.
    page.see_among("h1", "Zonefall");
}

#[test]
fn the_page_starts() {
    story(|page| {
        page.open("");
        see_heading(page);
    });
}

#[test]
fn the_page_works_where_site_data_is_blocked() {
    story_without_site_data(|page| {
        page.open("");
        page.see_first_view();
        page.see("notice", "block site data");
        let refused = page.run("try { return localStorage.length } catch (error) { return error.name }", &[]);
        assert_eq!(refused, "SecurityError", "the switch does what it says");
        page.reload();
        page.see_first_view();
    });
}

/// A harness that hears nothing proves nothing.
#[test]
fn what_the_policy_forbids_is_refused_and_heard() {
    const INLINE: &str =
        "const script = document.createElement('script'); script.textContent = 'document.title = \"taken over\"';
        document.body.append(script); return document.title";
    const STYLE: &str = "document.body.setAttribute('style', 'color: red'); return getComputedStyle(document.body).color";
    const EVAL: &str = "setTimeout('document.title = \"taken over\"')";
    const ELSEWHERE: &str = "return fetch('http://127.0.0.1:9/').then(() => 'sent', () => 'refused')";
    const THROWN: &str = "setTimeout(() => { throw new Error('thrown') })";
    let page = Page::new(DESK);
    page.open("");
    see_heading(&page);
    assert_eq!(page.complaints(), Vec::<String>::new());
    let check = |script: &str, complaint: &str| {
        let returned = page.run(script, &[]);
        let mut complaints = Vec::new();
        page.wait_for(complaint, || {
            complaints.extend(page.complaints());
            complaints.iter().any(|said| said.contains(complaint)).then_some(())
        });
        returned
    };
    assert_eq!(check(INLINE, "script-src"), "Zonefall");
    assert_ne!(check(STYLE, "style-src"), "rgb(255, 0, 0)");
    check(EVAL, "script-src");
    assert_eq!(check(ELSEWHERE, "connect-src"), "refused");
    check(THROWN, "thrown");
    assert_eq!(page.run("return document.title", &[]), "Zonefall");
}

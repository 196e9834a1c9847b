//! The header `Alt-Svc` (RFC 7838, section 3), as the prototype reads and writes it (openshift/kubernetes@f9e4430a
//! `client-go/transport/patch_round_trippers.go`, `parseAltSvcHeader`; @75a200ac
//! `apiserver/pkg/server/filters/alternative_services.go`).
//!
//! ```text
//!  h2="10.0.0.2:6443"; ma=600, h2="[fd00::3]:6443"
//!  |   '- authority    '- parameters: ignored
//!  '- protocol: h2 and no other
//! ```

use super::authority::{join_host_port, split_host_port};

/// Port of API servers in the header.
const PORT: &str = "6443";

/// Parameters of each element: the list may be kept for 600 s, which no client heeds.
const PARAMETERS: &str = "ma=600";

/// The authorities that a header lists, in its order, repeated ones included. `answered_by`: host that an element without one stands for.
/// `None`: an element is of another form, of another protocol than h2, or its authority is not `host:port`: then the whole header is void.
pub fn parse(header: &str, answered_by: Option<&str>) -> Option<Vec<String>> {
    if header.is_empty() || header.trim() == "clear" {
        return Some(Vec::new());
    }
    header.split(',').map(|element| authority(element, answered_by)).collect()
}

fn authority(element: &str, answered_by: Option<&str>) -> Option<String> {
    let alternative = element.split(';').next()?.trim();
    let authority = alternative.strip_prefix("h2=").filter(|rest| !rest.contains('='))?;
    let (host, port) = split_host_port(authority.trim_matches('"'))?;
    let host = if host.is_empty() { answered_by.filter(|host| !host.is_empty())? } else { host };
    Some(join_host_port(host, port))
}

/// The header that lists API servers by their addresses; empty without any.
pub fn text<'a>(addresses: impl IntoIterator<Item = &'a str>) -> String {
    let element = |address| format!("h2=\"{}\"; {PARAMETERS}", join_host_port(address, PORT));
    addresses.into_iter().map(element).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn header_that_was_written_is_read_back() {
        let header = text(["10.0.0.2", "fd00::3"]);
        assert_eq!(parse(&header, None), Some(vec!["10.0.0.2:6443".to_owned(), "[fd00::3]:6443".to_owned()]));
        assert_eq!(parse(&text([]), None), Some(Vec::new()));
    }

    #[test]
    fn one_bad_element_voids_the_header() {
        for bad in ["", " ", "h3=\"a:1\"", "h2 =\"a:1\"", "h2=\"a\"", "h2=\":1\"", "ma=600", "h2=\"a=b:1\"", "h2"] {
            assert_eq!(parse(&format!("h2=\"a.example:443\",{bad}"), None), None, "{bad}");
        }
        assert_eq!(parse(" ", None), None, "white space is not the empty header");
    }
}

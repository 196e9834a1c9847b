//! Hosts with ports as Go reads them (`net.SplitHostPort`, `net.JoinHostPort`, `net/url` `URL.Hostname`), and which of them are this
//! machine.

use core::net::IpAddr;

/// Splits `host:port` or `[host]:port`; `None`: it is neither.
pub fn split_host_port(authority: &str) -> Option<(&str, &str)> {
    let colon = authority.rfind(':')?;
    let (host, port) = (&authority[..colon], &authority[colon + 1..]);
    let host = match host.strip_prefix('[') {
        Some(rest) => rest.strip_suffix(']')?,
        None if host.contains(':') => return None,
        None => host,
    };
    let has_bracket = |text: &str| text.contains(['[', ']']);
    (!has_bracket(host) && !has_bracket(port)).then_some((host, port))
}

/// The host with its port, in brackets if it has colons.
pub fn join_host_port(host: &str, port: &str) -> String {
    if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
}

/// Whether a request to this host, with or without port, stays on the machine: `localhost`, or a loopback address.
pub fn is_localhost(host: &str) -> bool {
    let hostname = hostname(host);
    hostname == "localhost" || hostname.parse::<IpAddr>().is_ok_and(|address| address.to_canonical().is_loopback())
}

/// The host of a URL without port and brackets.
fn hostname(host: &str) -> &str {
    let is_port = |port: &str| port.bytes().all(|digit| digit.is_ascii_digit());
    let host = host.rsplit_once(':').filter(|(_, port)| is_port(port)).map_or(host, |(host, _)| host);
    host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host)
}

/// Whether an authority, with or without port, is one of the addresses of a machine, which has its loopback addresses besides
/// (`isLocal` in the prototype; names other than `localhost` stand for themselves, because nothing resolves them).
pub fn is_one_of(authority: &str, addresses: &[String]) -> bool {
    const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "::1"];
    let has_port = authority.rfind(':') > authority.rfind(']');
    let host = if has_port { split_host_port(authority).map(|(host, _)| host) } else { Some(authority) };
    let own = || LOOPBACK.into_iter().chain(addresses.iter().map(String::as_str));
    host.is_some_and(|host| own().any(|address| is_same(host, address)))
}

/// Whether two hosts are the same: equal, or ways to write one IP address.
fn is_same(a: &str, b: &str) -> bool {
    let ip = |text: &str| text.parse::<IpAddr>().ok().map(|address| address.to_canonical());
    a == b || ip(a).is_some_and(|address| ip(b) == Some(address))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn authorities_are_split_as_go_does() {
        for (authority, expected) in [
            ("a.example:443", Some(("a.example", "443"))),
            (":443", Some(("", "443"))),
            ("a.example:", Some(("a.example", ""))),
            ("[fd00::2]:443", Some(("fd00::2", "443"))),
            ("[fd00::2%eth0]:443", Some(("fd00::2%eth0", "443"))),
            ("a.example", None),
            ("fd00::2:443", None),
            ("[fd00::2]", None),
            ("[fd00::2]443", None),
            ("[fd00::2]a:443", None),
            ("[fd00::2:443", None),
            ("[a]]:443", None),
            ("a]:443", None),
            ("", None),
        ] {
            assert_eq!(split_host_port(authority), expected, "{authority}");
            if let Some((host, port)) = expected {
                assert_eq!(split_host_port(&join_host_port(host, port)), expected);
            }
        }
    }

    #[test]
    fn machine_knows_its_own_hosts() {
        for (host, expected) in [
            ("localhost", true),
            ("localhost:6443", true),
            ("127.1.2.3:6443", true),
            ("[::1]", true),
            ("[::ffff:127.0.0.1]:6443", true),
            ("localhost.example:6443", false),
            ("10.0.0.1:6443", false),
            ("Localhost", false),
        ] {
            assert_eq!(is_localhost(host), expected, "{host}");
        }
        let own = ["10.0.0.2".to_owned(), "fd00::2".to_owned()];
        for (authority, expected) in [
            ("10.0.0.2:6443", true),
            ("10.0.0.2", true),
            ("[fd00:0::2]:6443", true),
            ("localhost", true),
            ("10.0.0.20:6443", false),
            ("fd00::2", false),
            ("a.example:6443", false),
        ] {
            assert_eq!(is_one_of(authority, &own), expected, "{authority}");
        }
    }
}

//! A static host for the built page, as small as one can be: it answers GET below one path, compresses as hosts do, and counts.
//!
//! The page lies below a path of its own ([`MOUNT`]), as on a host that has others beside it: an address that is not relative fails.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use anyhow::{Context, Result, anyhow};
use flate2::Compression;
use flate2::write::GzEncoder;
use tiny_http::{Header, Request, Response};

/// Where the page lies on the host.
pub const MOUNT: &str = "/some/where/";

/// How what is sent is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Encoding {
    /// As most simple hosts do.
    Gzip,
    /// As the others do. Chromium takes it from this machine and over TLS.
    Brotli,
}

/// A server on this machine. It ends when it is dropped.
pub struct Server {
    http: Arc<tiny_http::Server>,
    sent: Arc<AtomicU64>,
    thread: Option<JoinHandle<()>>,
}

struct File {
    content_type: &'static str,
    body: Vec<u8>,
}

impl Server {
    /// Serves the files of a folder on a free port of 127.0.0.1.
    ///
    /// # Errors
    /// If the folder cannot be read, or no port is to be had.
    pub fn start(folder: &Path, encoding: Encoding) -> Result<Self> {
        let files = files(folder, encoding)?;
        let http = Arc::new(tiny_http::Server::http("127.0.0.1:0").map_err(|error| anyhow!("cannot serve: {error}"))?);
        let sent = Arc::new(AtomicU64::new(0));
        let thread = std::thread::spawn({
            let (http, sent) = (Arc::clone(&http), Arc::clone(&sent));
            move || {
                for request in http.incoming_requests() {
                    answer(request, &files, encoding, &sent);
                }
            }
        });
        Ok(Self { http, sent, thread: Some(thread) })
    }

    /// The address of the page.
    ///
    /// # Panics
    /// Never: it listens on an address.
    pub fn url(&self) -> String {
        let address = self.http.server_addr().to_ip().expect("it listens on an address");
        format!("http://{address}{MOUNT}")
    }

    /// Bytes of files sent so far, compressed.
    pub fn sent(&self) -> u64 {
        self.sent.load(Ordering::Relaxed)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.http.unblock();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// By the path they are asked for.
type Files = BTreeMap<String, File>;

/// The files of a folder: read and compressed once, for every story has a server of its own.
fn files(folder: &Path, encoding: Encoding) -> Result<Arc<Files>> {
    static KNOWN: Mutex<BTreeMap<(PathBuf, Encoding), Arc<Files>>> = Mutex::new(BTreeMap::new());
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(files) = known.get(&(folder.to_owned(), encoding)) {
        return Ok(Arc::clone(files));
    }
    let files = Arc::new(read(folder, encoding)?);
    known.insert((folder.to_owned(), encoding), Arc::clone(&files));
    Ok(files)
}

/// The files of a folder and of those in it.
fn read(folder: &Path, encoding: Encoding) -> Result<Files> {
    let mut files = BTreeMap::new();
    let mut folders = vec![(folder.to_owned(), MOUNT.to_owned())];
    while let Some((folder, path)) = folders.pop() {
        for entry in std::fs::read_dir(&folder).with_context(|| folder.display().to_string())? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if entry.file_type()?.is_dir() {
                folders.push((entry.path(), format!("{path}{name}/")));
            } else {
                let body = compress(&std::fs::read(entry.path())?, encoding)?;
                files.insert(format!("{path}{name}"), File { content_type: content_type(&name), body });
            }
        }
    }
    let index = files.remove(&format!("{MOUNT}index.html")).context("the folder has no index.html: is the page built?")?;
    files.insert(MOUNT.to_owned(), index);
    Ok(files)
}

fn compress(content: &[u8], encoding: Encoding) -> Result<Vec<u8>> {
    let mut body = Vec::new();
    match encoding {
        Encoding::Gzip => {
            let mut encoder = GzEncoder::new(&mut body, Compression::best());
            encoder.write_all(content)?;
            encoder.finish()?;
        }
        Encoding::Brotli => {
            let options = brotli::enc::BrotliEncoderParams { quality: 11, ..Default::default() };
            brotli::BrotliCompress(&mut &*content, &mut body, &options)?;
        }
    }
    Ok(body)
}

/// Browsers insist on the right types of scripts, styles and programs.
fn content_type(name: &str) -> &'static str {
    match Path::new(name).extension().and_then(|extension| extension.to_str()) {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("wasm") => "application/wasm",
        Some("svg") => "image/svg+xml",
        Some("json") => "application/json",
        _ => "application/octet-stream",
    }
}

fn answer(request: Request, files: &Files, encoding: Encoding, sent: &AtomicU64) {
    let path = request.url().split(['?', '#']).next().unwrap_or_default();
    let header = |name: &str, value: &str| Header::from_bytes(name, value).expect("the headers are ASCII");
    // Who asked has gone away if it cannot be sent: that is theirs to notice.
    let _ = match files.get(path) {
        None => request.respond(Response::empty(404)),
        Some(file) => {
            sent.fetch_add(file.body.len() as u64, Ordering::Relaxed);
            let coding = match encoding {
                Encoding::Gzip => "gzip",
                Encoding::Brotli => "br",
            };
            // A while in the cache, as simple hosts grant: so page and worker load the program once.
            let headers = [("Content-Type", file.content_type), ("Content-Encoding", coding), ("Cache-Control", "max-age=600")];
            let response = Response::from_data(file.body.clone());
            request
                .respond(headers.into_iter().fold(response, |response, (name, value)| response.with_header(header(name, value))))
        }
    };
}

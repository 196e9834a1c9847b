//! A static host for the built page, as small as one can be: it answers GET below one path, compresses as hosts do, and counts.
//!
//! The page lies below a path of its own ([`MOUNT`]), as on a host that has others beside it: an address that is not relative fails.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use anyhow::{Context, Result};
use flate2::Compression;
use flate2::write::GzEncoder;

/// Where the page lies on the host.
pub const MOUNT: &str = "/some/where/";

/// How what is sent is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Encoding {
    /// Not at all: on this machine compressing takes longer than sending.
    Identity,
    /// As most simple hosts do.
    Gzip,
    /// As the others do. Chromium takes it from this machine and over TLS.
    Brotli,
}

/// A server on this machine. It ends when it is dropped.
pub struct Server {
    address: SocketAddr,
    sent: Arc<AtomicU64>,
    ends: Arc<AtomicBool>,
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
        let listener = TcpListener::bind("127.0.0.1:0").context("cannot serve")?;
        let address = listener.local_addr()?;
        let (sent, ends) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
        let thread = std::thread::spawn({
            let (sent, ends) = (Arc::clone(&sent), Arc::clone(&ends));
            move || {
                for stream in listener.incoming().flatten() {
                    if ends.load(Ordering::Relaxed) {
                        break;
                    }
                    let (files, sent) = (Arc::clone(&files), Arc::clone(&sent));
                    // Chromium opens connections that it asks nothing on, and lets one answer wait for another: a thread for each. Who
                    // asked has gone away if the answer cannot be sent: that is theirs to notice.
                    std::thread::spawn(move || answer(&stream, &files, encoding, &sent).ok());
                }
            }
        });
        Ok(Self { address, sent, ends, thread: Some(thread) })
    }

    /// The address of the page.
    pub fn url(&self) -> String {
        self.origin() + MOUNT
    }

    /// What the browser stores things of the page for.
    pub fn origin(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Bytes of files sent so far, compressed.
    pub fn sent(&self) -> u64 {
        self.sent.load(Ordering::Relaxed)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        // It looks up when somebody comes.
        drop(TcpStream::connect(self.address));
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
        Encoding::Identity => body.extend_from_slice(content),
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

/// One request, one answer, and the connection ends.
fn answer(stream: &TcpStream, files: &Files, encoding: Encoding, sent: &AtomicU64) -> std::io::Result<()> {
    let mut lines = BufReader::new(stream).lines();
    let request = lines.next().transpose()?.unwrap_or_default();
    for line in lines {
        if line?.is_empty() {
            break;
        }
    }
    let path = request.split([' ', '?', '#']).nth(1).unwrap_or_default();
    let mut stream = stream;
    let Some(File { content_type, body }) = files.get(path) else {
        return stream.write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    };
    sent.fetch_add(body.len() as u64, Ordering::Relaxed);
    let coding = match encoding {
        Encoding::Identity => "identity",
        Encoding::Gzip => "gzip",
        Encoding::Brotli => "br",
    };
    let length = body.len();
    // A while in the cache, as simple hosts grant: so page and worker load the program once.
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: {content_type}\r\nContent-Encoding: {coding}\r\nContent-Length: {length}\r\n\
         Cache-Control: max-age=600\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(body)
}

//! A static host for the built page, as small as one can be: it answers GET below one path, sends what is compressed beside the files,
//! and counts.
//!
//! The page lies below a path of its own ([`MOUNT`]), as on a host that has others beside it: an address that is not relative fails.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use anyhow::{Context, Result};

/// Where the page lies on the host.
pub const MOUNT: &str = "/some/where/";

/// How what is sent is compressed, if the browser takes that and the built page has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// Not at all.
    Identity,
    /// As most simple hosts do.
    Gzip,
    /// As the others do. Chromium takes it from this machine and over TLS.
    Brotli,
}

impl Encoding {
    /// The end of the names of files that are so compressed.
    pub fn extension(self) -> Option<&'static str> {
        match self {
            Self::Identity => None,
            Self::Gzip => Some("gz"),
            Self::Brotli => Some("br"),
        }
    }

    /// As HTTP calls it (RFC 9110, section 8.4.1).
    fn coding(self) -> &'static str {
        match self {
            Self::Identity => "identity",
            Self::Gzip => "gzip",
            Self::Brotli => "br",
        }
    }
}

/// A server on this machine. It ends when it is dropped.
pub struct Server {
    address: SocketAddr,
    host: Arc<Host>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// What answers need.
struct Host {
    encoding: Encoding,
    files: Mutex<Arc<Files>>,
    sent: Mutex<Vec<(String, u64)>>,
    ends: AtomicBool,
}

struct File {
    content_type: &'static str,
    coding: Encoding,
    body: Vec<u8>,
}

impl Server {
    /// Serves the files of a folder on a free port of 127.0.0.1.
    ///
    /// # Errors
    /// If the folder cannot be read, or no port is to be had.
    pub fn start(folder: &Path, encoding: Encoding) -> Result<Self> {
        let files = Mutex::new(files(folder)?);
        let listener = TcpListener::bind("127.0.0.1:0").context("cannot serve")?;
        let address = listener.local_addr()?;
        let host = Arc::new(Host { encoding, files, sent: Mutex::default(), ends: AtomicBool::new(false) });
        let thread = std::thread::spawn({
            let host = Arc::clone(&host);
            move || {
                for stream in listener.incoming().flatten() {
                    if host.ends.load(Ordering::Relaxed) {
                        break;
                    }
                    let host = Arc::clone(&host);
                    // Chromium opens connections that it asks nothing on, and lets one answer wait for another: a thread for each. Who
                    // asked has gone away if the answer cannot be sent: that is theirs to notice.
                    std::thread::spawn(move || host.answer(&stream).ok());
                }
            }
        });
        Ok(Self { address, host, thread: Mutex::new(Some(thread)) })
    }

    /// Serves the files of another folder from now on.
    ///
    /// # Errors
    /// If the folder cannot be read.
    pub fn deploy(&self, folder: &Path) -> Result<()> {
        *lock(&self.host.files) = Arc::new(read(folder)?);
        Ok(())
    }

    /// Answers nobody any more: connections are refused.
    pub fn stop(&self) {
        self.host.ends.store(true, Ordering::Relaxed);
        if let Some(thread) = lock(&self.thread).take() {
            // It looks up when somebody comes.
            drop(TcpStream::connect(self.address));
            let _ = thread.join();
        }
    }

    /// The address of the page.
    pub fn url(&self) -> String {
        self.origin() + MOUNT
    }

    /// What the browser stores things of the page for.
    pub fn origin(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The files sent so far, in order: their paths as asked for, and their compressed bytes.
    pub fn sent(&self) -> Vec<(String, u64)> {
        lock(&self.host.sent).clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// By the path they are asked for: the file as it is first, then compressed.
type Files = BTreeMap<String, Vec<File>>;

/// The files of a folder: read once, for every story has a server of its own.
fn files(folder: &Path) -> Result<Arc<Files>> {
    static KNOWN: Mutex<BTreeMap<PathBuf, Arc<Files>>> = Mutex::new(BTreeMap::new());
    let mut known = lock(&KNOWN);
    if let Some(files) = known.get(folder) {
        return Ok(Arc::clone(files));
    }
    let files = Arc::new(read(folder)?);
    known.insert(folder.to_owned(), Arc::clone(&files));
    Ok(files)
}

/// The files of a folder and of those in it.
fn read(folder: &Path) -> Result<Files> {
    let mut files = BTreeMap::new();
    for path in names(folder)? {
        let mut forms = Vec::new();
        for coding in [Encoding::Identity, Encoding::Gzip, Encoding::Brotli] {
            let form = coding.extension().map_or_else(|| path.clone(), |extension| format!("{path}.{extension}"));
            if let Ok(body) = std::fs::read(folder.join(form)) {
                forms.push(File { content_type: content_type(&path), coding, body });
            }
        }
        files.insert(format!("{MOUNT}{path}"), forms);
    }
    let index = files.remove(&format!("{MOUNT}index.html")).context("the folder has no index.html: is the page built?")?;
    files.insert(MOUNT.to_owned(), index);
    Ok(files)
}

/// The files of a folder and of those in it, as they are found from there; not what is compressed beside them.
///
/// # Errors
/// If the folder cannot be read.
pub fn names(folder: &Path) -> Result<Vec<String>> {
    let mut names = Vec::new();
    let mut folders = vec![(folder.to_owned(), String::new())];
    while let Some((folder, path)) = folders.pop() {
        for entry in std::fs::read_dir(&folder).with_context(|| folder.display().to_string())? {
            let entry = entry?;
            let name = format!("{path}{}", entry.file_name().to_string_lossy());
            if entry.file_type()?.is_dir() {
                folders.push((entry.path(), name + "/"));
            } else if entry.path().extension().is_none_or(|extension| extension != "br" && extension != "gz") {
                names.push(name);
            }
        }
    }
    names.sort_unstable();
    Ok(names)
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

impl Host {
    /// One request, one answer, and the connection ends.
    fn answer(&self, mut stream: &TcpStream) -> std::io::Result<()> {
        const ACCEPTS: &str = "accept-encoding:";
        let mut lines = BufReader::new(stream).lines();
        let request = lines.next().transpose()?.unwrap_or_default();
        let mut accepted = String::new();
        for line in lines {
            let line = line?.to_ascii_lowercase();
            if line.is_empty() {
                break;
            }
            if let Some(value) = line.strip_prefix(ACCEPTS) {
                value.clone_into(&mut accepted);
            }
        }
        let path = request.split([' ', '?', '#']).nth(1).unwrap_or_default();
        let files = Arc::clone(&lock(&self.files));
        let accepts = |coding: Encoding| accepted.split([',', ';', ' ']).any(|word| word == coding.coding());
        let compressed = |file: &&File| file.coding == self.encoding && accepts(file.coding);
        let file = files.get(path).and_then(|forms| forms.iter().find(compressed).or_else(|| forms.first()));
        let Some(File { content_type, coding, body }) = file else {
            return stream.write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
        };
        lock(&self.sent).push((path.to_owned(), body.len() as u64));
        let (coding, length) = (coding.coding(), body.len());
        // A while in the cache, as simple hosts grant: so the service worker does not load the programs again.
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: {content_type}\r\nContent-Encoding: {coding}\r\nContent-Length: {length}\r\n\
             Vary: Accept-Encoding\r\nCache-Control: max-age=600\r\nConnection: close\r\n\r\n"
        );
        stream.write_all(head.as_bytes())?;
        stream.write_all(body)
    }
}

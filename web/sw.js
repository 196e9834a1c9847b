// The service worker: keeps the page for visits without its host. loader.js registers it after the page has started.
//
//   visit -> files.json of the host -> a version that is kept ---------> the page from the cache of that version
//                 |                 -> another one, which is fetched --> the page from its new cache
//                 '-> no answer, or files of two versions -------------> the page from the version that was shown last
//
// Names of files have no hashes, so a host that is being updated, or a cache on the way, can mix files of two versions. Fetching
// each file from the network first would keep such a mixture. Therefore `cargo xtask dist` writes files.json (the version, and the hash
// of each file), the browser compares the hashes, and a version counts when all of its files are here. Every visit asks for
// files.json first, so that a new version is seen on the next visit, not the one after. What a page and its worker load later
// is of the version that the page began with. A host without files.json (`cargo xtask serve`) always serves the page itself.

const LIST = "files.json";
// Other pages of this origin have caches, too.
const PREFIX = `zonefall ${registration.scope} `;
// Which version each page and worker shows, and which was shown last: a service worker is ended whenever it is idle, these stay.
const NOTES = `${PREFIX}notes`;
const LATEST = "latest";
// The version of a page that its host serves: none of ours.
const HOST = "";
// A host that takes longer to give a new version gives it to the next visit.
const PATIENCE_MS = 3000;

const at = (name) => new URL(name, registration.scope).href;
const kept = (version, name) => caches.match(at(name), { cacheName: version, ignoreVary: true });

addEventListener("install", (event) => {
  skipWaiting();
  event.waitUntil(update().catch(() => {}));
});

addEventListener("fetch", (event) => {
  const { request } = event;
  if (request.method !== "GET" || !request.url.startsWith(registration.scope)) return;
  const { origin, pathname } = new URL(request.url);
  const address = origin + pathname;
  // Where nothing can be kept, the host serves the page as if there were no service worker.
  const fromHost = () => fetch(request);
  if (request.mode !== "navigate") event.respondWith(part(event, address).catch(fromHost));
  else if (address === at("./") || address === at("index.html")) event.respondWith(visit(event).catch(fromHost));
});

// The page itself.
async function visit(event) {
  const last = await noted(LATEST);
  const updated = update();
  event.waitUntil(updated.catch(() => {}));
  let version = HOST;
  if (last) {
    const patience = new Promise((resolve) => setTimeout(resolve, PATIENCE_MS, last));
    version = await Promise.race([updated, patience]).catch(() => last);
  }
  const page = version && (await kept(version, "./"));
  event.waitUntil(note(event.resultingClientId, page ? version : HOST));
  return page || fetch(event.request);
}

// What a page or its worker loads.
async function part(event, address) {
  const { request, clientId, resultingClientId } = event;
  const version = (await noted(clientId)) ?? (await noted(LATEST));
  if (request.destination === "worker") {
    // A client of its own, with the version of its page. All pages that started before are known by now: a good moment to tidy.
    event.waitUntil(note(resultingClientId, version ?? HOST).then(tidy).catch(() => {}));
  }
  return (version && (await kept(version, address))) || fetch(request);
}

// The host's version, after all of it was fetched; `HOST` if the host does not say. One at a time.
let updating;
function update() {
  updating ??= load().finally(() => { updating = undefined; });
  return updating;
}

async function load() {
  const list = await fetch(at(LIST), { cache: "no-store" });
  let name = HOST;
  if (list.ok) {
    const { version, files } = await list.clone().json();
    name = PREFIX + version;
    // The list is put last: it says that the rest is there.
    if (!(await kept(name, LIST))) await fill(name, files, list);
  } else if (list.status !== 404) {
    throw new Error(`${LIST}: ${list.status}`);
  }
  await note(LATEST, name);
  return name;
}

async function fill(name, files, list) {
  const last = await noted(LATEST);
  const known = (last && (await (await kept(last, LIST))?.json())?.files) || {};
  const responses = await Promise.all(Object.entries(files).map(async ([file, integrity]) => {
    const same = known[file] === integrity && (await kept(last, file));
    return [at(file), same || (await download(at(file), integrity))];
  }));
  const cache = await caches.open(name);
  await Promise.all(responses.map(([url, response]) => cache.put(url, response)));
  await cache.put(at(LIST), list);
}

// What the browser has from the page's own start is not sent again, unless it is of another version.
async function download(url, integrity) {
  const response = await fetch(url, { integrity }).catch(() => fetch(url, { integrity, cache: "reload" }));
  // Who loads the page again shall ask here, as long as the host may let a browser keep its files: they may be of another version.
  const headers = new Headers(response.headers);
  headers.set("Cache-Control", "no-cache");
  headers.delete("Content-Encoding");
  headers.delete("Content-Length");
  return new Response(response.body, { headers });
}

const notes = new Map();

// What it notes counts at once, and after a while for the next time this service worker starts.
async function note(id, version) {
  if (!id || notes.get(id) === version) return;
  notes.set(id, version);
  const cache = await caches.open(NOTES).catch(() => undefined);
  await cache?.put(at(id), new Response(version)).catch(() => {});
}

async function noted(id) {
  if (!id) return undefined;
  if (!notes.has(id)) {
    const response = await caches.match(at(id), { cacheName: NOTES });
    if (response) notes.set(id, await response.text());
  }
  return notes.get(id);
}

// Deletes the notes of pages that are gone, and the versions that none shows.
async function tidy() {
  const all = await clients.matchAll({ includeUncontrolled: true, type: "all" });
  const living = new Set([LATEST, ...notes.keys(), ...all.map((client) => client.id)].map(at));
  const cache = await caches.open(NOTES);
  const used = new Set([NOTES, ...notes.values()]);
  for (const request of await cache.keys()) {
    if (living.has(request.url)) used.add(await (await cache.match(request)).text());
    else await cache.delete(request);
  }
  for (const name of await caches.keys()) {
    if (name.startsWith(PREFIX) && !used.has(name)) await caches.delete(name);
  }
}

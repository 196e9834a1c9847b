// Writes files.json into the folder of a built page: for the service worker (web/sw.js), its files with their hashes, and a version.
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, relative, sep } from "node:path";

const LIST = "files.json";
// The browser looks after the service worker itself, and hosts send what is compressed under the name of its original.
const NOT_LISTED = /^(sw\.js|files\.json)$|\.(br|gz)$/;

const folder = process.argv[1];
const hash = (content, encoding) => createHash("sha256").update(content).digest(encoding);
const names = readdirSync(folder, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile())
  .map((entry) => relative(folder, join(entry.parentPath ?? entry.path, entry.name)).split(sep).join("/"))
  .filter((name) => !NOT_LISTED.test(name))
  .sort();
// Hashes as `fetch` compares them (https://www.w3.org/TR/SRI/). Hosts serve index.html under the folder's own address.
const files = Object.fromEntries(names.map((name) =>
  [name === "index.html" ? "./" : name, `sha256-${hash(readFileSync(join(folder, name)), "base64")}`]));
const version = hash(JSON.stringify(files), "hex").slice(0, 16);
writeFileSync(join(folder, LIST), JSON.stringify({ version, files }));

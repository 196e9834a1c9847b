// Prints what the files of a folder weigh together: as they are, and as hosts send them.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync, gzipSync } from "node:zlib";

const folder = process.argv[1];
const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
const contents = files.map((file) => readFileSync(join(file.parentPath ?? file.path, file.name)));
const together = (size) => `${Math.ceil(contents.reduce((sum, content) => sum + size(content), 0) / 1024)} KiB`;
console.log(`${together((c) => c.length)}, ${together((c) => gzipSync(c, { level: 9 }).length)} gzip, ` +
  `${together((c) => brotliCompressSync(c).length)} brotli`);

// Runs a worker on a free port, over a folder or another bucket instead of an R2 bucket. Arguments: the worker's
// program, and the folder or the http URL of a bucket that everybody may read. The first line of output contains the
// port.
import { createHash } from "node:crypto";
import { createServer } from "node:http";
import { open, stat } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [program, place] = process.argv.slice(2);
const worker = (await import(pathToFileURL(program))).default;
const counts = { head: 0, get: 0, bytes: 0, hits: 0, puts: 0 };

const etag = (s) => createHash("md5").update(`${s.ino}-${s.size}-${s.mtimeMs}`).digest("hex");

async function find(key) {
  try {
    const s = await stat(join(place, key));
    return s.isFile() ? s : null;
  } catch (err) {
    if (err.code === "ENOENT") return null;
    throw err;
  }
}

// The methods of an R2 bucket that a worker reads with, over a folder.
const folder = {
  async head(key) {
    counts.head++;
    const s = await find(key);
    return s && { key, size: s.size, etag: etag(s) };
  },
  async get(key, { range, onlyIf } = {}) {
    counts.get++;
    const s = await find(key);
    if (!s) return null;
    const object = { key, size: s.size, etag: etag(s) };
    if (onlyIf?.etagMatches && onlyIf.etagMatches !== object.etag) return object;
    const { offset = 0, length = s.size - offset } = range ?? {};
    if (offset < 0 || offset + length > s.size) throw new Error(`get: The requested range is not satisfiable (10039)`);
    const file = await open(join(place, key));
    try {
      const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, offset);
      if (bytesRead !== length) throw new Error("short read");
      counts.bytes += length;
      return {
        ...object,
        body: new Blob([buffer]).stream(),
        arrayBuffer: async () => buffer.buffer.slice(buffer.byteOffset, buffer.byteOffset + length),
      };
    } finally {
      await file.close();
    }
  },
};

// The same over an S3 server.
async function ask(method, key, headers) {
  const response = await fetch(place + "/" + encodeURI(key), {
    method,
    headers: { "Accept-Encoding": "identity", ...headers },
  });
  const { status } = response;
  if (![200, 206].includes(status)) {
    await response.arrayBuffer();
    if (status === 404) return null;
    if (status === 412) return { key }; // R2 returns the object without its body
    throw new Error(`${method} ${key}: ${status}`);
  }
  const length = Number(response.headers.get("Content-Length"));
  const size = status === 206 ? Number(response.headers.get("Content-Range").split("/")[1]) : length;
  return { response, length, object: { key, size, etag: response.headers.get("ETag").replaceAll('"', "") } };
}

const remote = {
  async head(key) {
    counts.head++;
    return (await ask("HEAD", key))?.object ?? null;
  },
  async get(key, { range, onlyIf } = {}) {
    counts.get++;
    const headers = {};
    if (range)
      headers.Range = `bytes=${range.offset}-${range.length === undefined ? "" : range.offset + range.length - 1}`;
    if (onlyIf?.etagMatches) headers["If-Match"] = `"${onlyIf.etagMatches}"`;
    const found = await ask("GET", key, headers);
    if (!found?.response) return found;
    counts.bytes += found.length;
    return { ...found.object, body: found.response.body, arrayBuffer: () => found.response.arrayBuffer() };
  },
};
const bucket = place.startsWith("http://") ? remote : folder;

const kept = new Map();
globalThis.caches = {
  default: {
    async match(name) {
      const found = kept.get(name);
      if (found) counts.hits++;
      return found?.clone();
    },
    async put(name, response) {
      counts.puts++;
      kept.set(name, response);
    },
  },
};

// A limiter that counts, for the test of the rate rule: clients of 203.0.113.0/24 and 2001:db8::/32 get three requests.
const taken = new Map();
const limiter = {
  async limit({ key }) {
    if (!/^(203\.0\.113\.|2001:db8:)/.test(key)) return { success: true };
    taken.set(key, (taken.get(key) ?? 0) + 1);
    return { success: taken.get(key) <= 3 };
  },
};

const server = createServer({ maxHeaderSize: 64 << 10 }, async (req, res) => {
  try {
    if (req.url === "/counts") return void res.end(JSON.stringify(counts));
    const headers = new Headers();
    for (let i = 0; i < req.rawHeaders.length; i += 2) headers.append(req.rawHeaders[i], req.rawHeaders[i + 1]);
    const waiting = [];
    const target = req.url === "*" ? "/*" : req.url;
    const request = new Request("http://" + (req.headers.host ?? "x") + target, { method: req.method, headers });
    const response = await worker.fetch(
      request,
      { BUCKET: bucket, LIMITER: limiter },
      { waitUntil: (p) => waiting.push(p) },
    );
    await Promise.all(waiting);
    res.sendDate = false;
    res.writeHead(response.status, [...response.headers].flat());
    res.end(Buffer.from(await response.arrayBuffer()));
  } catch (err) {
    console.error(req.method, req.url, err);
    res.destroy();
  }
});
server.listen(0, "127.0.0.1", () => console.log(JSON.stringify({ port: server.address().port })));

// ---- downloads ----

// download sends checkpoint.json, or a zip or a table or a range of it. It returns null for any other path.
async function download(r) {
  if (r.rawPath === "/checkpoint.json") return sendCheckpoint(r);
  const m =
    /^\/(?:snapshots\/([^/]+)\.zip|packs\/\d{10}\.zip|data\/[a-z0-9_-]{1,64}\/\d{4}-\d\d-\d\d\.parquet)$/.exec(r.rawPath);
  if (!m && typeof r.path === "string" && /^\/data\/.*\.(?:«.Tables»)$/.test(r.path)) return sendTable(r);
  if (!m || (m[1] && !isSnapshot(m[1]))) return null;
  const key = PREFIX + r.rawPath.slice(1);
  const object = await readBucket(() => r.bucket.head(key));
  return object && sendObject(r, key, object);
}

async function sendCheckpoint(r) {
  const snap = await current(r);
  const body = await bodyOfBytes(state.text);
  const gzipped = body.gzip !== null && acceptsGzip(acceptedEncoding(r.request));
  const tag = `"${hex(await sha256(body.plain)).slice(0, 32)}${gzipped ? "-gz" : ""}"`;
  r.headers.set("X-Snapshot", snap.id);
  if (state.stale) r.headers.set("X-Snapshot-Warning", "stale");
  r.headers.set("Vary", "Accept-Encoding");
  r.headers.set("ETag", tag);
  const cache = "public, max-age=5";
  if (matches(r.request.headers.get("If-None-Match") ?? "", tag)) {
    r.headers.set("Cache-Control", cache);
    addLicense(r, TABLE_JSON);
    return new Response(null, { status: 304, headers: r.headers });
  }
  return write(r, 200, TABLE_JSON, body, cache);
}

// sendObject sends an object of the bucket by ranges.
function sendObject(r, key, object) {
  r.headers.set("Cache-Control", "public, max-age=31536000, immutable");
  const type = key.endsWith(".zip") ? "application/zip" : contentType(key);
  const file = { type, size: object.size, tag: object.etag, modified: object.uploaded };
  return sendRange(r, file, async (offset, length) => {
    const part = await readBucket(() =>
      r.bucket.get(key, { range: { offset, length }, onlyIf: { etagMatches: object.etag } }),
    );
    if (!part?.body) throw new Changed(key);
    return part.body;
  });
}

// sendTable sends a table of a snapshot by ranges: its zip stores it uncompressed. It returns null if there is none.
async function sendTable(r) {
  const q = parseRequest(r.rawPath, r.rawQuery);
  const snap = q.snapshot ? await snapshotByID(r, q.snapshot) : await current(r);
  const at = findMember(snap.zip, q.file);
  const m = at < 0 ? null : memberOf(snap.zip, at);
  if (m?.method !== 0) return null;
  const head = await range(r, snap.zip, m.offset, 30);
  const v = new DataView(head.buffer, head.byteOffset, head.length);
  if (v.getUint32(0, true) !== 0x04034b50) throw damaged(`${q.file} is not where the directory says`);
  const from = m.offset + 30 + v.getUint16(26, true) + v.getUint16(28, true);
  r.headers.set("X-Snapshot", snap.id);
  if (!q.snapshot && state.stale) r.headers.set("X-Snapshot-Warning", "stale");
  const age = Math.max(1, Math.floor((snap.next - Date.now()) / 1000));
  r.headers.set(
    "Cache-Control",
    q.snapshot
      ? "public, max-age=86400, immutable"
      : `public, max-age=${age}, stale-while-revalidate=30, stale-if-error=86400`,
  );
  const tag = await tableTag(r, snap, q.file, m);
  const file = { type: contentType(q.file), size: m.size, tag, modified: snap.built };
  return sendRange(r, file, async (offset, length) => {
    const { key, etag } = snap.zip;
    const part = await readBucket(() =>
      r.bucket.get(key, { range: { offset: from + offset, length }, onlyIf: { etagMatches: etag } }),
    );
    if (!part?.body) throw new Changed(key);
    return part.body;
  });
}

// tableTag returns the SHA-256 of a table, as the index of the tables names it. Reading the table or all sums would
// take too long.
async function tableTag(r, snap, name, m) {
  const index = await memoize(snap, "tables", async () => {
    const text = snap.zip.has(TABLES) ? await readText(r, snap, TABLES) : "{}";
    return new Map((JSON.parse(text).resources ?? []).map((t) => ["data/" + t.path, t.hash]));
  });
  const sum = /^sha256:([0-9a-f]{64})$/.exec(index.get(name) ?? "");
  return sum ? sum[1] : `${m.crc.toString(16)}-${m.size.toString(16)}-${snap.id}`;
}

const TABLES = "data/datapackage.json";

// sendRange sends a file with its headers, or the range that the request asks for.
async function sendRange(r, file, open) {
  const headers = r.request.headers;
  const tag = `"${file.tag}"`;
  r.headers.set("Access-Control-Expose-Headers", CONTRACT.exposeZip);
  r.headers.set("Content-Type", file.type);
  r.headers.set("ETag", tag);
  r.headers.set("Accept-Ranges", "bytes");
  if (file.modified) r.headers.set("Last-Modified", file.modified.toUTCString());
  if (matches(headers.get("If-None-Match") ?? "", tag)) {
    for (const name of ["Content-Type", "Accept-Ranges", "Last-Modified"]) r.headers.delete(name);
    return new Response(null, { status: 304, headers: r.headers });
  }
  let [status, offset, length] = [200, 0, file.size];
  const range = headers.get("Range") ?? "";
  if (range !== "" && file.size > 0 && !range.includes(",") && (headers.get("If-Range") ?? tag) === tag) {
    const m = /^bytes=\s*(\d*)\s*-\s*(\d*)\s*$/.exec(range);
    const none = m === null || m[1] + m[2] === "" || (m[1] !== "" && m[2] !== "" && Number(m[1]) > Number(m[2]));
    const from = none ? 0 : m[1] === "" ? Math.max(0, file.size - Number(m[2])) : Number(m[1]);
    if (none || from >= file.size) {
      r.headers.delete("Accept-Ranges");
      if (!none) r.headers.set("Content-Range", `bytes */${file.size}`);
      throw new ReaderError(CONTRACT.errors.range);
    }
    const to = m[1] === "" || m[2] === "" ? file.size - 1 : Math.min(Number(m[2]), file.size - 1);
    [status, offset, length] = [206, from, to - from + 1];
    r.headers.set("Content-Range", `bytes ${from}-${to}/${file.size}`);
  }
  r.headers.set("Content-Length", String(length));
  const body = r.request.method === "HEAD" || length === 0 ? null : await open(offset, length);
  return new Response(body, { status, headers: r.headers, encodeBody: "manual" });
}

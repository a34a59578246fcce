// ---- downloads ----

// download sends checkpoint.json, or a zip of the bucket or a range of it. It returns null for any other path.
async function download(r) {
  if (r.rawPath === "/checkpoint.json") return sendCheckpoint(r);
  const m = /^\/(?:snapshots\/([^/]+)|packs\/(\d{10}))\.zip$/.exec(r.rawPath);
  if (!m || (m[1] && !isSnapshot(m[1]))) return null;
  const key = PREFIX + r.rawPath.slice(1);
  const object = await readBucket(() => r.bucket.head(key));
  return object && sendZip(r, key, object);
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
    return new Response(null, { status: 304, headers: r.headers });
  }
  return write(r, 200, TABLE_JSON, body, cache);
}

async function sendZip(r, key, object) {
  const headers = r.request.headers;
  const tag = `"${object.etag}"`;
  r.headers.set("Access-Control-Expose-Headers", CONTRACT.exposeZip);
  r.headers.set("Content-Type", "application/zip");
  r.headers.set("Cache-Control", "public, max-age=31536000, immutable");
  r.headers.set("ETag", tag);
  r.headers.set("Accept-Ranges", "bytes");
  if (object.uploaded) r.headers.set("Last-Modified", object.uploaded.toUTCString());
  if (matches(headers.get("If-None-Match") ?? "", tag)) {
    for (const name of ["Content-Type", "Accept-Ranges"]) r.headers.delete(name);
    return new Response(null, { status: 304, headers: r.headers });
  }
  let [status, offset, length] = [200, 0, object.size];
  const range = headers.get("Range") ?? "";
  if (range !== "" && !range.includes(",") && (headers.get("If-Range") ?? tag) === tag) {
    const m = /^bytes=\s*(\d*)\s*-\s*(\d*)\s*$/.exec(range);
    const none = m === null || m[1] + m[2] === "" || (m[1] !== "" && m[2] !== "" && Number(m[1]) > Number(m[2]));
    const from = none ? 0 : m[1] === "" ? Math.max(0, object.size - Number(m[2])) : Number(m[1]);
    if (none || from >= object.size) {
      r.headers.delete("Accept-Ranges");
      if (!none) r.headers.set("Content-Range", `bytes */${object.size}`);
      throw new ReaderError(CONTRACT.errors.range);
    }
    const to = m[1] === "" || m[2] === "" ? object.size - 1 : Math.min(Number(m[2]), object.size - 1);
    [status, offset, length] = [206, from, to - from + 1];
    r.headers.set("Content-Range", `bytes ${from}-${to}/${object.size}`);
  }
  r.headers.set("Content-Length", String(length));
  if (r.request.method === "HEAD") return new Response(null, { status, headers: r.headers });
  const part = await readBucket(() =>
    r.bucket.get(key, { range: { offset, length }, onlyIf: { etagMatches: object.etag } }),
  );
  if (!part?.body) throw new Changed(key);
  return new Response(part.body, { status, headers: r.headers, encodeBody: "manual" });
}


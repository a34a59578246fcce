// ---- sending ----

const TABLE_JSON = TYPES[".json"];

function contentType(key) {
  if (key === "SHA256SUMS") return TYPES[".txt"];
  if (key === ".well-known/http-message-signatures-directory")
    return "application/http-message-signatures-directory+json";
  const name = key.slice(key.lastIndexOf("/") + 1);
  const dot = name.lastIndexOf(".");
  return (dot >= 0 && TYPES[name.slice(dot)]) || "application/octet-stream";
}

// isHashed reports whether a file's name contains a hash of its content, so that it never changes.
const isHashed = (key) => /^assets\/(?:.*[.-])[0-9a-f]{8,}(?:\.[^./]*)?$/.test(key);

// A body is { plain, gzip }. gzip is null if compression saves nothing.
const bodyOfMember = (m) => ({ plain: m.plain, gzip: m.raw && gzipOf(m) });

function gzipOf(m) {
  const out = new Uint8Array(10 + m.raw.length + 8);
  out.set([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255]);
  out.set(m.raw, 10);
  const v = new DataView(out.buffer);
  v.setUint32(out.length - 8, m.crc, true);
  v.setUint32(out.length - 4, m.plain.length, true);
  return out;
}

async function bodyOfBytes(plain) {
  if (plain.length <= GZIP_ABOVE) return { plain, gzip: null };
  const gzip = await through(plain, new CompressionStream("gzip"));
  return { plain, gzip: gzip.length < plain.length ? gzip : null };
}

async function send(r, snap, isPinned, key, body) {
  const gzipped = body.gzip !== null && acceptsGzip(acceptedEncoding(r.request));
  const tag = `"${hex(await sha256(body.plain)).slice(0, 32)}${gzipped ? "-gz" : ""}"`;
  r.headers.set("ETag", tag);
  r.headers.set("Last-Modified", snap.built.toUTCString());
  let cache = "public, max-age=86400, immutable";
  if (!isPinned) {
    const age = Math.max(1, Math.floor((snap.next - Date.now()) / 1000));
    cache = isHashed(key)
      ? "public, max-age=31536000, immutable"
      : `public, max-age=${age}, stale-while-revalidate=30, stale-if-error=86400`;
  }
  if (notModified(r.request.headers, tag, snap.built)) {
    addLicense(r, contentType(key));
    r.headers.set("Cache-Control", cache);
    return new Response(null, { status: 304, headers: r.headers });
  }
  return write(r, 200, contentType(key), body, cache);
}

function write(r, code, type, body, cache) {
  const gzipped = body.gzip !== null && acceptsGzip(acceptedEncoding(r.request));
  if (gzipped) r.headers.set("Content-Encoding", "gzip");
  return newResponse(r, code, type, gzipped ? body.gzip : body.plain, cache);
}

// addLicense adds the licence of the data to a response of JSON, after a link to the next page.
function addLicense(r, type) {
  if (type.includes("json")) r.headers.append("Link", CONTRACT.license);
}

function newResponse(r, status, type, data, cache) {
  r.headers.set("Content-Type", type);
  addLicense(r, type);
  if (type === TYPES[".html"]) r.headers.set("Content-Security-Policy", CONTRACT.policy);
  r.headers.set("Cache-Control", cache);
  r.headers.set("Content-Length", String(data.length));
  return new Response(r.request.method === "HEAD" ? null : data, { status, headers: r.headers, encodeBody: "manual" });
}

// acceptedEncoding returns the client's Accept-Encoding. The platform replaces the header by its own.
const acceptedEncoding = (request) => request.cf?.clientAcceptEncoding ?? request.headers.get("Accept-Encoding") ?? "";

function acceptsGzip(value) {
  let [gzip, identity, other] = [-1, -1, 0];
  for (const item of value.split(",")) {
    const [name, ...params] = item.split(";");
    switch (name.trim().toLowerCase()) {
      case "gzip":
      case "x-gzip":
        gzip = Math.max(gzip, weight(params));
        break;
      case "identity":
        identity = weight(params);
        break;
      case "*":
        other = weight(params);
    }
  }
  if (gzip < 0) gzip = other;
  return gzip > 0 && gzip >= identity;
}

function weight(params) {
  for (const param of params) {
    const m = /^\s*q=(.*?)\s*$/i.exec(param);
    if (!m) continue;
    const q = /^\+?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i.test(m[1]) ? Number(m[1]) : 0;
    return q <= 1 ? q : 0;
  }
  return 1;
}

// If-Modified-Since must be exactly the Last-Modified: after a rollback a client may have a newer response.
function notModified(headers, tag, built) {
  const list = headers.get("If-None-Match");
  if (list !== null) return matches(list, tag);
  const since = headers.get("If-Modified-Since") ?? "";
  if (!/^[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT$/.test(since)) return false;
  return Math.floor(built.getTime() / 1000) * 1000 === Date.parse(since);
}

function matches(list, tag) {
  for (;;) {
    list = list.replace(/^[ \t,]+/, "");
    if (list === "") return false;
    if (list[0] === "*") return true;
    const m = /^(?:W\/)?("[^"]*")/.exec(list);
    if (!m) return false;
    if (m[1] === tag) return true;
    list = list.slice(m[0].length);
  }
}


// Tollbook's reader as a Cloudflare Worker over an R2 bucket that `tollbook publish` fills. `tollbook edge cloudflare`
// prints it. After an upgrade of Tollbook print it again instead of editing it.
//
// It sends the same bytes as `tollbook serve`: files, windows, logs, trims, filters, searches, recommendations,
// look-ups, earlier snapshots and errors. It reads checkpoint.json, then the snapshot's zip by ranges. It needs no
// expanded objects, so publish with --expand none.
//
// wrangler.toml:
//
//     name = "tollbook"
//     main = "worker.js"
//     compatibility_date = "2025-06-01"
//
//     [[r2_buckets]]
//     binding = "«.Bucket»"
//     bucket_name = "the bucket that publish --publish-to names"
//
//     [[ratelimits]]                # API requests of one client: an IPv4 address or an IPv6 network of 64 bits
//     name = "«.Limiter»"
//     namespace_id = "402"
//     simple = { limit = «.RateLimit», period = 60 }
//
// Limits:
//   - It does not count a client's requests exactly. Each location of the platform counts by itself and does not say
//     how many requests are left, so responses have no RateLimit header.
//   - It does not receive a path as it was sent. The platform removes dot segments and turns \ into / before the worker
//     runs, so /v1/./status returns /v1/status, where serve returns 404.
//   - It accepts no submissions and does not serve /metrics, since it only reads. With the variable «.Serve» (in
//     [vars], the URL of a tollbook serve) it forwards submissions to that server.
//   - A worker has 128 MB of memory, which limits the number of services. It keeps the zip's whole directory in memory,
//     about 130 bytes a file: 40 MB at 20,000 services. Reading it once also takes longer than the CPU limit of a free
//     plan.
//   - The worker runs for every request. The platform caches only the worker's reads from the bucket.

const TABLE = «.Table»;
const CONTRACT = «.Contract»;
const TYPES = «.Types»;
const SEARCH = «.Search»;
const PREFIX = «.Prefix»;

const CHECKPOINT_MS = 5000;
const MAX_CHECKPOINT = 64 << 10;
const MEMORY = 24 << 20; // bytes of unpacked files in memory
const OPEN_ZIPS = 3; // of snapshots, and the same number of packs
const GZIP_ABOVE = 1 << 10;

«.Script»
export default {
  async fetch(request, env, ctx) {
    const url = request.url.split("#", 1)[0];
    const at = url.indexOf("/", url.indexOf("//") + 2);
    const [rawPath, ...rest] = (at < 0 ? "/" : url.slice(at)).split("?");
    const r = {
      request,
      ctx,
      bucket: env.«.Bucket»,
      rawPath,
      rawQuery: rest.join("?"),
      path: unescape(rawPath, false),
      headers: new Headers({
        "X-Content-Type-Options": "nosniff",
        "Access-Control-Allow-Origin": "*",
        "Access-Control-Expose-Headers": CONTRACT.expose,
      }),
    };
    try {
      return await handle(r, env);
    } catch (err) {
      return fail(r, err);
    }
  },
};

async function handle(r, env) {
  if (r.path === BROKEN) {
    r.headers.delete("Access-Control-Expose-Headers");
    return newResponse(
      r,
      CONTRACT.errors.unreadable.code,
      TABLE_JSON,
      errorBody(r, CONTRACT.errors.unreadable),
      "no-store",
    );
  }
  const method = r.request.method;
  const call = callOf(r.path);
  if (call && env.«.Serve») return forward(r, env.«.Serve»);
  if (method === "OPTIONS") {
    r.headers.set("Allow", CONTRACT.allowed);
    r.headers.set("Access-Control-Allow-Methods", CONTRACT.allowed);
    r.headers.set("Access-Control-Allow-Headers", "*");
    r.headers.set("Access-Control-Max-Age", "86400");
    return new Response(null, { status: 204, headers: r.headers });
  }
  if (env.«.Limiter» && isAPI(r)) {
    const { success } = await env.«.Limiter».limit({
      key: clientOf(r.request.headers.get("CF-Connecting-IP") ?? ""),
    });
    if (!success) {
      r.headers.set("Retry-After", "60");
      throw new ReaderError(CONTRACT.errors.rate_limited);
    }
  }
  if (method !== "GET" && method !== "HEAD") {
    r.headers.set("Allow", CONTRACT.allowed);
    const isSent = call && CONTRACT.calls[call].startsWith("POST ");
    throw new ReaderError(isSent ? CONTRACT.errors.no_submissions : CONTRACT.errors.method);
  }
  if (r.path === "/healthz") return newResponse(r, 200, TABLE_JSON, encode('{"status":"ok"}\n'), "no-store");
  if (r.path === "/readyz") return ready(r);
  return (await download(r)) ?? get(r);
}

// callOf returns the name of the call that a path is for: to send a submission or a suggestion, to have a service
// checked again, or to read the state of a submission. It returns "" for any other path.
function callOf(path) {
  if (typeof path !== "string") return "";
  for (const { from, to } of TABLE.aliases) {
    if (path.startsWith(from)) path = to + path.slice(from.length);
  }
  return (
    Object.keys(CONTRACT.calls).find((name) => {
      const [head, tail] = CONTRACT.calls[name].split(" ")[1].split(/\{.*\}/);
      if (tail === undefined) return path === head;
      const segment = path.slice(head.length, path.length - tail.length);
      return path === head + segment + tail && segment !== "" && !segment.includes("/");
    }) ?? ""
  );
}

// forward sends a request to a tollbook serve. That server must list the worker's addresses in --serve-trusted-proxies.
function forward(r, serve) {
  const headers = new Headers(r.request.headers);
  headers.set("X-Forwarded-For", headers.get("CF-Connecting-IP") ?? "");
  const address = serve.replace(/\/$/, "") + r.rawPath + (r.rawQuery && "?" + r.rawQuery);
  return fetch(address, {
    method: r.request.method,
    headers,
    body: r.request.body,
    redirect: "manual",
    duplex: "half",
  });
}

// ---- errors ----

// ReaderError is an error that is sent to the reader. Any other error becomes a 500, and its cause is logged.
class ReaderError extends Error {
  constructor(error) {
    super(error.message);
    this.error = error;
  }
}

const notFound = () => new ReaderError(CONTRACT.errors.not_found);
const invalid = (field, message) =>
  new ReaderError({
    ...CONTRACT.errors.invalid,
    message: `parameter ${field}: ${message}`,
    fields: [{ field, message }],
  });
const damaged = (what) => new Error(`damaged: ${what}`);
const missing = (name) => new Error(`missing: ${name}`);

// errorBody returns the body of an error response. Below /discovery it has the form that clients of catalogues read.
function errorBody(r, { code, type, message, fields }) {
  const isCatalogue = typeof r.path === "string" && /^\/discovery(\/|$)/.test(r.path); // else it is unreadable
  const e = isCatalogue ? { error: message, code, type } : { code, type, message };
  if (fields) e.fields = fields;
  return encode(toJSON(isCatalogue ? e : { error: e }) + "\n");
}

function fail(r, err) {
  let error = CONTRACT.errors.internal;
  let cache = "public, max-age=10";
  if (err instanceof ReaderError) error = err.error;
  for (const name of ["ETag", "Last-Modified", "Link"]) r.headers.delete(name);
  if (error.code === 429 || error.code === 416) cache = "no-store";
  if (error.code === 500) {
    const id = hex(crypto.getRandomValues(new Uint8Array(8)));
    cache = "no-store";
    r.headers.set("X-Request-Id", id);
    console.error("request failed", id, r.request.method, r.request.url, err);
  }
  if (error.code === 503) {
    cache = "no-store";
    r.headers.set("Retry-After", "5");
  }
  if (error.code === 500 && r.errorPage) return write(r, 500, TYPES[".html"], bodyOfMember(r.errorPage), cache);
  return newResponse(r, error.code, TABLE_JSON, errorBody(r, error), cache);
}


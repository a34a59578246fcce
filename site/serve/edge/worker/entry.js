// Tollbook's readers as a Cloudflare Worker over an R2 bucket that `tollbook publish` fills. Printed by
// `tollbook edge cloudflare`: print it anew, rather than change it, when Tollbook is upgraded.
//
// It answers what `tollbook serve` answers, with the same bytes: files, windows, logs, trims, search, look-ups, earlier
// snapshots, errors. It reads checkpoint.json, then the snapshot's zip by ranges; of expanded objects it needs none, so
// publish with --expand none.
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
//     [[ratelimits]]                # the API's requests of a client: an IPv4 address or an IPv6 network of 64 bits
//     name = "«.Limiter»"
//     namespace_id = "402"
//     simple = { limit = «.RateLimit», period = 60 }
//
// What it can't do:
//   - count a client exactly: the platform counts in each of its places by itself, and tells nobody how many are left, so
//     there is no RateLimit header;
//   - see a path as it was sent: the platform takes out dot segments and turns \ into / before the worker is asked, so
//     /v1/./status is answered as /v1/status, where serve says 404;
//   - take submissions, or serve /metrics: it only reads. With the variable «.Serve» (in [vars], the address of a
//     tollbook serve) it hands submissions to that;
//   - hold any number of services in the 128 MB of a worker. The zip's directory is kept whole, some 130 bytes a file:
//     40 MB at 20,000 services, which also takes longer to read, once, than a free plan's CPU limit allows;
//   - answer from the platform's cache alone: a worker runs for every request. What it reads from the bucket is cached.

const TABLE = «.Table»;
const SAYS = «.Says»;
const TYPES = «.Types»;
const PREFIX = «.Prefix»;

const CHECKPOINT_MS = 5000;
const MAX_CHECKPOINT = 64 << 10;
const MEMORY = 24 << 20; // bytes of files that are kept unpacked
const OPEN_ZIPS = 3; // snapshots, and as many packs
const GZIP_ABOVE = 1 << 10;

export default {
  async fetch(request, env, ctx) {
    const url = request.url.split("#", 1)[0];
    const at = url.indexOf("/", url.indexOf("//") + 2);
    const [rawPath, ...rest] = (at < 0 ? "/" : url.slice(at)).split("?");
    const r = {
      request, ctx, bucket: env.«.Bucket», rawPath, rawQuery: rest.join("?"), path: unescape(rawPath, false),
      headers: new Headers({ "X-Content-Type-Options": "nosniff", "Access-Control-Allow-Origin": "*", "Access-Control-Expose-Headers": SAYS.expose }),
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
    return answer(r, SAYS.errors.unreadable.code, TABLE_JSON, errorBody(SAYS.errors.unreadable), "no-store");
  }
  const method = r.request.method;
  const call = callOf(r.path);
  if (call && env.«.Serve») return forward(r, env.«.Serve»);
  if (method === "OPTIONS") {
    r.headers.set("Allow", SAYS.allowed);
    r.headers.set("Access-Control-Allow-Methods", SAYS.allowed);
    r.headers.set("Access-Control-Allow-Headers", "*");
    r.headers.set("Access-Control-Max-Age", "86400");
    return new Response(null, { status: 204, headers: r.headers });
  }
  if (env.«.Limiter» && isAPI(r)) {
    const { success } = await env.«.Limiter».limit({ key: clientOf(r.request.headers.get("CF-Connecting-IP") ?? "") });
    if (!success) {
      r.headers.set("Retry-After", "60");
      throw new Told(SAYS.errors.rate_limited);
    }
  }
  if (method !== "GET" && method !== "HEAD") {
    r.headers.set("Allow", SAYS.allowed);
    throw new Told(call === "submit" ? SAYS.errors.no_submissions : SAYS.errors.method);
  }
  if (r.path === "/healthz") return answer(r, 200, TABLE_JSON, encode('{"status":"ok"}\n'), "no-store");
  if (r.path === "/readyz") return ready(r);
  return (await download(r)) ?? get(r);
}

// callOf says which call that is no file a path is: one that takes, or tells of, a submission.
function callOf(path) {
  if (typeof path !== "string") return "";
  for (const { from, to } of TABLE.aliases) {
    if (path.startsWith(from)) path = to + path.slice(from.length);
  }
  return Object.keys(SAYS.calls).find((name) => {
    const head = SAYS.calls[name].split("{", 1)[0];
    return SAYS.calls[name] === head ? path === head : path.startsWith(head);
  }) ?? "";
}

// forward hands a request to a tollbook serve, which names this worker's addresses as --serve-trusted-proxies.
function forward(r, serve) {
  const headers = new Headers(r.request.headers);
  headers.set("X-Forwarded-For", headers.get("CF-Connecting-IP") ?? "");
  const address = serve.replace(/\/$/, "") + r.rawPath + (r.rawQuery && "?" + r.rawQuery);
  return fetch(address, { method: r.request.method, headers, body: r.request.body, redirect: "manual", duplex: "half" });
}

// ---- errors ----

// Told is an error that readers are told; any other is a 500 whose cause goes to the log.
class Told extends Error {
  constructor(error) {
    super(error.message);
    this.error = error;
  }
}

const notFound = () => new Told(SAYS.errors.not_found);
const invalid = (field, message) => new Told({ ...SAYS.errors.invalid, message: `parameter ${field}: ${message}`, fields: [{ field, message }] });
const damaged = (what) => new Error(`damaged: ${what}`);
const missing = (name) => new Error(`missing: ${name}`);

function errorBody({ code, type, message, fields }) {
  const e = { code, type, message };
  if (fields) e.fields = fields;
  return encode(toJSON({ error: e }) + "\n");
}

function fail(r, err) {
  let error = SAYS.errors.internal;
  let cache = "public, max-age=10";
  if (err instanceof Told) error = err.error;
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
  if (error.code === 500 && r.trouble) return write(r, 500, TYPES[".html"], bodyOfMember(r.trouble), cache);
  return answer(r, error.code, TABLE_JSON, errorBody(error), cache);
}


// ---- requests ----

const BROKEN = Symbol("broken escape");
const NOT_TEXT = Symbol("not UTF-8");

function unescape(s, plus) {
  if (/%(?![0-9A-Fa-f]{2})/.test(s)) return BROKEN;
  try {
    return decodeURIComponent(plus ? s.replaceAll("+", " ") : s);
  } catch {
    return NOT_TEXT;
  }
}

const first = (path) => path.replace(/^\//, "").split("/", 1)[0];
const isAPI = (r) =>
  typeof r.path === "string"
    ? ["v1", "api", "discovery"].includes(first(r.path))
    : ["v1", "api", "discovery"].includes(first(r.rawPath));

// A query is a valid request: { route, slug, item, bare, file, snapshot, unknown, strict, values }.
// Its values are canonical, by the names of the route's parameters. A path with JSON ignores its unknown parameters.
function parseRequest(rawPath, rawQuery) {
  const q = parsePath(rawPath);
  const [values, unknown] = parseValues(q.route, rawQuery);
  if ((q.file || q.route.ext).endsWith(".json")) {
    q.unknown = unknownParams(q.route, unknown);
    if ((unknown.length > 0 && values.get("strict") === "1") || (q.unknown.more && isCatalogue(q)))
      throw unknownError(q.unknown);
  }
  q.snapshot = values.get("snapshot") ?? "";
  q.strict = values.get("strict") === "1";
  const [id] = (values.get("cursor") ?? "").split(".", 1);
  if (id && q.snapshot && q.snapshot !== id)
    throw invalid("cursor", "names another snapshot than the parameter snapshot");
  if (id) q.snapshot = id;
  for (const p of TABLE.common) values.delete(p.name);
  if (values.size > 0) {
    q.bare = false;
    q.values = values;
  }
  return q;
}

function newQuery(fields) {
  const q = { route: null, slug: "", item: "", bare: true, file: "", snapshot: "", unknown: [], strict: false, values: new Map() };
  return Object.assign(q, fields);
}

function parsePath(raw) {
  let path = unescape(raw, false);
  if (typeof path !== "string" || path.includes("\0")) throw notFound();
  for (const { from, to } of TABLE.aliases) {
    if (path.startsWith(from)) path = to + path.slice(from.length);
  }
  const byLookup = lookupOf(path);
  if (byLookup) return byLookup;
  const [route, slug] = routeOf(path);
  const isName = !slug || validSegment(route, slug);
  const file = fileOf(path);
  if (file && (!route || path.endsWith(route.ext) || (!isName && path.endsWith(".md")))) return newQuery({ file });
  if (!route || !isName) throw notFound();
  return newQuery({ route, slug });
}

const prefixOf = (route) => route.pattern.slice(1).split("{", 1)[0];

// variable returns the parts of a pattern before, in and after its braces.
function variable(route) {
  const m = /^([^{]*)\{([^}]*)\}(.*)$/.exec(route.pattern);
  return m ? [m[1], m[2], m[3]] : [route.pattern, "", ""];
}

function routeOf(path) {
  for (const route of TABLE.routes) {
    if (route.rule === "lookup") continue;
    const [head, name, tail] = variable(route);
    if (!name) {
      if (path === route.pattern) return [route, ""];
      continue;
    }
    if (!path.startsWith(head)) continue;
    const rest = path.slice(head.length);
    if (!rest.endsWith(tail)) continue;
    const slug = rest.slice(0, rest.length - tail.length);
    if (slug && !slug.includes("/")) return [route, slug];
  }
  return [null, ""];
}

function validSegment(route, s) {
  const segment = TABLE.segments.find((x) => x.name === variable(route)[1]);
  return new RegExp(segment.pattern).test(s) && s.length <= segment.max_length;
}

function fileOf(path) {
  const name = path.slice(1);
  if (path === "/SHA256SUMS" || path === "/.well-known/http-message-signatures-directory") return name;
  if (!path.startsWith("/") || !name.slice(name.lastIndexOf("/") + 1).includes(".") || encode(name).length > 1000)
    return "";
  return name.split("/").some((part) => /^\.*$/.test(part)) ? "" : name;
}

function lookupOf(path) {
  for (const route of TABLE.routes) {
    if (route.rule !== "lookup" || !path.startsWith("/" + prefixOf(route))) continue;
    let item = path.slice(1 + prefixOf(route).length);
    if (item.endsWith(route.ext)) item = item.slice(0, -route.ext.length);
    item = item.replace(/[A-Z]/g, (c) => c.toLowerCase());
    if (byHash(route) ? /^[0-9a-f]{64}$/.test(item) : isRecipient(route, item)) return newQuery({ route, item });
  }
  return null;
}

const byHash = (route) => variable(route)[1] === "sha256";

function isRecipient(route, s) {
  if (encode(s).length > 700 || !s.includes(":") || !s.includes("/")) return false;
  const isParam = (part) => route.params.some((p) => part.startsWith(p.name + "="));
  return !s.split("/").some((part) => /^\.*$/.test(part) || isParam(part)) && !/[^!-~]|\\/.test(s);
}

function paramOf(route, name) {
  return route?.params.find((p) => p.name === name) ?? TABLE.common.find((p) => p.name === name);
}

// parseValues returns the values of known parameters, and the names of unknown ones that have a value.
function parseValues(route, rawQuery) {
  const values = new Map();
  const unknown = [];
  if (!rawQuery) return [values, unknown];
  if (encode(rawQuery).length > TABLE.limits.max_query) {
    const field = route && route.params.length > 0 ? route.params[0].name : TABLE.common[0].name;
    throw invalid(field, `the query string must have at most ${TABLE.limits.max_query} bytes`);
  }
  for (const pair of rawQuery.split("&")) {
    const eq = pair.indexOf("=");
    const rawValue = eq < 0 ? "" : pair.slice(eq + 1);
    if (rawValue === "") continue;
    let name = unescape(pair.slice(0, eq), true);
    if (typeof name !== "string") name = pair.slice(0, eq);
    const p = paramOf(route, name);
    if (!p && name !== "" && unknown.length <= CONTRACT.maxUnknown && !unknown.includes(name)) unknown.push(name);
    if (!p || values.has(name)) continue;
    let value = unescape(rawValue, true);
    if (typeof value !== "string" || value.includes("\0"))
      throw invalid(name, `must be percent-encoded UTF-8; got ${quoteShort(rawValue)}`);
    value = check(p, value);
    if (value !== "") values.set(name, value);
  }
  return [values, unknown];
}

function check(p, v) {
  switch (p.kind) {
    case "choice": {
      const names = TABLE.spellings[p.spellings] ?? {};
      if (p.values.includes(v)) return v;
      if (Object.hasOwn(names, v)) return names[v];
      const elsewhere = p.elsewhere?.[v] ? `; ${p.elsewhere[v]} accepts it` : "";
      const others = Object.keys(names).filter((name) => !p.values.includes(name));
      const words = [...p.values, ...others.sort()].join(", ");
      throw invalid(p.name, `must be one of ${words}; got ${quoteShort(v)}${elsewhere}`);
    }
    case "boolean":
      if (v !== "true" && v !== "false") throw invalid(p.name, `must be true or false; got ${quoteShort(v)}`);
      return v;
    case "decimal":
      return checkDecimal(p, v);
    case "integer": {
      const [min, max] = [p.min ?? 0, p.max ?? 0];
      if (!/^[0-9]+$/.test(v) || Number(v) < min || Number(v) > max)
        throw invalid(p.name, `must be an integer from ${min} to ${max}; got ${quoteShort(v)}`);
      return String(Number(v));
    }
    case "set": {
      const set = new Set();
      for (const part of v.split(",")) {
        if (part === "") continue;
        if (!p.values.includes(part))
          throw invalid(p.name, `must be any of ${p.values.join(", ")}, separated by commas; got ${quoteShort(part)}`);
        set.add(part);
      }
      return [...set].sort().join(",");
    }
    case "snapshot":
      if (!isSnapshot(v))
        throw invalid(p.name, `must be the id of a snapshot, such as 20261120T234501Z-3f2a9c; got ${quoteShort(v)}`);
      return v;
    case "cursor": {
      const dot = v.indexOf(".");
      if (!isSnapshot(v.slice(0, Math.max(dot, 0))) || !/^(0|[1-9][0-9]{0,8})$/.test(v.slice(dot + 1)))
        throw invalid(p.name, `must be the cursor of a response; got ${quoteShort(v)}`);
      return v;
    }
    case "address":
      checkLength(p, v, p.max);
      return /^0x[0-9a-fA-F]*$/.test(v) ? v.toLowerCase() : v;
  }
  checkLength(p, v, p.max || TABLE.limits.max_text);
  const values = TABLE.spellings[p.spellings], spelling = v.toLowerCase();
  return values && Object.hasOwn(values, spelling) ? values[spelling] : v;
}

function checkLength(p, v, limit) {
  const n = [...v].length;
  if (n > limit) throw invalid(p.name, `must have at most ${limit} characters; got ${n}`);
}

function checkDecimal(p, v) {
  const d = columns.canonical(v);
  if (p.max && d !== null && columns.decimals(d, String(p.max)) > 0)
    throw invalid(p.name, `must be a number from 0 to ${p.max}; got ${quoteShort(v)}`);
  const most = TABLE.limits.max_digits;
  if (d === null || v.split(".").some((digits) => digits.length > most))
    throw invalid(
      p.name,
      `must be a number such as 0.01, from 0 and with at most ${most} digits before and after the point; ` +
        `got ${quoteShort(v)}`,
    );
  return d;
}

function builtOf(id) {
  const m = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z-[0-9a-f]{6}$/.exec(id);
  if (!m) return null;
  const text = `${m[1]}-${m[2]}-${m[3]}T${m[4]}:${m[5]}:${m[6]}.000Z`;
  const t = new Date(text);
  return !isNaN(t) && t.toISOString() === text ? t : null;
}

const isSnapshot = (id) => builtOf(id) !== null;

// quoteShort returns the first 40 characters of s, quoted as by Go's strconv.Quote.
function quoteShort(s) {
  const runes = [...s];
  if (runes.length > 40) s = runes.slice(0, 40).join("") + "…";
  const named = {
    "\x07": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\v": "\\v",
    '"': '\\"',
    "\\": "\\\\",
  };
  let out = "";
  for (const c of s) {
    const code = c.codePointAt(0);
    if (named[c]) out += named[c];
    else if (/^[\p{L}\p{M}\p{N}\p{P}\p{S} ]$/u.test(c)) out += c;
    else if (code < 0x20 || code === 0x7f) out += "\\x" + code.toString(16).padStart(2, "0");
    else if (code < 0x10000) out += "\\u" + code.toString(16).padStart(4, "0");
    else out += "\\U" + code.toString(16).padStart(8, "0");
  }
  return `"${out}"`;
}

// ---- keys ----

const text = (q, name) => q.values.get(name) || (q.route.params.find((p) => p.name === name).default ?? "");
const int = (q, name) => Number(text(q, name));
const has = (q, name) => q.route.params.some((p) => p.name === name);
const largest = (p) => (p.kind === "integer" ? String(p.max) : p.values[p.values.length - 1]);
const withValue = (q, name, value) => ({ ...q, bare: false, values: new Map(q.values).set(name, value) });

function escapeKey(s) {
  let out = "";
  for (const c of encode(s)) {
    const one = String.fromCharCode(c);
    out += /[A-Za-z0-9._-]/.test(one) ? one : "~" + c.toString(16).padStart(2, "0");
  }
  return out;
}

function unescapeKey(s) {
  if (/~(?![0-9A-Fa-f]{2})/.test(s)) throw notFound();
  const bytes = [];
  const raw = encode(s);
  for (let i = 0; i < raw.length; i++) {
    if (raw[i] !== 0x7e) bytes.push(raw[i]);
    else {
      bytes.push(parseInt(String.fromCharCode(raw[i + 1], raw[i + 2]), 16));
      i += 2;
    }
  }
  return bytes;
}

function base(q) {
  if (q.route.pattern === "/") return "index";
  if (q.item) return prefixOf(q.route) + q.item;
  const [head, , tail] = variable(q.route);
  return head.slice(1) + q.slug + tail;
}

function keyOf(q) {
  if (q.file) return q.file;
  let key = base(q);
  if (!q.bare) {
    for (const p of q.route.params) {
      const v = p.trim ? largest(p) : text(q, p.name);
      if (v !== "") key += `/${p.name}=${escapeKey(v)}`;
    }
  }
  return key + q.route.ext;
}

function listKey(q) {
  let key = base(q);
  for (const p of q.route.params) {
    const v = p.filter ? text(q, p.name) : "";
    if (v !== "") key += `/${p.name}=${escapeKey(v)}`;
  }
  return key;
}

function applies(q, p) {
  if (!p.needs) return true;
  const [name, value] = p.needs.split("=");
  return text(q, name).split(",").includes(value);
}

const needsTrim = (q) =>
  q.route !== null && q.route.params.some((p) => p.trim && text(q, p.name) !== largest(p) && applies(q, p));

function ruleOf(q) {
  const applies = (p) => {
    const v = q.values.get(p.name);
    return p.rule && v && (!p.rule_values || p.rule_values.includes(v));
  };
  return q.route.params.find(applies)?.rule ?? q.route.rule;
}

// requestOf returns the request whose key is key, as [query, path], or [null, ""] for a file of no route.
function requestOf(key) {
  const spells = (path, rawQuery) => {
    try {
      const q = parseRequest(path, rawQuery);
      return q.route && keyOf(q) === key ? q : null;
    } catch {
      return null;
    }
  };
  let stem = key.replace(/\.json$/, "").replace(/\.html$/, "");
  if (stem === "index") stem = "";
  let path = requestPath(stem);
  let q = spells(path, "");
  if (q) return [q, path];
  const segments = [];
  const values = [];
  for (const part of stem.split("/")) {
    const eq = part.indexOf("=");
    if (eq < 0) segments.push(part);
    else {
      try {
        values.push(
          part.slice(0, eq) +
            "=" +
            unescapeKey(part.slice(eq + 1))
              .map((b) => "%" + b.toString(16).padStart(2, "0"))
              .join(""),
        );
      } catch {
        return [null, ""];
      }
    }
  }
  path = requestPath(segments.join("/"));
  q = spells(path, values.join("&"));
  return q ? [q, path] : [null, ""];
}

const requestPath = (name) =>
  "/" +
  encodeURIComponent(name)
    .replace(/%(24|26|2B|2C|2F|3A|3B|3D|40)/g, (e) => decodeURIComponent(e))
    .replace(/[!'()*]/g, percent);
const percent = (c) => "%" + c.charCodeAt(0).toString(16).toUpperCase();
const queryEscape = (s) =>
  encodeURIComponent(s)
    .replace(/[!'()*]/g, percent)
    .replaceAll("%20", "+");


// Tells before a payment is signed whether a directory has observed it. index.d.ts describes what is exported.
import { networks, rules } from "./data.mjs";

export class GateUnavailable extends Error {}
export class GateRefused extends Error {}

const { subtle } = crypto;
const encode = (text) => new TextEncoder().encode(text);
const parse = (bytes) => JSON.parse(new TextDecoder().decode(bytes));
const fromBase64 = (text) => Uint8Array.from(atob(text.replace(/-/g, "+").replace(/_/g, "/")), (c) => c.charCodeAt(0));
const hex = (bytes) => Array.from(bytes, (b) => (b + 256).toString(16).slice(1)).join("");
const sha256 = async (bytes) => new Uint8Array(await subtle.digest("SHA-256", bytes));
const hasAt = (bytes, at, part) => part.every((b, i) => bytes[at + i] === b);
const lower = (text) => text.replace(/[A-Z]/g, (c) => c.toLowerCase());
const assert = (holds, fault) => {
  if (!holds) throw new Error(fault);
};

// normalURL returns the form in which directories list a URL, "" for text that is none.
function normalURL(address) {
  if (!/^https?:\/\/[^/]/i.test(address)) return "";
  try {
    const { protocol, hostname, port, pathname } = new URL(address.replace(/\\/g, "%5C"));
    const path = pathname.replace(/%([\da-fA-F]{2})|[^\w.~!$&'()*+,;=:@/-]/g, (text, code) => {
      const letter = String.fromCharCode("0x" + code);
      return !code ? encodeURIComponent(text) : /[\w.~-]/.test(letter) ? letter : text.toUpperCase();
    });
    return `${protocol}//${hostname.replace(/\.$/, "")}${port && ":" + port}${path}`;
  } catch {
    return "";
  }
}

// tokenHash returns the hash of an address on a network.
function tokenHash(network, address) {
  const id = networks[network] ?? network;
  return sha256(encode(lower(`${id > 0 ? "eip155:" + id : id}/${address}`)));
}

// amountOf returns the most that a requirement costs, null if that is no whole number.
function amountOf({ amount, maxAmountRequired }) {
  const amounts = [amount, maxAmountRequired].filter((a) => a !== undefined);
  if (!amounts.length || !amounts.every((a) => /^\d{1,78}$/.test(a))) return null;
  return amounts.map(BigInt).reduce((a, b) => a > b ? a : b);
}

// find returns what a bucket has about a URL of a host, by their hashes.
function find(bucket, host, url) {
  let at = 0;
  const uvarint = (zero, unit) => {
    const from = at;
    while (bucket[at++] > 127);
    assert(at <= bucket.length, "a record is cut");
    return bucket.subarray(from, at).reduceRight((n, b) => n * unit(128) + unit(b & 127), zero);
  };
  const number = () => uvarint(0, Number);
  while (at < bucket.length) {
    const isHost = hasAt(bucket, at, host.subarray(1, 8));
    at += 7;
    const size = number(), end = at + size;
    if (isHost) {
      const count = number(), tokens = at;
      at += 22 * count;
      while (at < end) {
        const isURL = hasAt(bucket, at, url.subarray(0, 5)), level = bucket[at + 5], options = [];
        at += 6;
        for (let n = number(); n--;) {
          const token = tokens + 22 * number(), zeros = bucket[at++], amount = uvarint(0n, BigInt);
          if (isURL) {
            options.push({ payTo: bucket.subarray(token, token + 16), asset: bucket.subarray(token + 16, token + 22),
              amount: amount * 10n ** BigInt(zeros) });
          }
        }
        if (isURL) return { level, options };
      }
    }
    at = end;
  }
}

// verify returns a file whose header has the sum that a checkpoint names, and whose checkpoint the key has signed.
async function verify({ snapshot, generation, gate, gate_signature: signature }, key, read) {
  const header = await read(0, 9240), view = new DataView(header.buffer, header.byteOffset), buckets = [];
  assert(hex(await sha256(header)) === gate.sha256, "the file is damaged");
  if (key !== null) {
    const spki = fromBase64(key.replace(/-----[^-]*-----|\s/g, ""));
    const pinned = await subtle.importKey("spki", spki, "Ed25519", false, ["verify"]);
    const text = `tollbook gate\n${snapshot}\n${generation}\n${gate.at}\n${gate.size}\n${gate.sha256}\n`;
    assert(await subtle.verify("Ed25519", pinned, fromBase64(signature), encode(text)), "another key has signed");
  }
  async function load(number) {
    let at = 9240, entry = 24;
    for (; number--; entry += 36) at += view.getUint32(entry);
    const bucket = await read(at, view.getUint32(entry));
    assert(hasAt(header, entry + 4, await sha256(bucket)), "the file is damaged");
    return bucket;
  }
  return {
    generation, builtAt: Number(view.getBigUint64(8)),
    bucket: (number) => buckets[number] ??= load(number).catch((error) => {
      delete buckets[number];
      throw error;
    }),
  };
}

export function createGate({ directory = "", copy, key, maxAge = 864e5, unreachable, policy, ask,
  fetch: send = fetch }) {
  if (!key && key !== null || !["allow", "ask", "refuse"].includes(unreachable) || !directory && !copy) {
    throw new TypeError("give directory or copy, key and unreachable");
  }
  directory = directory.replace(/\/+$/, "");
  policy = { match: "allow", unknown: "ask", ...policy };
  const isFresh = ({ builtAt }) => Date.now() - builtAt <= maxAge;
  let copied, state, readAt = 0, newest = 0;

  // get returns a file of the directory, or size bytes of it from a place; null if the server sends no parts.
  async function get(path, at, size) {
    const response = await send(directory + path, {
      headers: size ? { range: `bytes=${at}-${at + size - 1}` } : {}, signal: AbortSignal.timeout(5000), cache: "no-cache",
    });
    if (size && response.status === 200) return response.body.cancel().then(() => null);
    assert(response.ok, `${path} answers ${response.status}`);
    const parts = [], body = response.body.getReader();
    let length = 0;
    for (let part; !(part = await body.read()).done; parts.push(part.value)) {
      assert((length += part.value.length) <= 4 << 20, path + " is too long");
    }
    return new Uint8Array(await new Blob(parts).arrayBuffer());
  }

  // open returns the directory's newest file; if that fails, the one before while it is fresh.
  async function open(before) {
    try {
      let whole;
      const named = parse(await get("/checkpoint.json")), { snapshot, generation, gate } = named;
      const next = await verify(named, key, async (at, size) => size ? await get(`/snapshots/${snapshot}.zip`, gate.at + at,
        size) ?? (whole ??= await get("/data/gate.bin")).subarray(at, at + size) : new Uint8Array());
      assert(generation >= newest, "the snapshot is older than one before");
      newest = generation;
      return next;
    } catch (error) {
      const last = await before?.catch(() => {});
      if (last && isFresh(last)) return last;
      throw error;
    }
  }

  // read returns what is known of a URL.
  async function read(host, url) {
    const look = async (opened) => {
      const { builtAt, bucket } = await opened;
      return { builtAt, record: find(await bucket(host[0]), host, url) };
    };
    if (copy) {
      const { checkpoint: named, file } = copy;
      copied ??= verify(named.gate ? named : JSON.parse(named), key, async (at, size) => file.subarray(at, at + size));
      const found = await look(copied);
      if (!directory || isFresh(found)) return found;
    }
    if (Date.now() - readAt >= Math.min(maxAge, 6e5)) {
      readAt = Date.now();
      state = open(state);
    }
    return look(state).catch((error) => {
      readAt = 0; // its snapshot may be gone
      throw error;
    });
  }

  async function check(requirement, resource) {
    const { network, asset, payTo } = requirement, url = normalURL(resource), amount = amountOf(requirement);
    const [host, sum, to, token] = await Promise.all([sha256(encode(url.split("/")[2] ?? "")), sha256(encode(url)),
      tokenHash(network, payTo), tokenHash(network, asset)]);
    const { builtAt, record } = await read(host, sum).catch((cause) => {
      throw new GateUnavailable("no verdict: " + cause.message, { cause });
    });
    const options = record?.options.filter((o) => hasAt(to, 0, o.payTo)) ?? [];
    const observed = options.find((o) => hasAt(token, 0, o.asset))?.amount;
    const holds = {
      "": true, unlisted: !record, stale: !isFresh({ builtAt }), danger: record?.level === 3, unjudged: record?.level === 0,
      "recipient-differs": !options.length, "token-differs": observed === undefined,
      "price-above": amount === null || amount > observed,
    };
    const { verdict, reason = "" } = rules.find((rule) => holds[rule.if]);
    const path = `/v1/lookup/url/${hex(sum)}.json`;
    const prices = !directory || !record || verdict === "match" ? null
      : await get(path).then((body) => parse(body).data.prices).catch(() => null);
    return {
      verdict, reason, observed: { amount: observed?.toString() ?? null, prices },
      as_of: new Date(builtAt).toISOString(), evidence_url: directory && url && directory + path,
    };
  }

  async function guard(requirement, resource) {
    let result, cause, action = unreachable;
    try {
      result = await check(requirement, resource);
      const amount = amountOf(requirement), steps = [policy[result.verdict]].flat();
      const step = steps.find((s) => !s?.upTo || amount !== null && amount <= BigInt(s.upTo));
      action = step?.then ?? step;
    } catch (error) {
      if (!(error instanceof GateUnavailable)) throw error;
      cause = error;
      result = { verdict: "unknown", reason: "unreachable", observed: {}, as_of: null, evidence_url: directory };
    }
    if (action === "allow" || action === "ask" && await ask?.({ requirement, resource, ...result }) === true) return result;
    const { network, asset, payTo, amount = requirement.maxAmountRequired } = requirement;
    const asked = JSON.stringify({ amount, asset, network, payTo }).slice(0, 500);
    const { verdict, reason, observed, evidence_url: evidence } = result;
    throw Object.assign(new GateRefused(`${verdict} ${reason}: ${resource} asks for ${asked}, observed: ${
      observed.amount}, see ${evidence}`, { cause }), { result });
  }
  return { check, guard };
}

// newFilter returns a function that returns those offers of which the gate allows each requirement. Without arguments
// it throws if there were offers and none was allowed.
function newFilter(gate, resource) {
  let refused, isAllowed = false;
  return async (offers, requirementsOf = (row) => [row]) => {
    if (!offers && refused && !isAllowed) throw refused;
    const allowed = [];
    for (const offer of Array.isArray(offers) ? offers : []) {
      try {
        for (const requirement of requirementsOf(offer)) await gate.guard(requirement, resource);
        isAllowed = allowed.push(offer);
      } catch (error) {
        refused ??= error;
      }
    }
    return allowed;
  };
}

export async function gateTerms(terms, resource, gate) {
  const filter = newFilter(gate, resource), accepts = await filter(terms.accepts);
  await filter();
  return { ...terms, accepts };
}

export function mppRequirements({ method, request }) {
  const { methodDetails: details = {}, currency: asset, recipient, amount = request.cap } = request;
  const { chainId = request.chainId, network: name = request.network, splits = [] } = details;
  const network = !name ? chainId ? "eip155:" + chainId : method
    : /:/.test(name) ? name : /^(main|pub)/.test(name) ? method : method + "-" + name;
  return [{ recipient, amount }, ...splits].map((to) => ({ network, asset, payTo: to.recipient, amount: to.amount }));
}

// parseChallenges returns the challenges of a header WWW-Authenticate, with parameters as they are written.
function parseChallenges(header) {
  const list = [];
  for (const [, scheme, name, value] of header.matchAll(/(?:([\w-]+)\s+)?([\w-]+)\s*=\s*("(?:\\.|[^"\\])*"|[^\s,"]*)/g)) {
    if (scheme) list.push({ scheme, params: {} });
    if (list.length) list.at(-1).params[lower(name)] ??= value;
  }
  return list;
}

// challengeRequirements returns what a challenge asks for. Only MPP says to whom.
function challengeRequirements({ scheme, params }) {
  if (lower(scheme) !== "payment") return [{ network: "lightning", asset: "BTC" }];
  const [method, request] = [params.method, params.request].map((value) => value.replace(/^"|"$/g, ""));
  return mppRequirements({ method, request: parse(fromBase64(request)) });
}

export const gateFetch = (fetch, gate) => async (input, init) => {
  const response = await fetch(input, init);
  if (response.status !== 402) return response;
  const filter = newFilter(gate, input.url ?? new URL(input, globalThis.location?.href).href);
  const headers = new Headers(response.headers);
  const terms = headers.get("payment-required"), challenges = headers.get("www-authenticate");
  for (const name of ["payment-required", "www-authenticate", "content-length", "content-encoding"]) headers.delete(name);
  let body = await response.text();
  try {
    const second = parse(fromBase64(terms));
    if ((second.accepts = await filter(second.accepts)).length) {
      const bytes = encode(JSON.stringify(second));
      headers.set("payment-required", btoa(Array.from(bytes, (b) => String.fromCharCode(b)).join("")));
    }
  } catch {} // no client can read it
  try {
    const first = JSON.parse(body);
    if (first.accepts) {
      first.accepts = await filter(first.accepts);
      body = JSON.stringify(first);
    }
  } catch {}
  for (const { scheme, params } of await filter(parseChallenges(challenges ?? ""), challengeRequirements)) {
    headers.append("www-authenticate", `${scheme} ${Object.entries(params).map((p) => p.join("=")).join(", ")}`);
  }
  await filter();
  return new Response(body, { status: 402, headers });
};

// ---- zips by ranges ----

async function readBucket(read) {
  try {
    return await read();
  } catch (err) {
    console.error("the bucket can't be read", err);
    throw new ReaderError(CONTRACT.errors.unreachable);
  }
}

// range reads a part of an object with a given ETag. The part is cached, since the bytes of an ETag never change.
async function range(r, zip, offset, length) {
  const path = [zip.key, zip.etag].map(encodeURIComponent).join("/");
  const name = `https://tollbook.invalid/${path}/${offset}-${length}`;
  const cache = globalThis.caches?.default;
  const hit = await cache?.match(name);
  if (hit) return new Uint8Array(await hit.arrayBuffer());
  const object = await readBucket(() =>
    r.bucket.get(zip.key, { range: { offset, length }, onlyIf: { etagMatches: zip.etag } }),
  );
  if (!object?.body) throw new Changed(zip.key);
  const data = new Uint8Array(await readBucket(() => object.arrayBuffer()));
  if (data.length !== length) throw damaged(`${zip.key}: ${data.length} bytes at ${offset}, not ${length}`);
  if (cache)
    r.ctx.waitUntil(
      cache.put(name, new Response(data, { headers: { "Cache-Control": "public, max-age=86400, immutable" } })),
    );
  return data;
}

// Changed reports that an object was replaced or deleted: erasing a service rewrites its packs.
class Changed extends Error {}

// openZip reads the directory of a zip once. It returns null if there is no such object. version distinguishes the
// present bytes from earlier ones of the same name.
function openZip(r, key, version) {
  const name = key + "~" + version;
  let zip = state.zips.get(name);
  state.zips.delete(name);
  zip ??= readZip(r, key).then(
    (zip) => zip ?? (state.zips.delete(name), null),
    (err) => {
      state.zips.delete(name);
      throw err;
    },
  );
  state.zips.set(name, zip); // the most recently used is last
  for (const kind of ["snapshots/", "packs/"]) {
    const names = [...state.zips.keys()].filter((n) => n.startsWith(PREFIX + kind));
    for (const old of names.slice(0, Math.max(0, names.length - OPEN_ZIPS))) state.zips.delete(old);
  }
  return zip;
}

async function readZip(r, key) {
  const object = await readBucket(() => r.bucket.head(key));
  if (!object) return null;
  const zip = { key, etag: object.etag, size: object.size, memo: new Map() };
  const tailSize = Math.min(zip.size, 65557 + 76);
  const tail = await range(r, zip, zip.size - tailSize, tailSize);
  const v = new DataView(tail.buffer, tail.byteOffset, tail.length);
  let at = tail.length - 22;
  while (at >= 0 && v.getUint32(at, true) !== 0x06054b50) at--;
  if (at < 0) throw damaged(`${key} has no end`);
  let [count, size, offset] = [v.getUint16(at + 10, true), v.getUint32(at + 12, true), v.getUint32(at + 16, true)];
  if (
    (count === 0xffff || size === 0xffffffff || offset === 0xffffffff) &&
    at >= 20 &&
    v.getUint32(at - 20, true) === 0x07064b50
  ) {
    const end64 = await range(r, zip, Number(v.getBigUint64(at - 12, true)), 56);
    const w = new DataView(end64.buffer, end64.byteOffset, end64.length);
    if (w.getUint32(0, true) !== 0x06064b50) throw damaged(`${key} has no end`);
    [count, size, offset] = [32, 40, 48].map((i) => Number(w.getBigUint64(i, true)));
  }
  if (offset + size > zip.size) throw damaged(`${key}: its directory lies outside`);
  zip.directory = await range(r, zip, offset, size);
  listMembers(zip, count);
  zip.has = (name) => findMember(zip, name) >= 0;
  return zip;
}

// listMembers builds a hash table of each member's offset in the directory. Names stay bytes, since there may be
// hundreds of thousands.
function listMembers(zip, count) {
  const d = zip.directory;
  zip.view = new DataView(d.buffer, d.byteOffset, d.length);
  let slots = 16;
  while (slots < 2 * count) slots *= 2;
  zip.slots = new Int32Array(slots).fill(-1);
  let at = 0;
  for (let i = 0; i < count; i++) {
    if (at + 46 > d.length || zip.view.getUint32(at, true) !== 0x02014b50)
      throw damaged(`${zip.key}: member ${i} of its directory`);
    const n = zip.view.getUint16(at + 28, true);
    let slot = hash(d, at + 46, n) & (slots - 1);
    while (zip.slots[slot] >= 0) slot = (slot + 1) & (slots - 1);
    zip.slots[slot] = at;
    at += 46 + n + zip.view.getUint16(at + 30, true) + zip.view.getUint16(at + 32, true);
  }
}

function hash(bytes, from, n) {
  let h = 0x811c9dc5;
  for (let i = from; i < from + n; i++) h = Math.imul(h ^ bytes[i], 0x01000193);
  return h >>> 0;
}

function findMember(zip, name) {
  const want = encode(name);
  const mask = zip.slots.length - 1;
  for (let slot = hash(want, 0, want.length) & mask; zip.slots[slot] >= 0; slot = (slot + 1) & mask) {
    const at = zip.slots[slot];
    if (zip.view.getUint16(at + 28, true) === want.length && want.every((c, i) => zip.directory[at + 46 + i] === c))
      return at;
  }
  return -1;
}

// memberOf reads a member's entry of the directory.
function memberOf(zip, at) {
  const v = zip.view;
  const n = v.getUint16(at + 28, true);
  const m = {
    method: v.getUint16(at + 10, true),
    crc: v.getUint32(at + 16, true),
    packed: v.getUint32(at + 20, true),
    size: v.getUint32(at + 24, true),
    offset: v.getUint32(at + 42, true),
    nameLength: n,
  };
  const end = at + 46 + n + v.getUint16(at + 30, true);
  for (let i = at + 46 + n; i + 4 <= end; i += 4 + v.getUint16(i + 2, true)) {
    if (v.getUint16(i, true) !== 1) continue;
    let j = i + 4;
    for (const field of ["size", "packed", "offset"]) {
      if (m[field] === 0xffffffff) {
        m[field] = Number(v.getBigUint64(j, true));
        j += 8;
      }
    }
  }
  return m;
}

// read returns a member as { plain, raw, crc } after checking its sum. raw is null for a member that is stored
// uncompressed.
async function read(r, zip, name) {
  const at = findMember(zip, name);
  if (at < 0) throw missing(name);
  const cacheKey = zip.key + zip.etag + "/" + name;
  const cachedFile = state.files.get(cacheKey);
  if (cachedFile) {
    state.files.delete(cacheKey);
    state.files.set(cacheKey, cachedFile);
    return cachedFile;
  }
  const m = memberOf(zip, at);
  if (m.size > 1032 * m.packed + 64) throw damaged(`${name} can't have ${m.size} bytes in ${m.packed}`);
  const slack = 30 + m.nameLength + 64; // for the local header, whose extra fields may differ from the directory's
  let part = await range(r, zip, m.offset, Math.min(slack + m.packed, zip.size - m.offset));
  const head = new DataView(part.buffer, part.byteOffset, part.length);
  if (part.length < 30 || head.getUint32(0, true) !== 0x04034b50)
    throw damaged(`${name} is not where the directory says`);
  const from = 30 + head.getUint16(26, true) + head.getUint16(28, true);
  part =
    from + m.packed <= part.length
      ? part.subarray(from, from + m.packed)
      : await range(r, zip, m.offset + from, m.packed);
  const file = { plain: part, raw: null, crc: m.crc };
  if (m.method === 8) {
    file.raw = part;
    file.plain = await through(part, new DecompressionStream("deflate-raw")).catch((err) => {
      throw damaged(`${name}: ${err}`);
    });
  } else if (m.method !== 0) throw damaged(`${name} has method ${m.method}`);
  if (file.plain.length !== m.size || crc32(file.plain) !== m.crc) throw damaged(`${name} does not have its sum`);
  cacheFile(cacheKey, file);
  return file;
}

function cacheFile(name, file) {
  const bytes = (f) => f.plain.length + (f.raw?.length ?? 0) + 300;
  if (bytes(file) > MEMORY / 8 || state.files.has(name)) return;
  state.files.set(name, file);
  state.bytes += bytes(file);
  for (const [old, f] of state.files) {
    if (state.bytes <= MEMORY) break;
    state.files.delete(old);
    state.bytes -= bytes(f);
  }
}

const readMember = (r, snap, name) => read(r, snap.zip, name);
const readText = async (r, snap, name) => decode((await readMember(r, snap, name)).plain);

async function readPack(r, hour, name) {
  if (!/^\d{10}$/.test(hour)) throw damaged(`pack ${hour}`);
  const key = `${PREFIX}packs/${hour}.zip`;
  const version = String(state.checkpoint?.erased ?? 0);
  const once = async () => {
    const zip = await openZip(r, key, version);
    if (!zip) throw missing(key);
    return decode((await read(r, zip, name)).plain);
  };
  try {
    return await once();
  } catch (err) {
    if (!(err instanceof Changed)) throw err;
    state.zips.delete(key + "~" + version);
    return once();
  }
}

// ---- bytes ----

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
const encode = (s) => encoder.encode(s);
const decode = (b) => decoder.decode(b);
const hex = (b) => [...new Uint8Array(b)].map((x) => x.toString(16).padStart(2, "0")).join("");
const sha256 = (b) => crypto.subtle.digest("SHA-256", b);
const through = async (data, stream) =>
  new Uint8Array(await new Response(new Blob([data]).stream().pipeThrough(stream)).arrayBuffer());

// toJSON escapes as Go's encoding/json does.
const toJSON = (v) =>
  JSON.stringify(v).replace(/[<>&\u2028\u2029]/g, (c) => "\\u" + c.charCodeAt(0).toString(16).padStart(4, "0"));

const CRC = new Int32Array(256).map((_, n) => {
  for (let k = 0; k < 8; k++) n = n & 1 ? (n >>> 1) ^ 0xedb88320 : n >>> 1;
  return n;
});

function crc32(b) {
  let c = -1;
  for (let i = 0; i < b.length; i++) c = CRC[(c ^ b[i]) & 255] ^ (c >>> 8);
  return ~c >>> 0;
}

// clientOf returns the client to which an address counts: an IPv4 address, or the 64 bits of an IPv6 network.
function clientOf(address) {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address);
  if (mapped) return mapped[1];
  if (!address.includes(":")) return address;
  const [head, tail] = address.split("::");
  const groups = head ? head.split(":") : [];
  if (tail !== undefined) {
    const behind = tail ? tail.split(":").length + (tail.includes(".") ? 1 : 0) : 0;
    while (groups.length + behind < 8) groups.push("0");
  }
  return (
    groups
      .slice(0, 4)
      .map((g) => g.toLowerCase().replace(/^0+(?=.)/, ""))
      .join(":") + "::/64"
  );
}

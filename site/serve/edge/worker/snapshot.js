// ---- snapshots ----

// state exists as long as the worker's isolate.
const state = {
  text: null,
  checkpoint: null,
  readAt: 0,
  reading: null,
  stale: false,
  current: null,
  zips: new Map(),
  files: new Map(),
  bytes: 0,
  parsed: new Map(),
  parsedLength: 0,
};

// current returns the newest snapshot, or the previous one while the bucket or the newest snapshot can't be read.
async function current(r) {
  if (state.current && Date.now() - state.readAt < CHECKPOINT_MS) return state.current;
  state.reading ??= readCheckpoint(r).finally(() => (state.reading = null));
  return state.reading;
}

async function readCheckpoint(r) {
  try {
    const object = await r.bucket.get(PREFIX + "checkpoint.json");
    if (!object) throw new ReaderError(CONTRACT.errors.empty);
    if (object.size > MAX_CHECKPOINT) throw damaged("checkpoint.json is too large");
    const text = new Uint8Array(await object.arrayBuffer());
    const checkpoint = JSON.parse(decode(text));
    if (!isSnapshot(checkpoint.snapshot)) throw damaged("checkpoint.json names no snapshot");
    const zip = await openZip(r, snapshotKey(checkpoint.snapshot), "");
    if (!zip) throw missing(snapshotKey(checkpoint.snapshot));
    if (state.current?.id !== checkpoint.snapshot) {
      state.current = {
        id: checkpoint.snapshot,
        zip,
        built: new Date(checkpoint.built_at),
        next: new Date(checkpoint.next_at),
        memo: new Map(),
      };
    }
    state.current.next = new Date(checkpoint.next_at);
    Object.assign(state, { text, checkpoint, readAt: Date.now(), stale: false });
  } catch (err) {
    if (!state.current) throw err;
    console.error("the newest snapshot can't be read; the one before is served", err);
    Object.assign(state, { readAt: Date.now(), stale: true });
  }
  return state.current;
}

const snapshotKey = (id) => `${PREFIX}snapshots/${id}.zip`;

async function snapshotByID(r, id) {
  const now = await current(r).catch(() => null);
  if (now?.id === id) return now;
  const zip = await openZip(r, snapshotKey(id), "");
  if (!zip) throw new ReaderError(CONTRACT.errors.not_kept);
  const built = builtOf(id);
  return memoize(zip, "snapshot", async () => ({ id, zip, built, next: built, memo: new Map() }));
}

async function ready(r) {
  let snap;
  try {
    snap = await current(r);
  } catch (err) {
    throw err instanceof ReaderError ? err : new ReaderError(CONTRACT.errors.unready);
  }
  const body = {
    status: "ready",
    snapshot: snap.id,
    built_at: snap.built.toISOString(),
    age_seconds: Math.floor((Date.now() - snap.built) / 1000),
  };
  if (state.stale) body.warning = "the newest snapshot can't be read; an older one is served";
  return newResponse(r, 200, TABLE_JSON, encode(toJSON(body) + "\n"), "no-store");
}

// memoize returns the value of make, computed once for an object that never changes and stored with that object. A
// failure is not stored, so the next call tries again.
function memoize(of, name, make) {
  if (!of.memo.has(name)) {
    const value = make();
    of.memo.set(name, value);
    value.catch(() => of.memo.delete(name));
  }
  return of.memo.get(name);
}


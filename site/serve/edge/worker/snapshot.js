// ---- snapshots ----

// state lives as long as the worker's isolate.
const state = { text: null, checkpoint: null, lookedAt: 0, looking: null, stale: false, current: null, zips: new Map(), files: new Map(), bytes: 0 };

// current is the newest snapshot; the one before while the bucket or the newest can't be read.
async function current(r) {
  if (state.current && Date.now() - state.lookedAt < CHECKPOINT_MS) return state.current;
  state.looking ??= look(r).finally(() => (state.looking = null));
  return state.looking;
}

async function look(r) {
  try {
    const object = await r.bucket.get(PREFIX + "checkpoint.json");
    if (!object) throw new Told(SAYS.errors.empty);
    if (object.size > MAX_CHECKPOINT) throw damaged("checkpoint.json is too large");
    const text = new Uint8Array(await object.arrayBuffer());
    const checkpoint = JSON.parse(decode(text));
    if (!isSnapshot(checkpoint.snapshot)) throw damaged("checkpoint.json names no snapshot");
    const zip = await openZip(r, snapshotKey(checkpoint.snapshot), "");
    if (!zip) throw missing(snapshotKey(checkpoint.snapshot));
    if (state.current?.id !== checkpoint.snapshot) {
      state.current = { id: checkpoint.snapshot, zip, built: new Date(checkpoint.built_at), next: new Date(checkpoint.next_at), memo: new Map() };
    }
    state.current.next = new Date(checkpoint.next_at);
    Object.assign(state, { text, checkpoint, lookedAt: Date.now(), stale: false });
  } catch (err) {
    if (!state.current) throw err;
    console.error("the newest snapshot can't be read; the one before is served", err);
    Object.assign(state, { lookedAt: Date.now(), stale: true });
  }
  return state.current;
}

const snapshotKey = (id) => `${PREFIX}snapshots/${id}.zip`;

async function pinned(r, id) {
  const now = await current(r).catch(() => null);
  if (now?.id === id) return now;
  const zip = await openZip(r, snapshotKey(id), "");
  if (!zip) throw new Told(SAYS.errors.not_kept);
  const built = builtOf(id);
  return remember(zip, "snapshot", async () => ({ id, zip, built, next: built, memo: new Map() }));
}

async function ready(r) {
  let snap;
  try {
    snap = await current(r);
  } catch (err) {
    throw err instanceof Told ? err : new Told(SAYS.errors.unready);
  }
  const body = { status: "ready", snapshot: snap.id, built_at: snap.built.toISOString(), age_seconds: Math.floor((Date.now() - snap.built) / 1000) };
  if (state.stale) body.warning = "the newest snapshot can't be read; an older one is served";
  return answer(r, 200, TABLE_JSON, encode(toJSON(body) + "\n"), "no-store");
}

// remember keeps what is made of something that never changes, as long as that is kept. What fails is tried again.
function remember(of, name, make) {
  if (!of.memo.has(name)) {
    const made = make();
    of.memo.set(name, made);
    made.catch(() => of.memo.delete(name));
  }
  return of.memo.get(name);
}


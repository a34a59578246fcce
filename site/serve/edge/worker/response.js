// ---- responses ----

async function get(r) {
  let q = null;
  let parseError = null;
  try {
    q = parseRequest(r.rawPath, r.rawQuery);
  } catch (err) {
    parseError = err;
  }
  let snap;
  try {
    snap = q?.snapshot ? await snapshotByID(r, q.snapshot) : await current(r);
  } catch (err) {
    if (q?.values.has("cursor") && err.error === CONTRACT.errors.not_kept)
      throw invalid("cursor", "is of a snapshot that is not available any more; search again without it");
    throw parseError ?? err;
  }
  r.headers.set("Vary", "Accept-Encoding");
  r.headers.set("X-Snapshot", snap.id);
  if (!q?.snapshot && state.stale) r.headers.set("X-Snapshot-Warning", "stale");
  if (q && q.unknown.length > 0) r.headers.set(CONTRACT.headerUnknown, unknownText(q.unknown));
  try {
    if (parseError) throw parseError;
    return await respond(r, snap, q);
  } catch (err) {
    if (err instanceof ReaderError && err.error.code === 404 && !isAPI(r)) {
      const page = await readMember(r, snap, "404.html").catch(() => null);
      if (page) {
        for (const name of ["ETag", "Last-Modified", "Link"]) r.headers.delete(name);
        return write(r, 404, TYPES[".html"], bodyOfMember(page), "public, max-age=10");
      }
    }
    if (!(err instanceof ReaderError) && !isAPI(r))
      r.errorPage = await readMember(r, snap, "500.html").catch(() => null);
    throw err;
  }
}

async function respond(r, snap, q) {
  let [key, body] = await find(r, snap, q);
  if (namesValues(q)) {
    const unknown = unknownValues(await indexOf(r, snap), q);
    if (unknown.length > 0) r.headers.set(CONTRACT.headerValues, unknownValuesText(unknown));
  }
  await linkNext(r, snap, q, body);
  if (isCatalogue(q) && q.unknown.length > 0) body = await withUnapplied(body, q.unknown);
  return send(r, snap, q.snapshot !== "", key, body);
}

async function find(r, snap, q) {
  const key = keyOf(q);
  if (!q.route) return findFile(r, snap, key);
  if (snap.zip.has(key) && q.route.rule !== "find" && (q.bare || !needsTrim(q)))
    return [key, bodyOfMember(await readMember(r, snap, key))];
  return [key, await byRule(r, snap, q, key)];
}

// SEARCH_KEY is the key of a search without parameters, which has no file. Older snapshots have an index of that name.
const SEARCH_KEY = "v1/search.json";

async function findFile(r, snap, key) {
  if (snap.zip.has(key) && key !== SEARCH_KEY) return [key, bodyOfMember(await readMember(r, snap, key))];
  const index = await indexOf(r, snap);
  const [q] = requestOf(key);
  if (q) {
    if (mustHave(index, q)) throw missing(key);
    if (hasNoFile(q.route)) return [key, await byRule(r, snap, q, key)];
  }
  if (await isListed(r, snap, index, key)) throw missing(key);
  throw notFound();
}

function exists(index, q) {
  if (!q.slug) return true;
  const name = variable(q.route)[1];
  if (name === "category" || name === "network") return (index.pages[listKey(q)] ?? 0) > 0;
  if (name === "incident") return false; // the index does not list them: one that exists has a file
  const sets = { facilitator: index.facilitatorSet, source: index.sourceSet };
  return (sets[name] ?? index.slugSet).has(q.slug);
}

// hasNoFile returns whether a request may have no file even without parameters.
const hasNoFile = (route) => ["trim", "rank", "catalogue", "find"].includes(route.rule);

function mustHave(index, q) {
  if (!exists(index, q)) return false;
  if (q.route.rule === "trim") return !needsTrim(q);
  if (hasNoFile(q.route)) return false;
  if (q.route.ext === ".html" && isPaged(q)) return int(q, "page") <= Math.max(1, index.pages[listKey(q)] ?? 0);
  return q.bare || (q.slug !== "" && q.route.rule === "literal");
}

async function byRule(r, snap, q, key) {
  const index = await indexOf(r, snap);
  if (!exists(index, q)) throw notFound();
  checkNames(index, q);
  let cut;
  const unknown = unknownValues(index, q);
  switch (unknown.length > 0 && q.route.lenient ? "" : ruleOf(q)) {
    case "":
      cut = withUnknown(frame(q.route.framing, [], results.rowJSON(counts(q, 0))), unknown);
      break;
    case "rank":
      cut = await best(r, snap, q, index);
      break;
    case "find":
      cut = await searchText(r, snap, q, index);
      break;
    case "scan":
      cut = await scan(r, snap, q, index);
      break;
    case "catalogue":
      cut = await (q.route.rule === "catalogue" ? catalogueSearch : catalogue)(r, snap, q, index);
      break;
    case "lookup":
      cut = await lookup(r, snap, q, index);
      break;
    case "window":
      cut = await window(r, snap, q, index.lists[listKey(q)] ?? 0);
      break;
    case "log":
      cut = await (has(q, "days") ? changes(r, snap, q, index) : log(r, snap, q));
      break;
    case "trim":
      cut = await trim(r, snap, q);
      break;
    default:
      throw mustHave(index, q) ? missing(key) : notFound();
  }
  if (unknown.length > 0 && !q.route.lenient && !q.route.framing)
    cut = withUnknown(cut, unknown, ruleOf(q) === "rank");
  return bodyOfBytes(encode(withProvenance(cut, q.route, index)));
}

// withUnknown returns a response whose meta, its last member, names unknown values. The meta of the best services is
// written like a row.
function withUnknown(cut, unknown, isRow) {
  const values = isRow ? results.rowJSON(unknown) : results.rowJSON(unknown).replace(/[<>&]/g, (c) => "\\u00" + c.charCodeAt(0).toString(16));
  return `${cut.slice(0, -3)},"unknown_values":${values}}}\n`;
}

// withProvenance returns a response with the provenance of the snapshot with this index.
function withProvenance(cut, { ext, pattern }, { provenance }) {
  if (!provenance || ext !== ".json" || !pattern.startsWith("/v1/")) return cut;
  return `${cut.slice(0, -2)},"provenance":${results.rowJSON(provenance)}}\n`;
}

async function indexOf(r, snap) {
  return memoize(snap, "index", async () => {
    const index = JSON.parse(await readText(r, snap, TABLE.index));
    index.slugSet = new Set(index.slugs);
    index.facilitatorSet = new Set(index.facilitators ?? []);
    index.sourceSet = new Set(index.sources ?? []);
    index.pages ??= {};
    return index;
  });
}

// ---- frames ----

function frameOf(framing) {
  if (!framing) return ['{"data":[\n', '],"meta":'];
  return [`{${framing.lead ?? ""}"${framing.rows}":[\n`, `],"${framing.meta}":`];
}

function frame(framing, rows, meta) {
  const [head, tail] = frameOf(framing);
  return head + (rows.length > 0 ? rows.join(",\n") + "\n" : "") + tail + meta + "}\n";
}

// unframe returns the rows and the meta of a framed file.
function unframe(framing, file, name) {
  try {
    return columns.splitFrame(file, ...frameOf(framing));
  } catch (err) {
    throw damaged(`${name}: ${err.message}`);
  }
}

async function rowsOf(r, snap, key, framing) {
  if (!snap.zip.has(key)) throw missing(key);
  return unframe(framing, await readText(r, snap, key), key);
}



// ---- lists that no file contains ----

const PARSED = 12 << 20; // characters of files whose parsed content is in memory
const TEXT = search.newText(SEARCH.text);

// load returns parse(text) for a file that the snapshot must have. Results are kept while there is memory.
function load(r, snap, key, parse) {
  const name = snap.id + "/" + key;
  const known = state.parsed.get(name);
  if (known) {
    state.parsed.delete(name);
    state.parsed.set(name, known);
    return known.value;
  }
  const entry = { value: null, length: 0 };
  const parsed = async () => {
    if (!snap.zip.has(key)) throw missing(key);
    const file = await readText(r, snap, key);
    keepParsed(name, entry, file.length);
    try {
      return parse(file);
    } catch (err) {
      throw damaged(`${key}: ${err.message}`);
    }
  };
  state.parsed.set(name, entry);
  entry.value = parsed();
  entry.value.catch(() => forgetParsed(name, entry));
  return entry.value;
}

// keepParsed counts a file, and forgets those that were not used for the longest time if there are too many.
function keepParsed(name, entry, length) {
  if (state.parsed.get(name) !== entry) return;
  entry.length = length;
  state.parsedLength += length;
  for (const [oldest, old] of state.parsed) {
    if (state.parsedLength <= PARSED) break;
    forgetParsed(oldest, old);
  }
}

function forgetParsed(name, entry) {
  if (state.parsed.get(name) !== entry) return;
  state.parsed.delete(name);
  state.parsedLength -= entry.length;
}

const readerOf = (r, snap, index) =>
  columns.newReader(SEARCH, TEXT, index.slugs.length, (key, parse) => load(r, snap, key, parse), index.slugs);
const requestFor = (q) => ({ params: q.route.params, value: (name) => text(q, name) });

// scan returns a page of the services that columns select and order.
async function scan(r, snap, q, index) {
  const reader = readerOf(r, snap, index);
  const request = requestFor(q);
  const places = await reader.sorted(request, await reader.select(request), text(q, "sort"));
  const [offset, limit] = windowOf(q);
  const isAssessed = text(q, "include").split(",").includes("assessment");
  const rows = await reader.rows(places.slice(offset, offset + limit));
  return frame(
    q.route.framing,
    rows.map(({ item, assessment }) => `{${item}${isAssessed ? ',"assessment":' + assessment : ""}}`),
    windowMeta(q, places.length),
  );
}

// searchText returns a page of the services whose text matches.
async function searchText(r, snap, q, index) {
  const { rows, meta } = await results.page(SEARCH.results, requestFor(q), readerOf(r, snap, index));
  return frame(q.route.framing, rows, meta);
}

// catalogue returns a page of the rows of the catalogue that pass the request's filters.
async function catalogue(r, snap, q, index) {
  let all = q;
  for (const p of q.route.params) if (p.column && text(q, p.name) !== "") all = withValue(all, p.name, "");
  const total = index.lists[listKey(all)] ?? 0;
  const column = (name) =>
    load(r, snap, `discovery/columns/${name}.json`, (file) => columns.parseColumn("set", file, total));
  const request = requestFor(q);
  const places = await columns.filter(
    request,
    Array.from({ length: total }, (_, place) => place),
    column,
  );
  const size = TABLE.limits.max_page_size;
  const [offset, limit] = windowOf(q);
  const rows = [];
  for (const place of places.slice(offset, offset + limit)) {
    const key = keyOf(fileQuery(all, Math.floor(place / size)));
    const [of] = await rowsOf(r, snap, key, q.route.framing);
    if (place % size >= of.length) throw damaged(`${key} has ${of.length} rows`);
    rows.push(of[place % size]);
  }
  return frame(q.route.framing, rows, windowMeta(q, places.length));
}


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
  columns.newReader(SEARCH, TEXT, index.slugs.length, (key, parse) => load(r, snap, key, parse), {
    slugs: index.slugs,
    built: () => snap.built.getTime(),
  });

// requestFor returns the request for the columns. No service is gone in a snapshot of an older version, which lacks the
// column that says so.
const requestFor = (q, snap) => ({
  omit: snap.zip.has(`v1/columns/${q.route.omit}.json`) ? q.route.omit : undefined,
  params: q.route.params,
  value: (name) => text(q, name),
});

// scan returns a page of the services that columns select and order.
async function scan(r, snap, q, index) {
  const reader = readerOf(r, snap, index);
  const request = requestFor(q, snap);
  const selected = await reader.select(request);
  const [offset, limit] = windowOf(q);
  if (q.route.name === "allow") {
    const rows = await reader.rows(selected.slice(offset, offset + limit), "v1/allow/rows/", (row) => row);
    return frame(q.route.framing, rows, windowMeta(q, selected.length));
  }
  const places = await reader.sorted(request, selected, text(q, "sort"));
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
  const { rows, meta } = await results.page(SEARCH, requestFor(q, snap), readerOf(r, snap, index));
  return frame(q.route.framing, rows, meta);
}

// ---- the catalogue ----

// catalogue returns a page of the rows of the catalogue that pass the request's filters.
async function catalogue(r, snap, q, index) {
  let all = q;
  for (const p of q.route.params) if (p.column && text(q, p.name) !== "") all = withValue(all, p.name, "");
  const places = await cataloguePlaces(r, snap, q, catalogueSpan(q, index));
  const [offset, limit] = windowOf(q);
  const rows = await catalogueRows(r, snap, all, places.slice(offset, offset + limit));
  return frame(q.route.framing, rows, windowMeta(q, places.length));
}

// catalogueSpan returns where the columns of the catalogue contain the rows of the request's type, and the number of
// their values.
function catalogueSpan(q, index) {
  const route = TABLE.routes.find((route) => route.name === "discovery");
  const span = { from: 0, to: 0, total: 0 };
  for (const type of route.params.find((p) => p.name === "type").values) {
    const rows = index.lists[listKey(withValue(newQuery({ route }), "type", type))] ?? 0;
    if (type === text(q, "type")) [span.from, span.to] = [span.total, span.total + rows];
    span.total += rows;
  }
  return span;
}

// cataloguePlaces returns the places of the rows that pass the request's filters, in the list of its type.
async function cataloguePlaces(r, snap, q, { from, to, total }) {
  if (from === to) return [];
  const column = (name) =>
    load(r, snap, `discovery/columns/${name}.json`, (file) => columns.parseColumn("set", file, total));
  const all = Array.from({ length: total }, (_, place) => place);
  const places = await columns.filter(requestFor(q, snap), all, column);
  return places.filter((place) => place >= from && place < to).map((place) => place - from);
}

// catalogueRows returns the rows of the list of all at some places.
async function catalogueRows(r, snap, all, places) {
  const size = TABLE.limits.max_page_size;
  const rows = [];
  for (const place of places) {
    const key = keyOf(fileQuery(all, Math.floor(place / size)));
    const [of] = await load(r, snap, key, (file) => columns.splitFrame(file, ...frameOf(all.route.framing)));
    if (place % size >= of.length) throw damaged(`${key} has ${of.length} rows`);
    rows.push(of[place % size]);
  }
  return rows;
}

// catalogueSearch returns a page of the rows of the catalogue that pass the request's filters. With a text, only those
// of services that match, the best service first, and of one service rows that match first.
async function catalogueSearch(r, snap, q, index) {
  const route = TABLE.routes.find((route) => route.name === "discovery");
  const all = withValue(newQuery({ route }), "type", text(q, "type"));
  const span = catalogueSpan(q, index);
  const places = await cataloguePlaces(r, snap, q, span);
  const limit = int(q, "limit");
  const skip = Number(text(q, "cursor").split(".")[1] ?? 0);
  const wanted = skip + limit + 1; // one more tells whether there are more
  let rows = [];
  if (text(q, "query") === "" || span.from === span.to) {
    rows = await catalogueRows(r, snap, all, places.slice(skip, wanted));
  } else {
    const found = await readerOf(r, snap, index).find(text(q, "query"));
    let before = 0;
    for (const group of await placesByService(r, snap, places, span, found.hits)) {
      before += group.length;
      if (before <= skip) continue;
      const of = await catalogueRows(r, snap, all, group);
      const [first, others] = [true, false].map((is) => of.filter((row) => rowMatches(row, found) === is));
      rows.push(...[...first, ...others].slice(Math.max(0, skip - (before - group.length))));
      if (before >= wanted) break;
    }
  }
  const cursor = rows.length > limit ? `${snap.id}.${skip + limit}` : null;
  return frame(q.route.framing, rows.slice(0, limit), toJSON({ limit, cursor }));
}

// placesByService returns the places of the rows of each service that matches.
async function placesByService(r, snap, places, { from, total }, hits) {
  const services = await load(r, snap, CONTRACT.catalogueServices, (file) => {
    const { data } = JSON.parse(file);
    if (!Array.isArray(data) || data.length !== total) throw new Error(`${data?.length} values for ${total} rows`);
    return data;
  });
  const groups = new Map(hits.map((hit) => [hit.place, []]));
  for (const place of places) groups.get(services[from + place])?.push(place);
  return groups.values();
}

// rowMatches returns whether the path or the description of a row matches.
function rowMatches(row, found) {
  const { resource, description } = JSON.parse(row);
  const address = resource.split("://").slice(1).join("://");
  const path = address.split("/").slice(1).join("/");
  return found.matches(path) || found.matches(description ?? "");
}

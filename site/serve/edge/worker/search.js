// ---- look-ups ----

const lookups = (r, snap) =>
  memoize(snap, "lookup", async () => JSON.parse(await readText(r, snap, CONTRACT.lookupFile)));
const shardsOf = (index, route) => index[byHash(route) ? "url" : "pay-to"];

async function lookup(r, snap, q, index) {
  const shards = await lookups(r, snap);
  const hash = byHash(q.route) ? q.item : hex(await sha256(encode(q.item)));
  const digits = hash.slice(0, 2);
  const n = shardsOf(shards, q.route)[digits];
  if (n === undefined) throw notFound();
  const key = prefixOf(q.route) + digits + q.route.ext;
  const [rows] = await rowsOf(r, snap, key, null);
  if (rows.length !== n) throw damaged(`${key} has ${rows.length} rows`);
  const head = `{"hash":"${hash}",`;
  const row = rows.find((row) => row.startsWith(head));
  if (!row) throw notFound();
  const response = "{" + row.slice(head.length) + "\n";
  return text(q, "include") === "" ? response : addAssessments(r, snap, response, index);
}

// addAssessments returns a look-up's response with the assessments of its services.
async function addAssessments(r, snap, response, index) {
  const { rows } = readerOf(r, snap, index);
  const assess = async (service) => {
    const { slug } = JSON.parse(service);
    if (!index.slugSet.has(slug)) throw damaged(`${TABLE.index} does not list ${slug}`);
    const [{ assessment }] = await rows([index.slugs.indexOf(slug)]);
    return `,"assessment":${assessment}`;
  };
  const { data } = JSON.parse(response);
  if (!data.services) return response.slice(0, -3) + (await assess(JSON.stringify(data.service))) + "}}\n";
  const start = response.indexOf('"services":[') + 11;
  const end = response.lastIndexOf('],"clipped":') + 1;
  const list = results.elements(response.slice(start, end)).map(async (s) => s.slice(0, -1) + (await assess(s)) + "}");
  return `${response.slice(0, start)}[${(await Promise.all(list)).join(",")}]${response.slice(end)}`;
}

// isListed reports whether a snapshot with this index must have a file that belongs to no route.
async function isListed(r, snap, index, key) {
  const [, number, name] = /^v1\/(?:(?:allow\/)?rows\/(0|[1-9][0-9]*)|columns\/([a-z0-9_]+))\.json$/.exec(key) ?? [];
  if (number) return number * SEARCH.rows_per_block < index.slugs.length;
  if (name) return Object.hasOwn(SEARCH.columns, name);
  const catalogue = /^discovery\/columns\/([a-z0-9_]+)\.json$/.exec(key);
  if (catalogue) return CONTRACT.catalogueColumns.includes(catalogue[1]);
  if (key === CONTRACT.catalogueServices) return true;
  if (key === "v1/terms.json" || key === "v1/vocabulary.json") return true;
  if (key.startsWith("v1/terms/")) {
    const { shards } = await readerOf(r, snap, index).termIndex();
    const shard = key.slice("v1/terms/".length, -".json".length);
    return key.endsWith(".json") && Object.hasOwn(shards, shard) && shards[shard] > 0;
  }
  if (key === CONTRACT.lookupFile || key.startsWith("v1/lookup/")) {
    const shards = await lookups(r, snap);
    return TABLE.routes.some((route) => {
      if (route.rule !== "lookup" || !key.startsWith(prefixOf(route)) || !key.endsWith(route.ext)) return false;
      return shardsOf(shards, route)[key.slice(prefixOf(route).length, -route.ext.length)] > 0;
    });
  }
  return false;
}

// ---- links to the next page ----

const isPaged = (q) => q.route !== null && (has(q, "page") || has(q, "offset"));

async function linkNext(r, snap, q, body) {
  let address = r.rawPath;
  if (!q.route && keyOf(q).endsWith(".json")) {
    [q, address] = requestOf(keyOf(q));
    if (!q) return;
  }
  if (!isPaged(q)) return;
  const total = await pagedTotal(r, snap, q, body);
  let [name, next] = ["page", int(q, has(q, "page") ? "page" : "offset") + 1];
  if (has(q, "offset")) {
    [name, next] = ["offset", int(q, "offset") + int(q, "limit")];
    if (next >= total) return;
  } else if (has(q, "per_page")) {
    if ((next - 1) * int(q, "per_page") >= total) return;
  } else if (next > total) return;
  if (next > q.route.params.find((p) => p.name === name).max) return;
  const values = withValue(q, name, String(next)).values;
  const pairs = q.route.params
    .filter((p) => values.get(p.name))
    .map((p) => `${p.name}=${queryEscape(values.get(p.name))}`);
  r.headers.set("Link", `<${address}?${[...pairs, "snapshot=" + snap.id].join("&")}>; rel="next"`);
}

async function pagedTotal(r, snap, q, body) {
  if (q.route.ext !== ".json") return (await indexOf(r, snap)).pages[listKey(q)] ?? 0;
  const file = decode(body.plain);
  const tail = frameOf(q.route.framing)[1];
  const last = file.slice(file.lastIndexOf("\n", file.length - 2) + 1, -2);
  const meta = columns.cutMeta(last, tail);
  if (meta === "") throw damaged("a page without meta");
  return JSON.parse(meta).total ?? 0;
}


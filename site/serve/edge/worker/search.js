// ---- search ----

async function searchNames(r, snap, q) {
  const index = await memoize(snap, "search", async () => JSON.parse(await readText(r, snap, CONTRACT.searchFile)));
  const [all, runs] = search.wordsAndRuns(search.fold(text(q, "q")));
  let [letters, ok] = ["", all.length > 0];
  for (const word of all) {
    const shard = [...word].slice(0, 2).join("");
    if (!Object.hasOwn(index.shards, shard)) {
      ok = false;
      break;
    }
    if (letters === "" || index.shards[shard] < index.shards[letters]) letters = shard;
  }
  const matching = [];
  if (ok) {
    const key = `v1/search/${escapeKey(letters)}.json`;
    const [rows] = await rowsOf(r, snap, key, null);
    if (rows.length !== index.shards[letters]) throw damaged(`${key} has ${rows.length} rows`);
    for (const row of rows) {
      const item = JSON.parse(row);
      const [words] = search.wordsAndRuns(search.fold(item.name));
      if (passes(q, item) && runs.every((run) => words.some((w) => w.startsWith(run)))) {
        matching.push({ row, item, price: /"min_price_usd":([0-9.]+)/.exec(row)?.[1] ?? null });
      }
    }
  }
  matching.sort(compareBy(text(q, "sort")));
  const [offset, limit] = windowOf(q);
  return frame(
    q.route.framing,
    matching.slice(offset, offset + limit).map((f) => f.row),
    windowMeta(q, matching.length),
  );
}

function passes(q, item) {
  const [network, status, category] = ["network", "status", "category"].map((name) => text(q, name));
  return (
    (!status || status === item.status) &&
    (!category || category === item.category) &&
    (!network || item.networks.includes(network))
  );
}

const { order, nullsLast, decimals } = columns;

function compareBy(by) {
  const compare = {
    newest: (a, b) => order(b.item.created_at, a.item.created_at),
    uptime: (a, b) => nullsLast(a.item.uptime_24h, b.item.uptime_24h, (x, y) => order(y, x)),
    cheapest: (a, b) => nullsLast(a.price, b.price, decimals),
    endpoints: (a, b) => order(b.item.endpoint_count, a.item.endpoint_count),
  }[by];
  return (a, b) => compare(a, b) || order(a.item.slug, b.item.slug);
}

// ---- look-ups ----

const lookups = (r, snap) =>
  memoize(snap, "lookup", async () => JSON.parse(await readText(r, snap, CONTRACT.lookupFile)));
const shardsOf = (index, route) => index[byHash(route) ? "url" : "pay-to"];

async function lookup(r, snap, q) {
  const index = await lookups(r, snap);
  const hash = byHash(q.route) ? q.item : hex(await sha256(encode(q.item)));
  const digits = hash.slice(0, 2);
  const n = shardsOf(index, q.route)[digits];
  if (n === undefined) throw notFound();
  const key = prefixOf(q.route) + digits + q.route.ext;
  const [rows] = await rowsOf(r, snap, key, null);
  if (rows.length !== n) throw damaged(`${key} has ${rows.length} rows`);
  const head = `{"hash":"${hash}",`;
  const row = rows.find((row) => row.startsWith(head));
  if (!row) throw notFound();
  return "{" + row.slice(head.length) + "\n";
}

async function isListedShard(r, snap, key) {
  const m = /^v1\/search\/(.+)\.json$/.exec(key);
  if (key === CONTRACT.searchFile || key.startsWith("v1/search/")) {
    const index = JSON.parse(await readText(r, snap, CONTRACT.searchFile));
    return (
      m !== null &&
      Object.keys(index.shards).some((letters) => escapeKey(letters) === m[1] && index.shards[letters] > 0)
    );
  }
  if (key === CONTRACT.lookupFile || key.startsWith("v1/lookup/")) {
    const index = await lookups(r, snap);
    return TABLE.routes.some((route) => {
      if (route.rule !== "lookup" || !key.startsWith(prefixOf(route)) || !key.endsWith(route.ext)) return false;
      return shardsOf(index, route)[key.slice(prefixOf(route).length, -route.ext.length)] > 0;
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
  if (!last.startsWith(tail)) throw damaged("a page without meta");
  return JSON.parse(last.slice(tail.length)).total ?? 0;
}


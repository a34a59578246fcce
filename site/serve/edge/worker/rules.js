// ---- rules ----

function windowOf(q) {
  if (has(q, "offset")) return [int(q, "offset"), int(q, "limit")];
  const limit = int(q, "per_page");
  return [(int(q, "page") - 1) * limit, limit];
}

function fileQuery(q, file) {
  const size = TABLE.limits.max_page_size;
  if (has(q, "offset")) return withValue(withValue(q, "limit", String(size)), "offset", String(file * size));
  return withValue(withValue(q, "per_page", String(size)), "page", String(file + 1));
}

function counts(q, total) {
  const [page, per] = [int(q, "page"), int(q, "per_page")];
  return { total, page, per_page: per, total_pages: Math.floor((total + per - 1) / per) };
}

function windowMeta(q, total) {
  if (has(q, "offset")) {
    const [offset, limit] = windowOf(q);
    return toJSON({ limit, offset, total });
  }
  const meta = counts(q, total);
  for (const p of q.route.params) {
    if (p.echo) meta[p.name] = text(q, p.name);
  }
  return toJSON(meta);
}

async function window(r, snap, q, total) {
  const size = TABLE.limits.max_page_size;
  const [from, limit] = windowOf(q);
  const to = Math.min(from + limit, total);
  let rows = [];
  for (let at = from; at < to;) {
    const file = Math.floor(at / size);
    const end = Math.min(to, (file + 1) * size);
    const key = keyOf(fileQuery(q, file));
    const [all] = await rowsOf(r, snap, key, q.route.framing);
    if (end - file * size > all.length) throw damaged(`${key} has ${all.length} rows, the list's total is ${total}`);
    rows.push(...all.slice(at - file * size, end - file * size));
    at = end;
  }
  const p = needsTrim(q) && q.route.params.find((p) => p.trim && p.kind === "integer");
  if (p) rows = rows.map((row) => trimRow(row, int(q, p.name)));
  return frame(q.route.framing, rows, windowMeta(q, total));
}

const SERIES = '"timeseries":[';

// trimRow returns a row with only the last n elements of its series.
function trimRow(row, n) {
  let at = row.indexOf(SERIES);
  if (at < 0) return row;
  at += SERIES.length;
  const starts = [];
  let [depth, inText, end] = [0, false, -1];
  for (let i = at; i < row.length && end < 0; i++) {
    const c = row[i];
    const begins = depth === 0 && (i === at || row[i - 1] === ",");
    if (inText) {
      if (c === "\\") i++;
      inText = c !== '"';
    } else if (depth === 0 && c === "]") end = i;
    else if (c === '"' || c === "{" || c === "[") {
      if (begins) starts.push(i);
      inText = c === '"';
      if (!inText) depth++;
    } else if (c === "}" || c === "]") depth--;
    else if (depth === 0 && c !== "," && begins) starts.push(i);
  }
  if (end < 0) throw damaged("a series without end");
  if (starts.length <= n) return row;
  return row.slice(0, at) + row.slice(n > 0 ? starts[starts.length - n] : end);
}

async function trim(r, snap, q) {
  let whole = q;
  for (const p of q.route.params) {
    if (p.trim) whole = withValue(whole, p.name, largest(p));
  }
  const key = keyOf(whole);
  const [points, caveat] = await rowsOf(r, snap, key, q.route.framing);
  const from = '{"date":"' + periodStart(text(q, "period"), snap.built);
  return frame(
    q.route.framing,
    points.filter((p) => p >= from),
    caveat,
  );
}

const DAY = 86400000;
const dayOf = (ms) => new Date(ms).toISOString().slice(0, 10);

function periodStart(period, now) {
  const days = CONTRACT.windowDays[period];
  if (days) return dayOf(now.getTime() - (days - 1) * DAY);
  if (period === "24h") return dayOf(Math.floor(now.getTime() / 3600000) * 3600000 - DAY);
  return "";
}

async function logIndex(r, snap, key) {
  if (!snap.zip.has(key)) throw missing(key);
  const x = JSON.parse(await readText(r, snap, key));
  if (x.first < 0 || x.next < x.first) throw damaged(`${key}: rows ${x.first} to ${x.next}`);
  return x;
}

async function log(r, snap, q) {
  const x = await logIndex(r, snap, listKey(q) + "/log.json");
  const rows = await newest(r, snap, q, x, int(q, "limit"), int(q, "offset"));
  return frame(null, rows, toJSON({ total: x.next - x.first }));
}

// newest skips offset rows of a log, counted from the newest, and returns the next limit rows, newest first.
async function newest(r, snap, q, x, limit, offset) {
  const size = TABLE.limits.block_size;
  let to = x.next - offset;
  const from = Math.max(to - limit, x.first);
  const rows = [];
  while (to > from) {
    const block = Math.floor((to - 1) / size);
    const at = Math.max(from, block * size);
    const key = `${listKey(q)}/block=${block}${q.route.ext}`;
    const pack = (x.packs ?? []).find((p) => p.first <= block && block <= p.last)?.pack ?? "";
    const [all, meta] = unframe(null, pack ? await readPack(r, pack, key) : await readText(r, snap, key), key);
    const { first } = JSON.parse(meta);
    if (!(first >= 0) || at < first || to > first + all.length)
      throw damaged(`${key}: rows ${first} to ${first + all.length}, the log wants ${at} to ${to}`);
    rows.push(...all.slice(at - first, to - first).reverse());
    to = at;
  }
  return rows;
}

async function changes(r, snap, q, index) {
  const scope = withValue(q, "type", "");
  const none = { first: 0, next: 0 };
  const x = Object.hasOwn(index.lists, listKey(scope)) ? await logIndex(r, snap, listKey(scope) + "/log.json") : none;
  const from = dayOf(snap.built.getTime() - (int(q, "days") - 1) * DAY);
  const since = (x) => ({ ...x, first: (x.days ?? []).find((d) => d.day >= from)?.first ?? x.next });
  const total = (x) => x.next - x.first;
  const of = (kind) => x.types?.[kind] ?? none;
  const kind = text(q, "type");
  const cut = since(kind ? of(kind) : x);
  const [page, per] = [int(q, "page"), int(q, "per_page")];
  const rows = await newest(r, snap, q, cut, per, (page - 1) * per);
  const types = {};
  for (const kind of CONTRACT.changeTypes) types[kind] = total(since(of(kind)));
  return frame(null, rows, toJSON({ ...counts(q, total(cut)), type_counts: types, window_total: total(since(x)) }));
}


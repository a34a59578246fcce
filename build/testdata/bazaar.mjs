// The bazaar client of @x402/extensions: node bazaar.mjs URL. It reads a directory through listResources and search, and
// compares each filter with one that is written here. It prints what it did and what was wrong, as one line of JSON.
import { HTTPFacilitatorClient } from "@x402/core/http";
import { withBazaar } from "@x402/extensions/bazaar";

const url = process.argv[2];
const { listResources, search } = withBazaar(new HTTPFacilitatorClient({ url })).extensions.bazaar;
const said = { resources: 0, tools: 0, filters: 0, searches: 0, results: 0, pages: 0, errors: [], wrong: [] };

const id = (r) => `${r.type} ${r.resource} ${JSON.stringify(r.extensions.bazaar.info.input)}`;
const compare = (what, want, got) => {
  const [a, b] = [want.map(id), got.map(id)];
  if (JSON.stringify(a) !== JSON.stringify(b)) said.wrong.push(`${what}: ${b.length} resources, want ${a.length}`);
};

async function list(params, limit) {
  const items = [];
  for (;;) {
    const page = await listResources({ ...params, limit, offset: items.length });
    items.push(...page.items);
    if (page.items.length === 0 || items.length >= page.pagination.total) return items;
  }
}

// walk reads all pages of a search.
async function walk(params, limit) {
  const found = [];
  let cursor;
  do {
    const page = await search({ ...params, limit, ...(cursor ? { cursor } : {}) });
    if (page.x402Version !== 2 || page.pagination.limit !== limit) said.wrong.push(`a page of ${JSON.stringify(page)}`);
    if (page.resources.length > limit || (page.resources.length < limit && page.pagination.cursor !== null))
      said.wrong.push(`${JSON.stringify(params)}: a page of ${page.resources.length} resources of ${limit}`);
    found.push(...page.resources);
    cursor = page.pagination.cursor;
    said.pages++;
  } while (cursor !== null);
  return found;
}

// passes is the filter by hand: one payment option must match all that is asked of options.
const sameAddress = (a, b) => a === b || (a.startsWith("0x") && a.toLowerCase() === b.toLowerCase());
const passes = (f) => (r) =>
  (f.type ?? "http") === r.type &&
  (f.extensions === undefined || f.extensions in r.extensions) &&
  r.accepts.some(
    (a) =>
      (f.payTo === undefined || sameAddress(a.payTo, f.payTo)) &&
      (f.scheme === undefined || a.scheme === f.scheme) &&
      (f.network === undefined || a.network === f.network),
  );

const tools = await list({ type: "mcp" }, 100);
const all = [...(await list({}, 100)), ...tools];
said.resources = all.length;
said.tools = tools.length;
const filters = new Map();
const add = (f) => filters.set(JSON.stringify(f), f);
for (const f of [{ type: "http" }, { type: "mcp" }, { type: "mcp", scheme: "exact" },
  { type: "mcp", network: "eip155:137" }, { extensions: "bazaar" }, { extensions: "sign-in-with-x" },
  { payTo: "0x0000000000000000000000000000000000000001" }, { scheme: "EXACT" }, { network: "base" }]) add(f);
for (const r of all) {
  for (const a of r.accepts) {
    for (const payTo of [a.payTo, a.payTo.toLowerCase()]) add({ payTo });
    add({ scheme: a.scheme });
    add({ network: a.network });
    add({ type: "http", payTo: a.payTo, scheme: a.scheme, network: a.network, extensions: "bazaar" });
    for (const b of r.accepts) add({ scheme: a.scheme, network: b.network });
  }
}
for (const f of filters.values()) {
  compare(`list ${JSON.stringify(f)}`, all.filter(passes(f)), await list(f, 7));
  said.filters++;
}

// Each search is walked in pages of different sizes, and with filters.
const words = ["weather", "speech to text", "price of a token", "transcripton", "nothing that anybody sells, zzzz", "", "!?"];
for (const query of words) {
  const whole = [...(await walk({ query }, 100)), ...(await walk({ query, type: "mcp" }, 100))];
  const places = whole.map((r) => all.findIndex((o) => id(o) === id(r)));
  if (places.includes(-1) || new Set(places).size !== places.length) said.wrong.push(`${query}: a resource twice or unknown`);
  if (query === "") compare("search without words", all, whole);
  said.results += query === "" ? 0 : whole.length;
  compare(`search ${query} by 3`, whole.filter(passes({})), await walk({ query }, 3));
  for (const f of [...filters.values()].filter((f, i) => i % 9 === 0 || f.type === "mcp")) {
    compare(`search ${query} ${JSON.stringify(f)}`, whole.filter(passes(f)), await walk({ query, ...f }, 5));
    said.searches++;
  }
}

// Errors reach the caller with the directory's words.
const first = await search({ query: "", limit: 1 });
for (const call of [
  () => listResources({ limit: 101 }),
  () => listResources({ type: "grpc" }),
  () => search({ query: "weather", limit: 0 }),
  () => search({ query: "weather", cursor: "2" }),
  () => search({ query: "weather", cursor: `${first.pagination.cursor}0000000000` }),
  () => search({ query: "weather", cursor: "20200101T000000Z-000000.5" }),
]) {
  said.errors.push(await call().then(() => "none", (err) => err.message));
}
console.log(JSON.stringify(said));

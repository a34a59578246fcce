import { createServer } from "node:http";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import * as pagefind from "pagefind";

const { documents, queries, folder } = JSON.parse(readFileSync(0));
const { index } = await pagefind.createIndex();
const escape = (s) => s.replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);
for (const d of documents) {
  const endpoints = d.endpoints.map((e) => `<li><code>${escape(e.path)}</code> ${escape(e.description)}</li>`).join("");
  const content = `<!doctype html><html lang="en"><head><title>${escape(d.name)}</title></head><body><main>` +
    `<h1>${escape(d.name)}</h1><p>${escape(d.category)}</p>` +
    `<p>${escape(d.description)}</p><ul>` +
    `${endpoints}</ul></main></body></html>`;
  const { errors } = await index.addHTMLFile({ url: `/${d.slug}/`, content });
  if (errors.length > 0) throw new Error(errors.join("; "));
}
const dir = join(folder, "index");
await index.writeFiles({ outputPath: dir });
const server = createServer((req, res) => {
  try {
    res.end(readFileSync(join(dir, new URL(req.url, "http://x").pathname)));
  } catch {
    res.statusCode = 404;
    res.end();
  }
});
await new Promise((ready) => server.listen(0, "127.0.0.1", ready));
const base = `http://127.0.0.1:${server.address().port}/`;
globalThis.document = { querySelector: () => ({ getAttribute: () => "en" }), currentScript: null };
globalThis.window = globalThis; globalThis.location = new URL(base);
const fetchURL = globalThis.fetch;
globalThis.fetch = (url, options) => fetchURL(new URL(url, base), options);
const api = await import(join(dir, "pagefind.js"));
await api.options({ basePath: base, baseUrl: "/" });
await api.init();
const out = [];
for (const q of queries) {
  const { results } = await api.search(q);
  const top = [];
  for (const r of results.slice(0, 10)) top.push((await r.data()).url.replaceAll("/", ""));
  out.push(top);
}
console.log(JSON.stringify(out));
process.exit(0);

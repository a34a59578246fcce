// A client of the API whose types are generated from the OpenAPI document alone. It reads the list of services page by
// page, the first service and a missing one, and prints what it read.
import createClient from "openapi-fetch";
import type { components, paths } from "./schema.js";

declare const process: { argv: string[] };

type Service = components["schemas"]["ServiceListItem"];

const client = createClient<paths>({ baseUrl: process.argv[2]! });

async function* services(): AsyncGenerator<Service> {
  for (let page = 1, pages = 1; page <= pages; page++) {
    const { data, error } = await client.GET("/services", { params: { query: { sort: "cheapest", per_page: 7, page } } });
    if (error) throw new Error(error.error.message);
    pages = data.meta.total_pages;
    yield* data.data;
  }
}

const slugs: string[] = [];
for await (const s of services()) slugs.push(s.slug);

const first = await client.GET("/services/{slug}", { params: { path: { slug: slugs[0]! } } });
if (first.error) throw new Error(first.error.error.message);
const uptime: number | null = first.data.data.uptime["24h"];
const prices: string[] = first.data.data.endpoints.flatMap((e) => e.pricing.map((p) => p.price));

const none = await client.GET("/services/{slug}", { params: { path: { slug: "not-there" } } });
const changes = await client.GET("/changes", { params: { query: { type: "price_changed", per_page: 3 } } });
if (changes.error) throw new Error(changes.error.error.message);

console.log(JSON.stringify({ slugs, name: first.data.data.name, uptime, prices, none: none.error?.error.type, counted: changes.data.meta.type_counts.price_changed }));

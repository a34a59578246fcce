// The three calls of the quickstart with a client whose types are generated from the OpenAPI document alone: it finds
// services, asks whether the first may be paid, and reads what changed.
import createClient from "openapi-fetch";
import type { paths } from "./schema.js";

declare const process: { argv: string[] };

const client = createClient<paths>({ baseUrl: process.argv[2]! });

const found = await client.GET("/search", { params: { query: { q: process.argv[3]!, status: "online" } } });
if (found.error) throw new Error(found.error.error.message);
const first = found.data.data[0]!;
const service = await client.GET("/services/{slug}", { params: { path: { slug: first.slug } } });
if (service.error) throw new Error(service.error.error.message);
const changes = await client.GET("/changes");
if (changes.error) throw new Error(changes.error.error.message);

const offer = service.data.data.endpoints[0]?.pricing[0];
console.log(JSON.stringify({
	found: found.data.data.map(({ slug }) => slug), advice: service.data.data.assessment.advice.level,
	price: offer?.price_usd ?? "", pay_to: offer?.pay_to ?? "",
	changes: changes.data.meta.total, newest: changes.data.data[0]?.type ?? "",
}));

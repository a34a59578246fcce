// A client made of the official SDK: node client.mjs http URL | stdio COMMAND ARGUMENT...
// It lists what there is, calls tools, and prints all of it as one line of JSON. The SDK throws for an answer that the
// protocol does not allow.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const [how, first, ...rest] = process.argv.slice(2);
const transport = how === "http"
  ? new StreamableHTTPClientTransport(new URL(first))
  : new StdioClientTransport({ command: first, args: rest, env: process.env });
const client = new Client({ name: "tollbook-test", version: "1.0.0" });
await client.connect(transport);
const said = { server: client.getServerVersion().name, instructions: client.getInstructions() };
said.tools = (await client.listTools()).tools.map((t) => t.name);
said.resources = (await client.listResources()).resources.map((r) => r.uri);
said.llms = (await client.readResource({ uri: "tollbook:///llms.txt" })).contents[0].text;
said.templates = (await client.listResourceTemplates()).resourceTemplates.map((t) => t.uriTemplate);
said.slugs = (await client.complete({ ref: { type: "ref/resource", uri: said.templates[0] },
  argument: { name: "slug", value: "service-0007" } })).completion.values;
said.evidence = (await client.readResource({ uri: "tollbook://services/service-0007/evidence" })).contents[0].text;
said.prompt = (await client.getPrompt({ name: "choose_service",
  arguments: { need: "speech to text", network: "Base", max_price_usd: "0.01" } })).messages[0].content.text;
const call = (name, args) => client.callTool({ name, arguments: args });
said.search = await call("search_services", { per_page: 3, sort: "uptime" });
said.service = await call("get_service", { slug: "service-0007" });
said.address = await call("lookup_address", { url: "https://s0007.example/a" });
for (const name of ["list_changes", "list_facilitators", "list_networks", "list_categories", "coverage", "health"]) {
  said[name] = await call(name, {});
}
said.refused = await call("search_services", { per_page: 1000 });
said.unknown = await call("get_service", { slug: "nobody" });
await client.close();
console.log(JSON.stringify(said));

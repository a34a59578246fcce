// query.js answers queries by DuckDB in a browser. Standard input has JSON: the browser's program, the address of
// page.html, and the queries. Standard output gets a list of rows for each query.
import { createRequire } from "node:module";

const { chromium } = createRequire(process.env.MODULES + "/")("playwright-core");
let input = "";
for await (const part of process.stdin) input += part;
const { program, page: address, queries } = JSON.parse(input);
const browser = await chromium.launch({ executablePath: program, args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"] });
try {
	const page = await browser.newPage();
	page.setDefaultTimeout(120000);
	page.on("pageerror", (e) => console.error(e.message));
	await page.goto(address);
	await page.waitForFunction(() => globalThis.ready);
	const answers = [];
	for (const query of queries) answers.push(await page.evaluate((query) => globalThis.ask(query), query));
	console.log(JSON.stringify(answers));
} finally {
	await browser.close();
}

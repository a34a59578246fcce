// query.js answers queries by DuckDB in a browser. Standard input has JSON: the browser's program, the address of
// page.html, statements, and queries. Standard output gets columns and rows of each query, and the seconds of all queries.
import { createRequire } from "node:module";

const { chromium } = createRequire(process.env.MODULES + "/")("playwright-core");
let input = "";
for await (const part of process.stdin) input += part;
const { program, page: address, statements, queries } = JSON.parse(input);
const args = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"];
const browser = await chromium.launch({ executablePath: program, args });
try {
	const page = await browser.newPage();
	page.setDefaultTimeout(120000);
	page.on("pageerror", (e) => console.error(e.message));
	await page.goto(address);
	await page.waitForFunction(() => globalThis.ready);
	for (const statement of statements) await page.evaluate((statement) => globalThis.run(statement), statement);
	const columns = [], rows = [], began = performance.now();
	for (const query of queries) {
		const answer = await page.evaluate((query) => globalThis.ask(query), query);
		columns.push(answer.columns), rows.push(answer.rows);
	}
	console.log(JSON.stringify({ columns, rows, seconds: (performance.now() - began) / 1000 }));
} finally {
	await browser.close();
}

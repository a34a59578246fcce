// Makes the pictures of README.md from a running demo, which looks the same for weeks:
//
//     npm ci --prefix cmd/tollbook/testdata/browser && node cmd/tollbook/testdata/browser/screenshots.mjs http://127.0.0.1:4020 templates/screenshots
import { join } from "node:path";
import { chromium } from "playwright-core";

const [base, folder] = process.argv.slice(2);
const pictures = [
	["home", "/", "light"],
	["services", "/search?status=online&sort=price", "dark"],
	["service", "/services/lanternfish-chat", "light"],
	["uptime", "/services/lanternfish-chat#uptime", "dark"],
	["facilitators", "/facilitators", "light"],
	["compare", "/compare?a=lanternfish-chat&b=thimble-classifier&c=inkwell-vision", "dark"],
];
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM || "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu"] });
for (const [name, path, colorScheme] of pictures) {
	const context = await browser.newContext({ viewport: { width: 1120, height: 700 }, colorScheme });
	const page = await context.newPage();
	await page.goto(base + path, { waitUntil: "networkidle" });
	await page.screenshot({ path: join(folder, name + ".png") });
	await context.close();
}
await browser.close();

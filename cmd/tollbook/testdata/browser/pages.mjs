// Every kind of page at three widths, light and dark: nothing scrolls sideways, nothing is reported to the console, nothing is
// asked of another host; and axe finds nothing, with all folds open. By nginx, which sends the same bytes, each is looked
// at once.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { each, fault, figures, given, launch, told, watched } from "./browser.mjs";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const widths = [360, 768, 1440], schemes = ["light", "dark"];
const judgedAt = new Set(["360 light", "1440 dark"]); // each layout, and each set of colours
const missing = "/there-is-no-such-page"; // shows the 404

const browser = await launch();
const visits = [];
for (const path of [...given.pages, missing]) {
	visits.push({ where: given.serve, path, judged: true });
	visits.push({ where: given.nginx, path, at: widths.slice(0, 1) });
}
for (const path of given.oddPages) visits.push({ where: given.odd, path, judged: true });
figures.looks = 0;
figures.judged = 0;
await each(visits, 3, async ({ where, path, judged, at = widths }) => {
	const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
	const page = await watched(context, where, path === missing ? new RegExp(missing + "$") : undefined);
	try {
		const answer = await page.goto(where + path);
		const want = path === missing ? 404 : 200;
		if (answer.status() !== want) fault(where + path, `${answer.status()}, want ${want}`);
		if (judged) await page.evaluate(axe);
		for (const width of at) {
			await page.setViewportSize({ width, height: 900 });
			for (const colorScheme of schemes) {
				await page.emulateMedia({ colorScheme });
				figures.looks++;
				const look = `${where}${path} at ${width} px, ${colorScheme}`;
				const wide = await page.evaluate(() => {
					const room = document.documentElement.clientWidth;
					if (document.documentElement.scrollWidth <= room) return null;
					const beyond = [...document.querySelectorAll("body *")].filter((e) => e.getBoundingClientRect().right > room + 1);
					return `${document.documentElement.scrollWidth} px wide: ${beyond.slice(0, 3).map((e) => e.outerHTML.slice(0, 120)).join(" | ")}`;
				});
				if (wide) fault(look, "scrolls sideways", wide);
				if (!judged || !judgedAt.has(`${width} ${colorScheme}`)) continue;
				figures.judged++;
				await page.evaluate(() => { for (const fold of document.querySelectorAll("details")) fold.open = true; });
				const { violations } = await page.evaluate(() => globalThis.axe.run({ resultTypes: ["violations"] }));
				for (const v of violations) fault(look, `axe ${v.id}`, v.help, v.nodes.slice(0, 3).map((n) => `${n.html.slice(0, 160)} ${n.any.map((a) => a.message).join("; ")}`).join(" | "));
			}
		}
	} catch (e) {
		fault(where + path, e);
	}
	await context.close();
});

// What a first view costs: bytes as they come over the line, packed, with their headers, without the typeface, which a
// browser keeps for a year. Nothing moves meanwhile.
const views = [given.nginx + given.service, ...given.pages.map((path) => given.serve + path)]
	.flatMap((address) => [{ address, width: 360 }, { address, width: 1440 }]);
await each(views, 3, async ({ address, width }) => {
	const context = await browser.newContext({ viewport: { width, height: 740 } });
	const page = await watched(context, new URL(address).origin);
	await page.addInitScript(() => {
		globalThis.shifts = [];
		new PerformanceObserver((list) => globalThis.shifts.push(...list.getEntries())).observe({ type: "layout-shift", buffered: true });
	});
	const session = await context.newCDPSession(page);
	await session.send("Network.enable");
	const fonts = new Set();
	let bytes = 0;
	session.on("Network.responseReceived", (e) => { if (e.type === "Font") fonts.add(e.requestId); });
	session.on("Network.loadingFinished", (e) => { if (!fonts.has(e.requestId)) bytes += e.encodedDataLength; });
	await page.goto(address, { waitUntil: "networkidle" });
	const most = "largest first view, KB";
	figures[most] = Math.max(figures[most] ?? 0, Math.round(bytes / 102.4) / 10);
	if (bytes > 60 * 1024) fault(address, `a first view takes ${bytes} bytes, 60 KB are allowed`);
	const shifts = await page.evaluate(async () => {
		await document.fonts.ready;
		for (let i = 0; i < 3; i++) await new Promise(requestAnimationFrame); // a painted frame has reported its shifts
		return globalThis.shifts.map((s) => ({ value: s.value, of: s.sources.map(({ node }) => node?.outerHTML?.slice(0, 80) ?? "") }));
	});
	const moved = shifts.reduce((sum, s) => sum + s.value, 0);
	figures["largest layout shift"] = Math.max(figures["largest layout shift"] ?? 0, moved);
	if (moved >= 0.005) fault(`${address} at ${width} px`, `layout shift of ${moved}`, JSON.stringify(shifts)); // 0.00 is wanted
	await context.close();
});
await browser.close();
told();

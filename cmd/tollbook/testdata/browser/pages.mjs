// Every kind of page at three widths, light and dark: nothing scrolls sideways, nothing is reported to the console,
// nothing is asked of another host; and axe finds nothing, with all folds open. The first view of each is small, and
// nothing moves while it loads. By nginx, which sends the same bytes, each is looked at once.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { each, fault, figures, given, launch, patience, told, watched } from "./browser.mjs";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const missing = "/there-is-no-such-page"; // shows the 404

// A load is a first view at a width, and the looks that follow at this width or another one. axe judges each layout
// once, and each set of colours.
const phone = {
	width: 360,
	looks: [{ width: 360, colorScheme: "light", judged: true }, { width: 360, colorScheme: "dark" }],
};
const loads = [
	{ ...phone, looks: [...phone.looks, { width: 768, colorScheme: "dark" }, { width: 768, colorScheme: "light" }] },
	{ width: 1440, looks: [{ width: 1440, colorScheme: "dark", judged: true }, { width: 1440, colorScheme: "light" }] },
];
const height = 800;

const visits = [];
for (const path of [...given.pages, missing]) {
	for (const load of loads) visits.push({ where: given.serve, path, load });
	const looks = phone.looks.map((look) => ({ ...look, judged: false }));
	visits.push({ where: given.nginx, path, load: { ...phone, looks } });
}
visits.push({ where: given.nginx, path: given.service, load: { width: 1440, looks: [] } });
for (const path of given.oddPages) for (const load of loads) visits.push({ where: given.odd, path, load });

// open opens a page whose loads are first views: it keeps no files, and counts their bytes as they come over the line,
// packed, with their headers. It is used for many visits of a server, because a context is a window with its own
// profile, which takes longer to open than a page to load.
const open = async (where) => {
	const context = await browser.newContext();
	const page = await watched(context, where, new RegExp(missing + "$"));
	await page.addInitScript(() => {
		globalThis.shifts = [];
		const observer = new PerformanceObserver((list) => globalThis.shifts.push(...list.getEntries()));
		observer.observe({ type: "layout-shift", buffered: true });
	});
	const session = await context.newCDPSession(page);
	await session.send("Network.enable");
	await session.send("Network.setCacheDisabled", { cacheDisabled: true });
	const fonts = new Set(), loading = new Map(); // requests under way, with their addresses
	const seen = { page, bytes: 0, requests: 0, loading };
	session.on("Network.requestWillBeSent", (e) => { loading.set(e.requestId, e.request.url); seen.requests++; });
	session.on("Network.responseReceived", (e) => { if (e.type === "Font") fonts.add(e.requestId); });
	session.on("Network.loadingFinished", (e) => {
		loading.delete(e.requestId);
		if (!fonts.has(e.requestId)) seen.bytes += e.encodedDataLength;
	});
	session.on("Network.loadingFailed", (e) => { loading.delete(e.requestId); });
	return seen;
};

// settle waits until a page has loaded, with its fonts and what its scripts ask for. Three frames are painted then:
// they report what moved, and in them scripts may ask for more.
const settle = async (seen) => {
	const end = Date.now() + patience;
	for (let before = -1; before !== seen.requests || seen.loading.size > 0;) {
		if (Date.now() > end) throw new Error(`waits for ${[...seen.loading.values()]} after ${seen.requests} requests`);
		before = seen.requests;
		await seen.page.evaluate(async () => {
			await document.fonts.ready;
			for (let i = 0; i < 3; i++) await new Promise(requestAnimationFrame);
		});
	}
};

const most = (what, figure) => { figures[what] = Math.max(figures[what] ?? 0, figure); };

// A first view takes at most 60 KB, without the typeface, which a browser keeps for a year. Nothing moves meanwhile.
const view = async (seen, address, { width }) => {
	const { page } = seen;
	await page.emulateMedia({ colorScheme: "light" });
	await page.setViewportSize({ width, height });
	seen.bytes = 0;
	seen.requests = 0;
	seen.loading.clear();
	const answer = await page.goto(address);
	const want = address.endsWith(missing) ? 404 : 200;
	if (answer.status() !== want) fault(address, `${answer.status()}, want ${want}`);
	await settle(seen);
	// nginx packs with gzip alone, and nobody knows how much hostile owners write.
	const limited = address.startsWith(given.serve + "/") || address === given.nginx + given.service;
	if (limited) most("largest first view, KB", Math.round(seen.bytes / 102.4) / 10);
	if (limited && seen.bytes > 60 * 1024) fault(address, `a first view takes ${seen.bytes} bytes, 60 KB are allowed`);
	const shifts = await page.evaluate(() => globalThis.shifts.map(({ value, sources }) => (
		{ value, of: sources.map(({ node }) => node?.outerHTML?.slice(0, 80) ?? "") })));
	const moved = shifts.reduce((sum, s) => sum + s.value, 0);
	most("largest layout shift", moved);
	const still = moved < 0.005; // 0.00 is wanted
	if (!still) fault(`${address} at ${width} px`, `layout shift of ${moved}`, JSON.stringify(shifts));
	figures.views++;
};

// look looks at a loaded page at a width, in a set of colours.
const look = async ({ page }, address, { width, colorScheme, judged }) => {
	await page.setViewportSize({ width, height });
	await page.emulateMedia({ colorScheme });
	figures.looks++;
	const at = `${address} at ${width} px, ${colorScheme}`;
	const wide = await page.evaluate(() => {
		const room = document.documentElement.clientWidth;
		if (document.documentElement.scrollWidth <= room) return null;
		const beyond = [...document.querySelectorAll("body *")].filter((e) => e.getBoundingClientRect().right > room + 1);
		const first = beyond.slice(0, 3).map((e) => e.outerHTML.slice(0, 120));
		return `${document.documentElement.scrollWidth} px wide: ${first.join(" | ")}`;
	});
	if (wide) fault(at, "scrolls sideways", wide);
	if (!judged) return;
	figures.judged++;
	await page.evaluate(axe);
	const violations = await page.evaluate(async () => {
		for (const fold of document.querySelectorAll("details")) fold.open = true;
		const { violations } = await globalThis.axe.run({ resultTypes: ["violations"] });
		const about = ({ html, any }) => `${html.slice(0, 160)} ${any.map((a) => a.message).join("; ")}`;
		return violations.map(({ id, help, nodes }) => ({ id, help, nodes: nodes.slice(0, 3).map(about) }));
	});
	for (const v of violations) fault(at, `axe ${v.id}`, v.help, v.nodes.join(" | "));
};

const browser = await launch();
Object.assign(figures, { views: 0, looks: 0, judged: 0 });
const opened = new Map(); // pages that are free, by server
await each(visits, 3, async ({ where, path, load }) => {
	const free = opened.get(where) ?? [];
	opened.set(where, free);
	const seen = free.pop() ?? await open(where);
	try {
		await view(seen, where + path, load);
		for (const at of load.looks) await look(seen, where + path, at);
		free.push(seen);
	} catch (e) {
		fault(where + path, e);
		await seen.page.context().close();
	}
});
await browser.close();
told();

// What a first view costs: bytes as they come over the line, packed, with their headers, without the typeface, which a
// browser keeps for a year. Nothing moves meanwhile.
import { each, fault, figures, given, launch, told, watched } from "./browser.mjs";

const browser = await launch();
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

// A service that is safe to pay has a page of four screens: what few open is folded.
const { data } = await (await fetch(given.serve + "/v1/services?per_page=100")).json();
const tall = await browser.newPage({ viewport: { width: 1440, height: 900 } });
for (const { slug } of data.filter((s) => s.advice_level === "good")) {
	await tall.goto(`${given.serve}/services/${slug}`);
	const height = await tall.evaluate(() => document.documentElement.scrollHeight);
	figures["tallest page of a service that is safe to pay, px"] = Math.max(figures["tallest page of a service that is safe to pay, px"] ?? 0, height);
	if (height > 3500) fault(`/services/${slug}`, `its page is ${height} px high, 3500 are allowed`);
}
await browser.close();
told();

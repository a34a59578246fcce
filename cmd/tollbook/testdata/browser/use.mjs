// The pages in use, by each server, with script and without.
import { each, expect, fault, figures, given, launch, told, watched } from "./browser.mjs";

const browser = await launch();
const ask = async (where, query) => (await fetch(`${where}/v1/services?${query}`)).json();
const leads = "main tbody th.lead a:not(.tag)";
const names = (page) => page.locator(leads).allTextContents();
const shown = async (page, want) => {
	const there = ({ leads, want }) => JSON.stringify([...document.querySelectorAll(leads)].map((e) => e.textContent)) === JSON.stringify(want);
	try {
		await page.waitForFunction(there, { leads, want });
	} catch {
		throw new Error(`${page.url()} lists ${await names(page)}, want ${want}`);
	}
};
const listed = async (where, query) => (await ask(where, query)).data.map((s) => s.name.replace(/\s+/g, " "));

// pageOf returns the names on a page of the list: those that must not be paid come last.
const pageOf = async (where, sort, n) => {
	const { data } = await ask(where, `sort=${sort}&per_page=100`), isLost = (s) => s.advice_level === "do_not_pay";
	return [...data.filter((s) => !isLost(s)), ...data.filter(isLost)].slice(50 * (n - 1), 50 * n)
		.map((s) => s.name.replace(/\s+/g, " "));
};

const results = async (where, query) => (await fetch(`${where}/v1/search?${query}`)).json();
const fold = (page, label) => page.locator(".choices > details").filter({ has: page.locator("summary", { hasText: label }) });
const address = (page) => new URL(page.url()).search;
// shows waits until the page shows what the API answers to its own address, and compares the facets with a count of all.
const shows = async (page, where) => {
	const query = address(page).replace(/^\?/, "");
	const { data, meta } = await results(where, `include=facets&per_page=10&read_filters=true&${query}`);
	await shown(page, data.map((s) => s.name.replace(/\s+/g, " ")));
	for (const [i, name] of ["category", "network", "status", "protocol", "verdict"].entries()) {
		const want = Object.values(meta.facets[name]).sort((a, b) => b - a).slice(0, 12);
		if (want.length === 0) continue;
		const row = fold(page, ["Category", "Network", "Status", "Protocol", "Verdict"][i]);
		expect(`${page.url()}: counts of ${name}`, (await row.locator("small").allTextContents()).map((n) => Number(n.replace(/,/g, ""))), want);
	}
	return meta;
};

// A person finds "speech to text under $0.01 on Base, reliable" by typing it. Each × takes back what the words said, and
// the first result is on the first screen.
const find = async (where, script) => {
	const context = await browser.newContext({ javaScriptEnabled: script });
	const page = await watched(context, where, /\/v1\/search/);
	await page.goto(where + "/");
	await page.locator("#search [name=q]").fill("speech to text under $0.01 on Base, reliable");
	await page.locator("#search [name=q]").press("Enter");
	await page.waitForURL(/\/search/);
	await page.locator(leads).first().waitFor();
	expect(`${where}: the filters that words stand for`, await page.locator(".chosen bdi").allTextContents(), ["on Base", "at most $0.01", "uptime 99% or more"]);
	// It is the service that an agent and a developer get; testFindAsUsers of package reader compares these.
	const recommended = await (await fetch(`${given.serve}/v1/best?q=speech+to+text&network=BSE&max_price_usd=0.01&prefer=most_reliable`)).json();
	expect(`${where}: the service that a person finds`, (await names(page))[0], recommended.data[0].name);
	await shows(page, given.serve);
	for (const [width, height] of [[360, 740], [768, 1024], [1440, 900]]) {
		await page.setViewportSize({ width, height });
		const { y } = await page.locator("main tbody tr").first().boundingBox();
		figures[`first result at ${width} px`] = Math.round(y);
		if (y > 300) fault(page.url(), `at ${width} px the first result begins at ${y} px, 300 are allowed`);
	}
	await page.locator(".chosen a", { hasText: "Base" }).click();
	await page.waitForURL((u) => u.searchParams.get("q") === "speech to text under $0.01 reliable");
	await shows(page, given.serve);
	expect(`${where}: the filters without one`, await page.locator(".chosen bdi").allTextContents(), ["at most $0.01", "uptime 99% or more"]);
	await page.getByRole("link", { name: "Search for all words" }).click();
	await page.waitForURL((u) => u.searchParams.get("q").startsWith('"'));
	await page.locator("#found").waitFor();
	expect(`${where}: the filters of quoted words`, await page.locator(".chosen").count(), 0);
	await context.close();
};

// The form, filters, orders and pages are addresses: each can be opened again, and the back button returns.
const search = async (where, script = true) => {
	const context = await browser.newContext({ javaScriptEnabled: script });
	const page = await watched(context, where, /max_price_usd=cheap|[?&]q=away/);
	await page.goto(where + "/services");
	await page.locator("#search [name=q]").fill("search");
	await page.locator(".choices .amounts summary").click();
	await page.locator("[name=max_price_usd]").fill("0.05");
	await page.getByRole("button", { name: "Apply" }).click();
	await page.waitForURL((u) => u.searchParams.get("max_price_usd") === "0.05");
	await shows(page, given.serve);
	expect(`${where}: the field of the results`, await page.locator("#search [name=q]").inputValue(), "search");
	const before = page.url();
	await page.locator("thead").getByRole("link", { name: "Price from" }).click();
	await page.waitForURL((u) => u.searchParams.get("sort") === "price");
	await shows(page, given.serve);
	expect(`${where}: the column that orders`, await page.locator("th[aria-sort]").allTextContents(), ["Price from"]);
	await page.locator("thead").getByRole("link", { name: "Uptime, 30 days" }).click();
	await page.waitForURL((u) => u.searchParams.get("sort") === "uptime");
	await shows(page, given.serve);
	expect(`${where}: the column that orders`, await page.locator("th[aria-sort]").allTextContents(), ["Uptime, 30 days"]);
	await page.goBack();
	await page.goBack();
	await page.waitForURL(before);
	await shows(page, given.serve);
	await page.reload();
	await shows(page, given.serve);
	await fold(page, "Network").locator("summary").click();
	await fold(page, "Network").getByRole("link").first().focus();
	await page.keyboard.press("Enter");
	await page.waitForURL((u) => u.searchParams.has("network"));
	await shows(page, given.serve);
	await page.getByRole("link", { name: "Clear filters" }).click();
	await page.waitForURL((u) => u.searchParams.get("q") === "search" && u.searchParams.size === 1);
	await shows(page, given.serve);

	await page.goto(where + "/search?category=" + encodeURIComponent(given.category));
	await shows(page, given.serve);
	await page.goto(where + "/search?sort=price");
	await page.getByRole("link", { name: "Next" }).click();
	await page.waitForURL((u) => u.searchParams.get("page") === "2");
	await shows(page, given.serve);

	await page.goto(where + "/search?q=search&max_price_usd=0");
	const without = page.locator("#found a").first();
	await without.waitFor();
	const { meta } = await results(given.serve, "q=search&max_price_usd=0");
	expect(`${where}: what matches without the filter`, (await without.textContent()).replace(/\s/g, " "), `${meta.without.max_price_usd} services match without the price cap`);
	await without.click();
	await page.waitForURL((u) => !u.searchParams.has("max_price_usd"));
	await shows(page, given.serve);

	await page.goto(where + "/search?q=wether");
	await page.locator(".reading").waitFor();
	expect(`${where}: a corrected word`, /wether.*weather/.test(await page.locator(".reading").textContent()), true);
	await page.goto(where + "/search?max_price_usd=cheap");
	await page.getByText("cheap").first().waitFor();
	expect(`${where}: a value that is refused`, /max_price_usd/.test(await page.locator("#found").textContent()), true);
	if (script && where === given.serve) {
		await page.goto(where + "/services");
		const row = page.locator(".listing tbody tr").first();
		const wide = await row.boundingBox();
		await page.getByLabel("as cards").check();
		expect(`${where}: a card is narrower than a row`, (await row.boundingBox()).width < wide.width / 2, true);
	}
	await context.close();
};

// Services are suggested while a reader types. Arrows choose one, Enter opens it, Escape closes the list.
const suggestions = async (where) => {
	const context = await browser.newContext();
	const page = await watched(context, where, where === given.plain ? /\/v1\/search/ : undefined);
	await page.goto(where + "/coverage.html");
	const field = page.locator("#search [name=q]"), options = page.locator("#search [role=option]");
	await field.pressSequentially("fire", { delay: 20 });
	await options.first().waitFor();
	expect(`${where}: the field says that there are suggestions`, await field.getAttribute("aria-expanded"), "true");
	await field.press("Escape");
	expect(`${where}: Escape closes suggestions`, await options.count(), 0);
	await field.press("f");
	await options.first().waitFor();
	await field.press("ArrowDown");
	expect(`${where}: the active suggestion`, await field.getAttribute("aria-activedescendant"), await options.first().getAttribute("id"));
	await field.press("ArrowUp");
	expect(`${where}: no active suggestion`, await field.getAttribute("aria-activedescendant"), null);
	await field.press("ArrowDown");
	const to = await options.first().getAttribute("data-href");
	await field.press("Enter");
	await page.waitForURL((u) => u.pathname + u.search === to);
	await context.close();
};

// Nothing moves while the search page loads, while results appear, and while suggestions do.
const still = async (where) => {
	for (const viewport of [{ width: 1440, height: 900 }, { width: 360, height: 800 }]) {
		const context = await browser.newContext({ viewport });
		const page = await watched(context, where, where === given.plain ? /\/v1\/search/ : undefined);
		await page.addInitScript(() => {
			globalThis.shifts = [];
			new PerformanceObserver((list) => globalThis.shifts.push(...list.getEntries())).observe({ type: "layout-shift", buffered: true });
		});
		// A frame that was painted after the last change has reported its shifts.
		const moved = async (when) => {
			const shifts = await page.evaluate(async () => {
				for (let i = 0; i < 3; i++) await new Promise(requestAnimationFrame);
				return globalThis.shifts.splice(0).map((s) => ({ value: s.value, of: s.sources.map(({ node }) => node?.outerHTML?.slice(0, 80) ?? "") }));
			});
			const sum = shifts.reduce((sum, s) => sum + s.value, 0);
			figures["largest layout shift"] = Math.max(figures["largest layout shift"] ?? 0, sum);
			if (sum >= 0.005) fault(`${page.url()} at ${viewport.width} px`, `layout shift of ${sum} ${when}`, JSON.stringify(shifts)); // 0.00 is wanted
		};
		for (const query of ["q=search", "q=speech+to+text", "q=nothing+has+these+words", ""]) {
			await page.goto(`${where}/search${where === given.plain ? ".html" : ""}?${query}`);
			await page.waitForFunction(() => document.querySelector("#found")?.textContent);
			await moved("while results appear");
		}
		await page.locator("#search [name=q]").pressSequentially("fire", { delay: 20 });
		await page.locator("#search [role=option]").first().waitFor();
		await moved("while suggestions appear");
		await context.close();
	}
};

// A host of plain files: the browser searches the files of the snapshot, and shows what serve shows without script.
const alike = async () => {
	const scripted = await browser.newContext(), bare = await browser.newContext({ javaScriptEnabled: false });
	const [a, b] = [await watched(scripted, given.plain, /\/v1\/search|cheap/), await watched(bare, given.serve, /cheap/)];
	const markup = (page) => page.evaluate(() => {
		const clone = document.getElementById("results").cloneNode(true);
		const texts = document.createTreeWalker(clone, NodeFilter.SHOW_TEXT), all = [];
		while (texts.nextNode()) all.push(texts.currentNode);
		for (const t of all) {
			if (t.data.trim() === "") t.remove();
			else t.data = t.data.replace(/\s+/g, " ").trim();
		}
		for (const e of clone.querySelectorAll("a[href]")) e.setAttribute("href", new URL(e.href, location).pathname + "?" + new URLSearchParams(new URL(e.href, location).search));
		return [...clone.children].map((e) => e.outerHTML).join("\n").replace(/="" /g, " ").replace(/=""/g, "");
	});
	for (const query of given.searches) {
		await a.goto(given.plain + "/search.html?" + query);
		await a.waitForFunction(() => document.querySelector("#found")?.textContent);
		await b.goto(given.serve + "/search?" + query);
		// Without script the page runs none; the browser still evaluates ours.
		const [got, want] = [await markup(a), await markup(b)];
		if (got !== want) {
			let at = 0;
			while (got[at] === want[at]) at++;
			fault(`search.html?${query}`, "by the script", got.slice(Math.max(0, at - 80), at + 160), "by serve", want.slice(Math.max(0, at - 80), at + 160));
		}
	}
	// The bytes of a first search over the line.
	const context = await browser.newContext(), page = await watched(context, given.plain, /\/v1\/search/);
	const session = await context.newCDPSession(page);
	await session.send("Network.enable");
	let bytes = 0;
	session.on("Network.loadingFinished", (e) => { bytes += e.encodedDataLength; });
	await page.goto(given.plain + "/search.html?q=speech+to+text", { waitUntil: "networkidle" });
	figures["first search in the browser, KB"] = Math.round(bytes / 102.4) / 10;
	await Promise.all([scripted.close(), bare.close(), context.close()]);
};

// Without script on a host of plain files the search page says so, and its links lead to lists.
const plainly = async () => {
	const context = await browser.newContext({ javaScriptEnabled: false });
	const page = await watched(context, given.plain);
	await page.goto(given.plain + "/search.html?q=speech");
	await page.locator("noscript .notice").waitFor();
	await fold(page, "Category").locator("summary").click();
	await page.locator("main").getByRole("link", { name: new RegExp(`^${given.category}`) }).click();
	await page.waitForURL(/\/categories\//);
	expect(`${page.url()} without script`, (await names(page)).length > 0, true);
	await context.close();
};

// The form's answers come in place.
const submit = async (where, name) => {
	const context = await browser.newContext();
	const page = await watched(context, where, /\/v1\/submit$/); // a fault is answered with 400, which the console tells
	await page.goto(where + "/submit");
	await fill(page, name, "http://10.0.0.1");
	await page.locator("form.form button").click();
	const wrong = page.locator("#url-fault");
	await wrong.waitFor();
	await page.locator("form.form button:enabled").waitFor();
	expect(`${where}: the fault of a private address`, /private address/.test(await wrong.textContent()), true);
	expect(`${where}: faults that are told`, await page.locator(".fault:visible").count(), 2); // of the field, and of the form
	expect(`${where}: the field that has the focus`, await page.evaluate(() => document.activeElement.name), "url");
	expect(`${where}: a fault leaves the page`, new URL(page.url()).pathname, "/submit");
	await page.locator("form.form [name=url]").fill(`https://api.${name}.example`);
	await page.locator("form.form button").click();
	await taken(page, where);
	expect(`${where}: the form stays`, await page.locator("form.form").isVisible(), false);
	await context.close();
};
const fill = async (page, name, url) => {
	for (const [field, value] of Object.entries({
		url, email: `owner@${name}.example`, service_name: `<b>${name}</b>`, description: "Quotes.", website_url: `https://${name}.example`, endpoints: "/quote\n\nPOST /search\n",
	})) await page.locator(`form.form [name=${field}]`).fill(value);
	await page.locator("form.form [name=category]").selectOption("Data");
};
const taken = async (page, where) => {
	const part = page.locator(".taken");
	await part.waitFor();
	const address = await part.locator("a").getAttribute("href");
	expect(`${where}: the address of a submission`, /^\/v1\/submissions\/[0-9a-f-]+$/.test(address), true);
	expect(`${where}: what a probe of a name that nobody has tells`, (await part.locator(".faults li").allTextContents()).map((s) => s.split(":")[0]), ["/quote", "POST /search"]);
	expect(`${where}${address}`, (await fetch(where + address)).status, 200);
};

// Services side by side: chosen by name, taken out, and brought back by the address.
const compare = async (where) => {
	const context = await browser.newContext();
	const page = await watched(context, where, /nobody-has-this\.json$/);
	const heads = page.locator(".compared thead th");
	await page.goto(where + "/compare");
	await page.locator("form.pick [name=q]").pressSequentially("fire", { delay: 20 });
	await page.locator("form.pick .found button").first().click();
	await heads.first().waitFor();
	await page.goto(`${where}/compare?${given.compared.map((slug, i) => `${"abcd"[i]}=${slug}`).join("&")}`);
	await page.waitForFunction((n) => document.querySelectorAll(".compared thead th").length === n, given.compared.length);
	const records = await Promise.all(given.compared.map(async (slug) => (await (await fetch(`${where}/v1/services/${slug}`)).json()).data));
	expect(`${where}: services side by side`, await heads.locator("a").allTextContents(), records.map((s) => s.name));
	expect(`${where}: their states`, await page.locator(".compared tbody .state").allTextContents(), records.map((s) => s.status));
	await page.getByRole("button", { name: /^Remove/ }).first().click();
	await page.waitForFunction((n) => document.querySelectorAll(".compared thead th").length === n, given.compared.length - 1);
	expect(`${where}: the address without the first`, new URL(page.url()).searchParams.get("a"), given.compared[1]);
	await page.goto(`${where}/compare?a=nobody-has-this&b=${given.compared[0]}`);
	await page.getByText("No service has the address “nobody-has-this”.").waitFor();
	// Enter adds the service of this name.
	await page.goto(where + "/compare");
	await page.locator("form.pick [name=q]").fill(records[0].name);
	await page.locator("form.pick [name=q]").press("Enter");
	await page.waitForFunction(() => document.querySelectorAll(".compared thead th").length === 1);
	// Rows of a list are ticked.
	await page.goto(where + "/services");
	for (const box of (await page.locator(".tick input").all()).slice(0, 2)) await box.check();
	await page.getByRole("button", { name: "Compare what is ticked" }).click();
	await page.waitForFunction(() => document.querySelectorAll(".compared thead th").length === 2);
	await context.close();
};

// Without script every page has its words, lists are chosen by links, and the form is answered with a page.
const plain = async (where, name) => {
	const context = await browser.newContext({ javaScriptEnabled: false });
	const page = await watched(context, where, /\/v1\/submit$/);
	for (const path of given.pages) {
		if (where === given.nginx) { // it sends the bytes that the browser shows from serve
			const [got, want] = await Promise.all([where, given.serve].map(async (host) => (await fetch(host + path)).text()));
			if (got !== want) fault(where + path, "differs from what serve sends");
			continue;
		}
		await page.goto(where + path);
		expect(`${where}${path} without script: headings`, await page.locator("main h1:visible").count(), 1);
		if ((await page.locator("main").innerText()).trim().length < 50) fault(where + path, "has no words without script");
	}
	const follow = async (link, address, want) => {
		await link.click();
		await page.waitForURL((u) => address.test(u.pathname));
		if (want) expect(`${page.url()} without script`, await names(page), want);
	};
	const choice = async (kind, text) => {
		await fold(page, kind).locator("summary").click();
		return fold(page, kind).getByRole("link", { name: new RegExp(`^${text}( [0-9]+)?$`) });
	};
	await page.goto(where + "/services");
	await follow(await choice("Sort by", "Price"), /sort=cheapest/, await pageOf(where, "cheapest", 1));
	await follow(page.locator(".pager").getByRole("link", { name: /next/i }), /page=2/, await pageOf(where, "cheapest", 2));
	await page.goto(where + "/services");
	await follow(await choice("Sort by", "Speed"), /services\/sort=response/, await pageOf(given.serve, "response", 1));
	await page.goto(where + "/services");
	await follow(await choice("Category", given.category), /\/categories\//,
		await listed(where, `category=${encodeURIComponent(given.category)}&sort=cheapest&per_page=50`));
	await follow(await choice("Network", given.networkName), /\/search/);
	await shows(page, given.serve);
	await page.goto(where + "/services");
	await follow(await choice("Network", given.networkName), /\/networks\//);
	await page.goto(where + "/services");
	await follow(await choice("Status", "offline"), /\/search/);
	await shows(page, given.serve);
	await page.goto(where + given.service);
	const folded = page.locator("main details", { has: page.locator("> summary", { hasText: "as a table" }) }).first();
	await folded.locator("> summary").click();
	expect(`${where}${given.service}: details open without script`, await folded.evaluate((e) => e.open), true);

	await page.goto(where + "/submit");
	await fill(page, name, "http://10.0.0.1");
	await page.locator("form.form button").click();
	await page.locator("#url-fault").waitFor();
	expect(`${where}: what was typed stays`, await page.locator("form.form [name=service_name]").inputValue(), `<b>${name}</b>`);
	await page.locator("form.form [name=url]").fill(`https://api.${name}.example`);
	await page.locator("form.form button").click();
	await taken(page, where);
	await context.close();
};

// Each tab of a chart that is divided in three ways shows its own chart, and its numbers can be saved without script.
const divided = async (where, script) => {
	const context = await browser.newContext({ javaScriptEnabled: script });
	const page = await watched(context, where);
	await page.goto(where + "/facilitators");
	for (const by of ["network", "facilitator", "token"]) {
		await page.getByText(`By ${by}`, { exact: true }).click();
		expect(`${where}: charts that are shown by ${by}`, await page.locator(".splits .tab:visible .ranged").evaluateAll((all) => all.map((e) => e.dataset.table)), [`volume-by-${by}`]);
		const tab = page.locator(".splits .tab:visible");
		await tab.locator("summary").click();
		const heads = (await tab.locator("thead th").allInnerTexts()).length;
		const file = await tab.getByRole("link", { name: "CSV", exact: true }).getAttribute("href");
		expect(`${where}: columns of ${file}`, (await (await fetch(where + file)).text()).split("\r\n")[0].split(",").length, heads);
	}
	await page.locator("thead").getByRole("link", { name: "Growth, 30 days" }).click();
	await page.waitForURL(/sort=growth_30d/);
	expect(`${where}: the column that orders`, await page.locator("th[aria-sort]").allTextContents(), ["Growth, 30 days"]);
	await context.close();
};

// The changes of one service, which the reader chooses and the address keeps.
const changed = async (where) => {
	const context = await browser.newContext();
	const page = await watched(context, where);
	await page.goto(where + "/changes");
	const rows = page.locator("[data-of]"), all = await rows.count(), field = page.getByLabel("Service", { exact: true });
	const [, { value, words }] = await field.locator("option").evaluateAll((list) => list.map((o) => ({ value: o.value, words: o.text })));
	const own = async () => new Set(await page.locator("[data-of]:visible").evaluateAll((list) => list.map((e) => e.dataset.of)));
	await field.selectOption(value);
	expect(`${where}/changes: the services of the changes shown for ${words}`, [...await own()], [value]);
	expect(`${where}/changes: days without a change`, await page.locator(".day:visible:not(:has([data-of]:not([hidden])))").count(), 0);
	await page.reload();
	expect(`${where}/changes: the services after a reload`, [...await own()], [value]);
	await field.selectOption("");
	expect(`${where}/changes: the address of all changes`, address(page), "");
	expect(`${where}/changes: all changes again`, await page.locator("[data-of]:visible").count(), all);
	await context.close();
};

// The first row of a list is at most 12 Tabs from the top of a page, for readers who take its skip links.
const keyboard = async (where, viewport) => {
	const lists = { "/services": "main", "/search?q=search": "main", [`/search?category=${given.category}`]: "main", "/networks/bse": "[aria-labelledby=services]",
		"/facilitators": "[aria-labelledby=ranked]", "/status": "main", "/changes": "main", "/market": "[aria-labelledby=grid]" };
	const context = await browser.newContext({ viewport });
	const page = await watched(context, where);
	for (const [path, list] of Object.entries(lists)) {
		await page.goto(where + path);
		const row = page.locator(`${list} :is(tbody tr, .changes > li)`).first();
		await row.waitFor();
		let tabs = 0;
		for (let there = false; !there && tabs <= 12;) {
			await page.keyboard.press("Tab");
			tabs++;
			there = await row.evaluate((e) => e.contains(document.activeElement));
			if (await page.evaluate(() => document.activeElement.matches(".skip"))) await page.keyboard.press("Enter");
		}
		figures[`Tabs to the first row of ${path} at ${viewport.width} px`] = tabs;
		if (tabs > 12) fault(`${where}${path} at ${viewport.width} px`, "its first row is more than 12 Tabs from the top");
	}
	await context.close();
};

figures.uses = 0;
const wide = { width: 1440, height: 900 }, narrow = { width: 360, height: 800 };
const uses = [ // those that take longest begin first
	["without script", () => plain(given.serve, "plain-one")], ["without script, by nginx", () => plain(given.nginx, "plain-two")],
	["keyboard", () => keyboard(given.serve, wide)], ["keyboard on a phone", () => keyboard(given.serve, narrow)], ["alike", alike],
];
for (const where of [given.serve, given.nginx]) {
	const one = where === given.serve ? "one" : "two";
	uses.push(["search", () => search(where)], ["search without script", () => search(where, false)], ["find", () => find(where, true)], ["find without script", () => find(where, false)], ["suggestions", () => suggestions(where)], ["submit", () => submit(where, "script-" + one)], ["compare", () => compare(where)], ["changes", () => changed(where)], ["divided", () => divided(where, true)], ["divided without script", () => divided(where, false)]);
}
uses.push(["still", () => still(given.serve)], ["still in plain files", () => still(given.plain)], ["find in plain files", () => find(given.plain, true)], ["suggestions of plain files", () => suggestions(given.plain)], ["plainly", plainly]);
await each(uses, 3, async ([what, use]) => {
	try {
		await use();
		figures.uses++;
	} catch (e) {
		fault(what, e.stack);
	}
});
await browser.close();
told();

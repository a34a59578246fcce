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

// Search as one types, filters, order and paging ask /v1/services, and the address brings the same list back.
const search = async (where) => {
	const context = await browser.newContext();
	const page = await watched(context, where, /[?&]q=away/);
	await page.goto(where + "/services");
	const first = await names(page);
	await page.locator("form.find [name=q]").pressSequentially("fire", { delay: 20 });
	await page.waitForURL((url) => url.search === "?q=fire"); // "?q=fir" may come before, and lists the same services
	await shown(page, await listed(where, "q=fire&per_page=50"));
	await page.reload();
	await shown(page, await listed(where, "q=fire&per_page=50"));
	await page.locator("form.find [name=q]").fill("there is no such name");
	await page.getByText("No services match.").waitFor();
	await page.locator("form.find [name=q]").fill("");
	await shown(page, first);

	const choose = (name, value) => page.locator(`form.find [name=${name}]`).selectOption(value);
	await choose("status", "offline");
	await shown(page, await listed(where, "status=offline&per_page=50"));
	await choose("status", "online");
	await choose("network", given.network);
	await shown(page, await listed(where, `status=online&network=${given.network}&per_page=50`));
	expect(`${where}: states of what is online`, [...new Set(await page.locator(".listing tbody .state").allTextContents())], ["online"]);
	await choose("status", "");
	await choose("network", "");
	await choose("category", given.category);
	await shown(page, await listed(where, `category=${encodeURIComponent(given.category)}&per_page=50`));
	await choose("category", "");
	await choose("sort", "cheapest");
	await shown(page, await listed(where, "sort=cheapest&per_page=50"));
	await page.getByRole("button", { name: "Next" }).click();
	await shown(page, await listed(where, "sort=cheapest&per_page=50&page=2"));
	await page.getByRole("button", { name: "Previous" }).click();
	await shown(page, await listed(where, "sort=cheapest&per_page=50"));

	const row = page.locator(".listing tbody tr").first();
	const before = await row.boundingBox();
	await page.getByLabel("as cards").check();
	expect(`${where}: a card is narrower than a row`, (await row.boundingBox()).width < before.width / 2, true);

	await page.route("**/v1/services?*away*", (route) => route.fulfill({ status: 503, body: "{}" }));
	await page.locator("form.find [name=q]").fill("away");
	await page.getByText("Search is not available right now").waitFor();
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
	await page.getByText("not listed").waitFor();
	await context.close();
};

// Without script every page has its words, lists are chosen by links, and the form is answered with a page.
const plain = async (where, name) => {
	const context = await browser.newContext({ javaScriptEnabled: false });
	const page = await watched(context, where, /\/v1\/submit$/);
	for (const path of given.pages) {
		await page.goto(where + path);
		expect(`${where}${path} without script: headings`, await page.locator("main h1:visible").count(), 1);
		if ((await page.locator("main").innerText()).trim().length < 50) fault(where + path, "has no words without script");
	}
	const follow = async (link, address, query) => {
		await link.click();
		await page.waitForURL((u) => address.test(u.pathname));
		if (query) expect(`${page.url()} without script`, await names(page), await listed(where, query));
	};
	const choice = (kind, text) => page.locator("nav.choices dl > div").filter({ has: page.locator("dt", { hasText: kind }) }).getByRole("link", { name: new RegExp(`^${text}( [0-9]+)?$`) });
	await page.goto(where + "/services");
	expect(`${where}: a form that does nothing is hidden`, await page.locator("form.find").isVisible(), false);
	await follow(choice("Sort by", "Price"), /sort=cheapest/, "sort=cheapest&per_page=50");
	await follow(page.locator(".pager").getByRole("link", { name: /next/i }), /page=2/, "sort=cheapest&per_page=50&page=2");
	await page.goto(where + "/services");
	await follow(choice("Category", given.category), /\/categories\//, `category=${encodeURIComponent(given.category)}&sort=cheapest&per_page=50`);
	await page.goto(where + "/services");
	await follow(choice("Network", given.networkName), /\/networks\//);
	await page.goto(where + "/services");
	await follow(choice("Status", "offline"), /\/status/);
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

figures.uses = 0;
const uses = [];
for (const where of [given.serve, given.nginx]) {
	const one = where === given.serve ? "one" : "two";
	uses.push(["search", () => search(where)], ["submit", () => submit(where, "script-" + one)], ["compare", () => compare(where)], ["without script", () => plain(where, "plain-" + one)]);
}
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

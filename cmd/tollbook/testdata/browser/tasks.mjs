// What people come for, from the home page: each task says what is typed and clicked, and which words answer it.
// Sending a search is a click, as is adding a service by its name. A task takes at most two, unless it names a limit.
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { each, fault, figures, given, launch, patience, told, watched } from "./browser.mjs";

const search = (words) => async (page) => {
	await page.locator("#search [name=q]").fill(words);
	await page.locator("#search [name=q]").press("Enter");
};
const click = (name) => (page) => page.locator("header, main").getByRole("link", { name, exact: true }).first().click();
const footer = (name) => (page) => page.locator("footer").getByRole("link", { name, exact: true }).first().click();
const add = (name) => async (page) => {
	await page.locator("form.pick [name=q]").fill(name);
	await page.locator("form.pick [name=q]").press("Enter");
};
// open unfolds a part, which leaves the page's address as it is.
const open = (words) => Object.assign((page) => page.locator("main summary", { hasText: words }).first().click(), { stays: true });
const part = (page, id) => page.locator(`main section[aria-labelledby=${id}]`);

// programs is what the programs of the quickstart print that a reader copies, run as they are but for the address.
const programs = (page) => ({ first: () => ({ innerText: async () => {
	const canonical = await page.locator("link[rel=canonical]").getAttribute("href");
	const printed = [];
	for (const tabs of await page.locator(".quickstart .tabs").all()) {
		await tabs.getByText("JavaScript", { exact: true }).click();
		const copied = await tabs.locator(".tab:visible code").first().innerText();
		const program = copied.replaceAll(new URL(canonical).origin, given.serve);
		printed.push((await promisify(execFile)("node", ["--input-type=module", "--eval", program])).stdout);
	}
	return printed.join("\n");
} }) });

const tasks = [
	["Is it safe to pay Tinderbox Tokens?",
		[search("tinderbox tokens")],
		(page) => page.locator("main tbody tr").first(), /Tinderbox Tokens.*Do not pay/s],
	["Which reliable speech to text is cheapest under $0.01?",
		[search("cheapest speech to text under $0.01, reliable")],
		(page) => page.locator("main tbody tr").first(), /\$0\.00\d+/],
	["Why has Larkspur Recipes this grade, and how is it mended?",
		[search("larkspur recipes"), click("Larkspur Recipes")],
		(page) => part(page, "conformance"), /Grade [BCDF].*with 402 and the terms/s],
	["Which facilitator grew most on Solana in 30 days?",
		[click("Solana")],
		(page) => page.locator("main tr").filter({ hasText: "grew most" }), /[+]\d/],
	["What happened to Riverbend Hydrology yesterday?",
		[click("Status"), click("Riverbend Hydrology")],
		(page) => part(page, "uptime"), /degraded|offline/],
	["How does one hear of outages and changes of Firefly Embeddings?",
		[search("firefly embeddings"), click("Firefly Embeddings")],
		(page) => part(page, "history"), /Subscribe to changes, incidents and verdicts: Atom.*calendar/s],
	["Which of three services is cheapest, and safe to pay?",
		[click("Compare"), add("Firefly Embeddings"), add("Lanternfish Chat"), add("Almanac Places")],
		(page) => page.locator(".compared"), /Firefly Embeddings.*Lanternfish Chat.*Almanac Places.*(Safe to pay|Caution).*\$0\.\d+.*\$0\.\d+.*\$0\.\d+/s, 4],
	["Where are all prices as CSV, and as a database?",
		[click("Data")],
		(page) => part(page, "tables"), /prices.*tollbook\.sqlite contains all tables/s],
	["Which programs find a service, ask whether it may be paid, and see what changed?",
		[click("API")],
		programs, /slug: '[a-z-]+'[^]*advice: \{\s*level: '\w+'[^]*summary: /],
	["What does an owner copy to show a badge?",
		[search("firefly embeddings"), click("Firefly Embeddings"), open("show a badge")],
		(page) => part(page, "badge"), /<img src="[^"]+\/badge\.svg"/, 3],
	["How is a grade computed?",
		[footer("How figures and grades are computed"), open(/^\s*Conformance\s*$/)],
		(page) => page.locator("main details", { has: page.locator("#conformance") }), /The grade depends on the share of the 14 checks that pass/],
	["Who runs the directory?",
		[footer("About Tollbook")],
		(page) => page.locator("main"), /Operator\s+Tollbook is run by/],
	["Where is a mistake reported?",
		[footer("Suggest a correction")],
		(page) => page.locator("main"), /What is wrong, and how you know/],
];

const browser = await launch();
await each(tasks, 2, async ([question, steps, place, answer, most = 2]) => {
	const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
	const page = await watched(context, given.serve);
	try {
		await page.goto(given.serve + "/");
		const begun = Date.now();
		for (const step of steps) {
			const before = page.url();
			await step(page);
			if (!step.stays) await page.waitForURL((u) => u.href !== before);
		}
		let text = await place(page).first().innerText();
		while (!answer.test(text) && Date.now() - begun < patience) { // scripts may still write it
			await page.waitForTimeout(100);
			text = await place(page).first().innerText();
		}
		figures[question] = `${steps.length} clicks, ${(Date.now() - begun) / 1000} s: ${text.trim().replace(/\s+/g, " ").slice(0, 150)}`;
		if (!answer.test(text)) fault(question, page.url(), `${text.slice(0, 400)}, want ${answer}`);
		if (steps.length > most) fault(question, `${steps.length} clicks, at most ${most} are allowed`);
	} catch (e) {
		fault(question, e.stack);
	}
	await context.close();
});
await browser.close();
told();

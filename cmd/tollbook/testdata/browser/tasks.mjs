// What people come for, from the home page: each task says what is typed and clicked, and which words answer it. A task
// takes at most two clicks; sending a search is one.
import { each, fault, figures, given, launch, told, watched } from "./browser.mjs";

const search = (words) => async (page) => {
	await page.locator("#search [name=q]").fill(words);
	await page.locator("#search [name=q]").press("Enter");
};
const click = (name) => (page) => page.locator("header, main").getByRole("link", { name, exact: true }).first().click();
const part = (page, id) => page.locator(`main section[aria-labelledby=${id}]`);

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
];

const browser = await launch();
await each(tasks, 1, async ([question, steps, place, answer]) => {
	const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
	const page = await watched(context, given.serve);
	try {
		await page.goto(given.serve + "/");
		const begun = Date.now();
		for (const step of steps) {
			const before = page.url();
			await step(page);
			await page.waitForURL((u) => u.href !== before);
		}
		const text = await place(page).first().innerText();
		figures[question] = `${steps.length} clicks, ${(Date.now() - begun) / 1000} s: ${text.trim().replace(/\s+/g, " ").slice(0, 150)}`;
		if (!answer.test(text)) fault(question, page.url(), `${text.slice(0, 400)}, want ${answer}`);
		if (steps.length > 2) fault(question, `${steps.length} clicks, at most 2 are allowed`);
	} catch (e) {
		fault(question, e.stack);
	}
	await context.close();
});
await browser.close();
told();

// Every kind of page at three widths, light and dark, those with long names and prices at 320 px, too: nothing scrolls
// sideways, nothing is reported to the console, nothing is asked of another host; and axe finds nothing, with all folds
// open. By nginx, which sends the same bytes, each is looked at once.
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
for (const path of given.oddPages) visits.push({ where: given.odd, path, judged: true, at: [320, ...widths] });
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
await browser.close();
told();

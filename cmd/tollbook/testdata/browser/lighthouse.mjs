// Lighthouse on the pages that readers see first. What it measures depends on the machine, so that speed is a figure and not
// a fault; what it judges is. To measure, give it a machine that does nothing else:
//
//     node lighthouse.mjs '{"chromium":"/usr/bin/chromium","serve":"http://127.0.0.1:4020","first":["/","/services"],"forms":["mobile","desktop"]}'
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import lighthouse from "lighthouse";
import desktop from "lighthouse/core/config/desktop-config.js";
import { chromium } from "playwright-core";
import { fault, figures, flags, given, told } from "./browser.mjs";

const folder = mkdtempSync(join(tmpdir(), "tollbook-lighthouse-"));
const context = await chromium.launchPersistentContext(folder, { executablePath: given.chromium, args: [...flags, "--remote-debugging-port=0"] });
try {
	const port = Number(readFileSync(join(folder, "DevToolsActivePort"), "utf8").split("\n")[0]);
	for (const path of given.first) {
		for (const [form, config] of [["mobile", undefined], ["desktop", desktop]]) {
			if (!given.forms.includes(form)) continue;
			const { lhr } = await lighthouse(given.serve + path, { port, logLevel: "error", maxWaitForLoad: 60000 }, config);
			const scores = Object.fromEntries(Object.values(lhr.categories).map((c) => [c.id, Math.round(c.score * 100)]));
			figures[`${path} ${form}`] = scores;
			for (const category of ["accessibility", "best-practices", "seo"]) {
				if (scores[category] === 100) continue;
				const lost = lhr.categories[category].auditRefs.map((r) => lhr.audits[r.id]).filter((a) => a.score !== null && a.score < 1);
				fault(`${given.serve}${path} ${form}`, `${category} ${scores[category]}`, lost.map((a) => `${a.id} ${a.explanation ?? ""} ${JSON.stringify(a.details?.items?.slice(0, 2) ?? "")}`).join("; "));
			}
		}
	}
} finally {
	await context.close();
	rmSync(folder, { recursive: true, force: true });
}
told();

// What the scripts of this folder share. Each is run as node SCRIPT JSON, where JSON says what to look at, and prints as
// JSON what it found: faults, and figures that nobody is held to.
import { chromium } from "playwright-core";

export const given = JSON.parse(process.argv[2]); // { chromium, serve, nginx, odd, pages, oddPages, … }

export const faults = [];
export const figures = {};
export const fault = (...parts) => faults.push(parts.join(": "));
export const expect = (what, got, want) => {
	if (JSON.stringify(got) !== JSON.stringify(want)) fault(what, `${JSON.stringify(got)}, want ${JSON.stringify(want)}`);
};
export const told = () => console.log(JSON.stringify({ faults, figures }));

// Only loopback is asked for, by whatever the browser itself would like to do, too.
export const flags = [
	"--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync",
	"--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
];
export const launch = () => chromium.launch({ executablePath: given.chromium, args: flags });

// In a loaded machine under the race detector everything takes its time; nothing is waited for by the clock alone.
export const patience = 60000;

// watched is a page of a context: what it reports to its console, and what it asks of other hosts, are faults. Answers
// whose address allowed matches may be errors.
export const watched = async (context, where, allowed = /^$/) => {
	const page = await context.newPage();
	page.setDefaultTimeout(patience);
	page.on("console", (m) => {
		if (["error", "warning"].includes(m.type()) && !allowed.test(m.location().url)) fault(where, page.url(), `the console says ${m.text()}`);
	});
	page.on("pageerror", (e) => fault(where, page.url(), `uncaught ${e}`));
	page.on("request", (r) => {
		if (!r.url().startsWith(where + "/")) fault(where, page.url(), `asks for ${r.url()}`);
	});
	page.on("requestfailed", (r) => {
		if (r.failure()?.errorText !== "net::ERR_ABORTED") fault(where, r.url(), r.failure()?.errorText);
	});
	return page;
};

// each does the work for every item, several at a time.
export const each = async (items, atOnce, work) => {
	const left = items.values();
	await Promise.all(Array.from({ length: atOnce }, async () => {
		for (const item of left) await work(item);
	}));
};

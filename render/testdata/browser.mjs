// Opens pages in a real browser and says what expressions find there: node browser.mjs CHROMIUM < TASKS, a list of
// {url, width, script}. In a script, until(f) waits for f() to be true. What the browser complains of comes with the answer.
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const tasks = JSON.parse(readFileSync(0, "utf8"));
const profile = mkdtempSync(join(tmpdir(), "tollbook-browser-"));
const browser = spawn(process.argv[2], ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--hide-scrollbars", "--remote-debugging-pipe", `--user-data-dir=${profile}`, "about:blank"], { stdio: ["ignore", "ignore", "pipe", "pipe", "pipe"] });
const gone = new Promise((resolve) => browser.on("close", resolve));
try {
	let ended, stderr = "", session, last = 0, faults = [], loaded = () => {};
	const end = new Promise((_, reject) => { ended = reject; });
	browser.on("exit", () => ended(new Error("the browser ended: " + stderr)));
	browser.stderr.on("data", (data) => { stderr += data; });
	const waiting = new Map();
	const hear = (message) => {
		if (message.id) waiting.get(message.id)(message);
		if (message.method === "Page.loadEventFired") loaded();
		if (message.method === "Log.entryAdded") faults.push(message.params.entry.text);
		if (message.method === "Runtime.exceptionThrown") faults.push(message.params.exceptionDetails.exception?.description ?? "exception");
	};
	let heard = "";
	browser.stdio[4].on("data", (data) => { // messages end with NUL
		const parts = (heard + data).split("\0");
		heard = parts.pop();
		for (const part of parts) hear(JSON.parse(part));
	});
	const call = async (method, params = {}) => {
		const answer = await Promise.race([end, new Promise((resolve) => {
			waiting.set(++last, resolve);
			browser.stdio[3].write(JSON.stringify({ id: last, method, params, sessionId: session }) + "\0");
		})]);
		if (answer.error) throw new Error(method + ": " + answer.error.message);
		return answer.result;
	};
	const { targetId } = await call("Target.createTarget", { url: "about:blank" });
	({ sessionId: session } = await call("Target.attachToTarget", { targetId, flatten: true }));
	for (const domain of ["Page", "Runtime", "Log"]) await call(domain + ".enable");
	const said = [];
	for (const { url, width, script } of tasks) {
		faults = [];
		await call("Emulation.setDeviceMetricsOverride", { width, height: 900, deviceScaleFactor: 1, mobile: false });
		const load = new Promise((resolve) => { loaded = resolve; });
		await call("Page.navigate", { url });
		await Promise.race([end, load]);
		const { result, exceptionDetails } = await call("Runtime.evaluate", { awaitPromise: true, returnByValue: true, expression: `(async () => {
			const until = async (f) => {
				for (const late = Date.now() + 60000; Date.now() < late; await new Promise((r) => setTimeout(r, 20))) if (f()) return;
				throw new Error("never: " + f + document.body.innerText);
			};
			${script}
		})()` });
		if (exceptionDetails) throw new Error(url + ": " + (exceptionDetails.exception?.description ?? exceptionDetails.text));
		said.push({ value: result.value ?? null, faults });
	}
	console.log(JSON.stringify(said));
} finally {
	browser.removeAllListeners("exit");
	browser.on("error", () => {});
	browser.kill("SIGKILL");
	await gone;
	rmSync(profile, { recursive: true, force: true });
}

// Fills in the form of a submit page in a real browser and says what the page then shows: node submitform.mjs CHROMIUM PAGE.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const [chromium, page] = process.argv.slice(2);
const profile = mkdtempSync(join(tmpdir(), "tollbook-submit-"));
const browser = spawn(chromium, ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--remote-debugging-pipe", `--user-data-dir=${profile}`, "about:blank"], { stdio: ["ignore", "ignore", "pipe", "pipe", "pipe"] });
// Its children outlive it by a moment, still write into the profile, and hold its standard error: close comes when all are gone.
const gone = new Promise((resolve) => browser.on("close", resolve));
try {
	let ended, stderr = "";
	const end = new Promise((_, reject) => { ended = reject; });
	browser.on("exit", () => ended(new Error("the browser ended: " + stderr)));
	browser.stderr.on("data", (data) => { stderr += data; });
	let last = 0;
	const waiting = new Map(), faults = [];
	const hear = (message) => {
		if (message.id) waiting.get(message.id)(message);
		if (message.method === "Log.entryAdded" && message.params.entry.source === "security") faults.push(message.params.entry.text);
		if (message.method === "Runtime.exceptionThrown") faults.push(message.params.exceptionDetails.exception?.description ?? "exception");
	};
	let heard = "";
	browser.stdio[4].on("data", (data) => { // messages end with NUL
		const parts = (heard + data).split("\0");
		heard = parts.pop();
		for (const part of parts) hear(JSON.parse(part));
	});
	const call = async (method, params = {}, sessionId = session) => {
		const answer = await Promise.race([end, new Promise((resolve) => {
			waiting.set(++last, resolve);
			browser.stdio[3].write(JSON.stringify({ id: last, method, params, sessionId }) + "\0");
		})]);
		if (answer.error) throw new Error(method + ": " + answer.error.message);
		return answer.result;
	};
	let session;
	const { targetId } = await call("Target.createTarget", { url: "about:blank" });
	({ sessionId: session } = await call("Target.attachToTarget", { targetId, flatten: true }));
	for (const domain of ["Page", "Runtime", "Log"]) await call(domain + ".enable");
	const run = async (expression) => {
		const { result, exceptionDetails } = await call("Runtime.evaluate", { expression, awaitPromise: true, returnByValue: true });
		if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
		return result.value;
	};
	const until = async (expression) => {
		for (const late = Date.now() + 60000; Date.now() < late; await new Promise((r) => setTimeout(r, 50))) if (await run(expression)) return;
		throw new Error("never: " + expression + "\n" + await run("document.body.innerText"));
	};
	await call("Page.navigate", { url: page });
	await until("document.readyState === 'complete' && !!document.querySelector('form.form')");
	const fill = (values) => run(`for (const [name, value] of Object.entries(${JSON.stringify(values)})) document.querySelector("form.form").elements[name].value = value`);
	const send = () => run("document.querySelector('form.form button').click()");
	const said = {};
	await fill({
		url: "http://10.0.0.1", email: "owner@acme.example", service_name: "<b>Acme</b>", description: "Quotes.", website_url: "https://acme.example", category: "Data",
		endpoints: "/quote\n\nPOST /search\n",
	});
	await send();
	await until("!document.getElementById('url-fault').hidden && !document.querySelector('form.form button').disabled");
	said.fault = await run("document.getElementById('url-fault').textContent");
	said.others = await run("[...document.querySelectorAll('.fault')].filter((e) => !e.hidden).length");
	said.stays = await run("location.pathname");
	await fill({ url: "https://api.acme.example" });
	await send();
	await until("!!document.querySelector('.taken')");
	said.taken = await run("document.querySelector('.taken a').getAttribute('href')");
	said.probe = await run("[...document.querySelectorAll('.faults li')].map((e) => e.textContent.split(':')[0])");
	said.hidden = await run("getComputedStyle(document.querySelector('form.form')).display");
	said.faults = faults;
	console.log(JSON.stringify(said));
} finally {
	browser.removeAllListeners("exit");
	browser.on("error", () => {});
	browser.kill("SIGKILL");
	await gone;
	rmSync(profile, { recursive: true, force: true });
}

// Builds requests: it puts a control beside each field of a request that a service declares, filled with the declared
// example, and writes the command and the programs below as one types. Without this script the fields are a table. What
// pays stops until each required field has a value, as render/guide wrote it.
(() => {
	"use strict";
	// Quoted for a shell, and as a string of Go and of Python in ASCII.
	const shell = (s) => "'" + s.replaceAll("'", "'\\''") + "'";
	const ascii = (s) => JSON.stringify(s).replace(/[\u007f-\u{10ffff}]/gu, (c) => {
		const code = c.codePointAt(0).toString(16);
		return code.length > 4 ? "\\U" + code.padStart(8, "0") : "\\u" + code.padStart(4, "0");
	});
	// The result has no quote and nothing that ends a string in any of the languages.
	const escape = (s) => encodeURIComponent(s.toWellFormed ? s.toWellFormed() : s)
		.replace(/[!'()*]/g, (c) => "%" + c.charCodeAt(0).toString(16).toUpperCase());

	const curl = (method, url, body, tool) => {
		const flags = { GET: " -i", HEAD: " -I" }[method] ?? " -i", globs = /[[\]{}]/.test(url) ? " -g" : "";
		const named = method === "GET" || method === "HEAD" ? "" : " -X " + method;
		const call = tool === undefined ? body
			: '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"' + tool + '","arguments":' + body + "}}";
		return "curl" + flags + globs + named + " '" + url + "'" +
			(tool === undefined ? "" : " -H 'accept: application/json, text/event-stream'") +
			(call === "" ? "" : " -H 'content-type: application/json' -d " + shell(call));
	};

	// control returns an input for a field of a row.
	const control = (row) => {
		const type = row.dataset.type, choices = [...row.querySelectorAll(".choices code")].map((c) => c.textContent);
		let input;
		if (choices.length || type === "boolean") {
			input = document.createElement("select");
			for (const choice of ["", ...(choices.length ? choices : ["true", "false"])])
				input.add(new Option(choice, choice));
		} else if (type === "object" || type === "array") {
			input = document.createElement("textarea");
			input.rows = 2;
			input.placeholder = row.dataset.value ?? (type === "array" ? "[ ]" : "{ }");
		} else {
			input = document.createElement("input");
			input.type = type === "number" || type === "integer" ? "number" : "text";
			if (type === "number") input.step = "any";
			input.placeholder = row.querySelector(".example")?.textContent ?? "";
		}
		if (row.dataset.value !== undefined) {
			const value = JSON.parse(row.dataset.value);
			input.value = typeof value === "string" ? value : row.dataset.value;
		}
		input.defaultValue = input.value;
		input.setAttribute("aria-label", "Value of " + row.dataset.name);
		return input;
	};
	// jsonOf returns what a control says as JSON; undefined for nothing, and for what is not of its type.
	const jsonOf = (input, type) => {
		const text = input.value, isJSON = ["number", "integer", "boolean", "object", "array"].includes(type);
		input.removeAttribute("aria-invalid");
		if (text === "" && !input.validity.badInput) return undefined;
		if (!isJSON) return JSON.stringify(text);
		try {
			const value = JSON.parse(text);
			const kind = Array.isArray(value) ? "array" : typeof value;
			if (value !== null && (kind === type || type === "integer" && Number.isInteger(value)))
				return JSON.stringify(value);
		} catch { /* as below */ }
		input.setAttribute("aria-invalid", "true");
		return undefined;
	};

	// guarded matches the line, or the part of a command, that stops what pays while input is missing.
	const guarded = new RegExp("^\\t?(?:throw new Error\\(|raise SystemExit\\(|log\\.Fatal\\(|echo )[\"']" +
		"Fill in [^\"']* first, then delete this\\.[\"'](?: \\|\\| |\\);?\\n+)", "m");

	for (const table of document.querySelectorAll("table.request[data-to]")) {
		const inside = table.closest(".inside"), rows = [...table.tBodies[0].rows];
		const blocks = [...inside.querySelectorAll(".command > code")]
			.map((code) => ({ code, text: code.textContent }));
		const { method, to, filled: url, body, tool } = table.dataset, first = curl(method, url, body, tool);
		const fields = rows.map((row) => ({ row, input: control(row) }));
		const head = document.createElement("th");
		head.scope = "col";
		head.textContent = "Value";
		table.tHead.rows[0].cells[0].after(head);
		for (const { row, input } of fields) {
			const cell = row.insertCell(1);
			cell.dataset.label = "Value";
			cell.append(input);
		}

		// An empty control of a required field counts as its example. A number, an object and a list that nobody
		// changed stay as the service wrote them.
		const build = () => {
			let path = to;
			const query = [], members = [], missing = [];
			for (const { row: { dataset }, input } of fields) {
				const { name, type, value: example } = dataset, isRequired = "required" in dataset;
				let json = jsonOf(input, type);
				if (example !== undefined && (input.value === input.defaultValue || json === undefined && isRequired))
					json = example;
				if (json === undefined && !isRequired) continue;
				if (json === undefined) missing.push(name);
				const value = JSON.parse(json ?? '"<' + name + '>"');
				const text = escape(typeof value === "string" ? value : json);
				if (dataset.in === "query") query.push(escape(name) + "=" + text);
				else if (dataset.in !== "path") members.push(JSON.stringify(name) + ":" + (json ?? JSON.stringify(value)));
				else if (json !== undefined) {
					const [before, after] = path.split(/(\?.*)/s);
					path = before.replaceAll("{" + name + "}", () => text).split("/")
						.map((part) => part === ":" + name ? text : part).join("/") + (after ?? "");
				}
			}
			if (query.length) path += (path.includes("?") ? "&" : "?") + query.join("&");
			const json = body === "" || members.length === 0 ? body : "{" + members.join(",") + "}";
			const isWhole = body === "" || members.length > 0 || tool !== undefined;
			if (!isWhole) missing.push("the body");
			for (const { code, text: written } of blocks) {
				const guard = missing.length ? "Fill in " + missing.join(", ") + " first, then delete this." : "";
				const text = guard === "" ? written.replace(guarded, "")
					: written.replace(/Fill in [^"']* first, then delete this\./, guard);
				code.textContent = text.includes(first) ? text.replace(first, () => curl(method, path, json, tool))
					: text.replaceAll('"' + url + '"', () => '"' + path + '"')
						.replaceAll("'" + url + "'", () => "'" + path + "'")
						.replaceAll("JSON.stringify(" + body + ")", () => "JSON.stringify(" + json + ")")
						.replaceAll("arguments: " + body + " ", () => "arguments: " + json + " ")
						.replaceAll("data=" + ascii(body) + ".", () => "data=" + ascii(json) + ".")
						.replaceAll("NewReader(" + ascii(body) + ")", () => "NewReader(" + ascii(json) + ")")
						.replaceAll("-J " + shell(body), () => "-J " + shell(json));
			}
			const notice = inside.querySelector(".missing");
			if (notice) notice.textContent = missing.join(", ");
			if (notice) notice.closest(".notice").hidden = missing.length === 0;
		};
		table.addEventListener("input", build);
	}
})();

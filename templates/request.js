// Builds requests: it puts a control beside each field of a request that a service declares, and writes the command and
// the programs above as one types. Without this script the fields are a table.
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

	const curl = (method, url, body) => {
		const flags = { GET: " -i", HEAD: " -I" }[method] ?? " -i", globs = /[[\]{}]/.test(url) ? " -g" : "";
		const named = method === "GET" || method === "HEAD" ? "" : " -X " + method;
		return "curl" + flags + globs + named + " '" + url + "'" +
			(body === "" ? "" : " -H 'content-type: application/json' -d " + shell(body));
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
			input.placeholder = type === "array" ? "[ ]" : "{ }";
		} else {
			input = document.createElement("input");
			input.type = type === "number" || type === "integer" ? "number" : "text";
			if (type === "number") input.step = "any";
			input.placeholder = row.querySelector(".example")?.textContent ?? "";
		}
		input.setAttribute("aria-label", "Value of " + row.dataset.name);
		return input;
	};
	// valueOf returns what a control says as a JSON value; undefined for nothing, and for what is not of its type.
	const valueOf = (input, type) => {
		const text = input.value, isJSON = ["number", "integer", "boolean", "object", "array"].includes(type);
		input.removeAttribute("aria-invalid");
		if (text === "" && !input.validity.badInput) return undefined;
		if (!isJSON) return text;
		try {
			const value = JSON.parse(text);
			const kind = Array.isArray(value) ? "array" : typeof value;
			if (value !== null && (kind === type || type === "integer" && Number.isInteger(value))) return value;
		} catch { /* as below */ }
		input.setAttribute("aria-invalid", "true");
		return undefined;
	};

	for (const table of document.querySelectorAll("table.request[data-to]")) {
		const inside = table.closest(".inside"), rows = [...table.tBodies[0].rows];
		const blocks = [...inside.querySelectorAll(".command > code")]
			.map((code) => ({ code, text: code.textContent }));
		const { method, to: url, body } = table.dataset, first = curl(method, url, body);
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

		const build = () => {
			let path = url;
			const query = [], members = {};
			for (const { row: { dataset }, input } of fields) {
				const value = valueOf(input, dataset.type);
				if (value === undefined) continue;
				const text = typeof value === "string" ? value : JSON.stringify(value);
				if (dataset.in === "query") query.push(escape(dataset.name) + "=" + escape(text));
				else if (dataset.in === "body") members[dataset.name] = value;
				else path = path.replaceAll("{" + dataset.name + "}", () => escape(text)).split("/")
					.map((part) => part === ":" + dataset.name ? escape(text) : part).join("/");
			}
			if (query.length) path += (path.includes("?") ? "&" : "?") + query.join("&");
			const json = body === "" || Object.keys(members).length === 0 ? body : JSON.stringify(members);
			for (const { code, text } of blocks) {
				if (text.startsWith(first)) {
					code.textContent = curl(method, path, json) + text.slice(first.length);
					continue;
				}
				code.textContent = text.replaceAll('"' + url + '"', () => '"' + path + '"')
					.replaceAll("'" + url + "'", () => "'" + path + "'")
					.replaceAll("JSON.stringify({})", () => "JSON.stringify(" + json + ")")
					.replaceAll(/(data=|NewReader\()"\{\}"/g, (_, before) => before + ascii(json))
					.replaceAll("-J '{}'", () => "-J " + shell(json));
			}
		};
		table.addEventListener("input", build);
	}
})();

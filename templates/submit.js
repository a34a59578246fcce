// Sends the form as JSON and shows the response in place. Without this script the browser submits the form itself.
(() => {
	"use strict";
	const form = document.querySelector("form.form");
	if (!form || !window.fetch) return;
	const show = (element, text) => {
		if (!element) return;
		element.textContent = text;
		element.hidden = text === "";
	};
	const fields = [...form.elements].filter((e) => e.name);
	const button = form.querySelector("button");
	let sent = "", key = "";
	const keyOf = (body) => { // the same for the same content: the server accepts a repeated submission only once
		if (body !== sent) {
			sent = body;
			key = [...crypto.getRandomValues(new Uint8Array(16))].map((b) => b.toString(16).padStart(2, "0")).join("");
		}
		return key;
	};
	const faults = (error) => {
		let rest = "";
		for (const f of error.fields || []) {
			const field = fields.find((e) => e.name === f.field);
			if (!field) rest += (rest ? "; " : "") + f.field + " " + f.message;
			else {
				field.setAttribute("aria-invalid", "true");
				show(document.getElementById(f.field + "-fault"),
					field.value.trim() ? f.message : field.dataset.missing || f.message);
			}
		}
		show(document.getElementById("fault"),
			rest || (error.fields ? "Correct the marked fields and submit again." : error.message));
		(form.querySelector("[aria-invalid]") || button).focus();
	};
	const taken = (result) => {
		const part = document.createElement("section");
		part.className = "taken";
		part.setAttribute("role", "status");
		const add = (tag, text, to = part) => {
			const e = to.appendChild(document.createElement(tag));
			e.textContent = text;
			return e;
		};
		add("h2", "Received");
		const address = form.getAttribute("action").replace(/submit$/, "submissions/") + result.submission_id;
		const where = add("p", "Your submission is waiting for review. Follow its status at ");
		add("a", address, where).href = address;
		where.append(". Keep this URL: it is shown to nobody else.");
		const probe = result.probe_result;
		add("p", probe ? "Endpoints that asked for payment: " + probe.endpoints_found + "."
			: "The endpoints have not been checked yet. This usually happens within an hour.");
		if (probe && probe.errors.length) {
			const list = add("ul", "");
			list.className = "faults";
			for (const e of probe.errors) add("li", e, list);
		}
		form.hidden = true;
		form.before(part);
	};
	form.addEventListener("submit", async (event) => {
		event.preventDefault();
		const values = {};
		for (const e of fields) {
			e.removeAttribute("aria-invalid");
			show(document.getElementById(e.name + "-fault"), "");
			if (e.name !== "notes" || e.value !== "") values[e.name] = e.value;
		}
		values.endpoints = values.endpoints.split("\n").map((line) => line.trim()).filter((line) => line);
		show(document.getElementById("fault"), "");
		button.disabled = true;
		try {
			const body = JSON.stringify(values);
			const response = await fetch(form.getAttribute("action"), {
				method: "POST", body, headers: { "Content-Type": "application/json", "Idempotency-Key": keyOf(body) },
			});
			const answer = await response.json();
			button.disabled = false;
			if (response.status === 201) taken(answer.data);
			else faults(answer.error);
		} catch {
			button.disabled = false;
			faults({
				message: "The submission could not be sent. Try again: sending it twice does not create a duplicate.",
			});
		}
	});
})();

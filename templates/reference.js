// Filters the routes, opens the one that the address names, and sends requests to this directory and shows the answers.
// Without this script the forms open the answer as a page.
(() => {
	"use strict";
	const make = (tag, attributes, ...inside) => {
		const e = document.createElement(tag);
		for (const [name, value] of Object.entries(attributes)) e.setAttribute(name, value);
		e.append(...inside);
		return e;
	};
	const open = () => {
		const name = decodeURIComponent(location.hash.slice(1)), part = document.getElementById(name);
		for (const link of part ? [] : document.querySelectorAll("[data-has]")) { // what another page describes
			if (new RegExp(link.dataset.has).test(name)) location.replace(link.href + location.hash);
		}
		if (part?.matches("details")) {
			part.open = true;
			part.scrollIntoView();
		}
	};
	addEventListener("hashchange", open);
	open();

	const routes = document.querySelector(".routes");
	const links = [...routes.querySelectorAll(".of-group li")], parts = [...document.querySelectorAll(".operation")];
	const filter = make("input", { type: "search", "aria-label": "Filter routes", placeholder: "Filter routes" });
	filter.addEventListener("input", () => {
		const words = filter.value.toLowerCase().split(/\s+/);
		const fits = (text) => words.every((word) => text.toLowerCase().includes(word));
		const shown = new Set(parts.filter((part) => fits(part.querySelector("summary").textContent +
			part.querySelector("p").textContent)).map((part) => "#" + part.id));
		for (const part of parts) part.hidden = !shown.has("#" + part.id);
		for (const item of links) item.hidden = !shown.has(item.querySelector("a").getAttribute("href"));
	});
	routes.prepend(filter);

	const limit = 20000; // characters of an answer that are shown
	for (const form of document.querySelectorAll(".try")) {
		const variable = [...form.querySelectorAll("[data-part]")];
		for (const input of variable) input.disabled = false;
		let shown = null; // made when it is needed, because a change of each form delays the page
		form.addEventListener("submit", async (event) => {
			event.preventDefault();
			if (!shown) form.append(shown = make("div", { role: "status" }));
			let path = form.dataset.path;
			for (const { dataset, value } of variable) {
				path = path.replace("{" + dataset.part + "}", encodeURIComponent(value));
			}
			const query = new URLSearchParams([...new FormData(form)].filter(([, value]) => value !== ""));
			const target = path + (query.size ? "?" + query : "");
			shown.replaceChildren(make("p", { class: "label" }, "Sending …"));
			try {
				const begun = performance.now(), answer = await fetch(target), text = await answer.text();
				const ms = Math.round(performance.now() - begun);
				let body = text;
				try {
					body = JSON.stringify(JSON.parse(text), null, 2);
				} catch { /* no JSON: as it is */ }
				if (body.length > limit) body = body.slice(0, limit) + "\n…";
				shown.replaceChildren(
					make("p", { class: "label" }, answer.status + " in " + ms + " ms: ",
						make("a", { href: target }, target)),
					make("pre", { class: "command", tabindex: "0" }, make("code", {}, body)));
			} catch {
				shown.replaceChildren(make("p", { class: "label" }, "No answer. Is this directory reachable?"));
			}
		});
	}
})();

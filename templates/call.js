// Adds a button that copies to every block of code, shows the language that the reader chose last in all tabs, and opens
// the folded parts around what the address names.
(() => {
	"use strict";
	const shapes = { copy: "M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3", done: "M2.5 8.5l4 4 7-9" };
	const icon = (shape) => {
		const space = "http://www.w3.org/2000/svg", svg = document.createElementNS(space, "svg");
		svg.setAttribute("viewBox", "0 0 16 16");
		svg.setAttribute("aria-hidden", "true");
		svg.appendChild(document.createElementNS(space, "path")).setAttribute("d", shapes[shape]);
		return svg;
	};
	// copy returns whether the text is in the clipboard. The newer way needs HTTPS.
	const copy = async (code) => {
		try {
			await navigator.clipboard.writeText(code.textContent);
			return true;
		} catch {
			getSelection().selectAllChildren(code);
			return document.execCommand("copy");
		}
	};
	const said = document.createElement("p");
	said.className = "hidden";
	said.setAttribute("role", "status");
	const blocks = document.querySelectorAll("pre > code");
	if (blocks.length) document.body.append(said);
	for (const code of blocks) {
		const button = document.createElement("button");
		button.type = "button";
		button.className = "copy";
		button.setAttribute("aria-label", "Copy");
		button.append(icon("copy"));
		button.addEventListener("click", async () => {
			const done = await copy(code);
			said.textContent = done ? "Copied" : "Selected; copy it with the keyboard";
			if (done) button.replaceChildren(icon("done"));
			setTimeout(() => {
				said.textContent = "";
				button.replaceChildren(icon("copy"));
			}, 2000);
		});
		code.after(button);
	}

	const remembered = "language of samples";
	const choose = (language) => {
		for (const input of document.querySelectorAll(".tabs > input[value]")) {
			if (input.value === language) input.checked = true;
		}
	};
	document.addEventListener("change", ({ target }) => {
		if (!target.matches(".tabs > input[value]")) return;
		choose(target.value);
		try {
			localStorage.setItem(remembered, target.value);
		} catch { /* the reader allows no storage */ }
	});
	try {
		choose(localStorage.getItem(remembered));
	} catch { /* as above */ }

	const reveal = () => {
		const named = document.getElementById(decodeURIComponent(location.hash.slice(1)));
		let around = named?.closest("details:not([open])");
		if (!around) return;
		for (; around; around = around.parentElement.closest("details:not([open])")) around.open = true;
		named.scrollIntoView();
	};
	addEventListener("hashchange", reveal);
	reveal();
})();

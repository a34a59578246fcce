// Searches the directory: by /v1/search, or in the browser over the files of a snapshot where no server answers. Every
// page has this script. The search form at its head says where things are.
const directory = (() => {
	"use strict";
	const { api, files, local } = document.getElementById("search").dataset;
	const remembered = "plain files at " + files;
	let plain = false;
	try {
		plain = sessionStorage.getItem(remembered) === "yes";
	} catch { /* the reader allows no storage */ }

	// Problem is an error whose message is for readers.
	class Problem extends Error {}

	// ask returns the response of the server, or null if there is none: a host of plain files has no such file.
	const ask = async (wanted, signal) => {
		const answer = await fetch(api + "?" + wanted, { signal });
		const json = /^application\/json/.test(answer.headers.get("Content-Type"));
		if (json && answer.ok) return answer.json();
		if (json && answer.status === 400) throw new Problem((await answer.json()).error.message);
		if (!answer.ok && ![403, 404, 405].includes(answer.status)) throw new Error("status " + answer.status);
		return null;
	};

	let loading = null;
	const loadLocal = () => loading ??= new Promise((resolve, reject) => {
		const script = document.createElement("script");
		script.src = local;
		script.onload = () => resolve(localSearch(files));
		script.onerror = () => reject(new Error("the script of the search is missing"));
		document.head.append(script);
	});

	// find returns the response to the parameters of /v1/search, or throws a Problem for invalid ones.
	const find = async (wanted, signal) => {
		if (!plain) {
			const answer = await ask(wanted, signal);
			if (answer) return answer;
			plain = true;
			try {
				sessionStorage.setItem(remembered, "yes");
			} catch { /* the next page asks again */ }
		}
		return (await loadLocal())(wanted);
	};
	return { find, Problem };
})();

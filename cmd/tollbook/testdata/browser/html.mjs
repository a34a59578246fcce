// The markup of every kind of page, held to html-validate's recommended rules.
import { HtmlValidate } from "html-validate";
import { fault, figures, given, told } from "./browser.mjs";

const rules = {
	"long-title": "off", // names of services are as long as they are
	"no-inline-style": "error",
	"wcag/h32": "off", // forms that ask as one types need no button, and are hidden where nothing asks
};
const judge = new HtmlValidate({ root: true, extends: ["html-validate:recommended"], rules });
figures.pages = 0;
for (const [where, paths] of [[given.serve, [...given.pages, "/there-is-no-such-page"]], [given.odd, given.oddPages]]) {
	for (const path of paths) {
		const answer = await fetch(where + path);
		const report = await judge.validateString(await answer.text(), where + path);
		figures.pages++;
		const said = new Map(); // by rule: how often, and where first
		for (const { messages } of report.results) for (const m of messages) {
			const known = said.get(m.ruleId) ?? { times: 0, first: `${m.line}:${m.column} ${m.selector ?? ""} ${m.message}` };
			known.times++;
			said.set(m.ruleId, known);
		}
		for (const [rule, { times, first }] of said) fault(where + path, rule, `${times} times`, first);
	}
}
told();

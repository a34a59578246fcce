// Every link within the site leads somewhere.
import { LinkChecker } from "linkinator";
import { fault, figures, given, told } from "./browser.mjs";

// Each combination of filters is a search with links to more. Those with two parameters are left out; use.mjs opens some.
const isCombination = (link) => /^\/search/.test(new URL(link).pathname) && new URL(link).searchParams.size > 1;
const checker = new LinkChecker();
const { links } = await checker.check({ path: given.serve + "/", recurse: true, concurrency: 16, timeout: 60000, linksToSkip: async (link) => !link.startsWith(given.serve + "/") || isCombination(link) });
const asked = links.filter((l) => l.state !== "SKIPPED");
figures.links = asked.length;
for (const l of asked) if (l.state === "BROKEN") fault(l.url, l.status, `linked from ${l.parent}`);
if (asked.length < 500) fault(`${asked.length} links were found, want hundreds`);
told();

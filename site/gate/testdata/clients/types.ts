// Uses all that the package exports, with the types of the clients. TestTypes compiles it.
import axios from "axios";
import { wrapAxiosWithPayment, x402Client as AxiosClient } from "@x402/axios";
import { wrapFetchWithPayment, x402Client } from "@x402/fetch";
import { Mppx } from "mppx/client";
import { createGate, gateFetch, gateTerms, mppRequirements, GateRefused, GateUnavailable } from "@tollbook/gate";
import type { Action, Gate, Requirement, Result, Verdict } from "@tollbook/gate";

const gate: Gate = createGate({
  directory: "https://directory.example",
  copy: { checkpoint: "{}", file: new Uint8Array() },
  key: null,
  maxAge: 3600_000,
  unreachable: "ask",
  policy: { match: "allow", "new-price": [{ upTo: "10000", then: "ask" }, { then: "refuse" }] },
  ask: async ({ verdict, requirement, resource }) => verdict === "unknown" && !!requirement.payTo && resource !== "",
  fetch,
});
const safe: typeof fetch = gateFetch(fetch, gate);
wrapFetchWithPayment(safe, new x402Client());
wrapAxiosWithPayment(axios.create({ adapter: "fetch", env: { fetch: safe } }), new AxiosClient());
Mppx.create({ fetch: safe, methods: [] });
const row: Requirement = { network: "base", asset: "", payTo: "", maxAmountRequired: "1" };
const terms: { x402Version: number; accepts: Requirement[] } =
  await gateTerms({ x402Version: 2, accepts: [row] }, "https://api.example/", gate);
const [first]: Requirement[] = mppRequirements({ method: "tempo", request: {} });
try {
  const result: Result = await gate.guard(first ?? terms.accepts[0]!, "https://api.example/");
  const verdict: Verdict = result.verdict;
  const amount: string | null | undefined = result.observed.amount;
  console.log(verdict, amount, result.as_of, result.evidence_url);
} catch (error) {
  const action: Action = "refuse";
  if (error instanceof GateRefused) console.log(action, error.result.reason);
  if (error instanceof GateUnavailable) console.log(error.cause);
}
// @ts-expect-error: the key must be given
createGate({ directory: "https://directory.example", unreachable: "refuse" });
// @ts-expect-error: what happens without a verdict must be given
createGate({ directory: "https://directory.example", key: null });
// @ts-expect-error: no such verdict
createGate({ directory: "https://directory.example", key: null, unreachable: "refuse", policy: { good: "allow" } });

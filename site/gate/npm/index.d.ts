export type Verdict = "match" | "new-price" | "new-recipient" | "other-token" | "danger" | "unknown";
export type Action = "allow" | "ask" | "refuse";
/** A row of `accepts` of x402; amounts are in atomic units. */
export interface Requirement { network: string; asset: string; payTo: string; amount?: string; maxAmountRequired?: string }
export interface Result {
  verdict: Verdict;
  /** Of unknown: unlisted, stale, unjudged, unreachable. */
  reason: string;
  /** The signed largest amount, and unsigned prices of evidence_url. */
  observed: { amount?: string | null; prices?: unknown[] | null };
  as_of: string | null;
  evidence_url: string;
}
export interface Gate {
  check(requirement: Requirement, resource: string): Promise<Result>;
  guard(requirement: Requirement, resource: string): Promise<Result>;
}
export class GateUnavailable extends Error {}
export class GateRefused extends Error { result: Result }
export function createGate(options: {
  directory?: string;
  /** checkpoint.json and data/gate.bin of a snapshot. */
  copy?: { checkpoint: string | object; file: Uint8Array };
  /** PEM; null verifies nothing. */
  key: string | null;
  /** Milliseconds; a day by default. */
  maxAge?: number;
  unreachable: Action;
  policy?: { [verdict in Verdict]?: Action | { upTo?: string; then: Action }[] };
  ask?(question: Result & { requirement: Requirement; resource: string }): Promise<boolean>;
  fetch?: typeof fetch;
}): Gate;
export function gateFetch(inner: typeof fetch, gate: Gate): typeof fetch;
export function gateTerms<Terms extends { accepts: object[] }>(terms: Terms, resource: string, gate: Gate): Promise<Terms>;
export function mppRequirements(challenge: { method: string; request: object }): Requirement[];

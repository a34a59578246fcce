import { ponder } from "ponder:registry";
import { day, settlement } from "ponder:schema";

// settlers are listed by "address=facilitator", as the bench has them.
const settlers = new Map(process.env.SETTLERS!.split(",").map((s) => s.split("=") as [string, string]));

// open are authorisations whose transfer has not come yet, of the transaction under way.
let transaction = "";
let open = new Set<string>();

ponder.on("Token:AuthorizationUsed", async ({ event }) => {
  if (event.transaction.hash !== transaction) {
    transaction = event.transaction.hash;
    open = new Set();
  }
  open.add(event.args.authorizer);
});

ponder.on("Token:Transfer", async ({ event, context }) => {
  const facilitator = settlers.get(event.transaction.from.toLowerCase());
  if (!facilitator || event.transaction.hash !== transaction || !open.delete(event.args.from)) return;
  await context.db.insert(settlement).values({
    transaction: event.transaction.hash, logIndex: event.log.logIndex, block: event.block.number,
    blockHash: event.block.hash,
    settledAt: event.block.timestamp, facilitator, settler: event.transaction.from,
    payer: event.args.from, payee: event.args.to, amount: event.args.value,
  });
  const midnight = event.block.timestamp - (event.block.timestamp % 86400n);
  await context.db.insert(day).values({ facilitator, day: midnight, settlements: 1, amount: event.args.value })
    .onConflictDoUpdate((row) => ({ settlements: row.settlements + 1, amount: row.amount + event.args.value }));
});

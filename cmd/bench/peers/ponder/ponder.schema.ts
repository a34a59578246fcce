import { index, onchainTable, primaryKey } from "ponder";

export const settlement = onchainTable("settlement", (t) => ({
  transaction: t.hex().notNull(),
  logIndex: t.integer().notNull(),
  block: t.bigint().notNull(),
  blockHash: t.hex().notNull(),
  settledAt: t.bigint().notNull(),
  facilitator: t.text().notNull(),
  settler: t.hex().notNull(),
  payer: t.hex().notNull(),
  payee: t.hex().notNull(),
  amount: t.bigint().notNull(),
}), (table) => ({ pk: primaryKey({ columns: [table.transaction, table.logIndex] }), payee: index().on(table.payee) }));

export const day = onchainTable("day", (t) => ({
  facilitator: t.text().notNull(),
  day: t.bigint().notNull(),
  settlements: t.integer().notNull(),
  amount: t.bigint().notNull(),
}), (table) => ({ pk: primaryKey({ columns: [table.facilitator, table.day] }) }));

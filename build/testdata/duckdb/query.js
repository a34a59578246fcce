// Reads a JSON list of statements from stdin, one list for each result, and prints the rows of the last statement of each
// list as a JSON list of lists of texts.
import { createRequire } from "node:module";
import { text } from "node:stream/consumers";

const { DuckDBInstance } = createRequire(process.env.MODULES + "/")("@duckdb/node-api");
const db = await (await DuckDBInstance.create(":memory:")).connect();
await db.run("SET TimeZone = 'UTC'");
const answers = [];
for (const sql of JSON.parse(await text(process.stdin))) {
  let rows = [];
  try {
    for (const statement of sql.split("; ")) {
      rows = (await db.runAndReadAll(statement)).getRows();
    }
  } catch (error) {
    console.error(`${sql}: ${error.message}`);
    process.exit(1);
  }
  answers.push(rows.map((row) => row.map((value) => (value === null ? null : String(value)))));
}
console.log(JSON.stringify(answers));

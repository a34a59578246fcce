// Reads a JSON object of envelopes by name and writes what the schema of the official SDK says of each.
const [core, v1] = process.argv.slice(2)
const { PaymentRequiredV2Schema } = require(core)
const { PaymentRequirementsSchema } = require(v1)
const said = {}
for (const [name, e] of Object.entries(JSON.parse(require('fs').readFileSync(0, 'utf8')))) {
  const isV1 = e.x402Version === 1
  const results = isV1
    ? (Array.isArray(e.accepts) ? e.accepts : []).map(row => PaymentRequirementsSchema.safeParse(row))
    : [PaymentRequiredV2Schema.safeParse(e)]
  said[name] = results.length > 0 && results.every(r => r.success) ? '' :
    results.flatMap(r => r.error?.issues.map(i => i.path.join('.') + ': ' + i.message) ?? []).join('; ') || 'no rows'
}
console.log(JSON.stringify(said))

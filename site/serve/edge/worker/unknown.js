
// ---- unknown parameters ----

// unknownParams returns the name and the nearest parameter of each unknown parameter.
function unknownParams(route, names) {
  const params = [...(route?.params ?? []), ...TABLE.common].map((p) => p.name);
  const list = names.slice(0, CONTRACT.maxUnknown).map((name) => {
    const bytes = encode(name);
    const isLong = bytes.length > CONTRACT.maxUnknownName;
    const other = Object.hasOwn(CONTRACT.otherPaging, name) ? CONTRACT.otherPaging[name] : "";
    const near = params.includes(other) ? other
      : nearest(encode(name.replace(/[A-Z]/g, (c) => c.toLowerCase())), params)[0] ?? "";
    return {
      name: escapeName(bytes.subarray(0, CONTRACT.maxUnknownName)) + (isLong ? "..." : ""),
      nearest: isLong ? "" : near,
    };
  });
  if (names.length > CONTRACT.maxUnknown) list.more = true;
  return list;
}

// escapeName percent-encodes bytes outside [A-Za-z0-9._-].
function escapeName(bytes) {
  let out = "";
  for (const c of bytes) {
    const one = String.fromCharCode(c);
    out += /[A-Za-z0-9._-]/.test(one) ? one : "%" + c.toString(16).toUpperCase().padStart(2, "0");
  }
  return out;
}

// nearest returns the names that are a few edits away, the nearest first.
function nearest(bytes, names) {
  const limit = Math.min(bytes.length, Math.max(2, Math.floor(bytes.length / 3)) + 1);
  return names
    .filter((name) => Math.abs(name.length - bytes.length) < limit || /[^\0-\x7f]/.test(name)) // each byte is an edit
    .map((name) => [name, editDistance(bytes, encode(name))])
    .filter(([, edits]) => edits < limit)
    .sort(([, a], [, b]) => a - b)
    .map(([name]) => name);
}

// checkNames throws an error for the first unknown value that the route refuses. Without strict=1 the response names the
// values of a lenient route, and those that must be among names of the index.
function checkNames(index, q) {
  for (const { parameter, value, nearest: names } of unknownValues(index, q)) {
    if (!q.strict && (q.route.lenient || q.route.params.find((p) => p.name === parameter).among)) continue;
    const hint = names.length > 0 ? `; did you mean ${names.join(" or ")}?` : "";
    throw invalid(parameter, `must be a known ${parameter}; got ${quoteShort(value)}${hint}`);
  }
}

// namesValues returns whether a response names its unknown values.
const namesValues = (q) => Boolean(q.route && (q.route.lenient || q.route.params.some((p) => p.among && q.values.get(p.name))));

// namesOf returns the names of the index that the values of a parameter must be among, or nothing.
function namesOf(index, p) {
  if (p.among === "slugs") return index.slugs;
  if (p.among === "values" && index.values) return [...(p.known ?? []), ...(index.values[p.name] ?? [])];
}

// unknownValues returns the values of filters that nothing has.
function unknownValues(index, q) {
  const omit = q.route?.omit;
  const names = omit && !(has(q, "include") && text(q, "include").split(",").includes(omit));
  const unknown = [];
  for (const p of q.route?.params ?? []) {
    const value = q.values.get(p.name);
    const among = value ? namesOf(index, p) : undefined;
    if (among && !among.includes(value)) {
      const known = Object.fromEntries(among.map((name) => [name.toLowerCase(), name]));
      unknown.push({ parameter: p.name, value, nearest: nearestOf(value, known) });
    }
    const known = TABLE.spellings[p.spellings];
    if (!names || !value || !known || Object.hasOwn(known, value.toLowerCase())) continue;
    const route = TABLE.routes.find(({ name }) => name === "services");
    if (Object.hasOwn(index.lists, listKey(newQuery({ route, values: new Map([[p.name, value]]) })))) continue;
    unknown.push({ parameter: p.name, value, nearest: nearestOf(value, known) });
  }
  return unknown;
}

// nearestOf returns the nearest spellings, each of another value.
function nearestOf(text, known) {
  const names = new Map();
  for (const spelling of nearest(encode(text.toLowerCase()), Object.keys(known).sort())) {
    const value = known[spelling];
    if (names.has(value) || names.size === CONTRACT.maxNearest) continue;
    names.set(value, value.toLowerCase() === spelling ? value : spelling);
  }
  return [...names.values()];
}

// unknownValuesText returns the value of the header that names unknown values.
function unknownValuesText(unknown) {
  const escape = (value) => {
    const bytes = encode(value), limit = CONTRACT.maxUnknownName;
    return escapeName(bytes.subarray(0, limit)) + (bytes.length > limit ? "..." : "");
  };
  return unknown
    .map(({ parameter, value, nearest: names }) =>
      `${parameter}=${escape(value)}` + (names.length > 0 ? ` (did you mean ${names.map(escape).join(" or ")}?)` : ""))
    .join(", ");
}

function editDistance(a, b) {
  const row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 0; i < a.length; i++) {
    let diagonal = row[0];
    row[0] = i + 1;
    for (let j = 0; j < b.length; j++) {
      const replace = diagonal + (a[i] === b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = Math.min(replace, row[j] + 1, row[j + 1] + 1);
    }
  }
  return row[b.length];
}

// unknownText returns the value of the header that names unknown parameters.
function unknownText(unknown) {
  const parts = unknown.map((p) => p.name + (p.nearest && ` (did you mean ${p.nearest}?)`));
  if (unknown.more) parts.push("and more");
  return parts.join(", ");
}

// isCatalogue returns whether a request is for a facilitator's catalogue, which must not ignore a filter in silence.
const isCatalogue = (q) => CONTRACT.catalogues.includes(q.route?.name);

// withUnapplied returns a page of a catalogue that names the parameters that were not applied.
function withUnapplied(body, unknown) {
  const head = body.plain.subarray(0, body.plain.length - 2);
  const tail = encode(`,"unappliedFilters":${toJSON(unknown.map((p) => p.name))}}\n`);
  const page = new Uint8Array(head.length + tail.length);
  page.set(head);
  page.set(tail, head.length);
  return bodyOfBytes(page);
}

const unknownError = (unknown) =>
  new ReaderError({
    ...CONTRACT.errors.invalid,
    message: "unknown parameters: " + unknownText(unknown),
    fields: unknown.map((p) => ({
      field: p.name,
      message: "is not a parameter of this path" + (p.nearest && `; did you mean ${p.nearest}?`),
    })),
  });

interface Parameter {
  readonly in: string
  readonly schema?: { type?: string; pattern?: string }
}

/**
 * The document with the numbers of queries as numbers: a query is text, whose pattern means nothing
 * to a reader that has parsed it.
 */
export function describeQueries<D extends object>(document: D): D {
  const copy = structuredClone(document) as D & {
    paths?: Record<string, Record<string, { parameters?: readonly Parameter[] }>>
  }
  const operations = Object.values(copy.paths ?? {}).flatMap((item) => Object.values(item))
  for (const { in: place, schema } of operations.flatMap(({ parameters = [] }) => parameters))
    if (place === 'query' && schema?.type === 'integer') delete schema.pattern
  return copy
}

interface Parameter {
  readonly in: string
  readonly schema?: { type?: string; pattern?: string }
}

/**
 * Removes the patterns of integer query parameters: they describe the text of the query, not the
 * number that the document declares.
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

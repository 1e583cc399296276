const REFERENCE = /"\$ref":"#\/components\/schemas\/([^"]+)"/g

/**
 * The document without the component schemas that nothing in it refers to. Every schema is made
 * in two forms, for input and for output, of which most documents need one.
 */
export function pruneComponents<D extends object>(document: D): D {
  const { components = {} } = document as { components?: { schemas?: Record<string, unknown> } }
  const { schemas = {}, ...otherComponents } = components
  const used = new Set<string>()
  const pending = referencesIn({ ...document, components: otherComponents })
  for (let name = pending.pop(); name !== undefined; name = pending.pop()) {
    if (used.has(name)) continue
    used.add(name)
    pending.push(...referencesIn(schemas[name]))
  }
  const kept = Object.entries(schemas).filter(([name]) => used.has(name))
  return { ...document, components: { ...otherComponents, schemas: Object.fromEntries(kept) } }
}

function referencesIn(value: unknown): string[] {
  const text = JSON.stringify(value) ?? ''
  return [...text.matchAll(REFERENCE)].map(([, name = '']) => name)
}

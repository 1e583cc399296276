const REFERENCE = /"\$ref":"#\/components\/schemas\/([^"]+)"/g

/**
 * Removes component schemas without a reference. Every schema is generated for input and for
 * output, and most need only one of the two.
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

/**
 * Restores the declared names of schemas. A request schema is generated as `NameInput`; it becomes
 * `Name` unless answers have another form of it.
 */
export function nameComponents<D extends object>(document: D): D {
  const { components } = document as { components?: { schemas?: Record<string, unknown> } }
  const names = Object.keys(components?.schemas ?? {})
  const renamed = names.filter(
    (name) => name.endsWith('Input') && !names.includes(name.slice(0, -'Input'.length)),
  )
  let text = JSON.stringify(document)
  for (const name of renamed) {
    const plain = name.slice(0, -'Input'.length)
    text = text
      .replaceAll(`"#/components/schemas/${name}"`, `"#/components/schemas/${plain}"`)
      .replaceAll(`"${name}":{`, `"${plain}":{`)
  }
  return JSON.parse(text) as D
}

function referencesIn(value: unknown): string[] {
  const text = JSON.stringify(value) ?? ''
  return [...text.matchAll(REFERENCE)].map(([, name = '']) => name)
}

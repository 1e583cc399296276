interface Operation {
  responses?: Record<string, unknown>
}

/**
 * Opens the objects in answers: a later server may add members, which a generated client must not
 * refuse. Requests stay closed. Must run before `nameComponents`, which removes the suffix that
 * marks request schemas.
 */
export function openAnswers<D extends object>(document: D): D {
  const copy = structuredClone(document) as D & {
    paths?: Record<string, Record<string, Operation>>
    components?: { schemas?: Record<string, unknown> }
  }
  const operations = Object.values(copy.paths ?? {}).flatMap((item) => Object.values(item))
  for (const { responses } of operations) open(responses)
  for (const [name, schema] of Object.entries(copy.components?.schemas ?? {}))
    if (!name.endsWith('Input')) open(schema)
  return copy
}

function open(schema: unknown): void {
  if (typeof schema !== 'object' || schema === null) return
  if ('additionalProperties' in schema && schema.additionalProperties === false)
    delete schema.additionalProperties
  for (const member of Object.values(schema)) open(member)
}

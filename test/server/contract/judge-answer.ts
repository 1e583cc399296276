import { z } from 'zod'
import type { ApiDocument, Operation, Schema } from './operations.ts'

/** What a test needs to know of an answer. */
export interface JudgedAnswer {
  readonly statusCode: number
  readonly headers: Readonly<Record<string, unknown>>
  readonly body: string
}

export type JudgeAnswer = (operation: Operation, answer: JudgedAnswer) => void

/**
 * A check that throws unless an answer is one that the document announces: its status, its media
 * type, and a body that satisfies the schema and holds no member beyond it.
 */
export function createAnswerJudge(document: ApiDocument): JudgeAnswer {
  const compiled = new Map<Schema, z.ZodType>()
  const compile = (schema: Schema): z.ZodType => {
    const known = compiled.get(schema) ?? compileSchema(schema, document)
    compiled.set(schema, known)
    return known
  }
  return ({ id, responses }, { statusCode, headers, body }) => {
    const fail = (text: string): never => {
      throw new Error(`${id} answered ${statusCode}: ${text}: ${body.slice(0, 400)}`)
    }
    const content = responses[statusCode] ?? fail('the document does not list this status')
    const [announced] = Object.entries(content)
    if (announced === undefined) {
      if (body !== '') fail('the document announces no body')
      return
    }
    const [type, schema] = announced
    if (String(headers['content-type']).split(';')[0] !== type)
      fail(`the media type is not ${type}`)
    const value: unknown = type === 'application/json' ? JSON.parse(body) : body
    const { error } = compile(schema).safeParse(value)
    if (error !== undefined) fail(z.prettifyError(error))
  }
}

/** The members of our own answers are all documented, so here the schemas are closed. */
function compileSchema(schema: Schema, { schemas }: ApiDocument): z.ZodType {
  const closed = close({ ...schema, $defs: schemas })
  const text = JSON.stringify(closed).replaceAll('#/components/schemas/', '#/$defs/')
  return z.fromJSONSchema(JSON.parse(text) as Parameters<typeof z.fromJSONSchema>[0])
}

function close(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(close)
  if (typeof value !== 'object' || value === null) return value
  const members = Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, close(member)]),
  )
  const isOpenObject = 'properties' in members && !('additionalProperties' in members)
  return isOpenObject ? { ...members, additionalProperties: false } : members
}

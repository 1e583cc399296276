import { z } from 'zod'
import type { AnnouncedHeader, ApiDocument, Operation, Schema } from './operations.ts'

/** The parts of an answer that are validated. */
export interface ValidatedAnswer {
  readonly statusCode: number
  readonly headers: Readonly<Record<string, unknown>>
  readonly body: string
}

export type ValidateAnswer = (operation: Operation, answer: ValidatedAnswer) => void

/**
 * Creates a check that throws unless an answer matches the document: status, headers, media type
 * and schema of the body.
 */
export function createAnswerValidator(document: ApiDocument): ValidateAnswer {
  const definitions = prepareSchema(document.schemas)
  // By text: each answer of the document has its own reference to the schema of refusals.
  const compiled = new Map<string, z.ZodType>()
  const compile = (schema: Schema): z.ZodType => {
    const text = JSON.stringify(schema)
    const known = compiled.get(text) ?? compileSchema(schema, definitions)
    compiled.set(text, known)
    return known
  }
  return ({ id, responses, headers: announcedHeaders }, { statusCode, headers, body }) => {
    const fail = (text: string): never => {
      throw new Error(`${id} answered ${statusCode}: ${text}: ${body.slice(0, 400)}`)
    }
    const content = responses[statusCode] ?? fail('the document does not list this status')
    const problem = validateHeaders(announcedHeaders[statusCode] ?? {}, headers, compile)
    if (problem !== null) fail(problem)
    const [announced] = Object.entries(content)
    if (announced === undefined) {
      if (body !== '') fail('the document announces no body')
      return
    }
    const [type, schema] = announced
    if (String(headers['content-type']).split(';')[0] !== type)
      fail(`the media type is not ${type}`)
    // The schema of lines of JSON is that of one line, and there may be none.
    const texts =
      type === 'application/x-ndjson' ? body.split('\n').filter((line) => line !== '') : [body]
    const values: unknown[] = /^application\/(?:json|x-ndjson)$/.test(type)
      ? texts.map((text) => JSON.parse(text))
      : texts
    for (const value of values) {
      const { error } = compile(schema).safeParse(value)
      if (error !== undefined) fail(z.prettifyError(error))
    }
    const [value] = values
    if (statusCode >= 400 && !isSentence(value)) fail('the message is no short lower-case sentence')
  }
}

/** Tells whether the message of a refusal is one line in lower case without a full stop. */
function isSentence(value: unknown): boolean {
  const { error } = z.object({ error: z.object({ message: z.string() }) }).parse(value)
  return /^[a-z`][^\n]{3,400}$/.test(error.message) && !error.message.endsWith('.')
}

/** Headers that an operation must declare; all others are constant or belong to HTTP. */
const TELLING = [
  'x-request-id',
  'etag',
  'idempotency-replayed',
  'www-authenticate',
  'retry-after',
  'allow',
]

function validateHeaders(
  announced: Readonly<Record<string, AnnouncedHeader>>,
  sent: Readonly<Record<string, unknown>>,
  compile: (schema: Schema) => z.ZodType,
): string | null {
  for (const name of TELLING) {
    const value = sent[name]
    const header = announced[name]
    if (value === undefined && header?.required === true) return `\`${name}\` is missing`
    if (value === undefined) continue
    if (header === undefined) return `the document does not announce \`${name}\``
    if (!compile(header.schema).safeParse(value).success)
      return `\`${name}\` is ${JSON.stringify(value)}`
  }
  return null
}

function compileSchema(schema: Schema, definitions: Schema): z.ZodType {
  const whole = { ...prepareSchema(schema), $defs: definitions }
  return z.fromJSONSchema(whole as Parameters<typeof z.fromJSONSchema>[0])
}

/** Closes all objects of a schema, or of schemas by name, and moves their references. */
function prepareSchema(schema: Schema): Schema {
  const text = JSON.stringify(schema).replaceAll('#/components/schemas/', '#/$defs/')
  return JSON.parse(text, (name, value: unknown) =>
    name === 'pattern' && namesProperty(value) ? undefined : closeObject(value),
  ) as Schema
}

/** Whether a pattern names a property of Unicode, which zod reads as letters without the flag u. */
function namesProperty(pattern: unknown): boolean {
  return typeof pattern === 'string' && pattern.includes(String.raw`\p{`)
}

/**
 * Closes an object schema. The document leaves answers open for members of later servers, which
 * this server does not have. `oneOf` is dropped, because zod accepts any value for `required`
 * without properties.
 */
function closeObject(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (!('properties' in value && 'type' in value)) return value
  const { oneOf: _eitherOr, ...others } = { oneOf: [], ...value }
  return { additionalProperties: false, ...others }
}

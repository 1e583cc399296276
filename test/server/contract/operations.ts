import { z } from 'zod'

/** One schema of the document, with its references unresolved. */
export type Schema = Readonly<Record<string, unknown>>

const schemaSchema = z.record(z.string(), z.unknown())
const contentSchema = z.record(z.string(), z.looseObject({ schema: schemaSchema }))
const headersSchema = z
  .record(z.string(), z.looseObject({ required: z.boolean(), schema: schemaSchema }))
  .default({})
const operationSchema = z.looseObject({
  operationId: z.string(),
  security: z.array(z.record(z.string(), z.array(z.string()))).optional(),
  parameters: z
    .array(z.looseObject({ in: z.string(), name: z.string(), schema: schemaSchema }))
    .default([]),
  requestBody: z.looseObject({ content: contentSchema }).optional(),
  responses: z.record(
    z.string(),
    z.looseObject({ content: contentSchema.optional(), headers: headersSchema }),
  ),
})
const documentSchema = z.looseObject({
  paths: z.record(z.string(), z.record(z.string(), operationSchema)),
  components: z.looseObject({ schemas: z.record(z.string(), schemaSchema) }),
})

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** One operation of an OpenAPI document. */
export interface Operation {
  readonly id: string
  readonly method: Method
  /** Path such as `/api/v1/orgs/{org}/teams/{team}`. */
  readonly path: string
  /** `none`, or the name of a security scheme. */
  readonly security: string
  readonly parameters: readonly Parameter[]
  /** Schemas by media type; null when the operation takes no body. */
  readonly body: Readonly<Record<string, Schema>> | null
  /** A valid body; null when the operation takes no body. */
  readonly example: object | null
  /** Schemas by status and media type, without a media type for an answer without body. */
  readonly responses: Readonly<Record<string, Readonly<Record<string, Schema>>>>
  /** Headers of the answer by status, then by name in lower case. */
  readonly headers: Readonly<Record<string, Readonly<Record<string, AnnouncedHeader>>>>
}

export interface AnnouncedHeader {
  readonly required: boolean
  readonly schema: Schema
}

export interface Parameter {
  readonly in: string
  readonly name: string
  readonly schema: Schema
}

export interface ApiDocument {
  readonly operations: readonly Operation[]
  /** The schemas of `components.schemas`. */
  readonly schemas: Readonly<Record<string, Schema>>
}

/** Parses the answer of `/openapi.json`. Throws for any other document. */
export function readDocument(json: unknown): ApiDocument {
  const { paths, components } = documentSchema.parse(json)
  const operations = Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({
      id: operation.operationId,
      method: method.toUpperCase() as Method,
      path,
      security: securityOf(operation.security),
      parameters: operation.parameters,
      ...bodyOf(operation, components.schemas),
      responses: Object.fromEntries(
        Object.entries(operation.responses).map(([status, { content = {} }]) => [
          status,
          schemasOf(content),
        ]),
      ),
      headers: Object.fromEntries(
        Object.entries(operation.responses).map(([status, { headers }]) => [
          status,
          Object.fromEntries(
            Object.entries(headers).map(([name, header]) => [name.toLowerCase(), header]),
          ),
        ]),
      ),
    })),
  )
  return { operations, schemas: components.schemas }
}

/** Returns the names of the path's parameters, in order. */
export function pathParameters(path: string): string[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name)
}

/** Replaces the parameters of a path. Throws for a parameter without a value. */
export function fillPath(path: string, values: Readonly<Record<string, string>>): string {
  return path.replaceAll(/\{(\w+)\}/g, (_whole, name: string) => {
    const value = values[name]
    if (value === undefined) throw new Error(`no value for the path parameter \`${name}\``)
    return encodeURIComponent(value)
  })
}

function securityOf(requirements: readonly Readonly<Record<string, unknown>>[] | undefined) {
  if (requirements === undefined) return 'access_token'
  return Object.keys(requirements[0] ?? {})[0] ?? 'none'
}

/** Without a body of another type than JSON, which the tests of its route send. */
function bodyOf(
  { operationId, requestBody }: z.infer<typeof operationSchema>,
  components: Readonly<Record<string, Schema>>,
): Pick<Operation, 'body' | 'example'> {
  const content = requestBody?.content
  const schema = content?.['application/json']?.schema
  if (content === undefined || schema === undefined) return { body: null, example: null }
  const example = exampleOf(schema, components)
  if (example === undefined)
    throw new Error(`the request schema of \`${operationId}\` has no \`examples\` in its \`meta\``)
  return { body: schemasOf(content), example }
}

/** Returns the first example of a body's schema. */
function exampleOf(
  schema: Schema,
  components: Readonly<Record<string, Schema>>,
): object | undefined {
  const name = z.string().optional().parse(schema['$ref'])?.split('/').at(-1)
  const { examples } = name === undefined ? schema : (components[name] ?? {})
  return z.array(z.record(z.string(), z.unknown())).optional().parse(examples)?.[0]
}

function schemasOf(content: z.infer<typeof contentSchema>): Record<string, Schema> {
  return Object.fromEntries(Object.entries(content).map(([type, { schema }]) => [type, schema]))
}

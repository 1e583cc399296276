import { errorEnvelopeSchema } from '@palisade/protocol'
import { beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { atEndOfTests } from '../../temporary-directory.ts'
import { openTestServer, type TestServer } from '../../test-server.ts'

const operationSchema = z.looseObject({
  operationId: z.string(),
  summary: z.string(),
  tags: z.array(z.string()).min(1),
  security: z.array(z.record(z.string(), z.array(z.string()))).optional(),
  parameters: z
    .array(z.looseObject({ in: z.string(), name: z.string(), required: z.boolean() }))
    .optional(),
  requestBody: z.looseObject({ content: z.record(z.string(), z.unknown()) }).optional(),
  responses: z.record(z.string().regex(/^[1-5]\d\d$/), z.looseObject({ description: z.string() })),
})
const documentSchema = z.looseObject({
  openapi: z.literal('3.1.0'),
  info: z.looseObject({ title: z.string(), version: z.string() }),
  tags: z.array(z.looseObject({ name: z.string() })),
  security: z.array(z.record(z.string(), z.array(z.string()))),
  paths: z.record(z.string().startsWith('/'), z.record(z.string(), operationSchema)),
  components: z.looseObject({
    schemas: z.record(z.string(), z.unknown()),
    securitySchemes: z.record(z.string(), z.looseObject({ type: z.enum(['http', 'apiKey']) })),
  }),
})

interface NamedOperation {
  /** `METHOD /path` */
  readonly name: string
  readonly path: string
  readonly operation: z.infer<typeof operationSchema>
}

const atEnd = atEndOfTests()
let test: TestServer
let document: z.infer<typeof documentSchema>
let operations: readonly NamedOperation[]

beforeAll(async () => {
  test = await openTestServer(atEnd)
  document = documentSchema.parse((await test.send('GET', '/openapi.json')).json())
  operations = Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({
      name: `${method.toUpperCase()} ${path}`,
      path,
      operation,
    })),
  )
})

/** Lists `METHOD /path/{parameter}` of every route in the router's printed tree. */
function listRoutes(tree: string): string[] {
  const parents: string[] = []
  return tree.split('\n').flatMap((line) => {
    const found = /^(?<indent>[│ ]*)[├└]── (?<part>\S+)(?: \((?<methods>[A-Z, ]+)\))?/.exec(line)
    if (found?.groups === undefined) return []
    const { indent = '', part = '', methods = '' } = found.groups
    const depth = indent.length / 4
    parents[depth] = `${depth === 0 ? '' : (parents[depth - 1] ?? '')}${part}`
    const path = parents[depth].replaceAll(/:(\w+)/g, '{$1}')
    return methods
      .split(', ')
      .filter((method) => method !== '' && method !== 'HEAD')
      .map((method) => `${method} ${path}`)
  })
}

describe('/openapi.json', () => {
  it('has exactly the routes of the server, except those of the documents', () => {
    const routes = listRoutes(test.server.app.printRoutes({ commonPrefix: false }))
    const expected = routes.filter((route) => !/ \/(?:docs|openapi\.json)/.test(route))
    expect(operations.map(({ name }) => name).toSorted()).toEqual(expected.toSorted())
    expect(expected).toContain(
      'PATCH /v2/orgs/{org}/governance/policies/{policy_id}/rules/{rule_id}',
    )
  })

  it('has every referenced component, and no component without a reference', () => {
    const references = JSON.stringify(document).matchAll(/"\$ref":"#\/components\/schemas\/(\w+)"/g)
    const names = new Set([...references].map(([, name = '']) => name))
    expect(Object.keys(document.components.schemas).toSorted()).toEqual([...names].toSorted())
    expect(JSON.stringify(document)).not.toMatch(/"\$ref":"(?!#\/components\/schemas\/)/)
  })

  it('closes the objects of requests and opens those of answers', () => {
    const { schemas } = document.components
    const isClosedIn = (part: unknown) => objectsIn(part, schemas).map(isClosed)
    const requests = operations.flatMap(({ operation }) => isClosedIn(operation.requestBody))
    const answers = operations.flatMap(({ operation }) => isClosedIn(operation.responses))

    expect([requests.length > 20, answers.length > 100]).toEqual([true, true])
    expect(requests.filter((closed) => !closed)).toEqual([])
    expect(answers.filter((closed) => closed)).toEqual([])
  })

  it('has the declared names of schemas', () => {
    const names = Object.keys(document.components.schemas)
    expect(names.filter((name) => name.endsWith('Input'))).toEqual([])
    expect(names).toContain('CreatePolicyRequest')
  })

  it('gives each operation a unique id, known tags and security', () => {
    const ids = operations.map(({ operation }) => operation.operationId)
    expect(new Set(ids).size).toBe(ids.length)
    const tags = new Set(document.tags.map(({ name }) => name))
    for (const { operation, name } of operations) {
      for (const tag of operation.tags) expect(tags, name).toContain(tag)
      for (const requirement of operation.security ?? document.security)
        for (const scheme of Object.keys(requirement))
          expect(document.components.securitySchemes, name).toHaveProperty(scheme)
    }
  })

  it('declares every parameter of a path', () => {
    for (const { path, operation, name } of operations) {
      const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, parameter = '']) => parameter)
      const declared = (operation.parameters ?? []).filter((parameter) => parameter.in === 'path')
      expect(declared.map((parameter) => parameter.name).toSorted(), name).toEqual(
        inPath.toSorted(),
      )
      expect(declared.every(({ required }) => required)).toBe(true)
    }
  })

  it('documents bodies and refusals of the governance API', () => {
    const governance = operations.filter(({ path }) => path.includes('/governance/policies'))
    expect(governance).toHaveLength(8)
    for (const { operation, name } of governance) {
      const hasBody = /^(?:POST|PATCH)/.test(name)
      expect(operation.requestBody !== undefined, name).toBe(hasBody)
      const refusals = hasBody ? [400, 401, 403, 404, 409, 500] : [401, 403, 404, 500]
      for (const status of refusals)
        expect(JSON.stringify(operation.responses[String(status)]), name).toContain('schemas/Error')
    }
  })

  it('documents the lines that machines upload', () => {
    const upload = operations.find(({ operation }) => operation.operationId === 'uploadRecords')
    expect(upload?.operation.requestBody?.content).toEqual({
      'application/x-ndjson': { schema: { type: 'string' } },
    })
  })

  it('documents 500 and 503 for every operation that uses the store', () => {
    for (const { operation, name } of operations.filter(({ path }) => path !== '/healthz'))
      for (const status of [500, 503])
        expect(JSON.stringify(operation.responses[String(status)]), name).toContain('schemas/Error')
  })

  it('is shown under /docs, with a content security policy that lets the page run', async () => {
    const page = await test.send('GET', '/docs/')

    expect(page.statusCode).toBe(200)
    expect(page.headers['content-type']).toContain('text/html')
    expect(page.headers['content-security-policy']).toContain("script-src 'self'")
    expect(page.headers['content-security-policy']).not.toContain('upgrade-insecure-requests')
    expect(page.body).toContain('<title>Palisade API</title>')
    const script = await test.send('GET', '/docs/static/swagger-ui-bundle.js')
    expect(script.statusCode).toBe(200)
  })

  it.each([
    ['a path that leaves it', 404, '/docs/static/%2e%2e/package.json', {}],
    ['a path with NUL', 404, '/docs/static/%00', {}],
    ['a precondition', 412, '/docs/static/index.css', { 'if-match': '"x"' }],
  ])('refuses %s under /docs with the envelope', async (_title, status, path, headers) => {
    const refused = await test.send('GET', path, { headers })

    expect(refused.statusCode).toBe(status)
    expect(errorEnvelopeSchema.parse(refused.json()).error.code).not.toBe('internal')
  })
})

describe('the document', () => {
  it('has a server, and only security schemes that an operation uses', () => {
    const used = [document.security, ...operations.map(({ operation }) => operation.security ?? [])]
      .flat()
      .flatMap((scheme) => Object.keys(scheme))

    expect(document['servers']).toEqual([{ url: '/' }])
    expect(Object.keys(document.components.securitySchemes).toSorted()).toEqual(
      [...new Set(used)].toSorted(),
    )
  })

  it('declares numbers in queries, with the default page size', () => {
    const parameters = operations.flatMap(({ operation }) => operation.parameters ?? [])
    const schemasOf = (name: string) =>
      parameters.filter((each) => each.name === name).map(({ schema }) => schema)

    expect(schemasOf('page_size').length).toBeGreaterThan(2)
    const usual = { type: 'integer', minimum: 0, default: 100 }
    // The audit log has the sizes of the contract.
    const ofAudit = { type: 'integer', minimum: 0, maximum: 500, default: 25 }
    for (const schema of schemasOf('page_size')) expect([usual, ofAudit]).toContainEqual(schema)
    expect(schemasOf('page_size')).toContainEqual(ofAudit)
    for (const name of ['silent_for_seconds', 'since'])
      expect(schemasOf(name)).toContainEqual(
        expect.objectContaining({ type: 'integer', minimum: 0 }),
      )
    for (const name of ['root', 'targets'])
      expect(schemasOf(name)).toEqual([{ type: 'integer', minimum: 1 }])
    for (const schema of [...schemasOf('cursor'), ...schemasOf('page_token')])
      expect(schema).toMatchObject({ type: 'string', minLength: 1 })
  })

  it('has the patterns of names in filters', () => {
    const patternOf = (id: string, name: string) => {
      const { operation } = operations.find((each) => each.operation.operationId === id) ?? {}
      const found = operation?.parameters?.find((each) => each.name === name)
      return new RegExp(z.looseObject({ pattern: z.string() }).parse(found?.['schema']).pattern)
    }

    for (const [pattern, taken, refused] of [
      [patternOf('listEvents', 'actor'), 'user:alice', 'alice'],
      [patternOf('listDevices', 'user'), 'alice', 'user:alice'],
      [patternOf('listDevices', 'label'), 'ci', 'CI'],
    ] as const)
      expect([pattern.test(taken), pattern.test(refused)]).toEqual([true, false])
  })

  it('declares the format of timestamps', () => {
    const found: string[] = []
    visitSchemas(document, (name, schema) => {
      const types = JSON.stringify(schema)
      if (name.endsWith('_at') && types.includes('"string"') && !types.includes('date-time'))
        found.push(name)
    })

    expect(found).toEqual([])
  })

  it('declares mutually exclusive members, and lists of unique items', () => {
    const { schemas } = document.components

    expect(schemas['TokenRequest']).toMatchObject({
      allOf: [
        { oneOf: [{ required: ['username'] }, { required: ['identifier'] }] },
        { oneOf: [{ required: ['password'] }, { required: ['secret'] }] },
      ],
    })
    expect(schemas['StartRolloutRequest']).toMatchObject({
      properties: {
        stages: { items: { oneOf: [{ required: ['label'] }, { required: ['percent'] }] } },
        max_rejected: { oneOf: [{ required: ['machines'] }, { required: ['percent'] }] },
      },
    })
    expect(schemas['CheckRequest']).toMatchObject({ not: { required: ['user', 'teams'] } })
    expect(schemas['CreateAccessTokenRequest']).toMatchObject({
      properties: { permissions: { uniqueItems: true } },
    })
    for (const name of ['UpdateWebhookRequest', 'UpdateOrganizationRequest'])
      expect(schemas[name]).toMatchObject({ minProperties: 1 })
  })
})

function visitSchemas(value: unknown, visit: (name: string, schema: unknown) => void): void {
  if (typeof value !== 'object' || value === null) return
  for (const [name, member] of Object.entries(value)) {
    if (name === 'properties')
      for (const [property, schema] of Object.entries(Object(member))) visit(property, schema)
    visitSchemas(member, visit)
  }
}

/** Collects the schemas of objects, also by reference, and recursive ones once. */
function objectsIn(
  value: unknown,
  schemas: Readonly<Record<string, unknown>>,
  seen: ReadonlySet<string> = new Set(),
): object[] {
  if (typeof value !== 'object' || value === null) return []
  const name = '$ref' in value ? String(value.$ref).split('/').at(-1) : undefined
  if (name !== undefined)
    return seen.has(name) ? [] : objectsIn(schemas[name], schemas, new Set([...seen, name]))
  const inner = Object.values(value).flatMap((member) => objectsIn(member, schemas, seen))
  return 'properties' in value && 'type' in value ? [value, ...inner] : inner
}

function isClosed(schema: object): boolean {
  return 'additionalProperties' in schema && schema.additionalProperties === false
}

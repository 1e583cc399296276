import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { headersOf } from '../test-device.ts'
import { fillPath, pathParameters, type Operation } from './operations.ts'
import { kindOf, openTwoOrganizations, type TwoOrganizations } from './two-organizations.ts'

const JSON_TYPE = 'application/json'
/** Members whose value null takes away. */
const REMOVED_BY_NULL = new Set(['updateDetailedRule expires_at', 'updateTeam default'])
let world: TwoOrganizations
let operations: readonly Operation[]

beforeAll(async () => {
  world = await openTwoOrganizations()
  operations = world.document.operations.filter(({ body }) => body !== null && JSON_TYPE in body)
})
afterAll(() => world.close())

/** Returns the status and the invalid member in an operation's answer to a body. */
async function refusal(
  operation: Operation,
  payload: string | Uint8Array,
  contentType = JSON_TYPE,
): Promise<string> {
  const values = pathParameters(operation.path).map((name) => {
    return [name, world.acme[kindOf(operation.path, name)]] as const
  })
  const url = fillPath(operation.path, Object.fromEntries(values))
  const answer = await world.server.app.inject({
    method: operation.method,
    url,
    headers: { 'content-type': contentType, ...credentialsFor(operation, url) },
    payload: typeof payload === 'string' ? payload : Buffer.from(payload),
  })
  world.validate(operation, answer)
  const { code, field } = answer.json<{ error: { code: string; field?: string } }>().error
  return `${String(answer.statusCode)} ${code} ${field ?? ''}`.trim()
}

function credentialsFor({ security, method }: Operation, url: string): object {
  if (security === 'none') return {}
  if (security === 'device_token') return headersOf(world.device, method, url)
  return { authorization: `Bearer ${world.callers.owner}` }
}

/** Expects a refusal of every operation for its example after `mutate`. */
async function expectOfAll(
  expected: string,
  mutate: (example: Readonly<Record<string, unknown>>) => string | Uint8Array,
  contentType?: string,
): Promise<void> {
  const found = await Promise.all(
    operations.map(async (operation) => {
      const example = (operation.example ?? {}) as Readonly<Record<string, unknown>>
      return `${operation.id}: ${await refusal(operation, mutate(example), contentType)}`
    }),
  )
  expect(found).toEqual(operations.map(({ id }) => `${id}: ${expected}`))
}

/** Formats an object with additional members at its front. */
function withFront(front: string, example: object): string {
  const text = JSON.stringify(example)
  return text === '{}' ? `{${front}}` : `{${front},${text.slice(1)}`
}

describe('the body of every operation that takes one', () => {
  it('is refused with a member that the document does not have', async () => {
    await expectOfAll('400 invalid_argument nobody_knows', (example) =>
      JSON.stringify({ ...example, nobody_knows: 1 }),
    )
    await expectOfAll('400 invalid_argument __proto__', (example) =>
      withFront('"__proto__":{}', example),
    )
  })

  it('is refused with a repeated member, also an unknown or nested one', async () => {
    await expectOfAll('400 invalid_argument twice', (example) =>
      withFront('"twice":1,"twice":1', example),
    )
    await expectOfAll('400 invalid_argument deep', (example) =>
      withFront('"in":[{"x":{"deep":1,"d\\u0065ep":1}}]', example),
    )
  })

  it.each([
    ['an array', '[]'],
    ['null', 'null'],
    ['a number', '1e400'],
    ['text after it', '{} x'],
    ['a NUL after it', '{}\0'],
    ['single quotes', "{'name':'a'}"],
    ['a bare NaN', '{"name":NaN}'],
    ['nesting that is too deep', '[['.repeat(20) + ']]'.repeat(20)],
    ['a byte order mark', '\uFEFF{}'],
    ['no bytes', ''],
    ['white space only', ' \r\n\t'],
    ['a vertical tab as white space', '\v{}'],
  ])('is refused with %s', async (_title, text) => {
    await expectOfAll('400 invalid_argument', () => text)
  })

  it.each([
    ['UTF-16, little endian', Buffer.from('\uFEFF{}', 'utf16le')],
    ['UTF-16, big endian', Buffer.from('\uFEFF{}', 'utf16le').swap16()],
    ['a lone continuation byte', Buffer.from([0x7b, 0x22, 0x80, 0x22, 0x3a, 0x31, 0x7d])],
    ['a surrogate in UTF-8', Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22])],
    ['a code point beyond Unicode', Buffer.from([0x22, 0xf4, 0x90, 0x80, 0x80, 0x22])],
  ])('is refused in %s', async (_title, bytes) => {
    await expectOfAll('400 invalid_argument', () => bytes)
  })

  it.each([
    'text/json',
    'application/json; charset=iso-8859-1',
    'application/json-patch+json',
    'application/json, application/json',
  ])('is refused as %s', async (type) => {
    await expectOfAll('415 invalid_argument', (example) => JSON.stringify(example), type)
  })

  it('is refused with a member that is null or has another type', async () => {
    for (const operation of operations) {
      const example = operation.example as Readonly<Record<string, unknown>>
      for (const [name, value] of Object.entries(example)) {
        const takesNull = REMOVED_BY_NULL.has(`${operation.id} ${name}`)
        for (const other of wrongFor(value).filter((each) => each !== null || !takesNull)) {
          const title = `${operation.id} with ${name}: ${JSON.stringify(other)}`
          const found = await refusal(operation, JSON.stringify({ ...example, [name]: other }))
          expect(found, title).toMatch(new RegExp(`^400 invalid_argument ${name}(?![a-z_])`))
        }
      }
    }
  })
})

function wrongFor(value: unknown): unknown[] {
  const ofOtherTypes = [1, 'text', true].filter((other) => typeof other !== typeof value)
  return [null, [{ a: [] }], ...ofOtherTypes]
}

import { randomBytes } from 'node:crypto'
import { expect, it, onTestFinished } from 'vitest'
import { enrolTestDevice } from '../../test-device.ts'
import { openTestServer, type TestServer } from '../../test-server.ts'
import { captureLog } from './log-lines.ts'

const METRICS_TOKEN = 'mark-metrics-token'
/** Secret sent wherever a client can put free text. */
const MARK = /mark-[a-z]+/

interface Operation {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly url: string
}

/** All operations of the API document, in the organization `acme`. */
async function operationsOf({ send }: TestServer): Promise<Operation[]> {
  const document = (await send('GET', '/openapi.json')).json<{
    paths: Record<string, Record<string, unknown>>
  }>()
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => ({
      method: method.toUpperCase() as Operation['method'],
      url: path.replaceAll('{org}', 'acme').replaceAll(/\{[^}]+\}/g, 'mark-path'),
    })),
  )
}

/** All strings of an answer whose member is named like a secret. */
function secretsIn(value: unknown, name = ''): string[] {
  if (typeof value === 'string')
    return /(password|token|secret)$/.test(name) && value.length >= 12 ? [value] : []
  if (value === null || typeof value !== 'object') return []
  return Object.entries(value).flatMap(([member, inner]) => secretsIn(inner, member))
}

it('keeps all secrets of the API out of the log at its most verbose level', async () => {
  const log = captureLog()
  const server = await openTestServer(onTestFinished, {
    log: { level: 'trace', stream: log.stream },
    settings: { PALISADE_METRICS_TOKEN: METRICS_TOKEN },
  })
  const created = await server.createOrganization('acme', 'alice')
  const as = await server.signIn('alice', String(created.password))
  const secrets = new Set([as, ...secretsIn(created)])
  const bodies = [
    { name: 'mark-body' },
    { name: 'a token', permissions: ['policies:read'], expires_in_days: 1 },
    { user: 'alice' },
    { username: 'alice', password: created.personal_token },
    { username: 'alice', password: 'pal_pat_mark-secret' },
    { identifier: 'acme', secret: `pal_oat_${randomBytes(24).toString('hex')}` },
  ]
  const headers = { 'x-mark': 'mark-header', cookie: 'mark=mark-cookie' }
  let answered = 0
  const ask = async (operation: Operation, options: Parameters<TestServer['send']>[2]) => {
    const { body } = await server.send(operation.method, operation.url, { headers, ...options })
    answered += 1
    if (!body.startsWith('{')) return
    for (const secret of secretsIn(JSON.parse(body))) secrets.add(secret)
  }

  for (const operation of await operationsOf(server)) {
    const isRead = operation.method === 'GET' || operation.method === 'DELETE'
    for (const payload of isRead ? [{}] : bodies.map((body) => ({ payload: body })))
      for (const token of [{ as }, { as: `${as}x` }, {}])
        await ask(operation, { ...payload, ...token })
    await ask({ ...operation, url: `${operation.url}?mark=mark-query` }, { as })
  }
  await ask({ method: 'GET', url: '/metrics' }, { as: METRICS_TOKEN })

  const machine = await enrolTestDevice(server, as, 'acme')
  answered += 2
  secrets.add(machine.token)
  const enrolment = { name: 'one', max_uses: 1, expires_in_days: 1 }
  const url = '/api/v1/orgs/acme/enrolment-tokens'
  await ask({ method: 'POST', url }, { as, payload: enrolment })
  for (const path of ['/api/v1/device/view', '/api/v1/device/view?mark=mark-query'])
    await ask({ method: 'GET', url: path }, { as: machine })

  // The run covered enough: it created and used tokens of all kinds.
  for (const kind of ['pal_pat_', 'pal_oat_', 'pal_enr_', 'pal_dat_', 'eyJ'])
    expect(
      [...secrets].some((secret) => secret.startsWith(kind)),
      kind,
    ).toBe(true)
  expect(log.requests().length).toBe(answered + 2)
  for (const secret of secrets) expect(log.text()).not.toContain(secret)
  expect(log.text()).not.toMatch(MARK)
  expect(log.text()).not.toMatch(/Bearer|DPoP e|\$argon2|pal_[a-z]{3}_/)
})

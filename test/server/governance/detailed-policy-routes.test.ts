import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openGovernedApp, type GovernedApp } from '../http/governed-app.ts'
import { createPolicy, createRule, getPolicy, POLICIES, RULE } from './policies.ts'

const DETAILED = '/api/v1/orgs/acme/policies'
const EXPIRY = '2026-12-31T18:00:00.000Z'

let governed: GovernedApp

beforeAll(async () => {
  governed = await openGovernedApp()
})
afterAll(() => governed.close())

async function send(method: 'GET' | 'POST' | 'PATCH', url: string, payload?: object) {
  const response = await governed.send({
    method,
    url,
    ...(payload === undefined ? {} : { payload }),
  })
  return { status: response.statusCode, body: response.json(), etag: response.headers.etag }
}

describe('a detailed policy', () => {
  it('is created with its mode, which the governance API does not show', async () => {
    const created = await send('POST', DETAILED, { name: 'trial', mode: 'shadow' })

    expect(created.status).toBe(201)
    expect(created.body).toMatchObject({ name: 'trial', mode: 'shadow', scope: {} })
    expect((await send('GET', `${DETAILED}/${created.body.id}`)).body).toEqual(created.body)
    const { mode: _, ...contract } = created.body
    expect(await getPolicy(governed, created.body.id)).toEqual(contract)
    const listed = (url: string) =>
      send('GET', url).then(({ body }) =>
        body.data.find(({ id }: { id: string }) => id === created.body.id),
      )
    expect(await listed(POLICIES)).toEqual({ ...contract, type: 'allowlist_v0' })
    expect(await listed(DETAILED)).toEqual({ ...created.body, type: 'allowlist_v0' })
  })

  it('keeps its mode when the governance API changes it, until it is `enforce`', async () => {
    const { body } = await send('POST', DETAILED, { name: 'kept', mode: 'shadow' })
    const renamed = await send('PATCH', `${POLICIES}/${body.id}`, { name: 'kept on' })
    expect(renamed.body.new).toMatchObject({ name: 'kept on' })
    expect(renamed.body.new).not.toHaveProperty('mode')
    const shown = await send('GET', `${DETAILED}/${body.id}`)
    expect(shown.body).toMatchObject({ name: 'kept on', mode: 'shadow' })

    const same = await send('PATCH', `${DETAILED}/${body.id}`, { mode: 'shadow' })
    expect(same.etag).toBe(shown.etag)
    const ended = await send('PATCH', `${DETAILED}/${body.id}`, { mode: 'enforce' })

    expect(ended.body.old).toMatchObject({ mode: 'shadow' })
    expect(ended.body.new).not.toHaveProperty('mode')
    expect(ended.etag).not.toBe(shown.etag)
  })

  it('has rules that expire, also in the past, in canonical form', async () => {
    const { id } = await createPolicy(governed, 'expiring')
    const rules = `${DETAILED}/${id}/rules`
    const added = await send('POST', rules, { ...RULE, expires_at: '2026-12-31T18:00:00Z' })
    const past = await send('POST', rules, {
      ...RULE,
      name: 'p',
      expires_at: '1999-01-01T00:00:00.5Z',
    })

    expect([added.status, added.body]).toEqual([
      201,
      { id: added.body.id, ...RULE, expires_at: EXPIRY },
    ])
    expect(past.body.expires_at).toBe('1999-01-01T00:00:00.500Z')
    expect((await send('GET', `${DETAILED}/${id}`)).body.allowlist_v0.rules).toEqual([
      added.body,
      past.body,
    ])
    expect((await getPolicy(governed, id)).allowlist_v0?.rules).toEqual([
      { id: added.body.id, ...RULE },
      { id: past.body.id, ...RULE, name: 'p' },
    ])
  })

  it('answers a write of a rule with its warnings, and keeps none of them', async () => {
    const { id } = await createPolicy(governed, 'warned')
    const rules = `${DETAILED}/${id}/rules`
    const warned = { ...RULE, name: 'w', resources: ['“bad.example.test”'] }

    const added = await send('POST', rules, warned)
    const changed = await send('PATCH', `${rules}/${added.body.id}`, { resources: ['::1:443'] })
    const mended = await send('PATCH', `${rules}/${added.body.id}`, { resources: ['[::1]:443'] })
    const plain = await send('PATCH', `${rules}/${added.body.id}`, { resources: ['a.test'] })
    const large = Array.from({ length: 101 }, (_, index) => `“${index}.test”`)
    const skipped = await send('PATCH', `${rules}/${added.body.id}`, { resources: large })

    expect(added).toMatchObject({
      status: 201,
      body: {
        warnings: [
          {
            code: 'literal_syntax',
            severity: 'warning',
            mend: 'write `bad.example.test`',
          },
        ],
      },
    })
    expect(changed.body.warnings).toContainEqual(
      expect.objectContaining({ code: 'port_in_address', severity: 'warning' }),
    )
    expect(mended.body.warnings).toMatchObject([{ code: 'opens_protected', severity: 'info' }])
    expect(plain.body).not.toHaveProperty('warnings')
    expect([skipped.status, skipped.body.warnings]).toEqual([200, undefined])
    const [kept] = (await send('GET', `${DETAILED}/${id}`)).body.allowlist_v0.rules
    expect(kept).not.toHaveProperty('warnings')
    const contract = await send('POST', `${POLICIES}/${id}/rules`, { ...warned, name: 'c' })
    expect(contract.body).toEqual({ id: contract.body.id, ...warned, name: 'c' })
  })

  it('warns of a directory that is allowed without its contents', async () => {
    const { id } = await createPolicy(governed, 'directory alone')
    const add = (name: string, resource: string) =>
      send('POST', `${DETAILED}/${id}/rules`, {
        name,
        actions: ['read'],
        decision: 'allow',
        resources: [resource],
      })

    expect((await add('a', '/tmp/build')).body.warnings).toMatchObject([
      { code: 'directory_alone' },
    ])
    expect((await add('b', '/tmp/build/**')).body).not.toHaveProperty('warnings')
  })

  it('keeps the expiry of a rule when the governance API changes it', async () => {
    const { id } = await createPolicy(governed, 'kept expiry')
    const rule = await send('POST', `${DETAILED}/${id}/rules`, { ...RULE, expires_at: EXPIRY })
    const of = (root: string) => `${root}/${id}/rules/${rule.body.id}`

    const denied = await send('PATCH', of(POLICIES), { decision: 'deny' })
    expect(denied.body.new).toEqual({ id: rule.body.id, ...RULE, decision: 'deny' })
    const later = await send('PATCH', of(DETAILED), { expires_at: '2027-01-01T00:00:00Z' })
    expect(later.body).toMatchObject({
      old: { decision: 'deny', expires_at: EXPIRY },
      new: { decision: 'deny', expires_at: '2027-01-01T00:00:00.000Z' },
    })
    const lasting = await send('PATCH', of(DETAILED), { expires_at: null })

    expect(lasting.body.new).toEqual({ id: rule.body.id, ...RULE, decision: 'deny' })
    const again = await send('PATCH', of(DETAILED), { expires_at: null })
    expect(again.etag).toBe(lasting.etag)
  })

  it.each(['2026-12-31T18:00:00+01:00', '2026-12-31', '2026-02-30T00:00:00Z', '', 1, null])(
    'refuses the expiry %j of a new rule',
    async (expires_at) => {
      const { id } = await createPolicy(governed, `refusing ${expires_at}`)

      const refused = await send('POST', `${DETAILED}/${id}/rules`, { ...RULE, expires_at })

      expect([refused.status, refused.body.error.field]).toEqual([400, 'expires_at'])
      expect((await getPolicy(governed, id)).allowlist_v0).toBeUndefined()
    },
  )

  it('refuses a mode that it does not know, and both members in the governance API', async () => {
    const { id } = await createPolicy(governed, 'strict')
    const rule = await createRule(governed, id)
    const attempts = [
      send('POST', DETAILED, { name: 'x', mode: 'observe' }),
      send('POST', POLICIES, { name: 'x', mode: 'shadow' }),
      send('PATCH', `${POLICIES}/${id}`, { mode: 'shadow' }),
      send('POST', `${POLICIES}/${id}/rules`, { ...RULE, name: 'x', expires_at: EXPIRY }),
      send('PATCH', `${POLICIES}/${id}/rules/${rule.id}`, { expires_at: EXPIRY }),
    ]

    for (const { status } of await Promise.all(attempts)) expect(status).toBe(400)
    expect((await send('GET', `${DETAILED}/${id}`)).body).not.toHaveProperty('mode')
  })

  it('is another creation than that of the governance API, with one idempotency key', async () => {
    const create = (url: string) =>
      governed.send({
        method: 'POST',
        url,
        payload: { name: 'keyed' },
        headers: { 'idempotency-key': 'key-of-two-forms' },
      })

    const [first, again, other] = [
      await create(DETAILED),
      await create(DETAILED),
      await create(POLICIES),
    ]

    expect([first.statusCode, again.statusCode, other.statusCode]).toEqual([201, 201, 409])
    expect(again.json()).toEqual(first.json())
  })
})

import type { InjectOptions } from 'fastify'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { openGovernedApp, type GovernedApp } from '../http/governed-app.ts'
import { createPolicy, createRule, POLICIES, RULE } from './policies.ts'

let governed: GovernedApp
let url: string
let etag: string
let count = 0

beforeAll(async () => {
  governed = await openGovernedApp()
})
afterAll(() => governed.close())
beforeEach(async () => {
  count += 1
  const { id } = await createPolicy(governed, `policy ${String(count)}`)
  url = `${POLICIES}/${id}`
  etag = await currentTag()
})

async function currentTag(): Promise<string> {
  return (await governed.send({ url })).headers.etag ?? ''
}

function patch(ifMatch: string) {
  const payload = { name: `renamed ${String(count)}` }
  return governed.send({ method: 'PATCH', url, payload, headers: { 'if-match': ifMatch } })
}

describe('the entity tag of a policy', () => {
  it('is strong, and the same in the answers to create, get and update', async () => {
    expect(etag).toMatch(/^"[^"]+"$/)
    const updated = await patch('*')
    expect(updated.headers.etag).not.toBe(etag)
    expect(await currentTag()).toBe(updated.headers.etag)
  })

  it('changes with every change of a rule, and is in the answers about rules', async () => {
    const { id } = await createRule(governed, url.slice(POLICIES.length + 1))
    const tags = [etag, await currentTag()]
    const requests: InjectOptions[] = [
      { method: 'POST', url: `${url}/rules`, payload: { ...RULE, name: 'second' } },
      { method: 'PATCH', url: `${url}/rules/${id}`, payload: { decision: 'deny' } },
      { method: 'DELETE', url: `${url}/rules/${id}` },
    ]
    for (const request of requests) {
      const response = await governed.send(request)
      expect(response.headers.etag).toBe(await currentTag())
      tags.push(await currentTag())
    }
    expect(new Set(tags).size).toBe(tags.length)
  })
})

describe('If-Match', () => {
  it('accepts the current tag, a list with it, and *', async () => {
    expect((await patch(etag)).statusCode).toBe(200)
    expect((await patch(`"old", ${await currentTag()}`)).statusCode).toBe(200)
    expect((await patch('*')).statusCode).toBe(200)
  })

  it.each([
    ['another tag', () => '"0"'],
    ['the weak form', () => `W/${etag}`],
    ['a list without it', () => '"a", "b,c"'],
  ])('answers 412 to %s and writes no change', async (_title, header) => {
    const response = await patch(header())

    expect(response.statusCode).toBe(412)
    expect(response.json().error.code).toBe('conflict')
    expect(await currentTag()).toBe(etag)
  })

  it.each(['', '0', '"open', '"a" "b"', '*, "a"', 'w/"a"', ','])(
    'answers 400 to the malformed value %j',
    async (header) => {
      const response = await patch(header)

      expect(response.statusCode).toBe(400)
      expect(response.json().error).toMatchObject({ code: 'invalid_argument', field: 'If-Match' })
    },
  )

  it.each(['DELETE', 'GET'] as const)('also applies to %s', async (method) => {
    const headers = { 'if-match': '"0"' }
    expect((await governed.send({ method, url, headers })).statusCode).toBe(412)
  })

  it('compares with the tag of the policy on the endpoints of rules', async () => {
    const rule = await createRule(governed, url.slice(POLICIES.length + 1))
    const stale = { 'if-match': etag }
    const target = `${url}/rules/${rule.id}`
    const patchTo = (headers: Record<string, string>) =>
      governed.send({ method: 'PATCH', url: target, payload: { decision: 'deny' }, headers })

    expect((await patchTo(stale)).statusCode).toBe(412)
    expect((await patchTo({ 'if-match': await currentTag() })).statusCode).toBe(200)
    const removal = await governed.send({ method: 'DELETE', url: target, headers: stale })
    expect(removal.statusCode).toBe(412)
  })
})

describe('If-None-Match', () => {
  const get = (header: string) => governed.send({ url, headers: { 'if-none-match': header } })

  it.each([
    ['the tag', () => etag],
    ['its weak form', () => `W/${etag}`],
    ['a list with it', () => `"x",${etag}`],
    ['*', () => '*'],
  ])('answers 304 without a body to %s', async (_title, header) => {
    const response = await get(header())

    expect(response.statusCode).toBe(304)
    expect(response.body).toBe('')
    expect(response.headers.etag).toBe(etag)
  })

  it('answers with the policy to another tag, and 400 to a malformed one', async () => {
    expect((await get('"other"')).statusCode).toBe(200)
    expect((await get('other')).statusCode).toBe(400)
  })
})

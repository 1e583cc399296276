import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openGovernedApp, type GovernedApp } from '../../http/governed-app.ts'
import { createPolicy, createRule } from '../policies.ts'
import { apply, EXPORT, exported, rule } from './documents.ts'

let governed: GovernedApp

beforeAll(async () => {
  governed = await openGovernedApp()
  const policy = await createPolicy(governed, 'web', { teams: [governed.team] })
  await createRule(governed, policy.id, { name: 'z' })
  await createRule(governed, policy.id, { name: 'a' })
  await createPolicy(governed, 'empty')
})
afterAll(() => governed.close())

describe('an export', () => {
  it('shows every policy by name, with team names and rules in their order', async () => {
    const document = await exported(governed)

    expect(document).toEqual({
      revision: expect.any(Number),
      policies: [
        { name: 'empty', scope: {}, rules: [] },
        {
          name: 'web',
          scope: { teams: ['backend'] },
          rules: ['z', 'a'].map((name) => rule(name, 'example.com:443')),
        },
      ],
      teams: [{ id: governed.team, name: 'backend' }],
      team_sets: [['backend']],
    })
  })

  it('has no effect when it is applied again', async () => {
    const { policies } = await exported(governed)

    expect(await apply(governed, { policies, prune: true })).toMatchObject({
      changes: [],
      unchanged: 2,
    })
  })

  it("carries the organization's revision as its entity tag", async () => {
    const response = await governed.send({ url: EXPORT })
    const etag = String(response.headers.etag)
    expect(etag).toBe(`"${response.json().revision}"`)

    const get = (headers: Record<string, string>) => governed.send({ url: EXPORT, headers })
    expect((await get({ 'if-none-match': etag })).statusCode).toBe(304)
    expect((await get({ 'if-match': '"0"' })).statusCode).toBe(412)
    expect((await get({ 'if-match': '0' })).statusCode).toBe(400)
    expect((await get({ 'if-match': etag })).statusCode).toBe(200)
  })

  it('needs permission to read the policies of the organization', async () => {
    const status = async (as: string | null, org = 'acme', query = {}) =>
      (await governed.send({ as, url: `/api/v1/orgs/${org}/export`, query })).statusCode

    expect(await status(null)).toBe(401)
    expect(await status('olga', 'rival')).toBe(404)
    expect(await status('olga', 'poor')).toBe(403)
    expect(await status('mia')).toBe(403)
    expect(await status('audrey')).toBe(200)
    expect(await status('olga', 'acme', { x: '1' })).toBe(400)
    expect(await status('rita', 'rival')).toBe(200)
  })
})

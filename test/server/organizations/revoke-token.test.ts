import { expect, it } from 'vitest'
import { openTestServer } from '../test-server.ts'

const ORG = '/api/v1/orgs/acme/access-tokens'
const OWN = '/api/v1/user/access-tokens'

it('revokes a token of the given list once, and none of another list', async () => {
  const test = await openTestServer()
  const acme = await test.createOrganization('acme', 'alice')
  const rival = await test.createOrganization('rival', 'rita')
  const alice = await test.signIn('alice', acme.password ?? '')
  const rita = await test.signIn('rita', rival.password ?? '')
  const payload = { name: 'ci', permissions: [], expires_in_days: 1 }
  const make = async (url: string, as: string) =>
    (await test.send('POST', url, { as, payload })).json<{ id: string }>().id
  const revoke = async (url: string, id: string, as: string) =>
    (await test.send('DELETE', `${url}/${id}`, { as })).statusCode
  const [ofOrg, own] = [await make(ORG, alice), await make(OWN, alice)]
  const foreign = await make('/api/v1/orgs/rival/access-tokens', rita)

  expect(await revoke(ORG, own, alice)).toBe(404)
  expect(await revoke(OWN, ofOrg, alice)).toBe(404)
  expect(await revoke(ORG, foreign, alice)).toBe(404)
  expect(await revoke(OWN, own, rita)).toBe(404)

  for (const [url, id] of [
    [ORG, ofOrg],
    [OWN, own],
  ] as const) {
    expect(await revoke(url, id, alice)).toBe(204)
    expect(await revoke(url, id, alice)).toBe(404)
  }
})

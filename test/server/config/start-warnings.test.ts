import { describe, expect, it } from 'vitest'
import { openTestServer } from '../test-server.ts'

describe('a server on every address', () => {
  it.each([
    [{}, 409],
    [{ PALISADE_PUBLIC_URL: 'https://palisade.example.com' }, 201],
  ])('with %j answers %i to the creation of an enrolment token', async (settings, status) => {
    const test = await openTestServer(undefined, {
      settings: { PALISADE_HOST: '0.0.0.0', ...settings },
    })
    const { personal_token } = await test.createOrganization('acme', 'alice')
    const as = await test.signIn('alice', personal_token)
    const payload = { name: 'laptops', max_uses: 1, expires_in_days: 1 }

    const response = await test.send('POST', '/api/v1/orgs/acme/enrolment-tokens', { as, payload })

    expect(response.statusCode).toBe(status)
    expect(response.body.includes('must set `PALISADE_PUBLIC_URL`')).toBe(status === 409)
  })
})

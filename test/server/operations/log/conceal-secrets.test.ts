import { randomBytes } from 'node:crypto'
import { expect, it } from 'vitest'
import { concealSecrets } from '../../../../server/src/operations/log/conceal-secrets.ts'
import { hashPassword } from '../../../../server/src/identity/sign-in/password.ts'
import { createSecretToken } from '../../../../server/src/identity/tokens/secret-token.ts'

const token = createSecretToken('personal', randomBytes)
const jwt = 'eyJhbGciOiJFZERTQSJ9.eyJzdWIiOiJhbGljZSJ9.c2lnbmF0dXJl'

it.each([
  ['a personal token', token],
  ['an organization token', createSecretToken('organization', randomBytes)],
  ['a device token', createSecretToken('enrolment', randomBytes)],
  ['a cut token', token.slice(0, 30)],
  ['a webhook secret', 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'],
  ['an access token', jwt],
  ['any bearer', 'Bearer 0123456789abcdef'],
  ['a password hash', await hashPassword('correct horse', randomBytes)],
])('conceals %s in any position', (_title, secret) => {
  const bare = secret.replace(/^Bearer /, '')
  for (const line of [secret, `{"msg":"bad ${secret}"}`, `{"msg":"said \\"${secret}\\" twice"}`]) {
    const concealed = concealSecrets(line)
    expect(concealed).not.toContain(bare)
    expect(concealed).toContain('[concealed]')
    expect(concealed.endsWith(line.slice(line.indexOf(secret) + secret.length))).toBe(true)
  }
})

it('conceals the private member of a key, even in nested JSON', () => {
  const key = JSON.stringify({ kty: 'OKP', d: 'c2VjcmV0LXNjYWxhcg', x: 'cHVibGlj' })

  for (const line of [key, JSON.stringify({ msg: key }), JSON.stringify({ a: { b: [key] } })]) {
    expect(concealSecrets(line)).not.toContain('c2VjcmV0LXNjYWxhcg')
    expect(concealSecrets(line)).toContain('cHVibGlj')
  }
})

it('conceals only the password of a URL', () => {
  expect(concealSecrets('connect postgres://palisade:hunter2@db.example:5432/p failed')).toBe(
    'connect postgres://palisade:[concealed]@db.example:5432/p failed',
  )
})

it('does not change an ordinary line', () => {
  const line = JSON.stringify({
    level: 30,
    route: '/v2/orgs/:org/governance/policies',
    actor: 'organization:acme:7a0d2b1c-5e3f-4a6b-8c9d-0e1f2a3b4c5d',
    address: '2001:db8::1',
    url: 'http://[::1]:8420',
    msg: 'palisade-server listening on http://127.0.0.1:8420',
  })

  expect(concealSecrets(line)).toBe(line)
})

it('takes time linear in the length of the line', () => {
  const hostile = [
    'a'.repeat(200_000),
    'eyJ'.repeat(60_000),
    `${'a.'.repeat(50_000)}://`,
    '"d'.repeat(50_000),
    '\\'.repeat(100_000),
  ]
  const started = performance.now()

  for (const line of hostile) concealSecrets(line)

  expect(performance.now() - started).toBeLessThan(10_000)
})

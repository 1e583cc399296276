import { expect, it } from 'vitest'
import { createVerifiedTokens } from '../../../../server/src/identity/tokens/verified-tokens.ts'

it('remembers so many tokens at most, and drops the oldest', () => {
  const tokens = createVerifiedTokens(2)
  const subject = { kind: 'user', name: 'ann', tokenId: null } as const
  for (const hash of ['h1', 'h2', 'h3']) tokens.keep(hash, { subject, kid: 'k', expiresMs: 1 })

  expect(['h1', 'h2', 'h3'].filter((hash) => tokens.find(hash) !== null)).toEqual(['h2', 'h3'])
  expect(tokens.find('h3')?.subject).toBe(subject)
})

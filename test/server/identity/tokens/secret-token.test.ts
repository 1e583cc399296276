import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  createSecretToken,
  hashSecretToken,
  kindOfSecretToken,
} from '../../../../server/src/identity/tokens/secret-token.ts'

const KINDS = ['personal', 'organization', 'enrolment'] as const
const bytes32 = fc.uint8Array({ minLength: 32, maxLength: 32 })

describe('a secret token', () => {
  it('has the prefix of its kind and a fixed length', () => {
    fc.assert(
      fc.property(fc.constantFrom(...KINDS), bytes32, (kind, bytes) => {
        const token = createSecretToken(kind, () => bytes)

        expect(token).toMatch(/^pal_(pat|oat|enr)_[0-9A-Za-z]{49}$/)
        expect(kindOfSecretToken(token)).toBe(kind)
      }),
    )
  })

  it('is refused with any single character changed', () => {
    const token = createSecretToken('personal', () => new Uint8Array(32).fill(7))

    for (let index = 0; index < token.length; index += 1) {
      const other = token[index] === 'x' ? 'y' : 'x'
      const changed = token.slice(0, index) + other + token.slice(index + 1)
      expect(kindOfSecretToken(changed), changed).toBeNull()
    }
  })

  it('is not recognized in other texts', () => {
    for (const text of ['', 'pal_pat_', 'password', 'a'.repeat(57), 'pal_xyz_abc'])
      expect(kindOfSecretToken(text)).toBeNull()
  })

  it('differs if its random bytes differ', () => {
    fc.assert(
      fc.property(bytes32, bytes32, (a, b) => {
        fc.pre(Buffer.compare(a, b) !== 0)
        expect(createSecretToken('enrolment', () => a)).not.toBe(
          createSecretToken('enrolment', () => b),
        )
      }),
    )
  })

  it('is stored as its SHA-256', () => {
    expect(hashSecretToken('abc')).toBe(
      'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad',
    )
  })
})

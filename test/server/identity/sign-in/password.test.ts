import { argon2Sync } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { hashPassword, verifyPassword } from '../../../../server/src/identity/sign-in/password.ts'
import { countSlowHashes } from './count-slow-hashes.ts'

const random = (bytes: number) => new Uint8Array(bytes).fill(7)

describe('a password', () => {
  it('matches only its own hash', async () => {
    const stored = await hashPassword('correct horse', random)

    expect(await verifyPassword('correct horse', stored)).toBe(true)
    expect(await verifyPassword('correct horsE', stored)).toBe(false)
    expect(await verifyPassword('', stored)).toBe(false)
  })

  it('is stored as an Argon2id PHC string with its salt', async () => {
    const stored = await hashPassword('correct horse', random)

    const [, id, version, cost, salt = '', tag] = stored.split('$')
    expect([id, version, cost]).toEqual(['argon2id', 'v=19', 'm=19456,t=2,p=1'])
    const expected = argon2Sync('argon2id', {
      message: 'correct horse',
      nonce: Buffer.from(salt, 'base64'),
      memory: 19_456,
      passes: 2,
      parallelism: 1,
      tagLength: 32,
    })
    expect(tag).toBe(expected.toString('base64').replaceAll('=', ''))
  })

  it('of an unknown user is wrong and costs as much as that of a known one', async () => {
    const stored = await hashPassword('correct horse', random)
    const work: string[] = []
    countSlowHashes((parameters) => work.push(parameters))

    expect(await verifyPassword('wrong', null)).toBe(false)
    expect(await verifyPassword('wrong', stored)).toBe(false)

    expect(work).toEqual(['argon2id m=19456 t=2 p=1 32', 'argon2id m=19456 t=2 p=1 32'])
  })

  it('with a damaged stored hash is wrong', async () => {
    expect(await verifyPassword('x', 'plain')).toBe(false)
  })
})

import { randomBytes, randomUUID } from 'node:crypto'
import { beforeEach, describe, expect, it } from 'vitest'
import { ApiError } from '../../../server/src/platform/api-error.ts'
import { createOrganization } from '../../../server/src/organizations/create-organization.ts'
import { createTokenExchange } from '../../../server/src/identity/exchange-secret.ts'
import { createPasswordQueue } from '../../../server/src/identity/sign-in/password-queue.ts'
import { createPasswordProof } from '../../../server/src/identity/sign-in/prove-password.ts'
import { createSignInLimits } from '../../../server/src/identity/sign-in/sign-in-limits.ts'
import { createTokenUse } from '../../../server/src/identity/token-use.ts'
import { createAuditedStore } from '../../../server/src/history/audit/audited-store.ts'
import type { Store } from '../../../server/src/store/store.ts'
import { createAccessTokenKeys } from '../../../server/src/identity/tokens/access-token-keys.ts'
import { createAccessTokenIssuer } from '../../../server/src/identity/tokens/access-token-jwt.ts'
import { createSecretToken } from '../../../server/src/identity/tokens/secret-token.ts'
import { openTestServer } from '../test-server.ts'
import { countSlowHashes } from './sign-in/count-slow-hashes.ts'

describe('a failed exchange', () => {
  let exchange: ReturnType<typeof createTokenExchange>
  let alice: { password: string; personal_token: string }
  /** The slow work of an exchange: hashes by their parameters, and reads. */
  let work: string[]

  beforeEach(async () => {
    work = []
    countSlowHashes((parameters) => work.push(parameters))
    const { store } = await openTestServer()
    const now = () => new Date('2026-11-21T08:00:00.250Z')
    const sources = { now, random: randomBytes, newId: randomUUID }
    const organization = { name: 'acme', owner: 'alice', entitled: true }
    const created = await createOrganization(
      { store: createAuditedStore({ store, now }), ...sources },
      organization,
    )
    alice = { password: created.password ?? '', personal_token: created.personal_token ?? '' }
    await store.transaction((writer) =>
      writer.users.insert({ username: 'bot', password_hash: null, created_at: created.org }),
    )
    const counted: Store = {
      ...store,
      read: (body) => {
        work.push('read')
        return store.read(body)
      },
    }
    const signInLimits = createSignInLimits(() => 1)
    const keys = createAccessTokenKeys({ store, now })
    exchange = createTokenExchange({
      store: counted,
      accessTokens: createAccessTokenIssuer({ keys, ...sources }),
      signInLimits,
      provePassword: createPasswordProof({
        store: counted,
        journal: {
          noteNetwork: () => undefined,
          noteFailure: () => undefined,
          seenAt: () => null,
        },
        signInLimits,
        passwordQueue: createPasswordQueue(),
        now,
      }),
      tokenUse: createTokenUse({ store, now }),
      accessTokenMinutes: 15,
      now,
    })
  })

  /** The work of an exchange, and its answer. */
  async function attempt(name: string, secret: string): Promise<[string[], unknown]> {
    work.length = 0
    const answer: unknown = await exchange({
      name,
      secret,
      address: '192.0.2.1',
      requestId: null,
    }).catch((error: unknown) => error)
    const refusal =
      answer instanceof ApiError
        ? [answer.status, answer.code, answer.message, answer.headers]
        : answer
    return [[...work], refusal]
  }

  it('does the same work and answers the same for an unknown user', async () => {
    const wrong = await attempt('alice', 'a wrong password')

    expect(wrong[0]).toEqual(['read', 'argon2id m=19456 t=2 p=1 32'])
    expect(wrong[1]).toEqual(expect.arrayContaining([401, 'unauthenticated']))
    expect(await attempt('nobody', 'a wrong password')).toEqual(wrong)
    expect(await attempt('bot', 'a wrong password')).toEqual(wrong)
    expect(await attempt('', 'a wrong password')).toEqual(wrong)
    expect(await attempt('alice', '')).toEqual(wrong)
    const [right] = await attempt('alice', alice.password)
    expect(right).toEqual(wrong[0])
  })

  it('does the same work and answers the same for an unknown token', async () => {
    const unknown = await attempt('alice', createSecretToken('personal', randomBytes))

    expect(unknown[0]).toEqual(['read'])
    expect(unknown[1]).toEqual(expect.arrayContaining([401, 'unauthenticated']))
    expect(await attempt('nobody', createSecretToken('personal', randomBytes))).toEqual(unknown)
    expect(await attempt('nobody', alice.personal_token)).toEqual(unknown)
    const [right] = await attempt('alice', alice.personal_token)
    expect(right).toEqual(unknown[0])
  })
})

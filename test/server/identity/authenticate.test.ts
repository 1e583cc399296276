import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { openSqliteStore } from '@palisade/server'
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import {
  createAuthenticator,
  type Authenticate,
} from '../../../server/src/identity/authenticate.ts'
import type { Store } from '../../../server/src/store/store.ts'
import {
  createAccessTokenIssuer,
  type AccessTokenIssuer,
} from '../../../server/src/identity/tokens/access-token-jwt.ts'
import { createAccessTokenKeys } from '../../../server/src/identity/tokens/access-token-keys.ts'
import { ensureSigningKeys } from '../../../server/src/identity/tokens/ensure-signing-keys.ts'
import { temporaryDirectory } from '../temporary-directory.ts'

const NOW = '2026-11-21T08:00:00.000Z'
const IN_A_MINUTE = '2026-11-21T08:01:00.000Z'

describe('the authenticator', () => {
  let path: string
  let store: Store
  let issuer: AccessTokenIssuer
  let authenticate: Authenticate
  let nowMs: number

  const open = (): Store => {
    const opened = openSqliteStore(path)
    onTestFinished(() => opened.close())
    return opened
  }

  beforeEach(async () => {
    nowMs = Date.parse(NOW)
    const now = () => new Date(nowMs)
    path = join(temporaryDirectory(), 'server.db')
    store = open()
    await store.transaction(async (writer) => {
      await writer.users.insert({ username: 'ann', password_hash: null, created_at: NOW })
      await writer.accessTokens.insert({
        kind: 'personal',
        username: 'ann',
        id: 't1',
        name: 't1',
        permissions: ['policies:read'],
        secret_hash: 'hash',
        created_at: NOW,
        expires_at: IN_A_MINUTE,
        revoked_at: null,
        parent_id: null,
        prefix: 'pal_0000',
        created_by: 'operator',
        last_used_at: null,
      })
    })
    await ensureSigningKeys(store, 'access_token', now)
    const keys = createAccessTokenKeys({ store, now })
    issuer = createAccessTokenIssuer({ keys, now, newId: randomUUID })
    authenticate = createAuthenticator({ store, accessTokens: issuer, now })
  })

  const bearer = async (tokenId: string | null, lifetimeSeconds = 900) =>
    `Bearer ${await issuer.issue({ kind: 'user', name: 'ann', tokenId }, lifetimeSeconds)}`
  const refused = { status: 401 }

  it('returns the same object for the same token until the next commit', async () => {
    const token = await bearer('t1')
    const first = await authenticate(token)

    expect(await authenticate(token)).toBe(first)
    expect(first).toMatchObject({ username: 'ann', tokenId: 't1', permissions: ['policies:read'] })
  })

  it('refuses a revoked token at the next request', async () => {
    const token = await bearer('t1')
    await authenticate(token)

    await store.transaction((writer) => writer.accessTokens.revoke('t1', NOW))

    await expect(authenticate(token)).rejects.toMatchObject(refused)
  })

  it('refuses a token that another process revoked', async () => {
    const token = await bearer('t1')
    await authenticate(token)

    await open().transaction((writer) => writer.accessTokens.revoke('t1', NOW))
    await nextTurn()

    await expect(authenticate(token)).rejects.toMatchObject(refused)
  })

  it('refuses a token whose secret expired without a commit', async () => {
    const token = await bearer('t1')
    await authenticate(token)

    nowMs = Date.parse(IN_A_MINUTE) - 1
    await authenticate(token)
    nowMs = Date.parse(IN_A_MINUTE)

    await expect(authenticate(token)).rejects.toMatchObject(refused)
  })

  it('refuses a session that expired without a commit', async () => {
    const token = await bearer(null, 30)
    await authenticate(token)

    nowMs += 29_999
    await authenticate(token)
    nowMs += 1

    await expect(authenticate(token)).rejects.toMatchObject(refused)
  })

  it('refuses a cached token whose key was retired', async () => {
    const token = await bearer(null)
    await authenticate(token)
    const [key] = await store.read((reader) => reader.signingKeys.list('access_token'))

    await store.transaction((writer) =>
      writer.signingKeys.retire(key?.kid ?? '', '2026-11-21T07:00:00.000Z'),
    )

    await expect(authenticate(token)).rejects.toMatchObject(refused)
  })

  it('refuses a cached token with a changed signature', async () => {
    const token = await bearer(null)
    await authenticate(token)
    const last = token.at(-1)
    const changed = `${token.slice(0, -2)}${token.at(-2) === 'A' ? 'B' : 'A'}${last ?? ''}`

    await expect(authenticate(changed)).rejects.toMatchObject(refused)
  })
})

import { defineAggregate } from '../aggregate.ts'
import { createAccessTokenReader, createAccessTokenWriter } from './access-token-rows.ts'
import type { AccessTokenReader, AccessTokenWriter } from './access-token-contract.ts'
import type { ChangeRecorder, Writes } from '../../change.ts'
import type { AccessTokenRecord } from '../../records.ts'

export const ACCESS_TOKENS = defineAggregate({
  tables: [
    { name: 'access_tokens', key: ['place'] },
    { name: 'pending_revocations', key: ['kind', 'org', 'key'] },
  ],
  reader: createAccessTokenReader,
  writer: createAccessTokenWriter,
  events: auditAccessTokens,
})

/** A personal token is in the history of the organizations that own its user's account. */
function auditAccessTokens(
  tokens: AccessTokenWriter,
  { record }: ChangeRecorder,
): Writes<AccessTokenWriter, AccessTokenReader> {
  async function recordRevoked<T extends readonly AccessTokenRecord[] | null>(
    revoked: T,
  ): Promise<T> {
    for (const token of revoked ?? []) {
      const before = showToken({ ...token, revoked_at: null })
      const change = { ...ofToken(token), kind: 'access_token.revoked' as const }
      await record({ ...change, before, after: showToken(token) })
    }
    return revoked
  }

  return {
    // A use changes no decision.
    touch: (id, usedAt) => tokens.touch(id, usedAt),
    async insert(token) {
      await tokens.insert(token)
      const change = { ...ofToken(token), kind: 'access_token.created' as const }
      await record({ ...change, before: null, after: showToken(token) })
    },
    revoke: async (id, at) => recordRevoked(await tokens.revoke(id, at)),
    revokeMadeBy: async (org, actor, at) =>
      recordRevoked(await tokens.revokeMadeBy(org, actor, at)),
    revokeOfUser: async (username, at) => recordRevoked(await tokens.revokeOfUser(username, at)),
    revokePending: async () => recordRevoked(await tokens.revokePending()),
  }
}

function ofToken(token: AccessTokenRecord) {
  const scope = token.kind === 'personal' ? { username: token.username } : { org: token.org }
  return { scope, subject: { id: token.id, name: token.name } }
}

function showToken(token: AccessTokenRecord) {
  const { id, name, permissions, created_at, created_by, parent_id, expires_at } = token
  const { revoked_at } = token
  return {
    id,
    name,
    ...(token.kind === 'personal' ? { username: token.username } : { created_by, parent_id }),
    permissions: [...permissions],
    created_at,
    expires_at,
    ...(revoked_at === null ? {} : { revoked_at }),
  }
}

import type { DeviceRecord, EnrolmentTokenRecord } from '../../store/distribution-records.ts'
import type { AccessTokenRecord, SigningKeyRecord } from '../../store/records.ts'
import type {
  AccessTokenReader,
  AccessTokenWriter,
  DeviceReader,
  DeviceWriter,
  EnrolmentTokenReader,
  EnrolmentTokenWriter,
  GrantReader,
  GrantWriter,
} from '../../store/contract/credentials.ts'
import type { SigningKeyReader, SigningKeyWriter } from '../../store/contract/server-state.ts'
import type { RecordChange, Writes } from '../change.ts'

/** A personal token is in the history of the organizations that own its user's account. */
export function auditAccessTokens(
  tokens: AccessTokenWriter,
  record: RecordChange,
): Omit<Writes<AccessTokenWriter, AccessTokenReader>, 'touch'> {
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

/** Each use is in the history as the device that was enrolled by it. */
export function auditEnrolmentTokens(
  tokens: EnrolmentTokenWriter,
  record: RecordChange,
): Omit<Writes<EnrolmentTokenWriter, EnrolmentTokenReader>, 'use'> {
  async function recordRevoked(token: EnrolmentTokenRecord): Promise<void> {
    const before = showEnrolmentToken({ ...token, revoked_at: null })
    const change = { ...ofEnrolmentToken(token), kind: 'enrolment_token.revoked' as const }
    await record({ ...change, before, after: showEnrolmentToken(token) })
  }

  return {
    async insert(token) {
      await tokens.insert(token)
      const change = { ...ofEnrolmentToken(token), kind: 'enrolment_token.created' as const }
      await record({ ...change, before: null, after: showEnrolmentToken(token) })
    },
    async revoke(org, id, revokedAt) {
      const token = await tokens.revoke(org, id, revokedAt)
      if (token !== null) await recordRevoked(token)
      return token
    },
    async revokeMadeBy(org, actor, revokedAt) {
      const revoked = await tokens.revokeMadeBy(org, actor, revokedAt)
      for (const token of revoked) await recordRevoked(token)
      return revoked
    },
    async revokePending() {
      const revoked = await tokens.revokePending()
      for (const token of revoked ?? []) await recordRevoked(token)
      return revoked
    },
  }
}

export function auditDevices(
  devices: DeviceWriter,
  record: RecordChange,
): Writes<DeviceWriter, DeviceReader> {
  async function recordRevoked(device: DeviceRecord): Promise<void> {
    await record({
      ...ofDevice(device),
      kind: 'device.revoked',
      before: showDevice({ ...device, revoked_at: null }),
      after: showDevice(device),
    })
  }

  return {
    async insert(device) {
      await devices.insert(device)
      const after = showDevice(device)
      await record({ ...ofDevice(device), kind: 'device.enrolled', before: null, after })
    },
    async setLabels(org, id, labels) {
      const before = await devices.find(org, id)
      await devices.setLabels(org, id, labels)
      if (before === null) return
      const after = showDevice({ ...before, labels })
      const change = { ...ofDevice(before), kind: 'device.labelled' as const }
      await record({ ...change, before: showDevice(before), after })
    },
    async setName(org, id, name) {
      const before = await devices.find(org, id)
      await devices.setName(org, id, name)
      if (before === null || before.name === name) return
      const after = showDevice({ ...before, name })
      await record({
        ...ofDevice(before),
        kind: 'device.renamed',
        before: showDevice(before),
        after,
      })
    },
    async revoke(id, revokedAt) {
      const device = await devices.revoke(id, revokedAt)
      if (device !== null) await recordRevoked(device)
      return device
    },
    async revokeOfUser(org, username, revokedAt) {
      const revoked = await devices.revokeOfUser(org, username, revokedAt)
      for (const device of revoked) await recordRevoked(device)
      return revoked
    },
  }
}

/** When it is begun the machine's report says, which is no change that anybody made here. */
export function auditGrants(
  grants: GrantWriter,
  record: RecordChange,
): Writes<GrantWriter, GrantReader> {
  return {
    async insert(grant) {
      await grants.insert(grant)
      const { org, over_at: _over, ...after } = grant
      const subject = { id: grant.id, name: null }
      await record({ place: { org }, subject, kind: 'break_glass.issued', before: null, after })
    },
  }
}

/** Every organization trusts the signing keys of the server, so each gets the event. */
export function auditSigningKeys(
  keys: SigningKeyWriter,
  record: RecordChange,
): Writes<SigningKeyWriter, SigningKeyReader> {
  async function find(kid: string): Promise<SigningKeyRecord | undefined> {
    const known = await keys.list('access_token')
    return known.find((key) => key.kid === kid)
  }

  return {
    async insert(key) {
      await keys.insert(key)
      const change = { ...ofKey(key), kind: 'signing_key.created' as const }
      await record({ ...change, before: null, after: showKey(key) })
    },
    async retire(kid, verifiesUntil) {
      const old = await find(kid)
      const key = await keys.retire(kid, verifiesUntil)
      const change = { ...ofKey(key), kind: 'signing_key.retired' as const }
      await record({ ...change, before: showKey(old ?? key), after: showKey(key) })
      return key
    },
  }
}

function ofToken(token: AccessTokenRecord) {
  const place = token.kind === 'personal' ? { username: token.username } : { org: token.org }
  return { place, subject: { id: token.id, name: token.name } }
}

function showToken(token: AccessTokenRecord) {
  const { id, name, permissions, created_at, expires_at, revoked_at } = token
  return {
    id,
    name,
    ...(token.kind === 'personal' ? { username: token.username } : {}),
    permissions: [...permissions],
    created_at,
    expires_at,
    ...(revoked_at === null ? {} : { revoked_at }),
  }
}

function ofEnrolmentToken({ id, org, name }: EnrolmentTokenRecord) {
  return { place: { org }, subject: { id, name } }
}

function showEnrolmentToken(token: EnrolmentTokenRecord) {
  const { id, name, labels, max_uses, created_at, expires_at, revoked_at } = token
  return {
    id,
    name,
    labels: [...labels],
    max_uses,
    created_at,
    expires_at,
    ...(revoked_at === null ? {} : { revoked_at }),
  }
}

function ofDevice({ id, org, username }: DeviceRecord) {
  return { place: { org }, subject: { id, name: username } }
}

function showDevice(device: DeviceRecord) {
  const { id, name, username, labels, enrolment_token_id, created_at, revoked_at } = device
  return {
    id,
    ...(name === null ? {} : { name }),
    user: username,
    labels: [...labels],
    ...(enrolment_token_id === null ? {} : { enrolment_token_id }),
    created_at,
    ...(revoked_at === null ? {} : { revoked_at }),
  }
}

function ofKey({ kid }: SigningKeyRecord) {
  return { place: 'everywhere' as const, subject: { id: kid, name: null } }
}

function showKey({ kid, purpose, created_at, verifies_until }: SigningKeyRecord) {
  return { kid, purpose, created_at, ...(verifies_until === null ? {} : { verifies_until }) }
}

import type { Database } from 'better-sqlite3'
import type { StoreReader, StoreWriter } from '../store.ts'
import {
  createAccessTokenReader,
  createAccessTokenWriter,
  createDeviceReader,
  createDeviceWriter,
} from './credential-rows.ts'
import { createMembershipReader, createMembershipWriter } from './membership-rows.ts'
import {
  createBumpRevision,
  createOrganizationReader,
  createOrganizationWriter,
  createUserReader,
  createUserWriter,
} from './organization-rows.ts'
import { createPolicyWriter } from './policy-changes.ts'
import { createPolicyReader } from './policy-rows.ts'
import {
  createIdempotencyReader,
  createIdempotencyWriter,
  createSecretReader,
  createSecretWriter,
  createSigningKeyReader,
  createSigningKeyWriter,
} from './server-state-rows.ts'
import { createTeamReader, createTeamWriter } from './team-rows.ts'

/** All readers of one connection, their statements prepared once. */
export function createSqliteReader(database: Database): StoreReader {
  return {
    organizations: createOrganizationReader(database),
    users: createUserReader(database),
    memberships: createMembershipReader(database),
    teams: createTeamReader(database),
    policies: createPolicyReader(database),
    accessTokens: createAccessTokenReader(database),
    devices: createDeviceReader(database),
    signingKeys: createSigningKeyReader(database),
    idempotency: createIdempotencyReader(database),
    secrets: createSecretReader(database),
  }
}

/** All writers of one connection. */
export function createSqliteWriter(database: Database): StoreWriter {
  const bumpRevision = createBumpRevision(database)
  return {
    organizations: createOrganizationWriter(database, bumpRevision),
    users: createUserWriter(database),
    memberships: createMembershipWriter(database, bumpRevision),
    teams: createTeamWriter(database, bumpRevision),
    policies: createPolicyWriter(database, bumpRevision),
    accessTokens: createAccessTokenWriter(database),
    devices: createDeviceWriter(database),
    signingKeys: createSigningKeyWriter(database),
    idempotency: createIdempotencyWriter(database),
    secrets: createSecretWriter(database),
  }
}

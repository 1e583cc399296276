import type { EnrolmentTokenRecord } from '../../../server/src/store/distribution-records.ts'
import type { PersonalTokenRecord, SigningKeyRecord } from '../../../server/src/store/records.ts'

const NOW = '2026-11-21T08:00:00.000Z'
const LATER = '2026-11-21T09:00:00.000Z'

/** A token of `ann`. */
export function personalToken(
  id: string,
  origin: Partial<Pick<PersonalTokenRecord, 'parent_id' | 'created_by'>> = {},
): PersonalTokenRecord {
  return {
    kind: 'personal',
    username: 'ann',
    id,
    name: id,
    permissions: [],
    secret_hash: `hash of ${id}`,
    created_at: NOW,
    expires_at: LATER,
    revoked_at: null,
    parent_id: null,
    prefix: 'pal_0000',
    created_by: 'operator',
    last_used_at: null,
    ...origin,
  }
}

export function enrolmentToken(id: string, max_uses = 1): EnrolmentTokenRecord {
  return {
    id,
    org: 'acme',
    name: id,
    labels: ['ci'],
    secret_hash: `hash of ${id}`,
    prefix: 'pal_enr_0000',
    root_version: 1,
    max_uses,
    uses: 0,
    last_used_at: null,
    created_at: NOW,
    created_by: 'user:ann',
    parent_id: null,
    expires_at: LATER,
    revoked_at: null,
  }
}

/** A signing key with made-up parts. */
export function signingKey(kid: string): SigningKeyRecord {
  return {
    kid,
    purpose: 'access_token',
    private_jwk: { kty: 'OKP', x: 'public', d: 'private' },
    created_at: '2026-11-21T08:00:00.000Z',
    verifies_until: null,
  }
}

/** A device without a user. */
export function device(id: string, org: string, revoked_at: string | null = null) {
  return {
    id,
    org,
    username: null,
    thumbprint: `hash of ${id}`,
    name: null,
    labels: [],
    enrolment_token_id: null,
    created_at: NOW,
    revoked_at,
  }
}

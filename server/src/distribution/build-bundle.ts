import { effectivePolicies } from '@palisade/policy-core'
import { BUNDLE_SCHEMA, type Bundle } from '@palisade/protocol'
import { formatPolicy } from '../governance/format-policy.ts'
import type { StoreReader } from '../store/store.ts'
import type { AdmittedDevice } from './authenticate-device.ts'

const HOUR_MS = 60 * 60 * 1000
const STALE_AFTER_MS = 24 * HOUR_MS
const EXPIRES_AFTER_MS = 7 * 24 * HOUR_MS

/** The claims for one device: its effective policies and no others, however it asks. */
export async function buildBundle(
  reader: StoreReader,
  { device, organization }: AdmittedDevice,
  issuedAtMs: number,
): Promise<Bundle> {
  const { org, username } = device
  const user_teams = username === null ? [] : await reader.teams.listOfUser(org, username)
  const policies = (await reader.policies.listWithRules(org)).map(formatPolicy)
  return {
    schema: BUNDLE_SCHEMA,
    org,
    device_id: device.id,
    user: username,
    user_teams,
    revision: organization.revision,
    issued_at: formatInstant(issuedAtMs),
    stale_at: formatInstant(issuedAtMs + STALE_AFTER_MS),
    expires_at: formatInstant(issuedAtMs + EXPIRES_AFTER_MS),
    settings: { resolve_unlisted_names: organization.resolve_unlisted_names },
    policies: effectivePolicies(policies, user_teams),
  }
}

function formatInstant(ms: number): string {
  return new Date(ms).toISOString()
}

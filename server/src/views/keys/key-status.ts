import type { DistributionRole, RootRecord } from '../../store/distribution-records.ts'
import type { StoreReader } from '../../store/store.ts'
import { isPrivate } from './role-key.ts'
import { ROOT_RENEWAL_MS } from './root.ts'

const ROLES = ['root', 'targets', 'online'] as const satisfies readonly DistributionRole[]

/** A key that machines of an organization trust, and until when. */
export interface KeyStatus {
  readonly org: string
  readonly role: DistributionRole
  readonly kid: string
  readonly created_at: string
  /** When the root that names it expires; RFC 3339. */
  readonly expires_at: string
  /** When the next root is due, which prolongs all of them. */
  readonly renewal_at: string
  readonly on_server: boolean
  /** `sign_root` asks for the root key that is kept apart; everything else happens by itself. */
  readonly due: 'nothing' | 'sign_root'
}

/**
 * Reads keys by role: root, targets, online. Empty until the first machine of the organization was
 * enrolled.
 */
export async function readKeyStatus(
  reader: StoreReader,
  org: string,
  now: Date,
): Promise<KeyStatus[]> {
  const root = await reader.trust.newestRoot(org)
  if (root === null) return []
  const keys = await reader.trust.keys(org)
  const renewal_at = renewalOf(root)
  const isApart = keys.some((key) => key.role === 'root' && !isPrivate(key))
  const isDue = isApart && now.toISOString() >= renewal_at
  return ROLES.flatMap((role) =>
    keys
      .filter((key) => key.role === role)
      .map((key) => ({
        org,
        role,
        kid: key.kid,
        created_at: key.created_at,
        expires_at: root.expires_at,
        renewal_at,
        on_server: isPrivate(key),
        due: isDue ? 'sign_root' : 'nothing',
      })),
  )
}

function renewalOf({ expires_at }: RootRecord): string {
  return new Date(Date.parse(expires_at) - ROOT_RENEWAL_MS).toISOString()
}

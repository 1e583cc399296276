import { decodeUtf8 } from '@palisade/client'
import {
  GRANT_LIMITS,
  GRANT_TYPE,
  GRANT_VERSION,
  grantSchema,
  MAX_GRANT_BYTES,
  parseJson,
  type Enrolment,
  type Grant,
} from '@palisade/protocol'
import { z } from 'zod'
import { isSignedBy, type Root } from '../../sync/trust/signed-metadata.ts'
import type { Age } from '../../policy/state/agent-state.ts'
import { CLOCK_TOLERANCE_MS, type Bounds } from '../../policy/state/trusted-clock.ts'
import { grantFault, type GrantFault } from './grant-fault.ts'

/** A grant whose signature is valid under the root that it was checked against. */
export interface SignedGrant {
  readonly kind: 'grant'
  readonly signed: Grant['signed']
  /** The grant file as received. */
  readonly text: string
}

export interface GrantContext {
  readonly enrolment: Pick<Enrolment, 'org' | 'device_id'>
  /**
   * The newest root that this machine trusts. A root with another targets key invalidates a grant.
   */
  readonly root: Root
}

const versionSchema = z.object({
  signed: z.object({ _type: z.literal(GRANT_TYPE), version: z.number() }),
})

/** Reads a grant file and verifies its addressee and signature, but not its times. */
export function readGrant(body: Uint8Array, context: GrantContext): SignedGrant | GrantFault {
  const read = parseGrant(body)
  return read.kind === 'fault' ? read : (checkAddressee(read, context) ?? read)
}

function parseGrant(body: Uint8Array): SignedGrant | GrantFault {
  if (body.byteLength > MAX_GRANT_BYTES)
    return grantFault('too_large', `the grant file is larger than ${MAX_GRANT_BYTES} bytes`)
  const text = decodeUtf8(body)
  if (text === null) return grantFault('malformed', 'the grant file is not UTF-8 text')
  const json = parseJson(text)
  if (!json.ok) return grantFault('malformed', `the grant file is damaged: ${json.problem.message}`)
  const known = versionSchema.safeParse(json.value)
  if (!known.success) return grantFault('malformed', 'the file is not a grant')
  if (known.data.signed.version !== GRANT_VERSION)
    return grantFault(
      'unsupported_grant',
      'this agent does not know the version of the grant; update the agent',
    )
  const parsed = grantSchema.safeParse(json.value)
  if (parsed.success) return { kind: 'grant', signed: parsed.data.signed, text }
  const [issue] = parsed.error.issues
  const where = issue?.path.join('.') || 'the top level'
  return grantFault('malformed', `this agent cannot read the grant: invalid value at ${where}`)
}

function checkAddressee(
  { signed, text }: SignedGrant,
  { enrolment, root }: GrantContext,
): GrantFault | null {
  if (signed.org !== enrolment.org || root['x-org'] !== enrolment.org)
    return grantFault('wrong_organization', 'the grant is for another organization')
  if (signed.device_id !== enrolment.device_id)
    return grantFault('wrong_device', 'the grant is for another device')
  if (!isSignedBy(root, 'targets', text))
    return grantFault('bad_signature', 'the signature of the grant is invalid')
  return null
}

/** Returns null if the grant may begin now, otherwise the fault. `nowMs` is the trusted time. */
export function checkTime(
  { issued, use_by }: Grant['signed'],
  { root, nowMs, bounds }: { root: Root; nowMs: number; bounds: Bounds },
): GrantFault | null {
  const [issuedMs, useByMs] = [Date.parse(issued), Date.parse(use_by)]
  // As with views, only the machine's own clock counts.
  if (issuedMs > bounds.futureMs + CLOCK_TOLERANCE_MS)
    return grantFault('issued_in_future', `the grant was issued at ${issued}; set the clock right`)
  if (useByMs - issuedMs > GRANT_LIMITS.maxUseWithin * 1000)
    return grantFault('lives_too_long', 'the grant can be begun for longer than allowed')
  if (nowMs >= useByMs) return grantFault('expired', `the grant had to be begun before ${use_by}`)
  // Keys of an expired root are not trusted for a new grant.
  if (nowMs >= Date.parse(root.expires))
    return grantFault('expired', `the keys that signed the grant expired at ${root.expires}`)
  return null
}

/**
 * Returns null if the grant would lift an expiry, otherwise the fault. A grant may begin shortly
 * before the policies expire, so that no request is denied in between, but only while the server is
 * unreachable: the next poll renews fresh policies, and the grant would be wasted.
 */
export function checkNeed(
  { duration_seconds }: Grant['signed'],
  {
    lifetime,
    nowMs,
  }: {
    readonly lifetime: { readonly age: Age; readonly expiresMs: number } | null
    readonly nowMs: number
  },
): GrantFault | null {
  if (lifetime === null || lifetime.age === 'expired') return null
  if (lifetime.age === 'fresh')
    return grantFault('nothing_to_lift', 'the policies are fresh: there is nothing to lift yet')
  const fromMs = lifetime.expiresMs - duration_seconds * 1000
  if (nowMs > fromMs) return null
  const [expires, from] = [lifetime.expiresMs, fromMs].map((ms) => new Date(ms).toISOString())
  return grantFault(
    'nothing_to_lift',
    `the policies are valid until ${expires}: there is nothing to lift yet; ` +
      `begin the grant after ${from}`,
  )
}

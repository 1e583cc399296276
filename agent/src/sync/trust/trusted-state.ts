import { parseJson } from '@palisade/protocol'
import { z } from 'zod'
import { instantMs } from '../../policy/state/instant.ts'
import type { KeptTime } from '../../policy/state/trusted-clock.ts'
import { isLater, orderOfText } from './assignment.ts'
import { grantLedgerSchema } from './grant-ledger.ts'
import { sha256 } from './signed-metadata.ts'
import { knowsMoreMarks, viewMarksShape } from './view-marks.ts'

/** Signed texts of one view, as served. */
const viewFilesSchema = z.strictObject({
  id: z.string(),
  /** How many of `roots` there were at acceptance; the last of these verifies the signatures. */
  roots: z.int().nonnegative(),
  assignment: z.string(),
  timestamp: z.string(),
  snapshot: z.string(),
  targets: z.string(),
})
export type ViewFiles = z.infer<typeof viewFilesSchema>

const stateSchema = z.strictObject({
  org: z.string(),
  device_id: z.string(),
  /** Roots after the pinned one, oldest first. */
  roots: z.array(z.string()),
  /** Null before the first accepted view. */
  view: viewFilesSchema.nullable(),
  ...viewMarksShape,
  /**
   * The latest accepted assignment, of any view; null before the first. Kept as text, because it
   * counts only while the keys that signed it do.
   */
  newest_assignment: z.string().nullable(),
  /** The latest issue time of all accepted files, in milliseconds since 1970. */
  issued_ms: instantMs,
  grants: grantLedgerSchema,
  /** Whether the server's last answer was a revocation. */
  is_revoked: z.boolean(),
})
/** All trust of this machine beyond its enrolment. */
export type TrustedState = z.infer<typeof stateSchema>

/**
 * Whether the previous copy knows a fact that the newest does not: the newest was not written to
 * the end, or an older file was put in its place. If both know the same, a revoked state wins.
 */
export function isAhead(previous: TrustedState, newest: TrustedState): boolean {
  if (previous.org !== newest.org || previous.device_id !== newest.device_id) return false
  if (knowsMore(previous, newest)) return true
  return previous.is_revoked && !newest.is_revoked && !knowsMore(newest, previous)
}

function knowsMore(one: TrustedState, other: TrustedState): boolean {
  // After a change of keys versions start again.
  if (one.roots.length !== other.roots.length) return one.roots.length > other.roots.length
  return (
    one.grants.passed_ms > other.grants.passed_ms ||
    one.grants.used.some((grant) => !other.grants.used.some(({ id }) => id === grant.id)) ||
    isLater(orderOfText(one.newest_assignment), orderOfText(other.newest_assignment)) ||
    knowsMoreMarks(one, other)
  )
}

const fileSchema = z.strictObject({ sum: z.string(), state: z.string() })

export const keptTimeSchema: z.ZodType<KeptTime> = z.strictObject({
  seen_ms: instantMs,
  floor_ms: instantMs,
})

export function formatState(state: TrustedState): string {
  return seal(state)
}

/** Null for a damaged text. */
export function parseState(text: string): TrustedState | null {
  return unseal(text, stateSchema)
}

/** Adds a checksum, which detects a disk that returns other content. */
export function seal(value: unknown): string {
  const text = JSON.stringify(value)
  return JSON.stringify({ sum: sha256(text), state: text })
}

/** Null for a damaged text. */
export function unseal<T>(text: string, schema: z.ZodType<T>): T | null {
  const json = parseJson(text)
  const file = json.ok ? fileSchema.safeParse(json.value) : null
  if (file?.success !== true || sha256(file.data.state) !== file.data.sum) return null
  const inner = parseJson(file.data.state)
  const state = inner.ok ? schema.safeParse(inner.value) : null
  return state?.success === true ? state.data : null
}

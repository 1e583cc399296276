import type { SelfTestVector } from '@palisade/policy-core'
import { z } from 'zod'

/** Most vectors of one policy that agents take; servers make fewer. */
export const MAX_SELF_TEST_VECTORS = 64

/** Places in the policy's `allowlist_v0.rules`, from 0. */
const placesSchema = z.array(z.int().nonnegative().max(99_999)).max(64)
const said = {
  /** Rules that match the request, on every machine and beside any other policies. */
  match: placesSchema,
  /** Rules that do not. Of all others the vector says nothing. */
  miss: placesSchema,
}

const vectorSchema = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('connect'),
    action: z.enum(['connect:tcp', 'connect:udp']),
    host: z.string().min(1).max(253),
    port: z.int().min(1).max(65_535),
    /** What the name is taken to have resolved to. */
    address: z.string().max(64).exactOptional(),
    ...said,
  }),
  z.strictObject({
    kind: z.literal('path'),
    action: z.enum(['read', 'write']),
    /** Absolute, or with `~` for the home directory as in rules. */
    path: z.string().min(1).max(512),
    ...said,
  }),
])
const KINDS: ReadonlySet<string> = new Set(['connect', 'path'])

const listSchema = z
  .array(z.looseObject({ kind: z.string().max(64) }))
  .max(MAX_SELF_TEST_VECTORS)
  .transform((vectors) => vectors.filter(({ kind }) => KINDS.has(kind)))
  .pipe(z.array(vectorSchema))

/**
 * Reads `self_test` of a policy as machines get it: requests, and which of its rules match them. Null
 * for what is none. Vectors of kinds that this version does not know are left out: unlike a rule, a
 * test that is not run changes no decision.
 */
export function readSelfTest(value: unknown): readonly SelfTestVector[] | null {
  return listSchema.safeParse(value).data ?? null
}

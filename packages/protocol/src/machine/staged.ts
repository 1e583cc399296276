import { z } from 'zod'
import { syncErrorSchema } from './local-api.ts'

/** Changes in one answer. The rest is counted alone. */
export const MAX_STAGED_CHANGES = 10_000

/** `POST /v1/staged/show`, `/apply` and `/discard` name the sandbox whose changes are meant. */
export const stagedRequestSchema = z.strictObject({
  id: z.string().regex(/^[0-9a-z]{1,32}$/, 'must be the id of a strict sandbox'),
})
export type StagedRequest = z.infer<typeof stagedRequestSchema>

/** The changes that one strict sandbox left. */
export const stagedSessionSchema = z.object({
  id: z.string(),
  /** `running`: the command has not ended. */
  state: z.enum(['running', 'kept']),
  /** RFC 3339 UTC. */
  started_at: z.string(),
  /** The changes are discarded then. */
  expires_at: z.string(),
  /** Real paths. */
  workspaces: z.array(z.string()),
  /** The directory with the changes of each workspace, in the same order. */
  directories: z.array(z.string()),
})
export type StagedSession = z.infer<typeof stagedSessionSchema>

export const stagedChangeSchema = z.object({
  /** The real path outside. Bytes that are not UTF-8 are written as `\xff`. */
  path: z.string(),
  /** `mode`: the permissions alone. */
  kind: z.enum(['created', 'changed', 'deleted', 'mode']),
  type: z.enum(['file', 'directory', 'link', 'special']),
  /** Bytes of a file, otherwise 0. */
  size: z.int(),
  /**
   * For people: where a link leads, how permissions change or that a file can be run, and how many
   * objects go away; null where the other members tell all.
   */
  detail: z.string().nullable().default(null),
  /**
   * `allowed`: policy permits to copy it out. `applied`: it was. `refused`: it never is.
   * `conflict`: the path was changed outside meanwhile. `failed`: the system refused.
   */
  verdict: z.enum(['allowed', 'applied', 'refused', 'conflict', 'failed']),
  /** One sentence for people; null for `allowed` and `applied`. */
  reason: z.string().nullable(),
})
export type StagedChange = z.infer<typeof stagedChangeSchema>

export const stagedListSchema = z.object({ sessions: z.array(stagedSessionSchema) })
export type StagedList = z.infer<typeof stagedListSchema>

export const stagedResultSchema = z.object({
  outcome: z.enum(['shown', 'applied', 'discarded', 'failed']),
  /** Null after a failure. */
  session: stagedSessionSchema.nullable(),
  /**
   * Changes by path. Where not all fit, granted ones and others have half of the places each at
   * least.
   */
  changes: z.array(stagedChangeSchema),
  /** Numbers of all changes, by verdict. */
  counts: z.object({
    allowed: z.int(),
    applied: z.int(),
    refused: z.int(),
    conflict: z.int(),
    failed: z.int(),
  }),
  /** Whether changes are left, which can be applied or discarded later. */
  is_kept: z.boolean(),
  /**
   * `code` is stable: `invalid_request`, `not_found`, `running`, `busy`, `policy_not_in_force` or
   * `unavailable`.
   */
  error: syncErrorSchema.nullable(),
})
export type StagedResult = z.infer<typeof stagedResultSchema>

import { z } from 'zod'
import { timestampSchema } from '../timestamp.ts'

const count = z.int().nonnegative()
/** A count that took long is given again for a while. */
export const countedAtSchema = timestampSchema.meta({
  description:
    'When the machines were counted: now, or up to ten seconds ago where there are tens of thousands',
})

/**
 * `GET /api/v1/orgs/{org}/revisions/{revision}`: how far a revision has come. Each device that was
 * not revoked is counted once: `applied`, else `rejected`, else `silent`, else `pending`. Of a
 * revision that a later one has overtaken, fewer may be counted as `applied` than had it.
 */
export const revisionStatusSchema = z
  .strictObject({
    revision: count,
    /** Of the organization, now. */
    current_revision: count,
    counted_at: countedAtSchema,
    devices: count,
    applied: count.meta({
      description:
        'By their own word they enforce what is theirs of this revision, or of a later one',
    }),
    rejected: count.meta({
      description:
        'Their last attempt to fetch brought nothing into force, or what did is unusable',
    }),
    /** The most frequent first; past the first fifty they are `other`. */
    rejected_by_code: z.array(z.strictObject({ code: z.string(), devices: count })),
    pending: count.meta({ description: 'Seen of late, without a word of this revision so far' }),
    silent: count.meta({ description: 'Not seen for fifteen minutes, nor known to enforce it' }),
    held_back: count.exactOptional().meta({
      description:
        'While a rollout is open: of `pending` and `silent`, those outside the stages reached',
    }),
  })
  .meta({ id: 'RevisionStatus' })
export type RevisionStatus = z.infer<typeof revisionStatusSchema>

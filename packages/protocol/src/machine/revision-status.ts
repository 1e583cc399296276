import { z } from 'zod'
import { timestampSchema } from '../timestamp.ts'

const count = z.int().nonnegative()
/** Expensive counts are reused for a short time. */
export const countedAtSchema = timestampSchema.meta({
  description:
    'When the machines were counted: now, or up to ten seconds ago where there are tens of thousands',
})

/**
 * `GET /api/v1/orgs/{org}/revisions/{revision}`: progress of a revision. Each device that is not
 * revoked counts once: `applied`, else `rejected`, else `silent`, else `pending`. After a later
 * revision, `applied` may omit devices that had this one.
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
    /** The most frequent codes first. Codes beyond the first fifty count as `other`. */
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

import { z } from 'zod'
import { timestampSchema } from '../timestamp.ts'

const count = z.int().nonnegative()
/** Expensive counts are reused for a short time. */
export const countedAtSchema = timestampSchema.meta({
  description:
    'Time of the count: now, or up to ten seconds ago with tens of thousands of machines',
})

/**
 * `GET /api/v1/orgs/{org}/revisions/{revision}`: progress of a revision. Each device that is not
 * revoked counts once: `applied`, else `rejected`, else `silent`, else `pending`. After a later
 * revision, `applied` may omit devices that had this one.
 */
export const revisionStatusSchema = z
  .strictObject({
    revision: count,
    /** Revision of the organization now. */
    current_revision: count,
    counted_at: countedAtSchema,
    devices: count,
    applied: count.meta({
      description: 'Report that they enforce their policies of this revision or a later one',
    }),
    rejected: count.meta({
      description:
        'Report that their last update failed, or that the policies in force are unusable',
    }),
    /** The most frequent codes first. Codes beyond the first fifty count as `other`. */
    rejected_by_code: z.array(z.strictObject({ code: z.string(), devices: count })),
    pending: count.meta({ description: 'Seen recently, without a report on this revision so far' }),
    silent: count.meta({
      description: 'Not seen for fifteen minutes, and not known to enforce it',
    }),
    held_back: count.exactOptional().meta({
      description:
        'While a rollout is open: those of `pending` and `silent` outside its stages so far',
    }),
  })
  .meta({ id: 'RevisionStatus' })
export type RevisionStatus = z.infer<typeof revisionStatusSchema>

import { z } from 'zod'
import { exactlyOneOf } from '../exactly-one-of.ts'
import { deviceLabelSchema } from './enrolment-token.ts'
import { pageSchema } from '../page.ts'
import { countedAtSchema } from './revision-status.ts'
import { timestampSchema } from '../timestamp.ts'

const MAX_STAGES = 10
/** 30 days. */
const MAX_WAIT_SECONDS = 2_592_000

const count = z.int().nonnegative()
const instant = timestampSchema.meta({ description: 'RFC 3339 UTC with milliseconds' })

/** The machines that one stage adds: machines with a label, or a share of all machines. */
export const rolloutStageSchema = z
  .strictObject({
    label: deviceLabelSchema.exactOptional(),
    percent: z.int().min(1).max(100).exactOptional(),
  })
  .refine(
    ({ label, percent }) => (label === undefined) !== (percent === undefined),
    'must have either `label` or `percent`',
  )
  .meta(exactlyOneOf('label', 'percent'))
export type RolloutStage = z.infer<typeof rolloutStageSchema>

const stagesSchema = z
  .array(rolloutStageSchema)
  .min(1, 'must have at least one stage')
  .max(MAX_STAGES, `must be at most ${MAX_STAGES} stages`)
  .refine((stages) => {
    const labels = stages.flatMap(({ label }) => label ?? [])
    return new Set(labels).size === labels.length
  }, 'must not repeat a label')
  .refine((stages) => {
    const shares = stages.flatMap(({ percent }) => percent ?? [])
    return shares.every((share, index) => share > (shares[index - 1] ?? 0))
  }, 'must have ascending shares')

/** Limit of machines that reject their policies: a number, or a share of the reached machines. */
export const rejectionLimitSchema = z
  .strictObject({
    machines: z.int().min(0).max(1_000_000).exactOptional(),
    percent: z.int().min(0).max(100).exactOptional(),
  })
  .refine(
    ({ machines, percent }) => (machines === undefined) !== (percent === undefined),
    'must have either `machines` or `percent`',
  )
  .meta(exactlyOneOf('machines', 'percent'))
export type RejectionLimit = z.infer<typeof rejectionLimitSchema>

/** `POST /api/v1/orgs/{org}/rollouts` */
export const startRolloutRequestSchema = z
  .strictObject({
    stages: stagesSchema,
    /** Beyond this limit the rollout pauses automatically. */
    max_rejected: rejectionLimitSchema,
    /** Absent means that the rollout advances only on request. */
    wait_seconds: z.int().min(60).max(MAX_WAIT_SECONDS).exactOptional(),
    force: z.boolean().exactOptional().meta({
      description: 'Start even when no machine has a label of `stages`; otherwise that is 409',
    }),
  })
  .meta({
    id: 'StartRolloutRequest',
    examples: [
      {
        stages: [{ label: 'canary' }, { percent: 10 }, { percent: 100 }],
        max_rejected: { percent: 5 },
        wait_seconds: 3600,
      },
    ],
  })
export type StartRolloutRequest = z.infer<typeof startRolloutRequestSchema>

/** `POST …/rollouts/{id}/advance`: names the stage, so that two concurrent calls skip no stage. */
export const advanceRolloutRequestSchema = z
  .strictObject({ stage: z.int().min(2).max(MAX_STAGES) })
  .meta({ id: 'AdvanceRolloutRequest', examples: [{ stage: 2 }] })
export type AdvanceRolloutRequest = z.infer<typeof advanceRolloutRequestSchema>

/** `POST …/rollouts/{id}/resume`: rejections reported before no longer count. */
export const resumeRolloutRequestSchema = z
  .strictObject({ max_rejected: rejectionLimitSchema.exactOptional() })
  .meta({ id: 'ResumeRolloutRequest', examples: [{ max_rejected: { machines: 20 } }] })
export type ResumeRolloutRequest = z.infer<typeof resumeRolloutRequestSchema>

export const ROLLOUT_STATES = ['running', 'paused', 'finished', 'rolled_back'] as const
export type RolloutState = (typeof ROLLOUT_STATES)[number]

/**
 * State of the machines in the reached stages. Each machine counts once, unless it is revoked or
 * was never seen.
 */
export const rolloutMachinesSchema = z.strictObject({
  devices: count,
  applied: count,
  rejected: count.meta({
    description: 'Have rejected their update since the start of the rollout',
  }),
  rejected_by_code: z.array(z.strictObject({ code: z.string(), devices: count })),
  pending: count,
  silent: count,
  never_seen: count.meta({
    description: 'In the stages but not counted: enrolled, without a poll or report since',
  }),
  held_back: count.meta({ description: 'Outside the stages: they keep `base_revision`' }),
})
export type RolloutMachines = z.infer<typeof rolloutMachinesSchema>

export const rolloutSchema = z
  .strictObject({
    id: z.string(),
    state: z.enum(ROLLOUT_STATES),
    stages: z.array(rolloutStageSchema),
    stage: count.meta({ description: 'How many of `stages` are reached' }),
    stage_at: instant,
    max_rejected: rejectionLimitSchema,
    wait_seconds: z.int().nullable(),
    base_revision: count.meta({
      description: 'Machines outside the stages reached keep the policies of this revision',
    }),
    created_at: instant,
    created_by: z.string(),
    paused: z
      .strictObject({
        at: instant,
        by: z.string().meta({ description: 'As `actor` of an event; a rollout pauses itself' }),
        reason: z.string().nullable(),
      })
      .nullable(),
    ended_at: instant.nullable(),
  })
  .meta({ id: 'Rollout' })
export type Rollout = z.infer<typeof rolloutSchema>

/** `GET …/rollouts/{id}` */
export const rolloutStatusSchema = rolloutSchema
  .extend({
    current_revision: count,
    counted_at: countedAtSchema.nullable(),
    machines: rolloutMachinesSchema.nullable().meta({ description: 'Null once it has ended' }),
  })
  .meta({ id: 'RolloutStatus' })
export type RolloutStatus = z.infer<typeof rolloutStatusSchema>

/** The newest first. */
export const listRolloutsResponseSchema = pageSchema(rolloutSchema).meta({
  id: 'ListRolloutsResponse',
})
export type ListRolloutsResponse = z.infer<typeof listRolloutsResponseSchema>

/** `POST …/rollouts/{id}/roll-back`: the changes that restored the policies of the base. */
export const rollBackResponseSchema = z
  .strictObject({
    rollout: rolloutSchema,
    /** Revision of the organization now. */
    revision: count,
    changes: z.array(
      z.strictObject({
        change: z.enum(['created', 'updated', 'deleted']),
        id: z.string(),
        name: z.string(),
      }),
    ),
    left_out: z.array(z.strictObject({ name: z.string() })).meta({
      description: 'Policies of the base whose teams are all deleted',
    }),
  })
  .meta({ id: 'RollBackResponse' })
export type RollBackResponse = z.infer<typeof rollBackResponseSchema>

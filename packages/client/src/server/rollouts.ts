import {
  listRolloutsResponseSchema,
  rollBackResponseSchema,
  rolloutSchema,
  rolloutStatusSchema,
  type RejectionLimit,
  type RollBackResponse,
  type Rollout,
  type RolloutStatus,
  type StartRolloutRequest,
} from '@palisade/protocol'
import type { Call } from './call.ts'
import { collectPages } from './list-pages.ts'
import { apiPath } from './server-url.ts'

/** Staged rollouts of one organization. Every method throws `ClientError`. */
export interface RolloutsClient {
  /** Lists rollouts, newest first, page by page. */
  list(): Promise<readonly Rollout[]>
  /** The first page of the list. It contains the open rollout, if any. */
  newest(): Promise<readonly Rollout[]>
  /** Includes the state of its machines while the rollout is open. */
  get(rolloutId: string): Promise<RolloutStatus>
  /** Refused with 409 while another rollout is open. */
  start(request: StartRolloutRequest): Promise<Rollout>
  /** `stage` is the stage to reach. */
  advance(rolloutId: string, stage: number): Promise<Rollout>
  pause(rolloutId: string): Promise<Rollout>
  /** Resumes the rollout, with another limit if given. */
  resume(rolloutId: string, maxRejected?: RejectionLimit): Promise<Rollout>
  /** Releases the current policies to every machine. */
  finish(rolloutId: string): Promise<Rollout>
  /** Restores the policies at the start of the rollout, as a new revision. */
  rollBack(rolloutId: string): Promise<RollBackResponse>
}

export function createRolloutsClient(call: Call, root: string): RolloutsClient {
  const one = (rolloutId: string, ...more: string[]): string => root + apiPath(rolloutId, ...more)
  const take = (rolloutId: string, action: string, body?: object): Promise<Rollout> =>
    call(
      { method: 'POST', path: one(rolloutId, action), ...(body === undefined ? {} : { body }) },
      rolloutSchema,
    )
  return {
    list: async () => collectPages(call, { path: root, page: listRolloutsResponseSchema }),
    newest: async () =>
      (await call({ method: 'GET', path: root }, listRolloutsResponseSchema)).data,
    get: async (rolloutId) => call({ method: 'GET', path: one(rolloutId) }, rolloutStatusSchema),
    start: async (body) => call({ method: 'POST', path: root, body }, rolloutSchema),
    advance: (rolloutId, stage) => take(rolloutId, 'advance', { stage }),
    pause: (rolloutId) => take(rolloutId, 'pause'),
    resume: (rolloutId, max_rejected) =>
      take(rolloutId, 'resume', max_rejected === undefined ? {} : { max_rejected }),
    finish: (rolloutId) => take(rolloutId, 'finish'),
    rollBack: async (rolloutId) =>
      call({ method: 'POST', path: one(rolloutId, 'roll-back') }, rollBackResponseSchema),
  }
}

import type {
  AdvanceRolloutRequest,
  ListRolloutsResponse,
  PageQuery,
  ResumeRolloutRequest,
  RolloutStage,
  RolloutStatus,
  StartRolloutRequest,
} from '@palisade/protocol'
import { authorize } from '../../identity/authorize.ts'
import { payerOf } from '../../identity/payer.ts'
import type { Caller } from '../../identity/principal.ts'
import type { Answer } from '../../http/answer.ts'
import { createAnswerTurns } from '../../work/answer-turns.ts'
import { ApiError, conflict } from '../../platform/api-error.ts'
import { readPage } from '../../http/input/read-page.ts'
import type { OnceRequest } from '../../identity/idempotency/answer-once.ts'
import { changeOnce, createOnce } from '../../identity/idempotency/idempotent-post.ts'
import type { RolloutRecord } from '../../store/distribution-records.ts'
import type { StoreReader } from '../../store/store.ts'
import type { CountDeps } from '../machines/count-machines.ts'
import { createRememberedCounts, type RememberedCountDeps } from '../machines/remembered-counts.ts'
import { countStage, type CountedStage } from './count-stage.ts'
import { formatRollout } from '../../store/aggregates/policies/format-rollout.ts'
import { requireRollout, requireStep } from './require-rollout.ts'
import { rollBack, type RollBackDeps, type RollBackTarget } from './roll-back.ts'
import { beginRollout, isEnded, type RolloutStep } from './rollout-machine.ts'

export interface RolloutServiceDeps
  extends RollBackDeps, Pick<CountDeps, 'views'>, RememberedCountDeps {
  readonly newId: () => string
  readonly pageTokenKey: Uint8Array
}

export interface RolloutKey {
  readonly org: string
  readonly id: string
}

/**
 * Staged rollouts of an organization. Every method throws ApiError. A caller with `policies:write`
 * can change the policies of machines, and so may also choose which machines get them first.
 */
export interface RolloutService {
  /** The newest first. */
  list(caller: Caller, org: string, query: PageQuery): Promise<ListRolloutsResponse>
  /** With how its machines fare, while it is open. */
  status(caller: Caller, at: RolloutKey): Promise<RolloutStatus>
  /**
   * From now on machines outside the first stage keep the policies as they are. 409 while one is
   * open.
   */
  start(
    caller: Caller,
    org: string,
    request: StartRolloutRequest,
    once: OnceRequest,
  ): Promise<Answer>
  advance(
    caller: Caller,
    at: RolloutKey,
    request: AdvanceRolloutRequest,
    once: OnceRequest,
  ): Promise<Answer>
  pause(caller: Caller, at: RolloutKey, once: OnceRequest): Promise<Answer>
  resume(
    caller: Caller,
    at: RolloutKey,
    request: ResumeRolloutRequest,
    once: OnceRequest,
  ): Promise<Answer>
  /** Every machine gets the current policies, whichever stage is reached. */
  finish(caller: Caller, at: RolloutKey, once: OnceRequest): Promise<Answer>
  /** See `roll-back.ts`. */
  rollBack(caller: Caller, at: RollBackTarget, once: OnceRequest): Promise<Answer>
}

export function createRolloutService(deps: RolloutServiceDeps): RolloutService {
  const { store, now } = deps
  /** One count of an organization at a time, and one rolling back. */
  const turns = createAnswerTurns()
  const rollBackTurns = createAnswerTurns()
  const counts = createRememberedCounts<CountedStage>(deps)

  function take(
    caller: Caller,
    { org, id }: RolloutKey,
    step: RolloutStep,
    once: OnceRequest,
  ): Promise<Answer> {
    return store.write(caller.author, async (writer) => {
      await authorize(writer, caller, org, 'policies:write')
      const rollout = await requireRollout(writer, org, id)
      return changeOnce(writer, once, now(), async () => {
        const next = requireStep(rollout, step, now())
        await writer.rollouts.update(next)
        return formatRollout(next)
      })
    })
  }

  return {
    list: (caller, org, query) =>
      store.read(async (reader) => {
        await authorize(reader, caller, org, 'policies:read')
        const list = { of: 'rollouts', owner: org } as const
        const { rows, next_page_token } = await readPage(deps, list, query, {
          read: ({ after, limit }) =>
            reader.rollouts.page(org, { before: parsePosition(after), limit }),
          positionOf: formatPosition,
        })
        return { data: rows.map(formatRollout), next_page_token }
      }),

    async status(caller, { org, id }) {
      const { rollout, current, payer } = await store.read(async (reader) => {
        const access = await authorize(reader, caller, org, 'policies:read')
        return {
          rollout: await requireRollout(reader, org, id),
          current: access.organization.revision,
          payer: payerOf(caller, access),
        }
      })
      if (isEnded(rollout))
        return {
          ...formatRollout(rollout),
          current_revision: current,
          counted_at: null,
          machines: null,
        }
      const key = JSON.stringify([org, current, rollout])
      const count = () =>
        counts.take(key, () => countStage(deps, rollout, deps.budget.begin(payer).turn))
      const { revision, counted_at, machines } =
        counts.find(key) ?? (await turns.run(org, count, payer.caller))
      return { ...formatRollout(rollout), current_revision: revision, counted_at, machines }
    },

    start: (caller, org, request, once) =>
      store.write(caller.author, async (writer) => {
        const access = await authorize(writer, caller, org, 'policies:write')
        return createOnce(writer, once, now(), async () => {
          if ((await writer.rollouts.findOpen(org)) !== null)
            throw conflict('there is a rollout already; finish it or roll it back first')
          const at = now().toISOString()
          const { stages, max_rejected, wait_seconds = null, force = false } = request
          if (!force) await requireLabelledMachines(writer, org, stages)
          const rollout = {
            ...beginRollout({ stages, max_rejected, wait_seconds }, at),
            id: deps.newId(),
            org,
            base_revision: access.organization.revision,
            created_at: at,
            created_by: caller.author.actor,
          }
          await writer.rollouts.insert(rollout)
          return formatRollout(rollout)
        })
      }),

    advance: (caller, at, { stage }, once) =>
      take(caller, at, { kind: 'advance', to: stage }, once),
    pause: (caller, at, once) =>
      take(caller, at, { kind: 'pause', by: caller.author.actor, reason: null }, once),
    resume: (caller, at, { max_rejected = null }, once) =>
      take(caller, at, { kind: 'resume', max_rejected }, once),
    finish: (caller, at, once) => take(caller, at, { kind: 'finish' }, once),
    rollBack: (caller, at, once) =>
      rollBackTurns.run(at.org, () => rollBack(deps, caller, at, once)),
  }
}

type Position = Pick<RolloutRecord, 'created_at' | 'id'>

function formatPosition({ created_at, id }: RolloutRecord): string {
  return `${created_at} ${id}`
}

function parsePosition(text: string): Position | null {
  const [created_at = '', id = ''] = text.split(' ')
  return text === '' ? null : { created_at, id }
}

/** A misspelt label would hold back every machine. Throws 409 for one that no machine has. */
async function requireLabelledMachines(
  reader: StoreReader,
  org: string,
  stages: readonly RolloutStage[],
): Promise<void> {
  for (const { label } of stages)
    if (label !== undefined && !(await reader.devices.hasLabel(org, label)))
      throw new ApiError(
        409,
        'conflict',
        `no machine has the label \`${label}\`, so its stage would hold all back; ` +
          'label one, or send `force` (`--force`)',
        { reason: 'label_unused' },
      )
}

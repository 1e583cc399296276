import { DEFAULT_REPLAY_GROUPS, replayLineSchema, replayRequestSchema } from '@palisade/protocol'
import type { Readable } from 'node:stream'
import { finished } from 'node:stream/promises'
import { z } from 'zod'
import type { AuditedStore } from '../../history/audit/audited-store.ts'
import { readLargeJson } from '../../http/body/read-body.ts'
import { MAX_LARGE_BODY_BYTES, type RawBody } from '../../http/body/raw-body.ts'
import { readQuery, type RawQuery } from '../../http/input/read-query.ts'
import { authorize, requireEntitled, type Access } from '../../identity/authorize.ts'
import { payerOf } from '../../identity/payer.ts'
import { formatPrincipal, type Principal } from '../../identity/principal.ts'
import { defineRoute, type Route } from '../../identity/routes/route.ts'
import { createAnswerTurns, type AnswerTurns } from '../../work/answer-turns.ts'
import type { Work, WorkBudget } from '../../work/work-budget.ts'
import type { StoreSettings } from '../../operations/storage/open-store.ts'
import { invalidArgument, permissionDenied } from '../../platform/api-error.ts'
import type { StartWorker } from '../../platform/start-worker.ts'
import type { PolicyRecord } from '../../store/records.ts'
import type { ProcessPool } from '../../work/process-pool.ts'
import { encodePolicies } from '../encoded-policies.ts'
import { createNoteReading } from '../note-reading.ts'
import { readFullSince } from '../upload-history.ts'
import type { EvidenceStore } from '../store/evidence-store.ts'
import type { ReplayJob } from './replay-job.ts'
import { startReplay } from './replay-process.ts'
import { readReplayBody, readReplayTime } from './read-replay-body.ts'

/** Most JSON values of a body, as of a document to apply. */
const MAX_VALUES = 500_000
const DAY_MS = 24 * 60 * 60_000
const NDJSON = 'application/x-ndjson'
/**
 * Replays from their turn until the last line is sent, which may have 20 MB and wait for a slow
 * reader.
 */
const SENDING = { waitingEach: 3, running: 16, waiting: 64, runningEach: 2 } as const

/** The schema is that of one line. */
const linesResponse = {
  description: 'Lines of JSON: progress, and at the end the result or an error',
  content: { [NDJSON]: { schema: replayLineSchema } },
}

/** The policies of an organization in force, and as a document would have them. */
export interface Drafted {
  readonly revision: number
  /** A policy that stays is the same object in both. */
  readonly before: readonly PolicyRecord[]
  readonly after: readonly PolicyRecord[]
  /** Charges the caller for work with them. */
  readonly work: Work
}

export interface ReplayRouteDeps {
  readonly evidence: Pick<EvidenceStore, 'firstDay' | 'lastLimited'>
  readonly store: Pick<AuditedStore, 'note' | 'read'>
  /** Where the evidence is, for the process. */
  readonly storage: Pick<StoreSettings, 'dataDir' | 'databaseUrl'>
  /** Validates a document without applying it. Throws ApiError. */
  readonly draft: (call: {
    readonly principal: Principal
    readonly org: string
    readonly json: unknown
  }) => Promise<Drafted>
  readonly now: () => Date
  readonly monotonicMs: () => number
  readonly budget: WorkBudget
  readonly processes: ProcessPool
  /** The turns of documents to apply: a validation holds all policies. */
  readonly documents: AnswerTurns
}

/** `POST /api/v1/orgs/:org/replay` */
export function replayRoutes(deps: ReplayRouteDeps): readonly Route[] {
  const note = createNoteReading(deps, 'replay')
  const { waitingEach, running, waiting, runningEach } = SENDING
  const sending = createAnswerTurns(waitingEach, running, waiting, runningEach)

  return [
    defineRoute(
      {
        method: 'POST',
        path: '/api/v1/orgs/:org/replay',
        operationId: 'replayRecords',
        tags: ['audit'],
        summary: 'Decide recorded requests anew, by the policies in force and by a document',
        permission: 'policies:read',
        lookUp(_reader, _params, { principal: who, access }) {
          requireRight(access)
          deps.budget.require(payerOf(who, access))
        },
        body: replayRequestSchema,
        bodyLimit: MAX_LARGE_BODY_BYTES,
        deferred: true,
        answers: { 200: linesResponse },
        errors: [429],
      },
      ({ caller, principal, params: { org }, query, body, reply }) =>
        new Promise((resolve, reject) => {
          const call = { principal, org, query, body }
          const who = { org, caller: formatPrincipal(principal) }
          const requireCaller = (): void => {
            if (reply.raw.destroyed) throw invalidArgument('the caller has gone')
          }
          const run = async (startWorker: StartWorker): Promise<Readable> => {
            requireCaller()
            const job = await prepare(deps, call)
            await note(caller, org)
            const { lines, ended } = startReplay(job, { startWorker })
            // A caller who goes destroys the stream, and with it the process.
            resolve(reply.type(NDJSON).header('cache-control', 'no-store').send(lines))
            await ended
            return lines
          }
          const send = async (): Promise<void> => {
            const lines = await deps.processes.run(who, run)
            await finished(lines).catch(() => undefined)
          }
          // An invalid call is refused before it waits for a process. The policies of a valid one
          // are read again at its turn: those that wait would hold all of them.
          const check = async (): Promise<void> => {
            requireCaller()
            await validate(deps, call)
          }
          deps.documents
            .run(org, check, who.caller)
            .then(() => sending.run(org, send, who.caller))
            .catch(reject)
        }),
    ),
  ]
}

/**
 * Replays are for those who write policies and for those who audit them. Without `audit:read` they
 * name no people, devices and programs. Throws 403.
 */
function requireRight({ permissions, organization }: Access): Pick<ReplayJob, 'names'> {
  const names = permissions.includes('audit:read')
  if (!names && !permissions.includes('policies:write'))
    throw permissionDenied('this needs the permission `audit:read` or `policies:write`')
  requireEntitled(organization)
  return { names }
}

interface ReplayCall {
  readonly principal: Principal
  readonly org: string
  readonly query: RawQuery
  readonly body: RawBody
}

/** Throws ApiError. */
async function validate(deps: ReplayRouteDeps, call: ReplayCall) {
  const { org, principal } = call
  const { span, json } = readReplayBody(await parse(deps, call))
  const nowMs = deps.now().getTime()
  const time = readReplayTime(span, nowMs)
  const drafted = await deps.draft({ principal, org, json })
  // The right may have gone while the call waited.
  const { names } = await deps.store.read(async (reader) =>
    requireRight(await authorize(reader, principal, org, 'policies:read')),
  )
  // Last in the order of checks.
  readQuery(z.strictObject({}), call.query)
  return { drafted, groups: span.groups ?? DEFAULT_REPLAY_GROUPS, names, time, nowMs }
}

/** Charges the time, also of a body that is refused. Throws 429 before it. */
async function parse({ store, budget }: ReplayRouteDeps, { principal, org, body }: ReplayCall) {
  const access = await store.read((reader) => authorize(reader, principal, org, 'policies:read'))
  const work = budget.begin(payerOf(principal, access))
  try {
    return await readLargeJson(body, { maxValues: MAX_VALUES }, work)
  } finally {
    work.end()
  }
}

async function prepare(deps: ReplayRouteDeps, call: ReplayCall): Promise<ReplayJob> {
  const { org } = call
  const { drafted, time, ...asked } = await validate(deps, call)
  const { revision, before, after, work } = drafted
  const all = [...new Set([...before, ...after])]
  const indexOf = new Map(all.map((policy, index) => [policy, index]))
  const indicesOf = (side: readonly PolicyRecord[]) =>
    side.map((policy) => indexOf.get(policy) ?? 0)
  const policies = await encodePolicies(all, work)
  work.end()
  return {
    store: deps.storage,
    org,
    ...time,
    ...asked,
    revision,
    policies,
    before: indicesOf(before),
    after: indicesOf(after),
    ...(await readOrganization(deps, org, time)),
  }
}

async function readOrganization(
  { evidence, store }: Pick<ReplayRouteDeps, 'evidence' | 'store'>,
  org: string,
  time: Pick<ReplayJob, 'fromMs' | 'toMs'>,
): Promise<Pick<ReplayJob, 'defaults' | 'members' | 'resolve_unlisted_names' | 'upload'>> {
  const firstDay = await evidence.firstDay(org)
  const lastLimitedMs = await evidence.lastLimited(org)
  return store.read(async (reader) => {
    const organization = await reader.organizations.find(org)
    const teams = await reader.teams.listOfUsers(org)
    const members = await reader.memberships.list(org)
    const { fromMs } = time
    const fullSinceMs = await readFullSince(reader, org, { fromMs, lastLimitedMs })
    const { upload, sample_percent } = await reader.organizations.evidence(org)
    return {
      members: new Map(members.map(({ username }) => [username, teams.get(username) ?? []])),
      resolve_unlisted_names: organization?.resolve_unlisted_names ?? false,
      defaults: {
        organization: organization?.default ?? null,
        teams: await reader.teams.defaults(org),
      },
      upload: {
        upload,
        sample_percent: upload === 'sampled' ? sample_percent : null,
        complete_since: formatSince(fullSinceMs, firstDay, time),
      },
    }
  })
}

/** Days before the first record are unknown. */
function formatSince(
  fullSinceMs: number | null,
  firstDay: number | null,
  { toMs }: Pick<ReplayJob, 'toMs'>,
): string | null {
  if (fullSinceMs === null || firstDay === null) return null
  const sinceMs = Math.max(fullSinceMs, firstDay * DAY_MS)
  return sinceMs < toMs ? new Date(sinceMs).toISOString() : null
}

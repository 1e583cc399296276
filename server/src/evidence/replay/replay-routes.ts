import {
  DEFAULT_REPLAY_DAYS,
  DEFAULT_REPLAY_GROUPS,
  MAX_REPLAY_DAYS,
  replayLineSchema,
  replayRequestSchema,
  replaySpanSchema,
} from '@palisade/protocol'
import { finished } from 'node:stream/promises'
import { z } from 'zod'
import type { AuditedStore } from '../../history/audit/audited-store.ts'
import { formatDetailedPolicy } from '../../history/format-policy.ts'
import { readInput, readLargeJson } from '../../http/body/read-body.ts'
import type { RawBody } from '../../http/body/raw-body.ts'
import { readQuery, type RawQuery } from '../../http/input/read-query.ts'
import { authorize, requireEntitled, type Access } from '../../identity/authorize.ts'
import { formatPrincipal, type Principal } from '../../identity/principal.ts'
import { defineRoute, type Route } from '../../identity/routes/route.ts'
import type { StoreSettings } from '../../operations/storage/open-store.ts'
import { invalidArgument, permissionDenied } from '../../platform/api-error.ts'
import { nextTurn } from '../../platform/next-turn.ts'
import type { StartWorker } from '../../platform/start-worker.ts'
import type { PolicyRecord } from '../../store/records.ts'
import type { ProcessPool } from '../../work/process-pool.ts'
import { createNoteReading } from '../note-reading.ts'
import { readFullSince } from '../upload-history.ts'
import type { EvidenceStore } from '../store/evidence-store.ts'
import { encodePolicy, type ReplayJob } from './replay-job.ts'
import { streamReplay } from './replay-process.ts'

/** As of a document to apply. */
const MAX_DOCUMENT_BYTES = 16 * 1024 * 1024
const MAX_VALUES = 500_000
const DAY_MS = 24 * 60 * 60_000
const MAX_SPAN_MS = MAX_REPLAY_DAYS * DAY_MS
const NDJSON = 'application/x-ndjson'
const POLICIES_IN_A_TURN = 8

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
}

export interface ReplayRouteDeps {
  readonly evidence: Pick<EvidenceStore, 'firstDay'>
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
  readonly processes: ProcessPool
}

/** `POST /api/v1/orgs/:org/replay` */
export function replayRoutes(deps: ReplayRouteDeps): readonly Route[] {
  const note = createNoteReading(deps, 'replay')

  return [
    defineRoute(
      {
        method: 'POST',
        path: '/api/v1/orgs/:org/replay',
        operationId: 'replayRecords',
        tags: ['audit'],
        summary: 'Decide recorded requests anew, by the policies in force and by a document',
        permission: 'policies:read',
        lookUp: (_reader, _params, { access }) => void requireRight(access),
        body: replayRequestSchema,
        bodyLimit: MAX_DOCUMENT_BYTES,
        deferred: true,
        answers: { 200: linesResponse },
        errors: [429],
      },
      ({ caller, principal, params: { org }, query, body, reply }) =>
        new Promise((resolve, reject) => {
          const call = { principal, org, query, body }
          const run = async (startWorker: StartWorker): Promise<void> => {
            if (reply.raw.destroyed) throw invalidArgument('the caller has gone')
            const job = await prepare(deps, call)
            await note(caller, org)
            const lines = streamReplay(job, { startWorker })
            resolve(reply.type(NDJSON).header('cache-control', 'no-store').send(lines))
            // A caller who goes destroys the stream, and with it the process.
            await finished(lines).catch(() => undefined)
          }
          // An invalid call is refused at once. The job of a valid one is prepared again at its
          // turn: those that wait would hold all policies.
          prepare(deps, call)
            .then(() => deps.processes.run({ org, caller: formatPrincipal(principal) }, run))
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

async function prepare(deps: ReplayRouteDeps, call: ReplayCall): Promise<ReplayJob> {
  const { org, principal } = call
  const { span, json } = readBody(await readLargeJson(call.body, MAX_VALUES))
  const nowMs = deps.now().getTime()
  const time = readTime(span, nowMs)
  const { revision, before, after } = await deps.draft({ principal, org, json })
  // The right may have gone while the call waited.
  const { names } = await deps.store.read(async (reader) =>
    requireRight(await authorize(reader, principal, org, 'policies:read')),
  )
  // Last in the order of checks.
  readQuery(z.strictObject({}), call.query)
  const all = [...new Set([...before, ...after])]
  const placeOf = new Map(all.map((policy, place) => [policy, place]))
  const places = (side: readonly PolicyRecord[]) => side.map((policy) => placeOf.get(policy) ?? 0)
  return {
    store: { dataDir: deps.storage.dataDir, databaseUrl: deps.storage.databaseUrl },
    org,
    ...time,
    nowMs,
    revision,
    policies: await encodeInTurns(all),
    before: places(before),
    after: places(after),
    groups: span.groups ?? DEFAULT_REPLAY_GROUPS,
    names,
    ...(await readOrganization(deps, org, time)),
  }
}

async function encodeInTurns(policies: readonly PolicyRecord[]): Promise<ReplayJob['policies']> {
  const encoded: Uint8Array<ArrayBuffer>[] = []
  for (const [index, policy] of policies.entries()) {
    encoded.push(encodePolicy(formatDetailedPolicy(policy)))
    if (index % POLICIES_IN_A_TURN === POLICIES_IN_A_TURN - 1) await nextTurn()
  }
  return encoded
}

async function readOrganization(
  { evidence, store }: Pick<ReplayRouteDeps, 'evidence' | 'store'>,
  org: string,
  time: Pick<ReplayJob, 'fromMs' | 'toMs'>,
): Promise<Pick<ReplayJob, 'defaults' | 'members' | 'resolve_unlisted_names' | 'upload'>> {
  const firstDay = await evidence.firstDay(org)
  return store.read(async (reader) => {
    const organization = await reader.organizations.find(org)
    const teams = await reader.teams.listOfUsers(org)
    const members = await reader.memberships.list(org)
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
        complete_since: formatSince(await readFullSince(reader, org, time.fromMs), firstDay, time),
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

const SPAN = Object.keys(replaySpanSchema.shape)
const looseSchema = z.record(z.string(), z.unknown())

/** Splits the body: the rest is a document as `apply` takes it. */
function readBody(body: unknown) {
  // Not the result of the schema, which drops a member `__proto__` that must be refused.
  readInput(looseSchema, body)
  const members = Object.entries(body as object)
  const isSpan = ([name]: [string, unknown]): boolean => SPAN.includes(name)
  const span = readInput(replaySpanSchema, Object.fromEntries(members.filter(isSpan)))
  if (members.some(([name]) => name === 'dry_run'))
    throw invalidArgument('a replay never applies its document; leave out `dry_run`', {
      field: 'dry_run',
    })
  return { span, json: Object.fromEntries(members.filter((member) => !isSpan(member))) }
}

function readTime(
  { days, from, to }: z.output<typeof replaySpanSchema>,
  nowMs: number,
): Pick<ReplayJob, 'fromMs' | 'toMs'> {
  if (days !== undefined && from !== undefined)
    throw invalidArgument('write either `days` or `from`', { field: 'days' })
  const toMs = to === undefined ? nowMs : Date.parse(to)
  const fromMs =
    from === undefined ? toMs - (days ?? DEFAULT_REPLAY_DAYS) * DAY_MS : Date.parse(from)
  if (fromMs >= toMs) throw invalidArgument('must be before `to`', { field: 'from' })
  if (toMs - fromMs > MAX_SPAN_MS)
    throw invalidArgument(`must be at most ${MAX_REPLAY_DAYS} days before \`to\``, {
      field: 'from',
    })
  return { fromMs, toMs }
}

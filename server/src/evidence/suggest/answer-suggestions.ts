import type { SuggestionOptions, SuggestionsResponse } from '@palisade/protocol'
import type { StoreSettings } from '../../operations/storage/open-store.ts'
import type { Work } from '../../work/work-budget.ts'
import { invalidArgument } from '../../platform/api-error.ts'
import type { StartWorker } from '../../platform/start-worker.ts'
import type { PolicyRecord } from '../../store/records.ts'
import type { Store, StoreReader } from '../../store/store.ts'
import { encodePolicies } from '../encoded-policies.ts'
import { MAX_AHEAD_MS } from '../store/evidence-record.ts'
import { makeSuggestions, type SuggestJob } from './suggest-process.ts'

const DAY_MS = 24 * 60 * 60_000
const DEFAULT_DAYS = 30
const MAX_DAYS = 400
/** For the only process. A charge of its whole time would delay the `apply` that follows. */
const CHARGED_MS = 1_000

export interface AnswerSuggestionsDeps {
  readonly store: Pick<Store, 'read'>
  /** Where the evidence is, for the process. */
  readonly storage: Pick<StoreSettings, 'dataDir' | 'databaseUrl'>
  readonly now: () => Date
}

/**
 * Lets a process make suggestions of the evidence and the present policies. Throws ApiError 400 for
 * a wrong period, and 403 for too much evidence.
 */
export async function answerSuggestions(
  { store, storage, now }: AnswerSuggestionsDeps,
  org: string,
  options: SuggestionOptions,
  call: {
    readonly work: Work
    readonly isGone: () => boolean
    readonly startWorker: StartWorker
  },
): Promise<SuggestionsResponse> {
  const nowMs = now().getTime()
  const time = readTime(options, nowMs)
  const { since: _, until: __, ...rules } = options
  const { revision, policies, ...people } = await store.read((reader) => read(reader, org))
  const job: SuggestJob = {
    store: storage,
    org,
    ...time,
    nowMs,
    policies: await encodePolicies(policies, call.work),
    ...people,
    rules: { ...rules, min_devices: rules.min_devices ?? (rules.by === 'user' ? 1 : 2) },
  }
  call.work.charge(CHARGED_MS)
  const { left_out, ...made } = await makeSuggestions(job, call)
  return {
    ...made,
    since: new Date(time.fromMs).toISOString(),
    until: new Date(Math.min(time.toMs, nowMs)).toISOString(),
    revision,
    examined: { ...made.examined, left_out },
  }
}

function readTime(
  { since, until }: Pick<SuggestionOptions, 'since' | 'until'>,
  nowMs: number,
): Pick<SuggestJob, 'fromMs' | 'toMs'> {
  const endMs = until === undefined ? nowMs : Date.parse(until)
  const fromMs = since === undefined ? endMs - DEFAULT_DAYS * DAY_MS : Date.parse(since)
  if (fromMs >= endMs) throw invalidArgument('`since` must be before `until`', { field: 'since' })
  if (endMs - fromMs > MAX_DAYS * DAY_MS)
    throw invalidArgument(`\`since\` must be at most ${MAX_DAYS} days before \`until\``, {
      field: 'since',
    })
  return { fromMs, toMs: until === undefined ? nowMs + MAX_AHEAD_MS : endMs }
}

interface Snapshot extends Pick<SuggestJob, 'teams' | 'members'> {
  readonly revision: number
  readonly policies: readonly PolicyRecord[]
}

async function read(reader: StoreReader, org: string): Promise<Snapshot> {
  const organization = await reader.organizations.find(org)
  const teamsOf = await reader.teams.listOfUsers(org)
  const members = await reader.memberships.list(org)
  return {
    revision: organization?.revision ?? 0,
    policies: await reader.policies.listWithRules(org),
    teams: (await reader.teams.list(org)).map(({ id, name }) => ({ id, name })),
    members: members.map(({ username }) => ({ username, teams: teamsOf.get(username) ?? [] })),
  }
}

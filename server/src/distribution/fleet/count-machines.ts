import type { RevisionStatus } from '@palisade/protocol'
import type { AuditedStore } from '../../history/audited-store.ts'
import { ApiError } from '../../http/api-error.ts'
import { nextTurn } from '../../next-turn.ts'
import type { DeviceReportRecord } from '../../store/distribution-records.ts'
import type { StoreReader } from '../../store/store.ts'
import type { ViewService } from '../views/view-service.ts'
import { lastSignOfLife, readMachines, type Machine } from './machines.ts'

const SILENT_AFTER_MS = 15 * 60 * 1000
const SLICE = 250
/** Codes are the machines' own words. */
const MAX_CODES = 50
/** What is in force in these is nothing, whatever its revision. */
const UNUSABLE: ReadonlySet<string> = new Set(['never_loaded', 'corrupt', 'unsupported'])

export interface CountDeps {
  readonly store: Pick<AuditedStore, 'read'>
  readonly views: Pick<ViewService, 'revisionOf'>
  readonly now: () => Date
}

/** What is counted. */
export interface Question {
  readonly org: string
  /** What is theirs of this revision, or of a later one. */
  readonly revision: number
  /** Whether a report of a machine that has it not says that it refuses something. */
  readonly isRefusal: (report: DeviceReportRecord) => boolean
}

export type Fate = 'applied' | 'rejected' | 'pending' | 'silent'

/** A device that was not revoked, and how it stands to the revision. */
export interface JudgedMachine extends Machine {
  readonly fate: Fate
}

export type MachineCounts = Readonly<Record<Fate | 'devices', number>> &
  Pick<RevisionStatus, 'rejected_by_code'>

/** Whether what is in force there is no policy, and not because none has come yet. */
export function isUnusable({ state }: Pick<DeviceReportRecord, 'state'>): boolean {
  return UNUSABLE.has(state) && state !== 'never_loaded'
}

/** Every device of the organization that was not revoked, some at a time. */
export async function* judgeMachines(
  deps: CountDeps,
  question: Question,
): AsyncGenerator<JudgedMachine> {
  const { org, revision } = question
  const teams = await deps.store.read((reader) => readTeams(reader, org))
  const required = await findRequired(deps.views, org, teams, revision)
  const silentSinceMs = deps.now().getTime() - SILENT_AFTER_MS
  for await (const machine of liveMachines(deps.store, org)) {
    const least = required.get(machine.device.username) ?? revision
    yield { ...machine, fate: judge(machine, least, question, silentSinceMs) }
  }
}

export interface Tally {
  add(machine: JudgedMachine): void
  result(): MachineCounts
}

export function createTally(): Tally {
  const counts = { devices: 0, applied: 0, rejected: 0, pending: 0, silent: 0 }
  const codes = new Map<string, number>()
  return {
    add({ fate, report }) {
      counts.devices += 1
      counts[fate] += 1
      if (fate !== 'rejected') return
      const code = report?.error_code ?? report?.state ?? ''
      codes.set(code, (codes.get(code) ?? 0) + 1)
    },
    result: () => ({ ...counts, rejected_by_code: rank(codes) }),
  }
}

/** The teams of each user of a device that was not revoked; none for devices without one. */
async function readTeams(reader: StoreReader, org: string): Promise<Map<string | null, string[]>> {
  const ofUsers = await reader.teams.listOfUsers(org)
  const users = await reader.devices.listLiveUsers(org)
  return new Map(users.map((user) => [user, (user !== null && ofUsers.get(user)) || []]))
}

/**
 * The revision that a machine of each user has to have reached. A view keeps the number at which it
 * last became another, so one that the revision did not touch was there before it.
 */
async function findRequired(
  views: CountDeps['views'],
  org: string,
  teams: ReadonlyMap<string | null, readonly string[]>,
  revision: number,
): Promise<Map<string | null, number>> {
  const sets = new Map([...teams.values()].map((ofUser) => [ofUser.join(), ofUser]))
  const found = await Promise.all(
    [...sets].map(async ([key, set]) => [key, await findRevision(views, org, set)] as const),
  )
  const revisions = new Map(found)
  return new Map(
    [...teams].map(([user, ofUser]) => {
      return [user, Math.min(revisions.get(ofUser.join()) ?? Infinity, revision)]
    }),
  )
}

/** Of a view that cannot be signed, as with too many policies, nobody has the newest. */
async function findRevision(
  views: CountDeps['views'],
  org: string,
  teams: readonly string[],
): Promise<number> {
  try {
    return await views.revisionOf(org, teams)
  } catch (error) {
    if (error instanceof ApiError) return Infinity
    throw error
  }
}

/** A slice at a time, so that nobody waits for a whole fleet to be read. */
async function* liveMachines(store: CountDeps['store'], org: string): AsyncGenerator<Machine> {
  for (let after: string | undefined = ''; after !== undefined;) {
    const page = { after, limit: SLICE }
    const slice: Machine[] = await store.read((reader) => readMachines(reader, org, page))
    yield* slice.filter(({ device }) => device.revoked_at === null)
    after = slice.length < SLICE ? undefined : slice.at(-1)?.device.id
    await nextTurn()
  }
}

function judge(
  machine: Machine,
  required: number,
  { isRefusal }: Pick<Question, 'isRefusal'>,
  silentSinceMs: number,
): Fate {
  const { report } = machine
  if (report !== undefined) {
    const isUsable = !UNUSABLE.has(report.state)
    if (isUsable && report.revision !== null && report.revision >= required) return 'applied'
    if (isRefusal(report)) return 'rejected'
  }
  return lastSignOfLife(machine) < silentSinceMs ? 'silent' : 'pending'
}

function rank(codes: ReadonlyMap<string, number>): RevisionStatus['rejected_by_code'] {
  const ranked = [...codes]
    .map(([code, devices]) => ({ code, devices }))
    .toSorted((a, b) => b.devices - a.devices || (a.code < b.code ? -1 : 1))
  const others = ranked.slice(MAX_CODES).reduce((sum, { devices }) => sum + devices, 0)
  return [
    ...ranked.slice(0, MAX_CODES),
    ...(others > 0 ? [{ code: 'other', devices: others }] : []),
  ]
}

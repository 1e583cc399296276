import type { RevisionStatus } from '@palisade/protocol'
import type { AuditedStore } from '../../history/audited-store.ts'
import type { DeviceStanding, StandingPage } from '../../store/contract/device-search.ts'
import type { DeviceReportRecord } from '../../store/distribution-records.ts'
import type { StoreReader } from '../../store/store.ts'
import type { ViewService } from '../views/view-service.ts'
import { createRequiredRevisions, type RequiredRevisions } from './required-revisions.ts'

const SILENT_AFTER_MS = 15 * 60 * 1000
/** Devices of one read. bench: server/revision-status */
const SLICE = 500
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
  readonly isRefusal: (report: Report) => boolean
}

/** Ends a slice, and resolves when others had their turn. */
export type Turn = () => Promise<void>

export type Report = NonNullable<DeviceStanding['report']>

export type Fate = 'applied' | 'rejected' | 'pending' | 'silent'

/** A device that was not revoked, and how it stands to the revision. */
export interface JudgedMachine extends DeviceStanding {
  readonly fate: Fate
}

export type MachineCounts = Readonly<Record<Fate | 'devices', number>> &
  Pick<RevisionStatus, 'rejected_by_code'>

/** Whether what is in force there is no policy, and not because none has come yet. */
export function isUnusable({ state }: Pick<DeviceReportRecord, 'state'>): boolean {
  return UNUSABLE.has(state) && state !== 'never_loaded'
}

/**
 * Every device of the organization that was not revoked, in slices: each is a read of its own, after
 * which others have their turn.
 */
export async function* judgeMachines(
  deps: CountDeps,
  question: Question,
  turn: Turn,
): AsyncGenerator<readonly JudgedMachine[]> {
  const { org, revision } = question
  const required = createRequiredRevisions(deps.views, question)
  const silentSince = new Date(deps.now().getTime() - SILENT_AFTER_MS).toISOString()
  for (let after: string | undefined = ''; after !== undefined;) {
    const page: StandingPage = { after, limit: SLICE, silentSince }
    const { slice, teams }: Slice = await deps.store.read((reader) =>
      readSlice(reader, org, revision, page),
    )
    const least = await findLeast(required, teams)
    yield slice.map((machine) => {
      const fate = judge(machine, least.get(machine.username) ?? revision, question)
      return { ...machine, fate }
    })
    after = slice.length < SLICE ? undefined : slice.at(-1)?.id
    await turn()
  }
}

interface Slice {
  readonly slice: readonly DeviceStanding[]
  readonly teams: ReadonlyMap<string | null, readonly string[]>
}

/** The teams are of each user of a device that has not reached the revision; null for no user. */
async function readSlice(
  reader: StoreReader,
  org: string,
  revision: number,
  page: StandingPage,
): Promise<Slice> {
  const slice = await reader.devices.listStandings(org, page)
  const behind = slice.filter((machine) => !hasReached(machine, revision))
  const users = new Set(behind.map(({ username }) => username))
  const named = [...users].filter((user) => user !== null)
  const ofUsers = await reader.teams.listOfSome(org, named)
  const teams = new Map(
    [...users].map((user) => [user, user === null ? [] : (ofUsers.get(user) ?? [])]),
  )
  return { slice, teams }
}

async function findLeast(
  required: RequiredRevisions,
  teams: ReadonlyMap<string | null, readonly string[]>,
): Promise<Map<string | null, number>> {
  const least = new Map<string | null, number>()
  for (const [user, ofUser] of teams) least.set(user, await required.of(ofUser))
  return least
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

function hasReached({ report }: DeviceStanding, revision: number): boolean {
  if (report === null || UNUSABLE.has(report.state)) return false
  return report.revision !== null && report.revision >= revision
}

function judge(machine: DeviceStanding, required: number, { isRefusal }: Question): Fate {
  if (hasReached(machine, required)) return 'applied'
  if (machine.report !== null && isRefusal(machine.report)) return 'rejected'
  return machine.isSilent ? 'silent' : 'pending'
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

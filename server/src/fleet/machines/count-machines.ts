import type { RevisionStatus } from '@palisade/protocol'
import type { AuditedStore } from '../../history/audit/audited-store.ts'
import {
  STATES_WITHOUT_POLICY,
  type DeviceStanding,
} from '../../store/aggregates/devices/device-search.ts'
import type { DeviceReportRecord } from '../../store/distribution-records.ts'
import type { StoreReader } from '../../store/store.ts'
import type { ViewService } from '../../views/view-service.ts'
import { createRequiredRevisions, type RequiredRevisions } from './required-revisions.ts'

const SILENT_AFTER_MS = 15 * 60 * 1000
/** Devices of one read. bench: server/hostile */
const SLICE = 1_000
/** Codes are the machines' own words. */
const MAX_CODES = 50
const UNUSABLE: ReadonlySet<string> = new Set(STATES_WITHOUT_POLICY)

export interface CountDeps {
  readonly store: Pick<AuditedStore, 'read'>
  readonly views: Pick<ViewService, 'revisionOf'>
  readonly now: () => Date
}

/** The machines and the revision that a count is about. */
export interface Question {
  readonly org: string
  /** A machine is up to date with its policies of this revision, or of a later one. */
  readonly revision: number
  /** Whether a report of a machine that has it not says that it refuses something. */
  readonly isRefusal: (report: Report) => boolean
}

/** Ends a slice, and resolves when others had their turn. */
export type Turn = () => Promise<void>

export type Report = NonNullable<DeviceStanding['report']>

export type ApplyState = 'applied' | 'rejected' | 'pending' | 'silent'

/** A device that was not revoked, and how it stands to the revision. */
export interface ClassifiedMachine extends DeviceStanding {
  readonly applyState: ApplyState
}

export type MachineCounts = Readonly<Record<ApplyState | 'devices', number>> &
  Pick<RevisionStatus, 'rejected_by_code'>

/** Whether a machine has no policy in force, although one has already arrived. */
export function isUnusable({ state }: Pick<DeviceReportRecord, 'state'>): boolean {
  return UNUSABLE.has(state) && state !== 'never_loaded'
}

/** Machines of one read. */
export interface ClassifiedSlice {
  readonly machines: readonly ClassifiedMachine[]
  /** How many more there are that have applied the revision, and were not read. */
  readonly applied: number
}

/**
 * Every device of the organization that was not revoked, in slices: each is a read of its own,
 * after which others have their turn.
 */
export async function* classifyMachines(
  deps: CountDeps,
  question: Question,
  turn: Turn,
): AsyncGenerator<readonly ClassifiedMachine[]> {
  for await (const { machines } of classifySlices(deps, question, turn, readAll)) yield machines
}

/** Classifies machines, but only counts those that have reported the revision or a later one. */
export function classifyBehind(
  deps: CountDeps,
  question: Question,
  turn: Turn,
): AsyncGenerator<ClassifiedSlice> {
  return classifySlices(deps, question, turn, readBehind)
}

interface Slice {
  readonly machines: readonly DeviceStanding[]
  readonly applied: number
  /** The id after which the next slice begins; null after the last one. */
  readonly through: string | null
}

type ReadSlice = (
  reader: StoreReader,
  question: Question,
  page: { readonly after: string; readonly silentSince: string },
) => Promise<Slice>

const readAll: ReadSlice = async (reader, { org }, page) => {
  const machines = await reader.devices.listStandings(org, { ...page, limit: SLICE })
  const through = machines.length < SLICE ? null : (machines.at(-1)?.id ?? null)
  return { machines, applied: 0, through }
}

const readBehind: ReadSlice = async (reader, { org, revision }, page) => {
  const window = { ...page, window: SLICE, revision }
  const { devices, count, through } = await reader.devices.listBehind(org, window)
  return { machines: devices, applied: count - devices.length, through }
}

async function* classifySlices(
  deps: CountDeps,
  question: Question,
  turn: Turn,
  readSlice: ReadSlice,
): AsyncGenerator<ClassifiedSlice> {
  const { revision } = question
  const required = createRequiredRevisions(deps.views, question)
  const silentSince = new Date(deps.now().getTime() - SILENT_AFTER_MS).toISOString()
  for (let after: string | null = ''; after !== null;) {
    const page = { after, silentSince }
    const { slice, teams }: { slice: Slice; teams: TeamsOfUsers } = await deps.store.read(
      async (reader) => {
        const read = await readSlice(reader, question, page)
        return { slice: read, teams: await readTeams(reader, question, read.machines) }
      },
    )
    const least = await findLeast(required, teams)
    const ofOthers = slice.machines.length === 0 ? revision : await required.of([])
    const machines = slice.machines.map((machine) => {
      const applyState = classify(machine, least.get(machine.username) ?? ofOthers, question)
      return { ...machine, applyState }
    })
    yield { machines, applied: slice.applied }
    after = slice.through
    await turn()
  }
}

/** Only users who are in a team have an entry. */
type TeamsOfUsers = ReadonlyMap<string | null, readonly string[]>

/** Reads the teams of the users of devices that have not reached the revision. */
async function readTeams(
  reader: StoreReader,
  { org, revision }: Question,
  machines: readonly DeviceStanding[],
): Promise<TeamsOfUsers> {
  const users = new Set<string>()
  for (const machine of machines)
    if (machine.username !== null && !hasReached(machine, revision)) users.add(machine.username)
  const isNeeded = users.size > 0 && (await reader.teams.count(org)) > 0
  return isNeeded ? reader.teams.listOfSome(org, [...users]) : new Map()
}

async function findLeast(
  required: RequiredRevisions,
  teams: TeamsOfUsers,
): Promise<Map<string | null, number>> {
  const least = new Map<string | null, number>()
  for (const [user, ofUser] of teams) least.set(user, await required.of(ofUser))
  return least
}

export interface Tally {
  add(machine: ClassifiedMachine): void
  /** Machines that have applied the revision. */
  addApplied(machines: number): void
  result(): MachineCounts
}

export function createTally(): Tally {
  const counts = { devices: 0, applied: 0, rejected: 0, pending: 0, silent: 0 }
  const codes = new Map<string, number>()
  return {
    add({ applyState, report }) {
      counts.devices += 1
      counts[applyState] += 1
      if (applyState !== 'rejected') return
      const code = report?.error_code ?? report?.state ?? ''
      codes.set(code, (codes.get(code) ?? 0) + 1)
    },
    addApplied(machines) {
      counts.devices += machines
      counts.applied += machines
    },
    result: () => ({ ...counts, rejected_by_code: rank(codes) }),
  }
}

function hasReached({ report }: DeviceStanding, revision: number): boolean {
  if (report === null || UNUSABLE.has(report.state)) return false
  return report.revision !== null && report.revision >= revision
}

function classify(machine: DeviceStanding, required: number, { isRefusal }: Question): ApplyState {
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

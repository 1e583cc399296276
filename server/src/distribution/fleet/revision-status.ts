import type { RevisionStatus } from '@palisade/protocol'
import { authorize } from '../../accounts/authorize.ts'
import type { Caller } from '../../accounts/principal.ts'
import type { AuditedStore } from '../../history/audited-store.ts'
import { ApiError, notFound } from '../../http/api-error.ts'
import { nextTurn } from '../../next-turn.ts'
import type { StoreReader } from '../../store/store.ts'
import type { ViewService } from '../views/view-service.ts'
import { lastSignOfLife, readMachines, type Machine } from './machines.ts'

const SILENT_AFTER_MS = 15 * 60 * 1000
const SLICE = 250
/** Codes are the machines' own words. */
const MAX_CODES = 50
/** What is in force in these is nothing, whatever its revision. */
const UNUSABLE: ReadonlySet<string> = new Set(['never_loaded', 'corrupt', 'unsupported'])

export interface RevisionStatusDeps {
  readonly store: Pick<AuditedStore, 'read'>
  readonly views: Pick<ViewService, 'revisionOf'>
  readonly now: () => Date
}

/** The number in a path. Throws 404 for no revision that the organization has had. */
export function requireRevision(text: string, current: number): number {
  const revision = /^(?:0|[1-9]\d{0,14})$/.test(text) ? Number(text) : Infinity
  if (revision > current) throw notFound('revision not found')
  return revision
}

/** How far a revision has come. Throws ApiError. */
export async function readRevisionStatus(
  deps: RevisionStatusDeps,
  caller: Caller,
  org: string,
  wanted: string,
): Promise<RevisionStatus> {
  const asked = await deps.store.read(async (reader) => {
    const { organization } = await authorize(reader, caller, org, 'policies:read')
    const revision = requireRevision(wanted, organization.revision)
    return { revision, current: organization.revision, teams: await readTeams(reader, org) }
  })
  const { revision } = asked
  const required = await findRequired(deps.views, org, asked.teams, revision)
  const silentSinceMs = deps.now().getTime() - SILENT_AFTER_MS
  const counts = { devices: 0, applied: 0, rejected: 0, pending: 0, silent: 0 }
  const codes = new Map<string, number>()
  for await (const machine of liveMachines(deps.store, org)) {
    counts.devices += 1
    const fate = judge(machine, required.get(machine.device.username) ?? revision, silentSinceMs)
    counts[fate] += 1
    if (fate !== 'rejected') continue
    const code = machine.report?.error_code ?? machine.report?.state ?? ''
    codes.set(code, (codes.get(code) ?? 0) + 1)
  }
  const rejected_by_code = rank(codes)
  return { revision, current_revision: asked.current, ...counts, rejected_by_code }
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
  views: RevisionStatusDeps['views'],
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
  views: RevisionStatusDeps['views'],
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
async function* liveMachines(
  store: RevisionStatusDeps['store'],
  org: string,
): AsyncGenerator<Machine> {
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
  silentSinceMs: number,
): 'applied' | 'rejected' | 'pending' | 'silent' {
  const { report } = machine
  if (report !== undefined) {
    const isUsable = !UNUSABLE.has(report.state)
    if (isUsable && report.revision !== null && report.revision >= required) return 'applied'
    if (report.error_code !== null || (!isUsable && report.state !== 'never_loaded'))
      return 'rejected'
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

import {
  ASSURANCE_CLASSES,
  ASSURANCE_FILTERS,
  type AgentState,
  type AssuranceClass,
  type AssuranceFilter,
} from '@palisade/protocol'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { DeviceFilter } from '../../../server/src/store/aggregates/devices/device-search.ts'
import type { Store, StoreReader, StoreWriter } from '../../../server/src/store/store.ts'
import { casesOfRun } from '../../lanes/run-size.ts'

const STATES: readonly AgentState[] = ['fresh', 'stale', 'rejected', 'never_loaded']
const LABELS = ['ci', 'c', 'linux'] as const
/** Includes surrogate pairs, and `%` and `_`, which are wildcards of LIKE. */
const NAMES = [null, 'ci-1', 'ci-22', '%_x', '𝒹𝑒𝓈𝓀 a'] as const
const USERS = [null, 'ann', 'bob'] as const
/** A time within the first hour of a day. */
const at = (minute: number): string => new Date(Date.UTC(2026, 10, 21, 0, minute)).toISOString()

/** A device and its events after enrolment; times are minutes. */
interface Life {
  readonly org: 'acme' | 'rival'
  readonly user: (typeof USERS)[number]
  readonly name: string | null
  readonly renamed: string | null
  readonly labels: readonly string[]
  readonly relabelled: readonly string[] | null
  readonly created: number
  readonly seen: number | null
  readonly reports: readonly {
    at: number
    state: AgentState
    revision: number | null
    assurance: AssuranceClass | null
  }[]
  readonly isRevoked: boolean
}

const minute = fc.integer({ min: 0, max: 59 })
const labels = fc.subarray([...LABELS])
const life: fc.Arbitrary<Life> = fc.record({
  org: fc.constantFrom('acme', 'acme', 'rival'),
  user: fc.constantFrom(...USERS),
  name: fc.constantFrom(...NAMES),
  renamed: fc.constantFrom(...NAMES),
  labels,
  relabelled: fc.option(labels),
  created: minute,
  seen: fc.option(minute),
  reports: fc.array(
    fc.record({
      at: minute,
      state: fc.constantFrom(...STATES),
      revision: fc.option(fc.integer({ min: 0, max: 2 })),
      assurance: fc.constantFrom(null, ...ASSURANCE_CLASSES),
    }),
    { maxLength: 3 },
  ),
  isRevoked: fc.boolean(),
})
const filter: fc.Arbitrary<DeviceFilter> = fc.record(
  {
    user: fc.constantFrom('ann', 'bob', 'nobody'),
    label: fc.constantFrom(...LABELS, 'absent'),
    name: fc.constantFrom('ci-', 'ci-2', '%', '_', '𝒹𝑒', 'CI', 'ci-222'),
    state: fc.constantFrom(...STATES),
    revision: fc.integer({ min: 0, max: 3 }),
    assurance: fc.constantFrom(...ASSURANCE_FILTERS),
    silentSince: minute.map(at),
  },
  { requiredKeys: [] },
)

const idOf = (index: number): string => `device-${String(index).padStart(3, '0')}`

async function live(writer: StoreWriter, id: string, given: Life): Promise<void> {
  await writer.devices.insert({
    id,
    org: given.org,
    username: given.user,
    thumbprint: id,
    name: given.name,
    labels: given.labels,
    enrolment_token_id: null,
    created_at: at(given.created),
    revoked_at: null,
  })
  if (given.relabelled !== null) await writer.devices.setLabels(given.org, id, given.relabelled)
  if (given.renamed !== null) await writer.devices.setName(given.org, id, given.renamed)
  if (given.seen !== null) await writer.devicePolls.record(id, at(given.seen))
  for (const report of given.reports)
    await writer.deviceReports.put([
      {
        device_id: id,
        reported_at: at(report.at),
        revision: report.revision,
        state: report.state,
        error_code: report.state === 'rejected' ? 'not_compilable' : null,
        error_detail: null,
        grant_id: null,
        grant_begun_at: null,
        proxy_enforcement: null,
        assurance: report.assurance,
        policy_digest: null,
        agent_version: '0.1.0',
      },
    ])
  if (given.isRevoked) await writer.devices.revoke(id, at(59))
}

/** The newest report; the last one of the same time. */
function newest({ reports }: Life): Life['reports'][number] | null {
  return reports.reduce<Life['reports'][number] | null>(
    (best, each) => (best === null || each.at >= best.at ? each : best),
    null,
  )
}

const lastSign = (given: Life): number =>
  Math.max(given.created, given.seen ?? 0, newest(given)?.at ?? 0)

function hasName({ name, renamed }: Life, start: string): boolean {
  return (renamed ?? name)?.startsWith(start) === true
}

/** By the order of the classes; a device without one is weaker than all. */
function isOfClass(given: AssuranceClass | null, wanted: AssuranceFilter): boolean {
  const rank = (each: string): number => ASSURANCE_CLASSES.findIndex((name) => name === each)
  return wanted.startsWith('<') ? rank(given ?? '') < rank(wanted.slice(1)) : given === wanted
}

function hasReported(
  given: Life,
  { state, revision, assurance }: Pick<DeviceFilter, 'assurance' | 'revision' | 'state'>,
): boolean {
  const report = newest(given)
  return (
    (state === undefined || report?.state === state) &&
    (revision === undefined || report?.revision === revision) &&
    (assurance == null || isOfClass(report?.assurance ?? null, assurance))
  )
}

function passes(
  given: Life,
  { user, label, name, silentSince, ...reported }: DeviceFilter,
): boolean {
  const isSilent = !given.isRevoked && at(lastSign(given)) < (silentSince ?? '')
  return (
    (user === undefined || given.user === user) &&
    (label === undefined || (given.relabelled ?? given.labels).includes(label ?? '')) &&
    (name == null || hasName(given, name)) &&
    hasReported(given, reported) &&
    (silentSince === undefined || isSilent)
  )
}

/** Guarantees of every driver for lists of devices; `store` holds the seed of `describeStore`. */
export function describeDeviceSearch(store: () => Store): void {
  describe('the search for devices', () => {
    /** Runs `check` with the devices of one run, then removes them. */
    async function withLives(
      lives: readonly Life[],
      check: (reader: StoreReader, idsOf: (test: (each: Life) => boolean) => string[]) => unknown,
    ): Promise<void> {
      const undo = new Error('undo')
      const run = store().transaction(async (writer) => {
        for (const username of ['ann', 'bob'])
          if ((await writer.users.find(username)) === null)
            await writer.users.insert({ username, password_hash: null, created_at: at(0) })
        for (const [index, each] of lives.entries()) await live(writer, idOf(index), each)
        await check(writer, (test) =>
          lives.flatMap((each, index) => (each.org === 'acme' && test(each) ? [idOf(index)] : [])),
        )
        throw undo
      })
      await expect(run).rejects.toBe(undo)
    }

    it('finds devices that pass the filter, for any window and limit', async () => {
      const input = fc.record({
        lives: fc.array(life, { maxLength: 30 }),
        filter,
        window: fc.integer({ min: 1, max: 12 }),
        limit: fc.integer({ min: 1, max: 4 }),
      })
      const law = fc.asyncProperty(input, ({ lives, filter: wanted, window, limit }) =>
        withLives(lives, async (reader, idsOf) => {
          const found: string[] = []
          for (let after: string | null = ''; after !== null;) {
            const page = { after, window, limit }
            const { devices, through } = await reader.devices.search('acme', wanted, page)
            expect(devices.length).toBeLessThanOrEqual(limit)
            found.push(...devices.map(({ id }) => id))
            after = devices.length === limit ? (devices.at(-1)?.id ?? null) : through
          }
          expect(found).toEqual(idsOf((each) => passes(each, wanted)))
        }),
      )
      await fc.assert(law, { numRuns: casesOfRun(40) })
    })

    it('examines at most the devices of its window', async () => {
      const plain: Life = {
        org: 'acme',
        user: null,
        labels: ['ci'],
        name: null,
        renamed: null,
        relabelled: null,
        created: 0,
        seen: null,
        reports: [],
        isRevoked: false,
      }
      await withLives([plain, { ...plain, user: 'ann' }, plain], async ({ devices }) => {
        const search = (wanted: DeviceFilter, window: number) =>
          devices.search('acme', wanted, { after: '', window, limit: 9 })
        expect(await search({ state: 'fresh' }, 2)).toEqual({
          devices: [],
          through: idOf(1),
        })
        expect((await search({ label: 'ci', user: 'ann' }, 1)).devices).toEqual([])
        expect((await search({ user: 'ann' }, 1)).through).toBe(idOf(1))
        expect((await search({ label: 'ci' }, 4)).through).toBeNull()
      })
    })

    it('leaves out and counts devices that have reached a revision', async () => {
      const input = fc.record({
        lives: fc.array(life, { maxLength: 20 }),
        revision: fc.integer({ min: 0, max: 4 }),
        window: fc.integer({ min: 1, max: 7 }),
      })
      const law = fc.asyncProperty(input, ({ lives, revision, window }) =>
        withLives(lives, async ({ devices }) => {
          const silentSince = at(0)
          const all = await devices.listStandings('acme', { after: '', limit: 99, silentSince })
          const found = []
          let count = 0
          for (let after: string | null = ''; after !== null;) {
            const page = { after, window, silentSince, revision }
            const behind = await devices.listBehind('acme', page)
            expect(behind.count).toBeLessThanOrEqual(window)
            found.push(...behind.devices)
            count += behind.count
            after = behind.through
          }
          expect(count).toBe(all.length)
          const hasReached = ({ report }: (typeof all)[number]): boolean =>
            report !== null &&
            !['never_loaded', 'corrupt', 'unsupported'].includes(report.state) &&
            report.revision !== null &&
            report.revision >= revision
          expect(found).toEqual(all.filter((device) => !hasReached(device)))
        }),
      )
      await fc.assert(law, { numRuns: casesOfRun(20) })
    })

    it('returns the state of each device that is not revoked', async () => {
      const input = fc.record({
        lives: fc.array(life, { maxLength: 20 }),
        since: minute,
        limit: fc.integer({ min: 1, max: 7 }),
      })
      const law = fc.asyncProperty(input, ({ lives, since, limit }) =>
        withLives(lives, async (reader, idsOf) => {
          const found = []
          for (let after: string | undefined = ''; after !== undefined;) {
            const page = { after, limit, silentSince: at(since) }
            const slice = await reader.devices.listStandings('acme', page)
            found.push(...slice)
            after = slice.length < limit ? undefined : slice.at(-1)?.id
          }
          const standing = (id: string) => {
            const given = lives[Number(id.slice(-3))]
            if (given === undefined) throw new TypeError(id)
            const report = newest(given)
            return {
              id,
              username: given.user,
              labels: given.relabelled ?? given.labels,
              report: report && {
                reported_at: at(report.at),
                revision: report.revision,
                state: report.state,
                error_code: report.state === 'rejected' ? 'not_compilable' : null,
              },
              isSilent: lastSign(given) < since,
              isUnheard: report === null && given.seen === null,
            }
          }
          expect(found).toEqual(idsOf((each) => !each.isRevoked).map(standing))
        }),
      )
      await fc.assert(law, { numRuns: casesOfRun(20) })
    })
  })
}

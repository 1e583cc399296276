import fc from 'fast-check'
import { createHash, randomUUID } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { startOfKept } from '../../../server/src/views/publication/renewal.ts'
import {
  createViewPublisher,
  type ViewPublisher,
} from '../../../server/src/views/publication/view-publisher.ts'
import type { Store } from '../../../server/src/store/store.ts'
import { casesOfRun } from '../../lanes/run-size.ts'

export const START = '2026-11-21T08:00:00Z'
export const DAY_MS = 24 * 60 * 60 * 1000

/** Publications, reads and deletions, in order. */
export const steps = fc.array(
  fc.oneof(
    {
      weight: 4,
      arbitrary: fc.record({ kind: fc.constant('change' as const), policy: fc.nat(3) }),
    },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('move' as const), policy: fc.nat(3) }) },
    {
      weight: 2,
      arbitrary: fc.record({ kind: fc.constant('remove' as const), policy: fc.nat(3) }),
    },
    { weight: 6, arbitrary: fc.record({ kind: fc.constant('look' as const), view: fc.nat(1) }) },
    {
      weight: 3,
      arbitrary: fc.record({
        kind: fc.constant('wait' as const),
        // Several publications within a second make versions run ahead of the clock.
        seconds: fc.constantFrom(1, 60, 3_600, 50_000, 90_000),
      }),
    },
  ),
  { minLength: 10, maxLength: 40 },
)
export type Step = typeof steps extends fc.Arbitrary<readonly (infer S)[]> ? S : never

export interface Targets {
  readonly version: number
  readonly sha256: string
  readonly paths: readonly string[]
}

/** The rows of the organization, as another connection to the database reads them. */
export type Query = (sql: string) => Promise<readonly Readonly<Record<string, unknown>>[]>

export function describeStore(
  name: string,
  runs: number,
  open: () => Promise<{ readonly store: Store; readonly query: Query }>,
): void {
  describe(`a publication ${name}`, () => {
    it('is served byte for byte until exactly a day after it was replaced', async () => {
      const { store, query } = await open()
      await fc.assert(
        fc.asyncProperty(steps, async (chosen) => {
          const world = await createWorld(store)
          for (const step of chosen) await world.take(step)
          await world.rest()
          await world.expectNothingLeft(query)
        }),
        { numRuns: casesOfRun(runs) },
      )
    })
  })
}

/** An organization with two views, and their observed content. */
export async function createWorld(store: Store) {
  const org = `org-${randomUUID()}`
  const team = randomUUID()
  let nowMs = Date.parse(START)
  const now = () => new Date(nowMs)
  const publisher = createViewPublisher({ store, now })
  const views = [[], [team]].map((teams) =>
    createSeenView({ store, publisher, now }, { org, id: randomUUID().replaceAll('-', ''), teams }),
  )
  const policies = new Map<number, { readonly isOfTeam: boolean; readonly hasRule: boolean }>()
  await store.transaction(async (writer) => {
    const settings = { entitled: true, resolve_unlisted_names: false, created_at: START }
    await writer.organizations.insert({ name: org, ...settings })
    await writer.teams.insert({ id: team, org, name: 'backend' })
  })

  const idOf = (policy: number): string => `pol_${policy}_${org.slice(4)}`

  /** A policy that is changed and restored has the same bytes at another revision. */
  async function put(policy: number, isOfTeam: boolean, hasRule: boolean): Promise<void> {
    const id = idOf(policy)
    await store.transaction(async (writer) => {
      if (policies.has(policy)) await writer.policies.delete(org, id)
      const teams = isOfTeam ? [team] : []
      await writer.policies.insert({
        id,
        org,
        name: `policy ${policy}`,
        teams,
        created_at: START,
        updated_at: START,
      })
      if (!hasRule) return
      await writer.policies.insertRule(
        { org, policyId: id, updated_at: START },
        {
          id: `rule_${id}`,
          name: 'rule',
          actions: ['connect:tcp'],
          decision: 'allow',
          resources: ['example.com:443'],
        },
      )
    })
    policies.set(policy, { isOfTeam, hasRule })
  }

  async function lookAll(): Promise<void> {
    for (const view of views) await view.look()
    await expectKept()
  }

  async function expectKept(): Promise<void> {
    const paths = new Set(views.flatMap((view) => view.seenPaths()))
    for (const view of views) await view.expectKept(paths)
  }

  return {
    async take(step: Step): Promise<void> {
      if (step.kind === 'wait') nowMs += step.seconds * 1000
      else if (step.kind === 'look') await views[step.view]?.look()
      else {
        const { isOfTeam, hasRule } = policies.get(step.policy) ?? {
          isOfTeam: false,
          hasRule: true,
        }
        if (step.kind === 'change') await put(step.policy, isOfTeam, !hasRule)
        else if (step.kind === 'move') await put(step.policy, !isOfTeam, hasRule)
        else if (policies.delete(step.policy))
          await store.transaction((writer) => writer.policies.delete(org, idOf(step.policy)))
      }
      if (step.kind === 'look' || step.kind === 'wait') await expectKept()
    },
    async rest(): Promise<void> {
      for (let days = 0; days < 6; days += 3) {
        await lookAll()
        nowMs += 3 * DAY_MS
      }
      await lookAll()
    },
    async expectNothingLeft(query: Query): Promise<void> {
      const shown = new Map<string, number>()
      for (const path of views.flatMap((view) => view.newestPaths()))
        shown.set(path, (shown.get(path) ?? 0) + 1)
      const rows = await query(
        `SELECT path, shown_by FROM listed_documents WHERE org = '${org}' AND shown_by > 0`,
      )
      expect(new Map(rows.map((row) => [row['path'], Number(row['shown_by'])]))).toEqual(shown)
      // The row with the highest number of all organizations stays.
      const [unlisted] = await query(
        `SELECT count(*) AS n FROM listed_documents WHERE org = '${org}' AND shown_by = 0`,
      )
      expect(Number(unlisted?.['n'])).toBeLessThanOrEqual(1)
      const listings = await query(
        `SELECT view_id FROM publications WHERE org = '${org}' AND listing IS NOT NULL`,
      )
      expect(listings).toHaveLength(views.length)
    },
  }
}

export function createSeenView(
  deps: { readonly store: Store; readonly publisher: ViewPublisher; readonly now: () => Date },
  viewRef: { readonly org: string; readonly id: string; readonly teams: readonly string[] },
) {
  const { store, publisher, now } = deps
  const { org, id } = viewRef
  const seen: Targets[] = []
  const file = (name: string) =>
    store.read((reader) => reader.views.file(org, id, name, startOfKept(now())))
  const document = (path: string) =>
    store.read((reader) => reader.views.document(org, id, path, startOfKept(now())))

  /** Its successor is younger than a day, or there is none yet. */
  const isKept = (index: number): boolean =>
    (seen[index + 1]?.version ?? Infinity) >= startOfKept(now())

  return {
    seenPaths: () => seen.flatMap(({ paths }) => paths),
    newestPaths: () => seen.at(-1)?.paths ?? [],
    async look(): Promise<void> {
      const { body } = await publisher.current({ ...viewRef, base: null })
      const snapshot = await readLinked(Buffer.from(body), 'snapshot', file)
      const targets = await readLinked(snapshot.body, 'targets', file)
      const { version, sha256 } = targets
      const last = seen.at(-1)
      if (last?.version === version) expect(sha256).toBe(last.sha256)
      else {
        expect(version).toBeGreaterThan(last?.version ?? 0)
        seen.push({ version, sha256, paths: listPaths(targets.body) })
      }
    },
    async expectKept(paths: ReadonlySet<string>): Promise<void> {
      const listed = new Set<string>()
      for (const [index, targets] of seen.entries()) {
        const body = await file(`${targets.version}.targets.json`)
        expect(body && hash(body)).toBe(isKept(index) ? targets.sha256 : null)
        if (isKept(index)) for (const path of targets.paths) listed.add(path)
      }
      for (const path of paths) {
        const body = await document(path)
        const expected = path.slice('policies/'.length).split('.')[0]
        expect(body && hash(body), path).toBe(listed.has(path) ? expected : null)
      }
    },
  }
}

export interface Signed {
  readonly meta: Readonly<Record<string, Link | undefined>>
  readonly targets: Readonly<Record<string, { readonly hashes: { readonly sha256: string } }>>
}

export interface Link {
  readonly version: number
  readonly length: number
  readonly hashes: { readonly sha256: string }
}

/** The file named by signed metadata, checked against that metadata. */
export async function readLinked(
  from: Uint8Array,
  kind: 'snapshot' | 'targets',
  file: (name: string) => Promise<Uint8Array | null>,
) {
  const link = parse(from).meta[`${kind}.json`]
  if (link === undefined) throw new Error(`there is no ${kind}`)
  const body = await file(`${link.version}.${kind}.json`)
  if (body === null) throw new Error(`${link.version}.${kind}.json is not there`)
  expect([body.byteLength, hash(body)]).toEqual([link.length, link.hashes.sha256])
  return { version: link.version, sha256: hash(body), body }
}

export function listPaths(body: Uint8Array): string[] {
  return Object.entries(parse(body).targets).map(([name, { hashes }]) =>
    name.replace('/', `/${hashes.sha256}.`),
  )
}

export function parse(body: Uint8Array): Signed {
  return (JSON.parse(Buffer.from(body).toString()) as { readonly signed: Signed }).signed
}

export function hash(body: Uint8Array): string {
  return createHash('sha256').update(body).digest('hex')
}

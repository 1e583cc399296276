import { createHash, randomBytes, randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { loadDeviceTokenKey } from '../../../../server/src/identity/device/device-tokens.ts'
import { createViewPublisher } from '../../../../server/src/views/publication/view-publisher.ts'
import { openSqliteStore } from '../../../../server/src/store/sqlite/open-sqlite-store.ts'
import type { StoreWriter } from '../../../../server/src/store/store.ts'
import { createLongTokens } from '../fill/device-tokens.ts'
import { fillOrganization } from '../fill/fill-organization.ts'
import { rangeOf, type Range } from '../../measure/range.ts'

const ORG = 'publish'
const CREATED_AT = '2026-11-01T00:00:00Z'
/** Policies that apply to everyone. A change of one of them changes every view. */
const SHARED = { policies: 90, rulesPerPolicy: 5, editors: 1, devices: 0 } as const
/** Teams with one policy each. Every view is for another set of teams. */
const TEAMS = 10
const VIEWS = 500

/**
 * Measures the milliseconds from the commit of one rule until all 500 views are signed and on disk,
 * in an organization of 100 policies. Each view lists its own set of documents: the 90 shared
 * policies and those of its teams.
 */
export async function measurePublish(folder: string, rounds: number): Promise<Range> {
  const store = openSqliteStore(join(folder, 'publish.db'))
  try {
    const tokens = createLongTokens(await loadDeviceTokenKey(store, randomBytes))
    const shape = { ...SHARED, tokens }
    const { policyIds } = await store.transaction((writer) => fillOrganization(writer, ORG, shape))
    const teams = await store.transaction(fillTeams)
    let nowMs = Date.parse('2026-11-21T08:00:00Z')
    const publisher = createViewPublisher({ store, now: () => new Date(nowMs) })
    const places = Array.from({ length: VIEWS }, (_, index) => ({
      org: ORG,
      id: createHash('sha256').update(String(index)).digest('hex').slice(0, 32),
      // The teams are the bits of the index, so no two sets are equal.
      teams: teams.filter((_team, digit) => (index & (1 << digit)) !== 0),
      base: null,
    }))
    const signAll = () => Promise.all(places.map((place) => publisher.current(place)))
    let former = await signAll()
    const took: number[] = []
    for (let round = 0; round < rounds; round += 1) {
      nowMs += 1000
      const policyId = policyIds[round % policyIds.length] ?? ''
      await store.transaction((writer) => addRule(writer, policyId, round, nowMs))
      const startedMs = performance.now()
      const signed = await signAll()
      took.push(performance.now() - startedMs)
      if (signed.some(({ etag }, index) => etag === former[index]?.etag))
        throw new Error('a view was not signed again')
      former = signed
    }
    return rangeOf(took)
  } finally {
    await store.close()
  }
}

/** Returns the ids of the teams. */
async function fillTeams(writer: StoreWriter): Promise<string[]> {
  const ids = Array.from({ length: TEAMS }, () => randomUUID())
  for (const [index, id] of ids.entries()) {
    await writer.teams.insert({ id, org: ORG, name: `team ${index}` })
    await writer.policies.insert({
      id: `pol_team${index}`,
      org: ORG,
      name: `policy of team ${index}`,
      teams: [id],
      created_at: CREATED_AT,
      updated_at: CREATED_AT,
    })
  }
  return ids
}

function addRule(writer: StoreWriter, policyId: string, round: number, nowMs: number) {
  const at = { org: ORG, policyId, updated_at: new Date(nowMs).toISOString() }
  return writer.policies.insertRule(at, {
    id: `rule_added${round}`,
    name: `added ${round}`,
    actions: ['connect:tcp'],
    decision: 'allow',
    resources: [`added-${round}.example.com:443`],
  })
}

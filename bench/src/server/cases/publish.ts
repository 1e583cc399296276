import { createHash, randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { loadDeviceTokenKey } from '../../../../server/src/distribution/proof/device-tokens.ts'
import { createViewPublisher } from '../../../../server/src/distribution/views/view-publisher.ts'
import { openSqliteStore } from '../../../../server/src/store/sqlite/open-sqlite-store.ts'
import type { StoreWriter } from '../../../../server/src/store/store.ts'
import { createLongTokens } from '../fill/device-tokens.ts'
import { fillOrganization } from '../fill/fill-organization.ts'
import { rangeOf, type Range } from '../rounds.ts'

const ORG = 'publish'
const SHAPE = { policies: 100, rulesPerPolicy: 5, editors: 1, devices: 0 } as const
const VIEWS = 500

/**
 * Milliseconds from the commit of one rule to the last of 500 views signed and on disk, in an
 * organization of 100 policies that all of them show: each view lists a hundred documents.
 */
export async function measurePublish(folder: string, rounds: number): Promise<Range> {
  const store = openSqliteStore(join(folder, 'publish.db'))
  try {
    const tokens = createLongTokens(await loadDeviceTokenKey(store, randomBytes))
    const shape = { ...SHAPE, tokens }
    const filled = await store.transaction((writer) => fillOrganization(writer, ORG, shape))
    let nowMs = Date.parse('2026-11-21T08:00:00Z')
    const publisher = createViewPublisher({ store, now: () => new Date(nowMs) })
    const places = Array.from({ length: VIEWS }, (_, index) => ({
      org: ORG,
      id: createHash('sha256').update(String(index)).digest('hex').slice(0, 32),
      teams: [],
    }))
    const signAll = () => Promise.all(places.map((place) => publisher.current(place)))
    let former = await signAll()
    const took: number[] = []
    for (let round = 0; round < rounds; round += 1) {
      nowMs += 1000
      const policyId = filled.policyIds[round % filled.policyIds.length] ?? ''
      await store.transaction((writer) => addRule(writer, policyId, round, nowMs))
      const startedMs = performance.now()
      const signed = await signAll()
      took.push(performance.now() - startedMs)
      if (signed.some(({ etag }, index) => etag === former[index]?.etag))
        throw new Error('a view was not signed anew')
      former = signed
    }
    return rangeOf(took)
  } finally {
    await store.close()
  }
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

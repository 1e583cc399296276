import { expect, it } from 'vitest'
import { openPostgresEvidence } from '../../../../server/src/evidence/store/postgres/open-postgres-evidence.ts'
import { hasPostgres, testDatabase } from '../../postgres/test-postgres.ts'
import { batch, chain, EVERYTHING, NOW_MS, row } from './evidence-batches.ts'

/** As many as an organization has turns at once. */
const LANES = 4
const BATCHES_IN_A_LANE = 2
const ROWS = 5_000
const RULE = { policy_id: 'pol_1', rule_id: 'rul_1', decision: 'allow', origin: 'org' } as const

/** As a machine sends them that was offline: requests that no other has made. */
const fullBatch = (machine: string) =>
  batch({
    device_id: `dev_${machine}`,
    username: `user-${machine}`,
    chain: chain(ROWS),
    rows: Array.from({ length: ROWS }, (_, index) =>
      row({
        last_ms: NOW_MS - index,
        tuple: { host: `h${index}.m${machine}.example`, rules: [RULE] },
      }),
    ),
  })

it.runIf(hasPostgres())(
  'full batches of machines that come together are all stored in a new database',
  async () => {
    const { url } = await testDatabase()
    const evidence = await openPostgresEvidence(url)

    await Promise.all(
      Array.from({ length: LANES }, async (_, lane) => {
        for (let place = 0; place < BATCHES_IN_A_LANE; place += 1)
          expect(await evidence.append(fullBatch(`${lane}-${place}`))).toBeNull()
      }),
    )

    const page = await evidence.list('acme', EVERYTHING, { before: null, limit: 10 })
    expect(page.rows).toHaveLength(10)
    expect(await evidence.days()).toMatchObject([{ rows: LANES * BATCHES_IN_A_LANE * ROWS }])
    await evidence.close()
  },
  240_000,
)

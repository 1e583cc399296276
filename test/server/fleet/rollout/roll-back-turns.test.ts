import { randomBytes } from 'node:crypto'
import { beforeAll, expect, it } from 'vitest'
import { rollBack } from '../../../../server/src/fleet/rollout/roll-back.ts'
import { createKnownRules } from '../../../../server/src/governance/known-rules.ts'
import { createAuditedStore } from '../../../../server/src/history/audit/audited-store.ts'
import { ApiError } from '../../../../server/src/platform/api-error.ts'
import { nextTurn } from '../../../../server/src/platform/next-turn.ts'
import type { Store } from '../../../../server/src/store/store.ts'
import type { TestServer } from '../../test-server.ts'
import { sendTogether } from '../send-together.ts'
import { atEndOfTests } from '../../temporary-directory.ts'
import { openRolloutScene, openRolloutServer, type RolloutScene } from './rollout-scene.ts'

const PERMISSIONS = ['policies:read', 'policies:write'] as const
const ONCE = { scope: null, caller: 'user:olga', bodyHash: '', hasSecret: false }

let test: TestServer
const atEnd = atEndOfTests()
beforeAll(async () => {
  test = await openRolloutServer(atEnd)
})

/** Rolls back with `ifMatch`; returns the number of turns, and of those within a read. */
async function countTurns(scene: RolloutScene, id: string, ifMatch: string | undefined) {
  const { org, username } = scene
  let [open, turns, held] = [0, 0, 0]
  const store: Store = {
    ...test.store,
    async read(work) {
      open += 1
      try {
        return await test.store.read(work)
      } finally {
        open -= 1
      }
    },
  }
  const work = {
    async turn() {
      turns += 1
      if (open > 0) held += 1
      await nextTurn()
    },
    run: <T>(piece: () => T) => piece(),
    end: () => undefined,
    charge: () => undefined,
  }
  const now = () => new Date(test.now())
  const answer = rollBack(
    {
      store: createAuditedStore({ store, now }),
      now,
      random: randomBytes,
      budget: { require: () => undefined, begin: () => work, beginOwn: () => work },
      limits: { maxPolicies: 100, maxRules: 250, maxPolicyBytes: 409_600 },
      knownRules: createKnownRules(),
    },
    {
      kind: 'user',
      username,
      tokenId: null,
      rootTokenId: null,
      permissions: PERMISSIONS,
      author: { actor: `user:${username}`, address: null, request_id: null },
    },
    { org, id, ifMatch },
    ONCE,
  )
  const refused = (error: unknown) => (error instanceof ApiError ? error.status : 500)
  const status = await answer.then((done) => done.status).catch(refused)
  return { status, turns, held }
}

it('a roll-back holds no snapshot of the store between its turns', async () => {
  const scene = await openRolloutScene(test)
  const { id } = await scene.start()
  await scene.createPolicy('second')

  const counted = await countTurns(scene, id, undefined)

  expect(counted).toMatchObject({ status: 200, held: 0 })
  expect(counted.turns).toBeGreaterThan(1)
})

it('a roll-back reads no policies if the entity tag is stale', async () => {
  const scene = await openRolloutScene(test)
  const { id } = await scene.start()

  expect(await countTurns(scene, id, '"1"')).toEqual({ status: 412, turns: 0, held: 0 })
})

it('roll-backs of an organization run one at a time, with up to four waiting', async () => {
  const scene = await openRolloutScene(test)
  const { id } = await scene.start()
  const url = `${scene.paths.rollouts}/${id}/roll-back`
  const answers = await sendTogether(test, { count: 7, refusals: 2 }, () =>
    test.send('POST', url, { as: scene.owner.as }),
  )

  const statuses = answers.map(({ statusCode }) => statusCode)
  expect(statuses.toSorted((a, b) => a - b)).toEqual([200, 409, 409, 409, 409, 429, 429])
})

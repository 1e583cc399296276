import { startInProcess } from '../../in-process-worker.ts'
import { randomBytes } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { createAccessService } from '../../../../server/src/fleet/access/access-service.ts'
import type { AuditedStore } from '../../../../server/src/history/audit/audited-store.ts'
import { createWorkBudget } from '../../../../server/src/work/work-budget.ts'
import { WANTED } from './access-scene.ts'

const REQUESTS = 8

it('judges requests that arrive together in turns of their own', async () => {
  let round = 0
  const rounds: number[] = []
  const store = {
    read: () => expect.fail('nothing is read'),
    write: async () => void rounds.push(round),
  } as unknown as AuditedStore
  const service = createAccessService({
    startProcess: startInProcess,
    store,
    evidence: { list: async () => ({ rows: [], next: null }) },
    now: () => new Date(),
    random: randomBytes,
    writeLimits: { countOwn: () => {}, countOwnOf: () => {} },
    budget: createWorkBudget(),
    pageTokenKey: randomBytes(32),
  })
  const author = { actor: 'user:bob', address: null, request_id: null }
  const bob = {
    kind: 'user',
    username: 'bob',
    tokenId: null,
    rootTokenId: null,
    permissions: [],
    author,
  } as const
  const body = { ...WANTED, resources: [...WANTED.resources] }
  const once = { scope: null, caller: 'user:bob', bodyHash: '', hasSecret: false }

  const asked = Promise.all(
    Array.from({ length: REQUESTS }, async (_, index) =>
      index % 2 === 0
        ? service.request(bob, 'acme', body, once)
        : service.requestFor({ org: 'acme', username: 'bob', device_id: 'dev_1', author }, body),
    ),
  )
  const ended = asked.then(() => true)
  while (!(await Promise.race([ended, setImmediate(false)]))) round += 1

  expect(new Set(rounds).size).toBe(REQUESTS)
})

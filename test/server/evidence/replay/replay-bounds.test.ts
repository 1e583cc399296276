import { EventEmitter } from 'node:events'
import { connect, type AddressInfo, type Socket } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { replayRoutes, type Drafted } from '../../../../server/src/evidence/replay/replay-routes.ts'
import { createDocumentTurns } from '../../../../server/src/governance/document/apply-document.ts'
import type { AuditedStore } from '../../../../server/src/history/audit/audited-store.ts'
import { registerRoutes } from '../../../../server/src/identity/routes/register-routes.ts'
import { createWorkBudget, type WorkBudget } from '../../../../server/src/work/work-budget.ts'
import type { StartWorker } from '../../../../server/src/platform/start-worker.ts'
import { createProcessPool, type ProcessPool } from '../../../../server/src/work/process-pool.ts'
import { openGovernedApp, type GovernedApp } from '../../http/governed-app.ts'

const ED = {
  kind: 'user',
  username: 'ed',
  tokenId: null,
  rootTokenId: null,
  permissions: ['policies:read', 'policies:write'],
} as const
const PATH = '/api/v1/orgs/acme/replay'
const PAYLOAD = { policies: [] }
/** More than the buffers between a server and a client that does not read. */
const LONG_LINE = 'x'.repeat(32 * 2 ** 20)

describe('a replay', () => {
  let governed: GovernedApp
  let processes: ProcessPool
  let budget: WorkBudget
  let drafting: number
  let mostDrafting: number
  let line: string
  let started: number
  /** Processor time that a piece of work takes, as the budget counts it. */
  let pieceMs: number
  const sockets: Socket[] = []

  const startWorker: StartWorker = () => {
    started += 1
    const worker = new EventEmitter()
    setImmediate(() => worker.emit('message', { id: 1, value: line }))
    const terminate = () => Promise.resolve(0)
    return Object.assign(worker, { postMessage() {}, ref() {}, unref() {}, terminate })
  }

  async function draft(): Promise<Drafted> {
    drafting += 1
    mostDrafting = Math.max(mostDrafting, drafting)
    await setTimeout(5)
    drafting -= 1
    const work = budget.begin({ org: 'acme', caller: 'user:ed', isWriter: true })
    return { revision: 1, before: [], after: [], work }
  }

  beforeEach(async () => {
    drafting = mostDrafting = started = pieceMs = 0
    line = '{}'
    processes = createProcessPool(startWorker)
    let spentMs = 0
    budget = createWorkBudget({ workMs: () => (spentMs += pieceMs) })
    governed = await openGovernedApp({
      routes: [
        async (app) => {
          const store: Pick<AuditedStore, 'note' | 'read'> = {
            read: (work) => governed.store.read(work),
            note: async () => undefined,
          }
          const routes = replayRoutes({
            store,
            now: () => new Date(),
            draft,
            budget,
            processes,
            documents: createDocumentTurns(),
            evidence: { firstDay: async () => null, lastLimited: async () => null },
            storage: { dataDir: '/nowhere', databaseUrl: null },
            monotonicMs: () => performance.now(),
          })
          registerRoutes(app, { authenticate: async () => ED, store }, routes)
        },
      ],
    })
  })
  afterEach(async () => {
    for (const socket of sockets.splice(0)) socket.destroy()
    await governed.close()
  })

  const replay = (payload: object = PAYLOAD) =>
    governed.send({ method: 'POST', url: PATH, payload })

  /** Sends a replay whose answer is not read. */
  async function replayUnread(): Promise<void> {
    if (!governed.app.server.listening) await governed.app.listen({ host: '127.0.0.1', port: 0 })
    const socket = connect((governed.app.server.address() as AddressInfo).port, '127.0.0.1')
    sockets.push(socket)
    const body = JSON.stringify(PAYLOAD)
    const head = [
      `POST ${PATH} HTTP/1.1`,
      'host: x',
      'authorization: Bearer x',
      'content-type: application/json',
      `content-length: ${body.length}`,
    ]
    socket.write(`${head.join('\r\n')}\r\n\r\n${body}`)
    socket.pause()
  }

  it('is validated one at a time in an organization, and once more at its turn', async () => {
    const answers = await Promise.all(Array.from({ length: 5 }, () => replay()))

    expect(answers.map(({ statusCode }) => statusCode)).toEqual([200, 200, 200, 200, 200])
    expect([mostDrafting, started]).toEqual([2, 5])
  })

  it('leaves the process to others while its answer is not read', async () => {
    line = LONG_LINE
    await replayUnread()
    await expect.poll(() => started).toBe(1)

    const other = processes.run({ org: 'rival', caller: 'user:rita' }, async () => 'served')

    expect(await Promise.race([other, setTimeout(10_000, 'late', { ref: false })])).toBe('served')
  })

  it('waits while two answers of the organization are not read', async () => {
    line = LONG_LINE
    for (const _ of [1, 2, 3]) await replayUnread()
    await expect.poll(() => started).toBe(2)

    await setTimeout(300)
    expect(started).toBe(2)
  })

  it('charges a body that is refused', async () => {
    pieceMs = 5_000

    expect((await replay({ days: 0 })).statusCode).toBe(400)
    expect((await replay({ days: 0 })).statusCode).toBe(429)
  })

  it('is refused before its body is read once the budget is used up', async () => {
    budget.begin({ org: 'acme', caller: 'user:ed', isWriter: true }).charge(20_000)

    expect((await replay()).statusCode).toBe(429)
    expect(mostDrafting).toBe(0)
  })
})
